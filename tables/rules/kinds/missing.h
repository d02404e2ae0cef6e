// A column that is missing exactly where another one says so: delivered is null exactly where status is 'open'.
#pragma once
#include "tables/rules/rule/rule.h"

namespace tessera {

// Where another column says so: it is missing, or present, or has one of some values.
struct MissingWhere {
  enum class Says { missing, present, values };
  std::string column;
  Says says = Says::missing;
  std::vector<std::string> values;  // of a column of texts, each held by as many rows as a category needs
  bool or_missing = false;          // values: or the column is missing
};

class MissingRule : public TableRule {
 public:
  MissingRule(std::string target, MissingWhere where) : target_(std::move(target)), where_(std::move(where)) {}

  const char* kind() const override { return "missing"; }
  const std::string& target() const { return target_; }
  std::string text() const override;
  std::vector<std::string> columns(const Table& rows) const override;
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  void reduce(Table&, Team&) const override {}
  // A cell that restore() makes missing takes the value of another row.
  void fill(Table& table, uint64_t seed) const override;
  void restore(Table& rows) const override;
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == target_) columns.clear();
  }
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

 private:
  std::vector<char> missing_in(const Table& rows) const;  // where the other column says so

  std::string target_;
  MissingWhere where_;
};

}  // namespace tessera
