// An option of a method, described once. The command line, the C interface, model files, run identities, --help and
// docs/use/command-line.md read it from here.
#pragma once
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/ops.h"

namespace tessera {

class Fields;  // base/text/json_fields.h

struct Range {
  double low, high;
  bool open = false;  // low itself is excluded
};

struct Option {
  // The location of the value. Several counts: an option that sets all of them and has no value of its own.
  using Target = std::variant<int*, double*, bool*, Cell*, std::vector<int>*, std::vector<int*>>;

  const char* key;  // in JSON: "batch_size"
  Target target;
  Range range;               // of a number, or of each of several
  const char* help;          // one line; nullptr: in model files only, not an option of users
  bool added_later = false;  // files of earlier releases lack it

  std::string name() const;       // in messages: "`batch_size`"
  std::string_view kind() const;  // "count", "number", "flag", "choice", "widths"
  std::string text() const;       // its value as it is written
  bool is_group() const { return std::holds_alternative<std::vector<int*>>(target); }

  // `text` as users write it. Error(usage) names the option, the text and the valid values
  void set(const std::string& text) const;
  void check() const;  // Error(usage) likewise
  nlohmann::json json() const;
  void read(const Fields& fields) const;  // Error(format)
};

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();
inline constexpr int kMaxWidth = 1 << 16, kMaxLayers = 64;

// Ranges shared by the methods' lists of options.
namespace ranges {
inline constexpr Range kEpochs{0, 1 << 30}, kBatch{2, 1 << 24}, kUnits{1, kMaxWidth}, kRate{0, 1, true},
    kPositive{0, 1e6, true}, kShare{0, 1}, kAny{-kUnbounded, kUnbounded}, kAbove0{0, kUnbounded, true};
inline constexpr const char* kEpochsHelp = "passes over the table; 0 writes an untrained model";
}  // namespace ranges

const char* cell_name(Cell cell);         // "gru", "gru-reset-before", "lstm"
std::vector<std::string_view> choices();  // of the options of kind "choice": every one is a cell

}  // namespace tessera
