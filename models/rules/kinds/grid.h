// A column whose values lie on a grid: multiples of 5, prices that end in .99, Mondays.
#pragma once
#include "models/rules/rule/rule.h"

namespace tessera {

class GridRule : public TableRule {
 public:
  // Values are (first + k·step) / 10^digits; first in [0, step). `said`: what they are, for people.
  GridRule(std::string column, std::string said, int64_t step, int64_t first, int digits)
      : column_(std::move(column)), said_(std::move(said)), step_(step), first_(first), digits_(digits) {}

  const char* kind() const override { return "grid"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table& rows) const override;
  std::vector<char> broken(const Table& rows, const Table& learnt) const override;
  void reduce(Table&, Team&) const override {}
  void restore(Table& rows) const override;
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  double nearest(double x) const;  // point of the grid

  std::string column_, said_;
  int64_t step_, first_;  // in units of the last digit
  int digits_;
};

// Dates that stand for months: each is the first day of one, or each the last.
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
