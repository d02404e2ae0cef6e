// A number that another one gives at a rate of each category: amount / quantity follows from product; or at a
// difference: due - date follows from terms.
#pragma once
#include "tables/rules/rule/rule.h"

namespace tessera {

struct Rates {
  bool factors = true;              // false: differences
  std::vector<std::string> levels;  // of the category, each of as many rows as a category needs to say its rate
  std::vector<double> rates;        // of each level
};

class RateRule : public TableRule {
 public:
  RateRule(Column target, std::string of, std::string by, Rates rates);

  const char* kind() const override { return "rates"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table&) const override { return {target_.name, of_, by_}; }
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  void reduce(Table& table, Team& team) const override;
  void restore(Table& rows) const override;
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  // The target's value by each row's number and category, not rounded; NaN: one of them is missing. `otherwise`: the
  // rate of categories without one.
  std::vector<double> values_in(const Table& rows, double otherwise) const;

  Column target_;  // without rows
  std::string of_, by_;
  Rates rates_;
  double median_ = 0;  // rate
};

}  // namespace tessera
