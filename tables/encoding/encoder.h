// Table ⇄ codes: mode-specific normalization (Xu et al. 2019, §4.2), exact levels for spikes, categories, missing
// flags, dates as numbers.
// A row becomes a few small codes per column; no one-hot matrix exists.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "kernels/math/mode_decode.h"
#include "tables/protection/rare_categories.h"
#include "tables/table/table.h"

namespace tessera {

// One span of a row in the networks: a scalar under tanh, or one choice out of `width` under softmax.
struct Span {
  enum class Part { alpha, mode, bin, category };
  int column;  // index of the table column
  Part part;   // alpha: position inside the mode, width 1 · mode, category: softmax
  int start;   // first column of the data row
  int width;
  int cond_start;     // offset in the condition vector; −1 unless the span is a category
  int ascending = 0;  // of a choice: number of leading levels that are numbers, ascending
};

// Spans tile [0, data_width) in order; a numeric column is one alpha then its modes (mixture modes, then spike levels,
// then the missing level);
// under Numbers::range one alpha then, if it has an atom or missing values, a choice of them (range_code.h); under
// Numbers::bins one choice among bins and spikes (bin_code.h).
struct RowLayout {
  std::vector<Span> spans;
  int data_width = 0;
  int cond_width = 0;
  int alphas() const;  // number of alpha spans
  int codes() const;   // number of softmax spans
};

// Row-major. alphas [rows, layout.alphas()] in [−1, 1] ([0, 1] for ranges), codes [rows, layout.codes()] in [0, width):
// both in span order.
struct EncodedTable {
  int64_t rows = 0;
  Bulk<float> alphas;
  Bulk<int32_t> codes;
  void relax() const { alphas.relax(), codes.relax(); }  // parts in scratch files may leave memory
  // rows that may be read in any order before their pages are released; INT64_MAX in memory
  int64_t random_rows() const {
    const auto of = [&](const auto& values) {
      return values.empty() ? INT64_MAX : values.random_reads(values.size() / static_cast<size_t>(rows));
    };
    return std::min(of(alphas), of(codes));
  }
};

struct EncoderOptions {
  // The encoding of a numeric column: one alpha and a choice among the modes of a mixture (rows of a table), its
  // position in its range (steps of a sequence, range_code.h), or one choice among quantile bins (bin_code.h).
  enum class Numbers { modes, range, bins } numbers = Numbers::modes;
  int max_modes = 10;  // maximum mixture components per numeric column (the paper's 10)
  int max_bins = 128;  // maximum bins; a value as frequent as a mean bin becomes its own level
  // a value held by this share of a numeric column's rows becomes its own level; 0: never
  double spike_share = 0.05;
  // numbers of at most this many distinct values become categories (decimals, without bins, if these repeat); 0: never
  int integer_levels = 16;
  // levels per column in the networks; rarer values share one level and are decoded by their frequencies
  int max_categories = 1000;
  uint64_t seed = 0;  // for the mixtures' k-means++ starts
  // distinct texts that must share a property of identifiers for it to be stored; at least kRareRows
  int64_t least_rows = kRareRows;
};

// For bins that a condition cuts, by table column and level: the allowed parts, as ascending intervals of the rank
// within the bin, in (0, 1).
using BinParts = std::map<std::pair<int, int32_t>, std::vector<std::pair<double, double>>>;

class Encoder {
 public:
  Encoder();
  ~Encoder();
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;

  // Learns every column of the table (columns in parallel). Throws Error(data) naming column and value if a value
  // cannot be encoded.
  static Encoder fit(const Table& table, const EncoderOptions& options, Team& team, const Monitor& monitor);

  // A sentence for each identifier column whose form has fewer new values than `rows` rows need.
  std::vector<std::string> narrow_identifiers(int64_t rows) const;

  const RowLayout& layout() const;
  const std::vector<int>& discrete_columns() const;  // table columns that have a category span, in span order

  // Codes of a table with the columns it was fitted on. The mode of a value is drawn by responsibility, keyed by (seed,
  // column, row). Releases each column of `table` once it is encoded, so that peak memory is one table, not two.
  EncodedTable encode(Table&& table, Team& team, const Monitor& monitor) const;

  // Rows from sampled codes. row_ids[i] (the row's number in the infinite table) keys regenerated values (identifiers,
  // rare categories), so that a row is the same in every batch. The result has all columns of the fitted table, in
  // order.
  // tries[i] (null: 0) keys rare categories too: another try of a row draws another one, but keeps the identifier.
  // Identifiers are also keyed by `condition`, the fingerprint of the rows' condition (0: none), so that samples under
  // two conditions do not share them.
  // Numbers of bins are drawn from the allowed `parts` (null: from whole bins).
  // `identifiers`: all, or missing as often as in the fitted table; which rows miss one depends only on the row.
  enum class Identifiers { as_fitted, all };
  Table decode(const float* alphas, const int32_t* codes, const int64_t* row_ids, int64_t rows, uint64_t seed,
               const int32_t* tries = nullptr, uint64_t condition = 0, const BinParts* parts = nullptr,
               Identifiers identifiers = Identifiers::as_fitted) const;

  // Selected rows of a table it was fitted on or of decode(), with texts numbered by level; those without their own
  // level share the number after the last.
  Table pick(const Table& table, const std::vector<int64_t>& rows) const;
  int32_t levels(int column) const;  // texts of a column with their own level
  // The meaning of a column's codes: the modes of its numbers, then values (a bin's median); or texts.
  struct Codes {
    int code = -1, alpha = -1;         // the column's places in an encoded row; −1: none
    std::vector<double> mean, stddev;  // of the modes; number_of_mode() decodes them within `range`
    NumberRange range{};
    std::vector<double> values;  // of the codes after the modes; NaN: missing
    // of texts: the number that decode() gives each code, −1: missing; from levels() on, a rare value
    std::vector<int32_t> levels;
  };
  Codes codes(int column) const;
  // The numbers that decode() can return in a column: all from low to high, or only the listed ones (ascending); and
  // whether a cell can be missing, or present. For a column of texts, schema() lists the values.
  struct Reach {
    double low = 0, high = 0;
    std::vector<double> only;
    bool missing = false, present = true;
    double nearest(double x) const;  // of them
  };
  Reach reach(int column) const;
  // The number of a bin at rank `uniform` in (0, 1); the value of any other level. NaN for missing.
  double number_of_level(int column, int32_t level, double uniform) const;
  // The level of a number, where a column's numbers are levels or bins: of a value that was not given, the nearest one.
  int32_t level_of_number(int column, double x) const;
  // digits after the point that a column of mixture modes is rounded to, −1 for none; empty for other columns
  std::optional<int> decimals(int column) const;

  // The columns without rows. Texts list every value that decode() can return: those with their own level, then the
  // rare ones.
  Table schema() const;

  // Position of a value in the condition vector, for --where: −1 if the column has no category span or the value has
  // no level of its own.
  int condition(const std::string& column, const std::string& value) const;
  // Whether a code of a category span represents all the rare values of its column.
  bool is_rare(const Span& span, int code) const;

  nlohmann::json to_json() const;
  static Encoder from_json(const nlohmann::json& json);  // throws Error(format) if it is inconsistent

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
