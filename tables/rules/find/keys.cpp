// Pairs of columns that form a key: the second numbers the rows of each value of the first, or, if the user gives the
// rule, has distinct values within each.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tables/expression/where.h"
#include "tables/kinds/kind.h"
#include "tables/rules/find/search.h"
#include "tables/rules/kinds/band.h"
#include "tables/rules/kinds/key.h"
#include "tables/rules/rule/columns.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

constexpr size_t kMaxKeyColumns = 60;  // the work grows with their square
constexpr int64_t kMinKeys = 50;       // values of the first column; of fewer, a category is counted
constexpr double kMaxRowsOfKey = 50;   // on average
constexpr int64_t kMinRepeated = 10;   // values of several rows

struct Counted {
  int64_t values = 0, repeated = 0, most = 0;  // of the first column; of several rows; rows of one
  double first = 0;
};

// The rows of each value of a column, numbered; −1: missing.
std::vector<int32_t> values_in(const Column& c, int32_t& values) {
  std::vector<int32_t> out;
  std::unordered_map<double, int32_t> known;
  for (int64_t i = 0; i < c.size(); ++i) {
    const auto row = static_cast<size_t>(i);
    out.push_back(c.is_missing(i) ? -1
                                  : known.try_emplace(c.key(row), static_cast<int32_t>(known.size())).first->second);
  }
  values = static_cast<int32_t>(known.size());
  return out;
}

// Whether the second column numbers the rows of each value of the first: no value twice, and as many as the distance
// between its ends implies.
std::optional<Counted> counted(const Column& outer, const Column& inner) {
  int32_t values = 0;
  const std::vector<int32_t> of = values_in(outer, values);
  std::vector<int64_t> rows(static_cast<size_t>(values));
  std::vector<double> low(rows.size(), INFINITY), high(rows.size(), -INFINITY);
  for (size_t i = 0; i < of.size(); ++i) {
    const double x = inner.numbers[i];
    if (of[i] < 0 || x != x) return {};
    const auto v = static_cast<size_t>(of[i]);
    ++rows[v], low[v] = std::min(low[v], x), high[v] = std::max(high[v], x);
  }
  Counted out{values, 0, 0, low.empty() ? 0 : low[0]};
  for (size_t v = 0; v < rows.size(); ++v) {
    if (low[v] != out.first || high[v] - low[v] + 1 != static_cast<double>(rows[v])) return {};
    out.repeated += rows[v] > 1, out.most = std::max(out.most, rows[v]);
  }
  std::unordered_set<uint64_t> pairs;
  for (size_t i = 0; i < of.size(); ++i)
    if (!pairs.insert(static_cast<uint64_t>(of[i]) << 32 | static_cast<uint32_t>(inner.numbers[i] - out.first)).second)
      return {};
  return out;
}

FoundRule rule_of(const RuleSearch& search, int outer, int inner, double first, std::vector<std::string> values) {
  FoundRule found{
      make_rule(KeyData{head_of(search.column(outer)), head_of(search.column(inner)), first, std::move(values)})};
  found.evidence.rows = search.table.rows;
  return found;
}

}  // namespace

std::optional<FoundRule> find_keys(const RuleSearch& search) {
  std::vector<int> outer, inner;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    const bool count = is_count(c) && search.usable(j);
    const bool name = kind_of(c).regenerated || (kind_of(c).free_text && search.usable(j));
    if ((name || (count && !named_like_moment(c.name))) && outer.size() < kMaxKeyColumns) outer.push_back(j);
    if (count && inner.size() < kMaxKeyColumns) inner.push_back(j);
  }
  for (const int b : inner) {
    // most values have a first row: the quick test
    const Bulk<double>& x = search.column(b).numbers;
    const double first = *std::min_element(x.begin(), x.end());
    if (!(first == 0 || first == 1)) continue;
    const auto firsts = std::count(x.begin(), x.end(), first);
    if (firsts < kMinKeys || static_cast<double>(search.table.rows) > kMaxRowsOfKey * static_cast<double>(firsts))
      continue;
    for (const int a : outer) {
      if (a == b) continue;
      const auto found = counted(search.column(a), search.column(b));
      if (found && found->values >= kMinKeys && found->repeated >= kMinRepeated)
        return rule_of(search, a, b, found->first, {});
    }
    search.table.relax();
  }
  return {};
}

FoundRule key_rule(const RuleSearch& search, int outer, int inner) {
  const Column &a = search.column(outer), &b = search.column(inner);
  const auto refuse = [&](const std::string& what, const std::string& way_out) {
    throw Error(ErrorCode::data,
                fmt::format("\"{}\" and \"{}\" are not unique together: {}.\n  {}", a.name, b.name, what, way_out));
  };
  int32_t values = 0, others = 0;
  const std::vector<int32_t> of = values_in(a, values), by = values_in(b, others);
  std::unordered_map<uint64_t, size_t> pairs;
  std::vector<int64_t> rows(static_cast<size_t>(values)), held(static_cast<size_t>(others));
  for (size_t i = 0; i < of.size(); ++i) {
    if (of[i] < 0 || by[i] < 0)
      refuse(fmt::format("column \"{}\" is missing in row {}", of[i] < 0 ? a.name : b.name, i + 1),
             "A key has no missing cells: omit the row, or the rule.");
    ++rows[static_cast<size_t>(of[i])], ++held[static_cast<size_t>(by[i])];
    const auto [first, fresh] = pairs.try_emplace(static_cast<uint64_t>(of[i]) << 32 | static_cast<uint32_t>(by[i]), i);
    if (!fresh)
      refuse(fmt::format("rows {} and {} both hold \"{}\" and \"{}\"", first->second + 1, i + 1, value_text(a, i),
                         value_text(b, i)),
             "Omit one of them, or the rule.");
  }
  if (is_ordered(b))
    if (const auto found = counted(a, b)) return rule_of(search, outer, inner, found->first, {});
  const int64_t least = search.holders.least({&a, &b});
  std::vector<std::string> own;
  std::vector<char> taken(held.size());
  for (size_t i = 0; i < by.size(); ++i)
    if (char& once = taken[static_cast<size_t>(by[i])]; once == 0) {
      once = 1;
      if (held[static_cast<size_t>(by[i])] >= least) own.push_back(value_text(b, i));
    }
  const int64_t most = *std::max_element(rows.begin(), rows.end());
  if (static_cast<int64_t>(own.size()) < most)
    refuse(
        fmt::format("a value of \"{}\" has up to {} rows, but only {} values of \"{}\" are held by the {} rows that a "
                    "model may know a value from",
                    a.name, most, own.size(), b.name, least),
        fmt::format("Name the columns in the other order, or a column that repeats more than \"{}\".", b.name));
  std::sort(own.begin(), own.end());
  return rule_of(search, outer, inner, 0, std::move(own));
}

}  // namespace tessera
