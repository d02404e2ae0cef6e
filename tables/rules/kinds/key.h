// Two columns that are a key together: no pair occurs twice, as an order and the number of its line. The first is
// regenerated with repeats; the second counts the rows of each of its values, 1, 2, …, or takes another one of its own
// values in each. What is learned in their place is an identifier that counts its rows.
#pragma once
#include "tables/rules/rule/rule.h"

namespace tessera {

class KeyRule : public TableRule {
 public:
  // `first`: the number that counting begins with; `values`, unless empty: texts or numbers that it is not counted but
  // chosen from.
  KeyRule(Column outer, Column inner, double first, std::vector<std::string> values);

  const char* kind() const override { return "key"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table&) const override { return {outer_.name, inner_.name}; }
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  void reduce(Table& table, Team& team) const override;
  void restore(Table& rows) const override;
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == outer_.name) columns.clear();
  }
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);
  // The columns that a text() names; none where a text is of another rule.
  static std::vector<std::string> columns_in(const std::string& text);

 private:
  Column outer_, inner_;  // without rows
  double first_;
  std::vector<std::string> values_;
  std::vector<double> numbers_;  // the values, of an inner column of numbers
};

}  // namespace tessera
