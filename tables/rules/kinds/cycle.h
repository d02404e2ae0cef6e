// Numbers that come and go: shops are closed at night, fewer people buy on Sundays, day 647 of a study is a Monday. A
// date is learned as its week and its weekday, a time as its day and its time of day, a whole number as quotient and
// remainder.
#pragma once
#include "tables/kinds/kind.h"
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct CycleData {
  static constexpr const char* kKind = "cycle";
  Column target;      // without rows; of a datetime: days; of a date: weeks
  double period = 0;  // of whole numbers; 0: a day or a week
  // Whole numbers stay within these ends, both included; times of day, in seconds, below the higher one, if it is one.
  double low = 0, high = 0;

  static constexpr auto kFields =
      std::make_tuple(std::pair{"column", &CycleData::target}, std::pair{"period", &CycleData::period},
                      std::pair{"low", &CycleData::low}, std::pair{"high", &CycleData::high});
  void check(const Fields& f) const;
};
RulePtr make_rule(CycleData data);

std::string phase_of(const Column& column);  // the name of the second column
// Days from Monday, seconds from midnight, or the remainder by `period`.
double phase_of(const Column& column, double x, double period = 0);

}  // namespace tessera
