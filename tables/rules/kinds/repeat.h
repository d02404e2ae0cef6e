// Numbers that others give in many rows, but not in all: bills that are paid exactly, shares that sum to 1 where there
// is anything to share. That a cell follows from the others is learned in place of its value, so that sampled rows
// have it to the digit, and as often.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct RepeatData {
  static constexpr const char* kKind = "repeat";
  static constexpr auto kMakes = TableRule::Makes::copies;
  Column target;   // without rows
  std::string is;  // the arithmetic of others that gives it
  Rounded rounded = {};
  std::string choice;        // of a column that says which cells follow; "": those that are missing, as none else is
  double share = 0;          // of the rows whose cell follows, for people
  double low = 0, high = 0;  // such cells are kept within them

  static constexpr std::tuple kFields{
      std::pair{"column", &RepeatData::target},   std::pair{"is", &RepeatData::is},
      std::pair{"rounded", &RepeatData::rounded}, std::pair{"choice", &RepeatData::choice},
      std::pair{"share", &RepeatData::share},     std::pair{"low", &RepeatData::low},
      std::pair{"high", &RepeatData::high}};
  void check(const Fields& f) const;
};
RulePtr make_rule(RepeatData data);

}  // namespace tessera
