// A number that is another number times a rate of each category: amount / quantity follows from product; or plus a
// difference: due - date follows from terms, also in calendar months; or plus a share of a third number: total = price,
// plus shipping if delivered: (total - price) / shipping follows from delivery.
#pragma once
#include "tables/rules/rule/rule_of.h"

namespace tessera {

struct Rates {
  bool factors = true;              // false: differences
  std::vector<std::string> levels;  // of the category, each with enough rows to determine its rate
  std::vector<double> rates;        // of each level
};

// Differences of dates in calendar months.
struct InMonths {
  bool are = false;
  double days = 0;  // added: -1 for the last day of a contract
};

struct RateData : Rates {
  static constexpr const char* kKind = "rates";
  static constexpr auto kMakes = TableRule::Makes::values;
  Column target;             // without rows
  std::string of, by, plus;  // plus: of the third number; "": there is none
  Seen seen = {};
  InMonths months = {};

  static constexpr std::tuple kFields{
      std::pair{"column", &RateData::target}, std::pair{"of", &RateData::of},     std::pair{"by", &RateData::by},
      std::pair{"factors", &Rates::factors},  std::pair{"plus", &RateData::plus}, std::pair{"levels", &Rates::levels},
      std::pair{"rates", &Rates::rates},      std::pair{"", &RateData::seen},     std::pair{"", &RateData::months}};
  void check(const Fields& f) const;
};
void write_field(nlohmann::json& out, const char* name, const InMonths& months);
void read_field(const Fields& f, const char* name, InMonths& months);
RulePtr make_rule(RateData data);

}  // namespace tessera
