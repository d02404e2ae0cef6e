// A number that is another number times a rate of each category: amount / quantity follows from product; or plus a
// difference: due - date follows from terms; or plus a share of a third number: total = price, plus shipping if
// delivered: (total - price) / shipping follows from delivery.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct Rates {
  bool factors = true;              // false: differences
  std::vector<std::string> levels;  // of the category, each with enough rows to determine its rate
  std::vector<double> rates;        // of each level
};

struct RateData : Rates {
  static constexpr const char* kKind = "rates";
  static constexpr auto kMakes = TableRule::Makes::values;
  Column target;             // without rows
  std::string of, by, plus;  // plus: of the third number; "": there is none
  Seen seen = {};

  static constexpr std::tuple kFields{std::pair{"column", &RateData::target}, std::pair{"of", &RateData::of},
                                      std::pair{"by", &RateData::by},         std::pair{"factors", &Rates::factors},
                                      std::pair{"plus", &RateData::plus},     std::pair{"levels", &Rates::levels},
                                      std::pair{"rates", &Rates::rates},      std::pair{"", &RateData::seen}};
  void check(const Fields& f) const;
};
RulePtr make_rule(RateData data);

}  // namespace tessera
