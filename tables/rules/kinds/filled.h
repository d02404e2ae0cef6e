// A column that others are not below, and that is missing by itself in some rows. There the model learns a value that
// the order allows, so that the distance to it says what the later one is, and in a column of its own where it is
// missing.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct FilledData {
  static constexpr const char* kKind = "filled";
  std::string column;
  std::vector<std::string> not_below = {}, not_above = {};  // where they are present
  std::string choice = {};                                  // of the column that says where it is missing
  double share = 0;                                         // of the rows, for people

  static constexpr std::tuple kFields{std::pair{"column", &FilledData::column},
                                      std::pair{"not_below", &FilledData::not_below},
                                      std::pair{"not_above", &FilledData::not_above},
                                      std::pair{"choice", &FilledData::choice}, std::pair{"share", &FilledData::share}};
  void check(const Fields& f) const;
};
RulePtr make_rule(FilledData data);

}  // namespace tessera
