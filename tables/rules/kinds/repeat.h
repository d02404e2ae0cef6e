// Numbers that often equal those of an earlier column: bills that are paid exactly. That a cell repeats the other one
// is learned in place of its value, so that sampled rows repeat it to the digit, and as often.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct RepeatData {
  static constexpr const char* kKind = "repeat";
  static constexpr auto kMakes = TableRule::Makes::copies;
  std::string column, of;    // of numbers in the same units, without missing cells
  double share = 0;          // of the rows that repeat it, for people
  double low = 0, high = 0;  // copies are kept within them

  static constexpr std::tuple kFields{std::pair{"column", &RepeatData::column}, std::pair{"of", &RepeatData::of},
                                      std::pair{"share", &RepeatData::share}, std::pair{"low", &RepeatData::low},
                                      std::pair{"high", &RepeatData::high}};
  void check(const Fields& f) const;
};
RulePtr make_rule(RepeatData data);

}  // namespace tessera
