// A column that is never below others: end >= start. The distance to the largest of them is learnt in its place.
#pragma once
#include "models/rules/rule.h"

namespace tessera {

class BoundRule : public TableRule {
 public:
  BoundRule(Column target, std::vector<std::string> lower) : target_(std::move(target)), lower_(std::move(lower)) {}

  const char* kind() const override { return "bound"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table& rows) const override;
  std::vector<char> broken(const Table& rows, const Table& learnt) const override;
  void reduce(Table& table, Team& team) const override;
  void restore(Table& rows) const override;
  void show(const std::string& learnt, std::vector<std::string>& columns) const override {
    if (learnt == target_.name) columns.clear();
  }
  nlohmann::json to_json() const override;
  const std::string& target() const { return target_.name; }
  std::string distance() const;  // what is learnt in the target's place, for people
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  Column target_;                   // without rows
  std::vector<std::string> lower_;  // the columns it is not below: of its kind, present where it is
};

// The rule of order that put a distance in the place of a column; null: none.
const BoundRule* bound_of(const std::vector<FoundRule>& rules, const std::string& column);

}  // namespace tessera
