#include "tables/rules/kinds/form.h"

#include <fmt/format.h>

#include <algorithm>

#include "tables/expression/arithmetic.h"

namespace tessera {

size_t level_of(const std::vector<FormLevel>& levels, double x) {
  const auto found =
      std::find_if(levels.begin(), levels.end(), [&](const FormLevel& l) { return !l.grid || l.grid->holds(x); });
  return found == levels.end() ? levels.size() - 1 : static_cast<size_t>(found - levels.begin());
}

namespace {

class FormRule : public RuleOf<FormData> {
 public:
  using RuleOf::RuleOf;

  std::string text() const override {
    if (data_.levels.empty()) return quoted_name(data_.column) + " is written in a format of the row";
    std::string out = quoted_name(data_.column) + " is a multiple of ";
    for (size_t k = 0; k < data_.levels.size(); ++k)
      out += fmt::format("{}{} in {:.1f} %",
                         k == 0                        ? ""
                         : k + 1 < data_.levels.size() ? ", "
                                                       : " and ",
                         data_.levels[k].grid ? data_.levels[k].text() : "none of these", 100 * data_.levels[k].share);
    return out + " of the rows";
  }
  std::string_view kept() const override { return "in its share"; }
  void reduce(Table& table, Team&) const override {
    Column& c = numbers_of(table, data_.column);
    Column form;
    form.name = data_.name(), form.reason = text(), form.least_rows = c.least_rows;
    if (data_.levels.empty()) {
      form.values = std::exchange(c.values, {});
      if (form.values.empty()) form.values = {c.format};
      form.codes = c.codes.empty() ? Bulk<int32_t>(c.numbers.size(), 0) : std::exchange(c.codes, c.codes.empty_like());
    } else {
      for (const FormLevel& level : data_.levels) form.values.push_back(level.text());
      form.codes.resize(c.numbers.size());
    }
    for (size_t i = 0; const double x : c.numbers) {
      if (x != x) form.codes[i] = -1;
      else if (!data_.levels.empty()) form.codes[i] = static_cast<int32_t>(level_of(data_.levels, x));
      ++i;
    }
    table.columns.insert(table.columns.begin() + place_of(table, data_.column), std::move(form));
  }
  void fill(Table& table, uint64_t seed) const override {
    const int place = place_of(table, data_.name());  // nowhere: a combination took it
    if (place >= 0) fill_missing(table.columns[static_cast<size_t>(place)], seed);
  }
  void restore(Table& rows) const override {
    const Column& form = texts_of(rows, data_.name());
    Column& c = numbers_of(rows, data_.column);
    if (data_.levels.empty()) {
      if (!form.values.empty()) c.values = form.values, c.codes = form.codes;
    } else {
      std::vector<size_t> level;
      for (const std::string& value : form.values)
        level.push_back(static_cast<size_t>(std::find_if(data_.levels.begin(), data_.levels.end(),
                                                         [&](const FormLevel& l) { return l.text() == value; }) -
                                            data_.levels.begin()));
      for (size_t i = 0; double& x : c.numbers) {
        const int32_t code = form.codes[i++];
        if (x == x && code >= 0 && level[static_cast<size_t>(code)] < data_.levels.size())
          x = moved(x, level[static_cast<size_t>(code)]);
      }
    }
    remove_column(rows, data_.name());
  }
  void show(const std::string& learned, std::vector<std::string>& columns) const override {
    if (learned == data_.name() || (learned == data_.column && !data_.levels.empty())) columns.clear();
  }

 private:
  // The nearest number of the level that no wider one holds.
  double moved(double x, size_t level) const {
    constexpr int kTries = 8;
    if (!data_.levels[level].grid) return x;
    const Grid& grid = *data_.levels[level].grid;
    if (grid.holds(x) && level_of(data_.levels, x) == level) return x;  // the last level is that of any other number
    const double at = grid.nearest(x), step = grid.spacing();
    const double side = x != at ? (x > at ? 1 : -1) : at < data_.low / 2 + data_.high / 2 ? 1 : -1;
    for (int k = 0; k < kTries; ++k) {
      const double y = grid.nearest(at + side * step * (k % 2 == 0 ? -k / 2 : (k + 1) / 2));
      if (y >= data_.low && y <= data_.high && level_of(data_.levels, y) == level) return y;
    }
    return x;
  }
};

}  // namespace

RulePtr make_rule(FormData data) { return std::make_shared<FormRule>(std::move(data)); }

void write_field(nlohmann::json& out, const char* name, const std::vector<FormLevel>& levels) {
  nlohmann::json& all = out[name] = nlohmann::json::array();
  for (const FormLevel& level : levels) {
    all.push_back(level.grid ? write_grid(*level.grid) : nlohmann::json::object());
    all.back()["share"] = level.share;
  }
}

void read_field(const Fields& f, const char* name, std::vector<FormLevel>& levels) {
  for (const auto& one : f.array(name)) {
    const Fields level(one, f.place());
    levels.push_back({level.has("step") ? std::optional(read_grid(level)) : std::nullopt, level.number("share")});
  }
}

}  // namespace tessera
