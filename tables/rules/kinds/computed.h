// A column that an expression of the others gives: total = items + extras, price = 3.99 * items.
#pragma once
#include "tables/expression/arithmetic.h"
#include "tables/rules/rule/rule.h"

namespace tessera {

class ComputedRule : public TableRule {
 public:
  ComputedRule(Column target, std::string expression)
      : target_(std::move(target)), expression_(std::move(expression)) {}

  const char* kind() const override { return "computed"; }
  const std::string& target() const { return target_.name; }
  const std::string& expression() const { return expression_; }
  std::string text() const override;
  std::vector<std::string> columns(const Table& rows) const override;
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  void reduce(Table& table, Team& team) const override;
  void restore(Table& rows) const override;
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  Column target_;           // without rows
  std::string expression_;  // arithmetic (tables/expression/arithmetic.h), or a column of texts
};

// The value that an expression gives a column: in its units, not rounded; NaN where something is missing.
double exact_value(const Arithmetic& expression, const Table& rows, size_t row, const Column& target);
// The same, rounded to the column's digits.
double computed_value(const Arithmetic& expression, const Table& rows, size_t row, const Column& target);
// How far a value may be from the exact one for its digits.
double reach_of(double value, double exact, const Column& c);
// Whether a value is the exact one within the digits of the column. A half is rounded up by some and down by others.
bool same_number(double value, double exact, const Column& c);
// The code in `b` of each text of `a`; −2 for texts that it does not have.
std::vector<int32_t> codes_in(const Column& b, const Column& a);

}  // namespace tessera
