// Dates that stand for months: each is the first day of one, or each the last.
#pragma once
#include "models/rules/rule.h"

namespace tessera {

class MonthRule : public TableRule {
 public:
  MonthRule(std::string column, bool last) : column_(std::move(column)), last_(last) {}

  static bool on_first(double day);
  static bool on_last(double day);

  const char* kind() const override { return "month"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table&) const override { return {column_}; }
  std::vector<char> broken(const Table& rows, const Table& learnt) const override;
  void reduce(Table&, Team&) const override {}
  // The day that the date's month has. Dates stay in order.
  void restore(Table& rows) const override;
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  std::string column_;
  bool last_;
};

}  // namespace tessera
