// A column whose values lie on a grid: multiples of 5, prices that end in .99, Mondays.
#pragma once
#include <cstdint>
#include <optional>

#include "tables/rules/rule/rule.h"

namespace tessera {

// The numbers (first + k·step) / 10^digits; first in [0, step).
struct Grid {
  int64_t step = 1, first = 0;
  int digits = 0;

  static constexpr double kMaxUnits = 0x1p51;  // beyond, a number lies on no grid
  double spacing() const;
  bool holds(double x) const;
  double nearest(double x) const;
  std::string text() const;  // "5", "1 plus 0.99"
};
nlohmann::json write_grid(const Grid& grid);
Grid read_grid(const Fields& f);  // Error(format)

class GridRule : public TableRule {
 public:
  // `said`: what its values are, for people.
  GridRule(std::string column, std::string said, Grid grid)
      : column_(std::move(column)), said_(std::move(said)), grid_(grid) {}

  const char* kind() const override { return "grid"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table& rows) const override;
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  void reduce(Table&, Team&) const override {}
  void restore(Table& rows) const override;
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  std::string column_, said_;
  Grid grid_;
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
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
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
