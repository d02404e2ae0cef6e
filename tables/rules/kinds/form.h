// How each row writes a column: prices of which few have four decimals, ends that most often are at midnight, times at
// several offsets from UTC. It is a category of its own beside the column, so that every method learns it with the rest
// of the row.
#pragma once
#include "tables/rules/kinds/grid.h"

namespace tessera {

class FormRule : public TableRule {
 public:
  // Numbers are on the first of the levels that holds them; wider ones come first.
  struct Level {
    std::optional<Grid> grid;  // none: all numbers
    double share = 0;          // of the rows, for people
    std::string text() const { return grid ? grid->text() : "any"; }
  };

  // Numbers are moved within [low, high].
  FormRule(std::string column, std::vector<Level> levels, double low, double high)
      : column_(std::move(column)), levels_(std::move(levels)), low_(low), high_(high) {}
  // Each row has a format of its own (by_row()).
  explicit FormRule(std::string column) : column_(std::move(column)) {}

  const char* kind() const override { return "form"; }
  std::string_view kept() const override { return "in its share"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table&) const override { return {column_}; }
  std::vector<char> broken(const Table&, const Table&) const override { return {}; }
  void reduce(Table& table, Team& team) const override;  // form() comes before the column
  void fill(Table& table, uint64_t seed) const override;
  void restore(Table& rows) const override;
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == form() || (learned == column_ && !levels_.empty())) columns.clear();
  }
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);

  std::string form() const { return (levels_.empty() ? "format of " : "digits of ") + column_; }
  static size_t level_of(const std::vector<Level>& levels, double x);  // the last where none holds

 private:
  double moved(double x, size_t level) const;

  std::string column_;
  std::vector<Level> levels_;  // empty: formats
  double low_ = 0, high_ = 0;
};

}  // namespace tessera
