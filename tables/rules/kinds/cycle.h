// Dates and times that come and go with the week or the day: shops are closed at night, fewer people buy on Sundays. A
// date is learned as its week and its weekday, a time as its day and its time of day.
#pragma once
#include "tables/kinds/kind.h"
#include "tables/rules/rule/rule.h"

namespace tessera {

class CycleRule : public TableRule {
 public:
  // Of a datetime: days; of a date: weeks.
  explicit CycleRule(Column target) : target_(std::move(target)) {}

  const char* kind() const override { return "cycle"; }
  std::string text() const override;
  std::string_view kept() const override { return "as a cycle"; }
  std::vector<std::string> columns(const Table&) const override { return {target_.name}; }
  std::vector<char> broken(const Table&, const Table&) const override { return {}; }
  // The column becomes the number of its week, or its date; behind it comes phase().
  void reduce(Table& table, Team& team) const override;
  void fill(Table& table, uint64_t seed) const override;
  void restore(Table& rows) const override;
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == target_.name || learned == phase()) columns.clear();
  }
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

  static std::string phase_of(const Column& column);  // the name of the second column
  // Days from Monday, or seconds from midnight, and what is before them in whole weeks or days.
  static double phase_of(const Column& column, double x);

 private:
  bool daily() const { return has_time(target_); }
  std::string phase() const { return phase_of(target_); }

  Column target_;  // without rows
};

}  // namespace tessera
