#include "tables/rules/kinds/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/json_fields.h"
#include "tables/expression/arithmetic.h"
#include "tables/rules/rule/columns.h"

namespace tessera {

std::string FormRule::text() const {
  if (levels_.empty()) return quoted_name(column_) + " is written in a format of the row";
  std::string out = quoted_name(column_) + " is a multiple of ";
  for (size_t k = 0; k < levels_.size(); ++k)
    out += fmt::format("{}{} in {:.1f} %",
                       k == 0                   ? ""
                       : k + 1 < levels_.size() ? ", "
                                                : " and ",
                       levels_[k].grid ? levels_[k].text() : "none of these", 100 * levels_[k].share);
  return out + " of the rows";
}

size_t FormRule::level_of(const std::vector<Level>& levels, double x) {
  const auto found =
      std::find_if(levels.begin(), levels.end(), [&](const Level& l) { return !l.grid || l.grid->holds(x); });
  return found == levels.end() ? levels.size() - 1 : static_cast<size_t>(found - levels.begin());
}

void FormRule::reduce(Table& table, Team&) const {
  Column& c = numbers_of(table, column_);
  Column form;
  form.name = this->form(), form.type = ColumnType::category, form.reason = text(), form.least_rows = c.least_rows;
  if (levels_.empty()) {
    form.values = std::exchange(c.values, {});
    if (form.values.empty()) form.values = {c.format};
    form.codes = c.codes.empty() ? Bulk<int32_t>(c.numbers.size(), 0) : std::exchange(c.codes, c.codes.empty_like());
  } else {
    for (const Level& level : levels_) form.values.push_back(level.text());
    form.codes.resize(c.numbers.size());
  }
  for (size_t i = 0; const double x : c.numbers) {
    if (x != x) form.codes[i] = -1;
    else if (!levels_.empty()) form.codes[i] = static_cast<int32_t>(level_of(levels_, x));
    ++i;
  }
  table.columns.insert(table.columns.begin() + place_of(table, column_), std::move(form));
}

void FormRule::fill(Table& table, uint64_t seed) const {
  const int place = place_of(table, form());  // nowhere: a combination took it
  if (place >= 0) fill_missing(table.columns[static_cast<size_t>(place)], seed);
}

// The nearest number of the level that no wider one holds.
double FormRule::moved(double x, size_t level) const {
  constexpr int kTries = 8;
  if (!levels_[level].grid || level_of(levels_, x) == level) return x;
  const Grid& grid = *levels_[level].grid;
  const double at = grid.nearest(x), step = grid.spacing();
  const double side = x != at ? (x > at ? 1 : -1) : at < low_ / 2 + high_ / 2 ? 1 : -1;
  for (int k = 0; k < kTries; ++k) {
    const double y = grid.nearest(at + side * step * (k % 2 == 0 ? -k / 2 : (k + 1) / 2));
    if (y >= low_ && y <= high_ && level_of(levels_, y) == level) return y;
  }
  return x;
}

void FormRule::restore(Table& rows) const {
  const Column& form = column_of(rows, this->form());
  if (is_numeric(form.type))
    throw Error(ErrorCode::format,
                "The model file is damaged or foreign: the forms of a column are numbers. Fit the "
                "model again, or take an intact copy of the file.");
  Column& c = numbers_of(rows, column_);
  if (levels_.empty()) {
    if (!form.values.empty()) c.values = form.values, c.codes = form.codes;
  } else {
    std::vector<size_t> level;
    for (const std::string& value : form.values)
      level.push_back(static_cast<size_t>(
          std::find_if(levels_.begin(), levels_.end(), [&](const Level& l) { return l.text() == value; }) -
          levels_.begin()));
    for (size_t i = 0; double& x : c.numbers) {
      const int32_t code = form.codes[i++];
      if (x == x && code >= 0 && level[static_cast<size_t>(code)] < levels_.size())
        x = moved(x, level[static_cast<size_t>(code)]);
    }
  }
  remove_column(rows, this->form());
}

nlohmann::json FormRule::to_json() const {
  nlohmann::json levels = nlohmann::json::array();
  for (const Level& level : levels_) {
    levels.push_back(level.grid ? write_grid(*level.grid) : nlohmann::json::object());
    levels.back()["share"] = level.share;
  }
  return {{"kind", kind()}, {"column", column_}, {"levels", std::move(levels)}, {"low", low_}, {"high", high_}};
}

std::unique_ptr<const TableRule> FormRule::read(const Fields& f) {
  std::vector<Level> levels;
  for (const auto& one : f.array("levels")) {
    const Fields level(one, f.place());
    levels.push_back({level.has("step") ? std::optional(read_grid(level)) : std::nullopt, level.number("share")});
  }
  return std::make_unique<FormRule>(f.text("column"), std::move(levels), f.number("low"), f.number("high"));
}

}  // namespace tessera
