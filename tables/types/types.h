// Infers the type of a column of text: the type that all its cells can be read as. docs/data/tables.md has the rules.
// Evidence of parts of a column merges into that of the whole, so threads may collect it in any order.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tables/formats/number_format.h"
#include "tables/table/table.h"
#include "tables/types/types_forms.h"

namespace tessera {

// Spellings of "no value". An empty cell, the \N of MySQL and PostgreSQL and the words the user gave are missing in
// every column; the usual words (NA, N/A, NaN, null, None, nil, NaT, ?, -, …, MySQL's 0000-00-00) only in columns of
// numbers, booleans and dates, where they cannot mean anything else: in a text column "None" or "?" is a category.
class MissingWords {
 public:
  explicit MissingWords(std::vector<std::string> extra = {}) : extra_(std::move(extra)) {}
  bool always(std::string_view text) const {
    if (text.empty() || text == "\\N") return true;
    for (const std::string& word : extra_)
      if (text == word) return true;
    return false;
  }
  bool has_extra() const { return !extra_.empty(); }
  static bool usual(std::string_view text);

 private:
  std::vector<std::string> extra_;
};

// Smallest and largest digit counts of a column's values.
struct DigitRange {
  int8_t low = INT8_MAX, high = 0;
  void add(int value) { merge({static_cast<int8_t>(value), static_cast<int8_t>(value)}); }
  void merge(DigitRange o) { low = std::min(low, o.low), high = std::max(high, o.high); }
};

// The most significant digits of a column's numbers, and how many decimals those numbers have that have as many.
class SignificantDigits {
 public:
  void add(int digits, int decimals);
  void merge(const SignificantDigits& o);
  // The number of significant digits at which the column's numbers end, wherever their point is (1496.466667,
  // 92.33333333); 0: there is no such limit.
  int limit() const;

 private:
  int8_t most_ = 0, decimals_ = 0;     // the most decimals of numbers with most_ digits
  int64_t longest_ = 0, shorter_ = 0;  // such numbers with as many decimals, and with fewer
};

struct TypeEvidence {
  Forms forms;         // shared by all values so far
  uint32_t facts = 0;  // facts of some value
  // of numbers, with a decimal point and with a decimal comma: digits that are needed, written, and the latter where
  // the last is zero
  int8_t decimals[2] = {0, 0};
  DigitRange written[2], padded[2];
  DigitRange groups, exponent_digits;
  int8_t fine = 0;  // decimals, where they may be more than fixed ones are
  SignificantDigits significant;
  int8_t second_digits = 0;  // digits of the second
  DigitRange second_written;
  std::string zone;         // of the first value that has an offset from UTC
  LayoutBits unpadded = 0;  // of dates: layouts with a day or month written 5, not 05
  int64_t values = 0;       // not missing, before `odd`
  Forms first_forms;        // the forms of the first value
  std::string first;        // the first value
  int64_t first_line = -1;
  std::string odd;                 // the value that made the column text
  int64_t odd_line = -1;           // its line; −1: the first value already was text, or none was
  std::optional<std::string> gap;  // how missing values are spelled, "" if not all alike; known of no text

  bool is_text() const { return forms.kinds == 0; }
  // `is_string`: of JSON, where numbers and booleans need no quotes: "5" is a text.
  void add(std::string_view text, int64_t line, const MissingWords& missing, bool is_string = false);
  // `next` follows this one; its lines count from line_offset
  void merge(const TypeEvidence& next, int64_t line_offset);

 private:
  void add_gap(std::string_view word) { gap = gap.value_or(std::string(word)) == word ? word : ""; }
  void add_facts(const Reads& r);
  void merge_facts(const TypeEvidence& next);
};

bool named_like_moment(const std::string& name);  // "sale_date", "Year": its whole numbers are no keys

// How a column is read. `inspect` shows `reason`.
struct ColumnPlan {
  bool by_row() const { return !date_formats.empty() || own_digits; }

  ColumnType type = ColumnType::category;
  NumberStyle style = NumberStyle::point;
  int decimals = 0;
  std::string format;
  NumberFormat number;                    // of integers and decimals; read by `style` alone unless `dressed`
  bool dressed = false;                   // something stands around the numbers, or blanks between their thousands
  bool clock = false;                     // integers and decimals: times of day or durations
  std::string arrow;                      // the Arrow format, if it is not the default
  std::string kind;                       // of identifiers: what the texts are (texts/text_kind.h), if it was given
  LayoutBits layouts = 1;                 // of dates: those that read them
  std::vector<std::string> date_formats;  // of each layout, of a column of which each row has its own format
  std::string clock_format;               // what stands behind a date then, without an offset
  bool own_digits = false;                // of decimals: rows have different numbers of digits behind the point
  std::string reason;
  bool forced = false;  // the type was given, not found: it is not refined to constant or identifier
};

// How the reason of a column of text begins that holds dates which cannot be read as such.
constexpr const char* kDatesButText = "dates, but ";

// A type that a user gives: of table.h, or what the texts of an identifier are ("name", "email"), which goes to `kind`.
bool parse_given_type(const std::string& text, ColumnType& type, std::string& kind);
std::string given_type_names();  // as a list

std::string grouped(int64_t n);  // 32561 → "32,561"
// "1 row", "32,561 rows"; many: the plural, if it is not formed by an s
std::string counted(int64_t n, const std::string& one, const std::string& many = "");

// `place` names what odd_line counts.
ColumnPlan decide_type(const TypeEvidence& evidence, char delimiter, const char* place = "line");
// `format`, unless null: of the same column elsewhere, for values that can be read in several ways.
// `kind`: of ColumnPlan.
ColumnPlan force_type(ColumnType type, const TypeEvidence& evidence, char delimiter, const std::string& reason,
                      const std::string* format = nullptr, const std::string& kind = "");

}  // namespace tessera
