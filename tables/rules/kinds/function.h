// A column computed by a function of a date or time (rule/functions.h): month is the month of ordered, age is the whole
// years from born to visit; and texts with such digits: "2024-W05".
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

// Texts that differ in their digits only: "0000-W00" has a place for each digit, "week #" a number of any size.
struct DigitPicture {
  std::string text;  // "": numbers, not texts

  static DigitPicture of(const std::vector<std::string>& texts);
  static double read(const std::string& text);  // its digits, as one number
  std::string write(double x) const;
};

struct FunctionData {
  static constexpr const char* kKind = "function";
  static constexpr auto kMakes = TableRule::Makes::values;
  Column target;  // without rows
  const TimeFunction* function = nullptr;
  std::vector<std::string> of;  // one or two
  DigitPicture picture = {};
  Seen seen = {};

  static constexpr std::tuple kFields{std::pair{"column", &FunctionData::target},
                                      std::pair{"function", &FunctionData::function},
                                      std::pair{"of", &FunctionData::of}, std::pair{"picture", &FunctionData::picture},
                                      std::pair{"", &FunctionData::seen}};
  void check(const Fields& f) const;
};
inline void write_field(nlohmann::json& out, const char* name, const DigitPicture& p) { out[name] = p.text; }
inline void read_field(const Fields& f, const char* name, DigitPicture& picture) { picture.text = f.text(name); }
RulePtr make_rule(FunctionData data);

// Marks a column that holds spelled dates or times: no expression may name it.
inline constexpr const char* kSpelled = "spelled";  // its Column::kind
inline bool is_spelled(const Column& c) { return c.kind == kSpelled; }

// Numbers that spell a date or time: 1730 is half past five; year, month and day columns together are a date. The date
// is learned instead, and functions compute the numbers. But a year, month and day from which nothing else follows are
// learned unchanged: dates in bins of many days would lose the day.
struct SpelledData {
  static constexpr const char* kKind = "spelled";
  std::string column;                      // that is learned; the day of parts that are
  std::vector<std::string> of;             // one, or a year, month and day
  const TimeFunction* function = nullptr;  // has an inverse

  static constexpr std::tuple kFields{std::pair{"learned", &SpelledData::column},
                                      std::pair{"columns", &SpelledData::of},
                                      std::pair{"function", &SpelledData::function}};
  bool in_parts() const { return of.size() == 3 && column == of.back(); }
  void check(const Fields& f) const;
};
RulePtr make_rule(SpelledData data);

// The dates or times that they spell; missing where invalid.
Column spelled_in(const SpelledData& spelled, const Table& rows);
// The number that columns spell in a row: 100 times the number of the preceding ones, plus the last.
double spelled_number(const std::vector<const Column*>& columns, size_t row);

}  // namespace tessera
