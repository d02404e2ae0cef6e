// A column that is never below others: end >= start.
#pragma once
#include "models/rules/rule/rule.h"

namespace tessera {

class OrderRule : public TableRule {
 public:
  OrderRule(Column target, std::vector<std::string> lower) : target_(std::move(target)), lower_(std::move(lower)) {}

  std::string text() const override;
  std::vector<std::string> columns(const Table& rows) const override;
  std::vector<char> broken(const Table& rows, const Table& learnt) const override;
  nlohmann::json to_json() const override;
  const std::string& target() const { return target_.name; }

 protected:
  Column target_;                   // without rows
  std::vector<std::string> lower_;  // the columns it is not below: of its kind, present where it is
};

// The distance to the largest of them is learnt in its place.
class BoundRule : public OrderRule {
 public:
  using OrderRule::OrderRule;
  const char* kind() const override { return "bound"; }
  void reduce(Table& table, Team& team) const override;
  void restore(Table& rows) const override;
  void show(const std::string& learnt, std::vector<std::string>& columns) const override {
    if (learnt == target_.name) columns.clear();
  }
  std::string distance() const;  // what is learnt in the target's place, for people
  static std::unique_ptr<const TableRule> read(const Fields& f);
};

// Few rows would break it by chance: the column is learnt as it is, which says more of how the columns go together than
// a distance, and rows that break the rule are drawn again.
class LooseBoundRule : public OrderRule {
 public:
  using OrderRule::OrderRule;
  const char* kind() const override { return "loose bound"; }
  std::string_view kept() const override { return kByRejection; }
  void reduce(Table&, Team&) const override {}
  void restore(Table&) const override {}
  static std::unique_ptr<const TableRule> read(const Fields& f);
};

// The rule of order that put a distance in the place of a column; null: none.
const BoundRule* bound_of(const std::vector<FoundRule>& rules, const std::string& column);

}  // namespace tessera
