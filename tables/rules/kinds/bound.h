// A column that is never below others: end >= start.
#pragma once
#include "tables/rules/rule/functions.h"
#include "tables/rules/rule/rule.h"

namespace tessera {

class OrderRule : public TableRule {
 public:
  OrderRule(Column target, std::vector<std::string> lower) : target_(std::move(target)), lower_(std::move(lower)) {}

  std::string text() const override;
  std::vector<std::string> columns(const Table& rows) const override;
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  nlohmann::json to_json() const override;
  const std::string& target() const { return target_.name; }

 protected:
  Column target_;                   // without rows
  std::vector<std::string> lower_;  // the columns it is not below: of its kind, present where it is
};

// Values that many rows of a later column have whatever its distance to the others is, and days that many lie on, such
// as the last of a month: what a distance would destroy.
struct FixedDay {
  const char* function;  // of rule/functions.h, which gives the day; a day that lies on one is that day
  double step;           // days to the next one, at most
};
struct FixedValues {
  std::vector<double> values;         // ascending
  std::vector<const FixedDay*> days;  // of which a row has the first that it lies on
  std::string column;                 // of the choice among them; "": there are none
  double high = kMissing;             // no distance leads beyond it; NaN: wherever

  static std::span<const FixedDay> all_days();
  // The day of its kind that is x, or before or after it in the same month or year, as the kind has it.
  static double day_of(const FixedDay& day, const Column& c, double x);
};

// The distance to the largest of them is learned in its place, and, in a column of its own, which fixed value it has.
class BoundRule : public OrderRule {
 public:
  BoundRule(Column target, std::vector<std::string> lower, FixedValues fixed)
      : OrderRule(std::move(target), std::move(lower)), fixed_(std::move(fixed)) {}
  const char* kind() const override { return "bound"; }
  void reduce(Table& table, Team& team) const override;
  void fill(Table& table, uint64_t seed) const override;
  void restore(Table& rows) const override;
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == target_.name || learned == fixed_.column) columns.clear();
  }
  nlohmann::json to_json() const override;
  std::string distance() const;  // what is learned in the target's place, for people
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  // The choice of a value; its place among choices(): the values, the days, then none of them.
  size_t choice_of(double x) const;
  std::vector<std::string> choices() const;
  double fixed(size_t choice, double x, double least) const;

  FixedValues fixed_;
};

// Few rows would break it by chance: the column is learned as it is, which says more of how the columns go together
// than a distance, and rows that break the rule are drawn again.
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
