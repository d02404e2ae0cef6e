#include "models/sampling/given/kept_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr double kTolerance = 1e-9;  // of computed columns

}  // namespace

KeptRules::KeptRules(const RowModel& model, const ShownColumns& columns, const KnownCells& cells,
                     const std::string& where)
    : model_(model), columns_(columns), cells_(cells) {
  if (!where.empty()) where_ = parse_where(where, columns.table());
  check_given();
  for (const std::string& rule : model.rules.checked()) breaks_.push_back(broken_where(rule, columns.table()));
  for (size_t c = 0; c < columns.table().columns.size(); ++c) {
    const Column& given = cells.table().columns[c];
    double low = INFINITY, high = -INFINITY;
    for (const double x : given.numbers)
      if (x == x) low = std::min(low, x), high = std::max(high, x);
    const int source = columns.source(static_cast<int>(c));
    if (columns.learns_numbers(source)) {
      const Encoder::Reach reach = model.encoder.reach(source);
      low = std::min(low, reach.low), high = std::max(high, reach.high);
    }
    extent_.push_back(high > low ? high - low : 1);
    fillable_.push_back(1);
  }
  for (const FoundRule& f : model.rules.found())
    if (f.rule->makes() == TableRule::Makes::copies || f.rule->makes() == TableRule::Makes::values) {
      const auto shown = [&](const std::string& name) { return place_of(columns.table(), name) >= 0; };
      if (std::ranges::all_of(f.rule->columns(columns.table()), shown)) judges_.push_back(f.rule.get());
    } else if (f.rule->makes() == TableRule::Makes::missing) {
      if (const int c = place_of(columns.table(), f.rule->column()); c >= 0) fillable_[static_cast<size_t>(c)] = 0;
    }
  // and what is computed from such cells
  for (const FoundRule& f : model.rules.found()) {
    if ((!f.rule->seen().empty() && !f.rule->leaves_gaps()) || columns.learned().find(f.rule->column()) != nullptr)
      continue;
    const int computed = place_of(columns.table(), f.rule->column());
    const std::vector<std::string> of = f.rule->columns(columns.table());
    if (computed >= 0 && std::ranges::any_of(of, [&](const std::string& name) {
          const int c = place_of(columns.table(), name);
          return c >= 0 && fillable_[static_cast<size_t>(c)] == 0;
        }))
      fillable_[static_cast<size_t>(computed)] = 0;
  }
}

// Rejects rows whose given cells contradict a term: no candidate could satisfy it.
void KeptRules::check_given() const {
  const Table& given = cells_.table();
  for (const WhereTerm& term : where_.terms) {
    std::vector<char> meets;
    std::vector<int64_t> failed;
    match_where({{term}}, given, meets, failed);
    const std::vector<int> columns = columns_of(term);
    for (int64_t i = 0; i < given.rows; ++i) {
      const auto absent = [&](int c) { return given.columns[static_cast<size_t>(c)].is_missing(i); };
      if (meets[static_cast<size_t>(i)] != 0 || std::any_of(columns.begin(), columns.end(), absent)) continue;
      std::string cells;
      for (const int c : columns) {
        const Column& of = given.columns[static_cast<size_t>(c)];
        cells += fmt::format("{}\"{}\" is {}", cells.empty() ? "" : ", ", of.name, cell_text(of, i));
      }
      throw Error(
          ErrorCode::condition,
          fmt::format("{}: the given cells contradict `where`, \"{}\": {}.\n  Change the cells or the condition. "
                      "Nothing was sampled.",
                      cells_.place(i), term.text, cells));
    }
  }
}

// The rule that a column follows from, in quotes.
std::string KeptRules::rule_of(const std::string& column) const {
  std::string first;
  for (const FoundRule& f : model_.rules.found()) {
    const std::vector<std::string> columns = f.rule->columns(columns_.table());
    if (!f.rule->strict() || std::ranges::find(columns, column) == columns.end()) continue;
    if (f.rule->column() == column) return fmt::format("\"{}\"", f.rule->text());
    if (first.empty()) first = fmt::format("\"{}\"", f.rule->text());
  }
  return first.empty() ? fmt::format("column \"{}\" follows from others", column) : first;
}

std::vector<int> KeptRules::broken(Table rows, const std::vector<int64_t>& of, bool conditioned, Team& team,
                                   std::map<std::string, int64_t>* by_rule) const {
  std::vector<int> count(of.size(), 0);
  if (!any()) return count;
  const auto add = [&](size_t i, auto&& name) {
    ++count[i];
    if (by_rule != nullptr) ++(*by_rule)[name()];
  };
  if (conditioned)
    for (const int c : cells_.undecided()) {
      const Column &given = cells_.table().columns[static_cast<size_t>(c)],
                   &drawn = rows.columns[static_cast<size_t>(c)];
      if (is_ordered(given) && columns_.source(c) < 0) continue;  // rules compute it
      for (size_t i = 0; i < of.size(); ++i)
        if (!given.is_missing(of[i]) && !same_cell(given, of[i], drawn, static_cast<int64_t>(i), kTolerance))
          add(i, [&] { return rule_of(given.name); });
    }
  put_given(rows, of);
  std::vector<char> breaks;
  std::vector<int64_t> failed;
  for (size_t r = 0; r < breaks_.size(); ++r) {
    match_where(breaks_[r], rows, breaks, failed);
    for (size_t i = 0; i < count.size(); ++i)
      if (breaks[i] != 0) add(i, [&] { return fmt::format("\"{}\"", model_.rules.checked()[r]); });
  }
  // Columns that rules compute from others are recomputed.
  Table again = rows;
  model_.rules.reduce_whole(again, team);
  columns_.restore(again);
  // Copies may exceed the range of sampled cells, and real tables may round half cents either way.
  std::vector<std::vector<char>> judged(rows.columns.size());
  for (const TableRule* rule : judges_) {
    const int place = place_of(rows, rule->column());
    const bool computes = rule->makes() == TableRule::Makes::values;
    const Column &c = rows.columns[static_cast<size_t>(place)], &made = again.columns[static_cast<size_t>(place)];
    const std::vector<char> broken = rule->broken(rows, again);
    std::vector<char>& of = judged[static_cast<size_t>(place)];
    of.resize(broken.size());
    for (size_t i = 0; i < of.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (broken[i] != 0 || (computes && (c.is_missing(row) || made.is_missing(row)))) of[i] = 1;
    }
  }
  for (size_t c = 0; c < rows.columns.size(); ++c)
    for (size_t i = 0; i < count.size(); ++i)
      if ((judged[c].empty() || judged[c][i] != 0) &&
          !same_cell(rows.columns[c], static_cast<int64_t>(i), again.columns[c], static_cast<int64_t>(i), kTolerance))
        add(i, [&] { return rule_of(rows.columns[c].name); });
  for (const WhereTerm& term : where_.terms) {
    match_where({{term}}, rows, breaks, failed);
    for (size_t i = 0; i < count.size(); ++i)
      if (breaks[i] == 0) {
        if (by_rule != nullptr) ++(*by_rule)[fmt::format("\"{}\"", term.text)];
        count[i] = kNotTheCondition;
      }
  }
  return count;
}

void KeptRules::put_given(Table& rows, const std::vector<int64_t>& of) const { put_cells(cells_.table(), rows, of); }

std::vector<int> KeptRules::empty(const Table& rows, const std::vector<int64_t>& of,
                                  std::vector<int64_t>* by_column) const {
  std::vector<int> out(of.size(), 0);
  for (size_t c = 0; c < rows.columns.size(); ++c) {
    if (fillable_[c] == 0) continue;
    for (size_t i = 0; i < of.size(); ++i) {
      if (!rows.columns[c].is_missing(static_cast<int64_t>(i)) || !cells_.table().columns[c].is_missing(of[i]))
        continue;
      ++out[i];
      if (by_column != nullptr) ++(*by_column)[c];
    }
  }
  return out;
}

std::vector<double> KeptRules::distances(const Table& rows, const std::vector<int64_t>& of) const {
  std::vector<double> far(of.size(), 0);
  for (size_t c = 0; c < rows.columns.size(); ++c) {
    const Column &given = cells_.table().columns[c], &drawn = rows.columns[c];
    for (size_t i = 0; i < of.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (given.is_missing(of[i])) continue;
      if (drawn.is_missing(row)) far[i] += 1;
      else if (has_numbers(given))
        far[i] += std::abs(given.numbers[static_cast<size_t>(of[i])] - drawn.numbers[i]) / extent_[c];
      else far[i] += same_cell(given, of[i], drawn, row) ? 0 : 1;
    }
  }
  return far;
}

}  // namespace tessera
