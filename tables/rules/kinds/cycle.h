// Dates and times that come and go with the week or the day: shops are closed at night, fewer people buy on Sundays. A
// date is learned as its week and its weekday, a time as its day and its time of day.
#pragma once
#include "tables/kinds/kind.h"
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct CycleData {
  static constexpr const char* kKind = "cycle";
  Column target;  // without rows; of a datetime: days; of a date: weeks

  static constexpr auto kFields = std::make_tuple(std::pair{"column", &CycleData::target});
  void check(const Fields& f) const;
};
RulePtr make_rule(CycleData data);

std::string phase_of(const Column& column);  // the name of the second column
// Days from Monday, or seconds from midnight, and what is before them in whole weeks or days.
double phase_of(const Column& column, double x);

}  // namespace tessera
