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
  search.holders.each([&](int64_t row, int64_t holder) {
    const int32_t code = other.codes[static_cast<size_t>(row)];
    Lacking& v = values[code < 0 ? other.values.size() : static_cast<size_t>(code)];
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
  if (rare > search.table.rows / 10) return {};
  return where;
}

// By a number that is below a cut in the rows that lack the target, or not below it. The cut would be the same without
// some holders.
std::optional<MissingWhere> by_cut(const RuleSearch& search, const Column& target, const Column& other) {
  using Says = MissingWhere::Says;
  if (!is_quantity(other)) return {};
  double most[2] = {-INFINITY, -INFINITY}, least[2] = {INFINITY, INFINITY};  // of rows that have it, and that lack it
  for (const int64_t row : search.proposing) {
    const double x = other.numbers[static_cast<size_t>(row)];
    if (x != x) return {};
    const auto lacks = static_cast<size_t>(target.is_missing(row));
    most[lacks] = std::max(most[lacks], x), least[lacks] = std::min(least[lacks], x);
  }
  const bool below = most[1] < least[0];
  if (!below && !(least[1] > most[0])) return {};
  const int64_t holders = search.holders.least({&target, &other});
  Outermost highest(-1, holders), lowest(1, holders);  // of the lower and of the upper rows
  bool all = true;
  search.holders.each([&](int64_t row, int64_t holder) {
    const double x = other.numbers[static_cast<size_t>(row)];
    all = all && x == x;
    if (target.is_missing(row) == below) highest.add(x, holder);
    else lowest.add(x, holder);
  });
  const auto cut =
      all ? stable_between(highest, lowest, [](double a, double b) { return simplest_between(a, b, Ends::above, 9); })
          : std::nullopt;
  if (!cut) return {};
  return MissingWhere{other.name, below ? Says::below : Says::from, {}, false, *cut};
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
  std::vector<FoundRule> out;
  std::vector<char> ruled(static_cast<size_t>(columns), 0), asked(static_cast<size_t>(columns), 0);
  const auto tried = static_cast<double>(columns) * static_cast<double>(columns) * 2;
  for (int t = 0; t < columns; ++t) {
    const Column& target = search.column(t);
    // Both missing and present cells must belong to enough rows.
    if (!search.usable(t) || fewer_of(search, target) < search.holders.least({&target})) continue;
    for (int o = 0; o < columns && ruled[static_cast<size_t>(t)] == 0; ++o) {
      // A column that is asked keeps its own missing values, so that rules do not depend on each other.
      if (o == t || !search.usable(o) || ruled[static_cast<size_t>(o)] != 0 || asked[static_cast<size_t>(t)] != 0)
        continue;
      const Column& other = search.column(o);
      auto where = by_presence(search, target, other);
      std::vector<Lacking> values;
      if (!where) where = by_values(search, target, other, values);
      if (!where) where = by_cut(search, target, other);
      other.relax(), target.relax();
      if (!where) continue;
      const auto holds = [&](int64_t row, int64_t in) {
        const int missing = says_missing(*where, other, values, row);
        return missing < 0 ? -1 : (missing > 0) == target.is_missing(in) ? 1 : 0;
      };
      const auto evidence = search.evidence_of(holds, tried);
      if (!evidence) continue;
      out.push_back({make_rule(MissingData{target.name, *where}), *evidence});
      ruled[static_cast<size_t>(t)] = asked[static_cast<size_t>(o)] = 1;
    }
  }
  return out;
}

}  // namespace tessera
