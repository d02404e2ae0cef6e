// Which type a column of text has: every cell says what it can be read as, and what all cells agree on decides. The
// rules are written in docs/tables.md.
// Evidence of parts of a column merges into the evidence of the whole, so that threads may gather it in any order of
// work.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/data/table/table.h"
#include "models/data/table/types_value.h"

namespace tessera {

// Spellings of "no value". An empty cell and the words the user gave are missing in every column; the usual words (NA,
// N/A, NaN, null, None, nil, NaT, ?, -, …)
// only in columns of numbers, booleans and dates, where they can mean nothing else: in a column of text "None" or "?"
// is a category.
class MissingWords {
 public:
  explicit MissingWords(std::vector<std::string> extra = {}) : extra_(std::move(extra)) {}
  bool always(std::string_view text) const {
    if (text.empty()) return true;
    for (const std::string& word : extra_)
      if (text == word) return true;
    return false;
  }
  bool has_extra() const { return !extra_.empty(); }
  static bool usual(std::string_view text);

 private:
  std::vector<std::string> extra_;
};

struct TypeEvidence {
  uint32_t forms = ~0u;         // what every value so far can be read as (bits in types.cpp); 0: only as text
  uint32_t facts = 0;           // what some value showed
  int8_t decimals[2] = {0, 0};  // digits needed after a point, after a comma
  int8_t second_digits = 0;     // digits of the second
  int64_t values = 0;           // not missing, before `odd`
  uint32_t first_forms = 0;     // what the first value can be read as
  std::string first;            // the first value
  int64_t first_line = -1;
  std::string odd;        // the value that made the column text
  int64_t odd_line = -1;  // its line; −1: the first value already was text, or none was

  void add(std::string_view text, int64_t line, const MissingWords& missing);
  // `next` follows this one; its lines count from line_offset
  void merge(const TypeEvidence& next, int64_t line_offset);
};

// How a column is read. `reason` is the sentence that `inspect` shows.
struct ColumnPlan {
  ColumnType type = ColumnType::category;
  NumberStyle style = NumberStyle::point;
  int decimals = 0;
  std::string format;
  int layout = 0;  // of a date's format, in kDateLayouts
  std::string reason;
  bool forced = false;  // the type was given, not found: it is not refined to constant or identifier
};

std::string grouped(int64_t n);  // 32561 → "32,561"
// "1 row", "32,561 rows"; many: where an s at the end does not make it
std::string counted(int64_t n, const std::string& one, const std::string& many = "");

// `place` names what odd_line counts.
ColumnPlan decide_type(const TypeEvidence& evidence, char delimiter, const char* place = "line");
ColumnPlan force_type(ColumnType type, const TypeEvidence& evidence, char delimiter, const std::string& reason);

}  // namespace tessera
