// Columns of which few combinations occur: country, city and state, or a product's number and its price. One column of
// their combinations is learned in place of them. Combinations of few rows are protected as any rare category is.
#pragma once
#include "tables/rules/rule/rule.h"

namespace tessera {

class JointRule : public TableRule {
 public:
  JointRule(std::string name, std::vector<Column> parts) : name_(std::move(name)), parts_(std::move(parts)) {}

  const char* kind() const override { return "combinations"; }
  std::string text() const override;
  std::vector<std::string> columns(const Table& rows) const override;
  std::vector<char> broken(const Table& rows, const Table& learned) const override;
  void reduce(Table& table, Team& team) const override;
  void restore(Table& rows) const override;
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned != name_) return;
    columns.clear();
    for (const Column& part : parts_) columns.push_back(part.name);
  }
  nlohmann::json to_json() const override;
  static std::unique_ptr<const TableRule> read(const Fields& f);
  // The columns of the rule that a text() says; none where a text is of another rule. Error(usage) for a broken list.
  static std::vector<std::string> columns_in(const std::string& text) { return columns_in(text, kFixed); }
  // The same of a rule that says another thing of a list of columns.
  static std::vector<std::string> columns_in(const std::string& text, std::string_view what);
  static constexpr std::string_view kFixed = " occur in fixed combinations";

 private:
  std::string name_;           // of the column of combinations
  std::vector<Column> parts_;  // without rows
};

// The cells of a combination as one text, and back: joined by |, with \ before a | or \ of a cell; \N is missing. Of
// another number of cells: empty.
std::string join_cells(const std::vector<std::string>& cells, const std::vector<char>& missing);
bool split_cells(const std::string& text, std::vector<std::string>& cells, std::vector<char>& missing);

}  // namespace tessera
