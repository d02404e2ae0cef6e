// The written form of each row: prices of which few have four decimals, ends that are mostly at midnight, times at
// several offsets from UTC. The form is a separate category, so that every method learns it with the rest of the row.
#pragma once
#include "tables/rules/kinds/grid.h"

namespace tessera {

// Numbers are on the first of the levels that holds them; wider ones come first.
struct FormLevel {
  std::optional<Grid> grid;  // none: all numbers
  double share = 0;          // of the rows, for people
  std::string text() const { return grid ? grid->text() : "any"; }
};
size_t level_of(const std::vector<FormLevel>& levels, double x);  // the last where none holds

struct FormData {
  static constexpr const char* kKind = "form";
  std::string column;
  std::vector<FormLevel> levels = {};  // empty: each row has its own format (by_row())
  double low = 0, high = 0;            // numbers are moved within them

  std::string name() const { return (levels.empty() ? "format of " : "digits of ") + column; }  // of the category
  static constexpr std::tuple kFields{std::pair{"column", &FormData::column}, std::pair{"levels", &FormData::levels},
                                      std::pair{"low", &FormData::low}, std::pair{"high", &FormData::high}};
};
void write_field(nlohmann::json& out, const char* name, const std::vector<FormLevel>& levels);
void read_field(const Fields& f, const char* name, std::vector<FormLevel>& levels);
RulePtr make_rule(FormData data);

}  // namespace tessera
