// Numbers that often equal those of an earlier column: bills that are paid exactly. That a cell repeats the other one
// is learned in place of its value, so that sampled rows repeat it to the digit, and as often.
#pragma once
#include "tables/rules/rule/rule.h"

namespace tessera {

class RepeatRule : public TableRule {
 public:
  // `share` of the rows repeat it, for people. Copies are kept within [low, high].
  RepeatRule(std::string column, std::string of, double share, double low, double high)
      : column_(std::move(column)), of_(std::move(of)), share_(share), low_(low), high_(high) {}

  const char* kind() const override { return "repeat"; }
  const std::string& column() const { return column_; }
  std::string text() const override;
  std::string_view kept() const override { return "in its share"; }
  std::vector<std::string> columns(const Table&) const override { return {column_, of_}; }
  std::vector<char> broken(const Table&, const Table&) const override { return {}; }
  void reduce(Table& table, Team& team) const override;  // cells that repeat become missing
  void restore(Table& rows) const override;
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == column_) columns.clear();
  }
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  std::string column_, of_;  // of numbers in the same units, without missing cells
  double share_, low_, high_;
};

}  // namespace tessera
