// A column that each combination of others has one value of: the unemployment of a state in a year, the distance
// between two airports, the coach of a team in a season. Unlike in fixed combinations, any value of one of the others
// may occur with any of another.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct LookupData {
  static constexpr const char* kKind = "lookup";
  static constexpr bool kListed = true;
  Column target;                          // without rows
  std::vector<std::string> of;            // the others
  std::vector<std::string> combinations;  // of their cells, by join_cells()
  std::vector<std::string> values;        // of each combination, as texts that parse to the target's cell
  Seen seen = {};                         // decides the rows of combinations that are not listed

  static constexpr std::tuple kFields{std::pair{"column", &LookupData::target}, std::pair{"of", &LookupData::of},
                                      std::pair{"combinations", &LookupData::combinations},
                                      std::pair{"values", &LookupData::values}, std::pair{"", &LookupData::seen}};
  void check(const Fields& f) const;
};
RulePtr make_rule(LookupData data);  // Error(format) if a value is no number where the target has them

}  // namespace tessera
