// The state of an encoder: the encoding of each column. Shared by the encoder's source files only.
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tables/encoding/bin_code.h"
#include "tables/encoding/encoder.h"
#include "tables/encoding/level_code.h"
#include "tables/encoding/number_code.h"
#include "tables/encoding/range_code.h"
#include "tables/identifiers/identifier.h"
#include "tables/identifiers/repeats.h"

namespace tessera {

// A column with one value, or with none: no span; the value (NaN or no text if there is none) is restored.
struct ConstantCode {
  double number = kMissing;
  std::string text;
  bool missing = false;
};

// No span; regenerated, and missing with the observed share.
struct IdentifierCode {
  Identifier pattern;
  double missing_share = 0;
  std::optional<Repeats> repeats = {};  // none: every row has its own text
  bool counts_rows = false;             // kCountsRows
};

struct ColumnCode {
  std::string name;
  ColumnType type = ColumnType::category;
  std::string reason, format, arrow;
  int decimals = 0;
  std::variant<ConstantCode, LevelCode, NumberCode, IdentifierCode, RangeCode, BinCode> code;

  int alphas() const {
    return std::holds_alternative<NumberCode>(code) || std::holds_alternative<RangeCode>(code) ? 1 : 0;
  }
  int codes() const {
    if (const auto* range = std::get_if<RangeCode>(&code)) return range->width() > 0 ? 1 : 0;
    return std::holds_alternative<NumberCode>(code) || std::holds_alternative<LevelCode>(code) ||
                   std::holds_alternative<BinCode>(code)
               ? 1
               : 0;
  }
};

struct Encoder::State {
  uint64_t seed = 0;
  std::vector<ColumnCode> columns;
  // Derived from the columns by lay_out():
  RowLayout layout;
  std::vector<int> discrete;
  std::vector<int> first_alpha, first_code;  // of each column, in an encoded row

  void lay_out();
};

}  // namespace tessera
