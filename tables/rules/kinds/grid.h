// A column whose values are on a grid: multiples of 5, prices that end in .99, Mondays.
#pragma once
#include <cstdint>

#include "tables/rules/rule/rule_of.h"

namespace tessera {

// The numbers (first + k·step) / 10^digits; first in [0, step).
struct Grid {
  int64_t step = 1, first = 0;
  int digits = 0;

  static constexpr double kMaxUnits = 0x1p51;  // beyond, doubles are too coarse for a grid
  double spacing() const;
  bool holds(double x) const;
  double nearest(double x) const;
  std::string text() const;  // "5", "1 plus 0.99"
};
nlohmann::json write_grid(const Grid& grid);
Grid read_grid(const Fields& f);  // Error(format)

struct GridData {
  static constexpr const char* kKind = "grid";
  std::string column, said;  // said: a description of its values, for messages
  Grid grid;

  static constexpr std::tuple kFields{std::pair{"column", &GridData::column}, std::pair{"of", &GridData::said},
                                      std::pair{"", &GridData::grid}};
};
inline void write_field(nlohmann::json& out, const char*, const Grid& grid) { out.update(write_grid(grid)); }
inline void read_field(const Fields& f, const char*, Grid& grid) { grid = read_grid(f); }
RulePtr make_rule(GridData data);

// Numbers whose digits a category decides, as those of laboratory tests: 143, 4.2 and 1.234.
struct DigitsData {
  static constexpr const char* kKind = "digits";
  std::string column, by;
  std::vector<std::string> levels;  // of the category
  std::vector<double> digits;       // of each level: behind the point, below 0 for multiples of ten
  bool written = false;             // with zeros up to these digits, whatever other rows have

  static constexpr std::tuple kFields{std::pair{"column", &DigitsData::column}, std::pair{"by", &DigitsData::by},
                                      std::pair{"levels", &DigitsData::levels},
                                      std::pair{"digits", &DigitsData::digits},
                                      std::pair{"written", &DigitsData::written}};
  static constexpr int kMin = -6, kMax = 15;
  void check(const Fields& f) const;
};
RulePtr make_rule(DigitsData data);

// Dates that represent months: all first days, or all last days.
struct MonthData {
  static constexpr const char* kKind = "month";
  std::string column;
  bool last = false;

  static constexpr std::tuple kFields{std::pair{"column", &MonthData::column}, std::pair{"last", &MonthData::last}};
};
RulePtr make_rule(MonthData data);
bool on_first_of_month(double day);
bool on_last_of_month(double day);

// Dates and times that are on some weekdays only.
struct WeekdayData {
  static constexpr const char* kKind = "weekdays";
  std::string column;
  std::vector<double> closed;  // from 0, Monday, ascending; the rows are on two weekdays or more

  static constexpr std::tuple kFields{std::pair{"column", &WeekdayData::column},
                                      std::pair{"closed", &WeekdayData::closed}};
  void check(const Fields& f) const;
};
RulePtr make_rule(WeekdayData data);
int weekday_of(const Column& column, double x);  // of a date or time; from 0, Monday

}  // namespace tessera
