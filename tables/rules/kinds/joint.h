// Columns of which few combinations occur: country, city and state, or a product's number and its price. One column of
// their combinations is learned in place of them. Combinations of few rows are protected as any rare category is.
#pragma once
#include "tables/kinds/kind.h"
#include "tables/rules/rule/rule_of.h"

namespace tessera {

// Other rules say where all cells of the combinations are missing; they are learned as if none were.
struct MissingElsewhere {
  bool are = false;
};

struct JointData {
  static constexpr const char* kKind = "combinations";
  std::string column;         // of combinations
  std::vector<Column> parts;  // without rows
  MissingElsewhere missing = {};

  static constexpr std::tuple kFields{std::pair{"name", &JointData::column}, std::pair{"columns", &JointData::parts},
                                      std::pair{"", &JointData::missing}};
  void check(const Fields& f) const;
};
void write_field(nlohmann::json& out, const char* name, const std::vector<Column>& heads);
void read_field(const Fields& f, const char* name, std::vector<Column>& heads);
inline void write_field(nlohmann::json& out, const char*, const MissingElsewhere& missing) {
  if (missing.are) out["missing_elsewhere"] = true;
}
inline void read_field(const Fields& f, const char*, MissingElsewhere& missing) {
  missing.are = f.has("missing_elsewhere") && f.flag("missing_elsewhere");
}
RulePtr make_rule(JointData data);

// The columns of a rule that ends in `what`, such as "a, b and c occur in fixed combinations"; empty for other rules.
// Error(usage) for an invalid list.
std::vector<std::string> columns_in(const std::string& text, std::string_view what);
inline constexpr std::string_view kInFixedCombinations = " occur in fixed combinations";

// The cells of a combination as one text, and back: joined by |, with \ before a | or \ of a cell; \N is missing. Of
// another number of cells: empty.
std::string join_cells(const std::vector<std::string>& cells, const std::vector<char>& missing);
bool split_cells(const std::string& text, std::vector<std::string>& cells, std::vector<char>& missing);

// do_row(i, cells, missing) of these columns in each row.
template <class DoRow>
void for_each_combination(const Table& table, const std::vector<std::string>& columns, DoRow&& do_row) {
  std::vector<const Column*> parts;
  for (const std::string& name : columns) parts.push_back(&column_of(table, name));
  std::vector<std::string> cells(parts.size());
  std::vector<char> missing(parts.size());
  for (int64_t i = 0; i < table.rows; ++i) {
    for (size_t p = 0; p < parts.size(); ++p) {
      missing[p] = parts[p]->is_missing(i) ? 1 : 0;
      cells[p] = missing[p] != 0 ? "" : value_text(*parts[p], static_cast<size_t>(i));
    }
    do_row(static_cast<size_t>(i), cells, missing);
  }
}

}  // namespace tessera
