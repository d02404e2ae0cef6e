// A column that an expression of the others gives: total = items + extras, price = 3.99 * items.
#pragma once
#include "models/expression/arithmetic.h"
#include "models/rules/rule.h"

namespace tessera {

class ComputedRule : public TableRule {
 public:
  ComputedRule(Column target, std::string expression)
      : target_(std::move(target)), expression_(std::move(expression)) {}

  const char* kind() const override { return "computed"; }
  std::string text() const override;
  void reduce(Table& table, Team& team) const override;
  void restore(Table& rows) const override;
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  Column target_;           // without rows
  std::string expression_;  // arithmetic (models/expression/arithmetic.h), or a column of texts
};

// The value that an expression gives a column: in its units, rounded to its digits; NaN where something is missing.
double computed_value(const Arithmetic& expression, const Table& rows, size_t row, const Column& target);

}  // namespace tessera
