// Columns whose missing cells follow from another column.
#include "tables/rules/kinds/missing.h"

#include <algorithm>
#include <cmath>

#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"

namespace tessera {
namespace {

constexpr size_t kMaxValues = 100;  // of the other column

// The fewer of those who lack a value of a column and those who have one.
int64_t fewer_of(const RuleSearch& search, const Column& c) {
  Held with, without;
  search.holders.each([&](int64_t row, int64_t holder) { (c.is_missing(row) ? without : with).add(holder); });
  c.relax();
  return std::min(with.holders, without.holders);
}

// Whether `target` is missing exactly where `other` is missing, or exactly where it is present.
std::optional<MissingWhere> by_presence(const RuleSearch& search, const Column& target, const Column& other) {
  using Says = MissingWhere::Says;
  const auto always = [&](bool same) {
    return std::all_of(search.proposing.begin(), search.proposing.end(),
                       [&](int64_t row) { return (target.is_missing(row) == other.is_missing(row)) == same; });
  };
  if (always(true)) return MissingWhere{other.name, Says::missing, {}, false};
  if (always(false)) return MissingWhere{other.name, Says::present, {}, false};
  return {};
}

// Rows with one value of a text column, or without a value, and how many of them lack the target.
struct Lacking {
  Held held;
  int64_t missing = 0;
};

// By the values of a text column: the target is always or never present for each. Values with too few holders are
// replaced by protection: their rows are ignored, and must be few.
std::optional<MissingWhere> by_values(const RuleSearch& search, const Column& target, const Column& other,
                                      std::vector<Lacking>& values) {
  if (is_ordered(other) || other.values.size() > kMaxValues) return {};
  values.assign(other.values.size() + 1, {});
  const auto place = [&](int64_t row) {
    const int32_t code = other.codes[static_cast<size_t>(row)];
    return code < 0 ? other.values.size() : static_cast<size_t>(code);
  };
  const int64_t most_rare = search.table.rows / 10;
  std::vector<std::pair<int64_t, int64_t>> seen(values.size());  // rows with and without the target
  for (const int64_t row : search.proposing) {
    auto& [with, without] = seen[place(row)];
    ++(target.is_missing(row) ? without : with);
  }
  int64_t mixed = 0;
  for (const auto& [with, without] : seen) mixed += with > 0 && without > 0 ? with + without : 0;
  if (mixed > most_rare) return {};
  search.holders.each([&](int64_t row, int64_t holder) {
    Lacking& v = values[place(row)];
    v.held.add(holder);
    v.missing += target.is_missing(row);
  });
  const std::vector<Held>& held = search.holders.of_values(other);
  MissingWhere where{other.name, MissingWhere::Says::values, {}, false};
  const int64_t least = search.holders.least({&target, &other});
  int64_t rare = 0;
  for (size_t v = 0; v < values.size(); ++v) {
    const bool text = v < held.size();
    if ((text ? held[v] : values[v].held).holders < least) {
      rare += values[v].held.rows;
      values[v] = {};
      continue;
    }
    if (values[v].missing != 0 && values[v].missing != values[v].held.rows) return {};
    if (text && values[v].missing > 0) where.values.push_back(other.values[v]);
    if (!text) where.or_missing = values[v].missing > 0;
  }
  if (rare > most_rare) return {};
  return where;
}

// By a number that is below a cut in the rows that lack the target, or not below it. The cut would be the same without
// some holders.
std::optional<MissingWhere> by_cut(const RuleSearch& search, const Column& target, const Column& other) {
  using Says = MissingWhere::Says;
  if (!is_quantity(other)) return {};
  bool none[2] = {false, false};  // rows without the number that have it, and that lack it
  double most[2] = {-INFINITY, -INFINITY}, least[2] = {INFINITY, INFINITY};  // of rows that have it, and that lack it
  for (const int64_t row : search.proposing) {
    const double x = other.numbers[static_cast<size_t>(row)];
    const auto lacks = static_cast<size_t>(target.is_missing(row));
    if (x != x) {
      none[lacks] = true;
      if (none[0] && none[1]) return {};
      continue;
    }
    most[lacks] = std::max(most[lacks], x), least[lacks] = std::min(least[lacks], x);
  }
  const bool below = most[1] < least[0];
  if (!below && !(least[1] > most[0])) return {};
  const int64_t holders = search.holders.least({&target, &other});
  Outermost highest(-1, holders), lowest(1, holders);  // of the lower and of the upper rows
  Held without;
  search.holders.each([&](int64_t row, int64_t holder) {
    const double x = other.numbers[static_cast<size_t>(row)];
    if (x != x) without.add(holder);
    else if (target.is_missing(row) == below) highest.add(x, holder);
    else lowest.add(x, holder);
  });
  if (without.holders > 0 && without.holders < holders) return {};
  const auto cut =
      stable_between(highest, lowest, [](double a, double b) { return simplest_between(a, b, Ends::above, 9); });
  if (!cut) return {};
  return MissingWhere{other.name, below ? Says::below : Says::from, {}, none[1], *cut};
}

// 1: the other column implies a missing cell in this row; 0: a present one; −1: neither.
int says_missing(const MissingWhere& where, const Column& other, const std::vector<Lacking>& values, int64_t row) {
  const bool none = other.is_missing(row);
  if (where.by_cut()) return where.says_number(other.numbers[static_cast<size_t>(row)]) ? 1 : 0;
  if (where.says != MissingWhere::Says::values) return none == (where.says == MissingWhere::Says::missing) ? 1 : 0;
  const Lacking& v = none ? values.back() : values[static_cast<size_t>(other.codes[static_cast<size_t>(row)])];
  return v.held.rows == 0 ? -1 : v.missing > 0 ? 1 : 0;
}

}  // namespace

std::vector<FoundRule> find_missing(const RuleSearch& search) {
  const auto columns = static_cast<int>(search.columns());
  std::vector<std::optional<FoundRule>> found(static_cast<size_t>(columns));
  std::vector<int> asks(static_cast<size_t>(columns), -1);  // the column by which a column's cells are missing
  const auto asked_by = [&](int t) { return asks[static_cast<size_t>(t)]; };
  const auto depends = [&](int column, int on) {
    for (; column >= 0; column = asked_by(column))
      if (column == on) return true;
    return false;
  };
  const auto tried = static_cast<double>(columns) * static_cast<double>(columns) * 2;
  for (int t = 0; t < columns; ++t) {
    const Column& target = search.column(t);
    // Both missing and present cells must belong to enough rows.
    if (!search.usable(t) || fewer_of(search, target) < search.holders.least({&target})) continue;
    // Rather by a column that keeps its own missing cells, and by one that says it of all rows.
    auto& best = found[static_cast<size_t>(t)];
    for (const bool ruled : {false, true})
      for (int o = 0; o < columns && !(best && (ruled || best->evidence.rows == search.table.rows)); ++o) {
        if ((asked_by(o) >= 0) != ruled || !search.usable(o) || depends(o, t)) continue;
        const Column& other = search.column(o);
        auto where = by_presence(search, target, other);
        std::vector<Lacking> values;
        if (!where) where = by_values(search, target, other, values);
        if (!where) where = by_cut(search, target, other);
        search.table.relax();
        if (!where) continue;
        const auto holds = [&](int64_t row, int64_t in) {
          const int missing = says_missing(*where, other, values, row);
          return missing < 0 ? -1 : (missing > 0) == target.is_missing(in) ? 1 : 0;
        };
        const auto evidence = search.evidence_of(holds, tried);
        if (!evidence || (best && evidence->rows <= best->evidence.rows)) continue;
        best = FoundRule{make_rule(MissingData{target.name, *where}), *evidence};
        asks[static_cast<size_t>(t)] = o;
      }
  }
  // They are restored from the last one: a column's cells are missing before another one asks for them.
  const auto depth = [&](int t) {
    int out = 0;
    for (; t >= 0; t = asked_by(t)) ++out;
    return out;
  };
  std::vector<int> order;
  for (int t = 0; t < columns; ++t)
    if (found[static_cast<size_t>(t)]) order.push_back(t);
  std::ranges::stable_sort(order, [&](int a, int b) { return depth(a) > depth(b); });
  std::vector<FoundRule> out;
  for (const int t : order) out.push_back(std::move(*found[static_cast<size_t>(t)]));
  return out;
}

}  // namespace tessera
