// Numbers computed from others in many rows, but not in all: bills that are paid exactly, shares that sum to 1 if there
// is anything to share. Whether a cell is computed is learned in place of its value, so that sampled rows reproduce it
// to the digit, and as often.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct RepeatData {
  static constexpr const char* kKind = "repeat";
  static constexpr auto kMakes = TableRule::Makes::copies;
  Column target;   // without rows
  std::string is;  // the expression that computes it
  Rounded rounded = {};
  std::string choice;        // the column that records which cells are computed; "": the missing ones, as no others are
  double share = 0;          // of the rows whose cell follows, for people
  double low = 0, high = 0;  // bounds of computed cells

  static constexpr std::tuple kFields{
      std::pair{"column", &RepeatData::target},   std::pair{"is", &RepeatData::is},
      std::pair{"rounded", &RepeatData::rounded}, std::pair{"choice", &RepeatData::choice},
      std::pair{"share", &RepeatData::share},     std::pair{"low", &RepeatData::low},
      std::pair{"high", &RepeatData::high}};
  void check(const Fields& f) const;
};
RulePtr make_rule(RepeatData data);

}  // namespace tessera
