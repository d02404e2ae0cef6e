// Two columns that form a key: no pair occurs twice, such as an order and its line number. The first is regenerated
// with repeats; the second numbers the rows of each of its values, 1, 2, …, or takes distinct values within each. An
// identifier that counts its rows is learned in their place.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct KeyData {
  static constexpr const char* kKind = "key";
  Column target, within;            // without rows
  double first = 1;                 // the number that counting begins with
  std::vector<std::string> values;  // unless empty: texts or numbers that `within` is not counted but chosen from

  static constexpr std::tuple kFields{std::pair{"column", &KeyData::target}, std::pair{"within", &KeyData::within},
                                      std::pair{"first", &KeyData::first}, std::pair{"values", &KeyData::values}};
  void check(const Fields& f) const;
};
RulePtr make_rule(KeyData data);  // Error(format) if a value is no number where the column has them
inline constexpr std::string_view kUniqueTogether = " are unique together";

}  // namespace tessera
