// Columns that each combination of two others, or each value of a number of many values, has one value of.
#include "tables/rules/kinds/lookup.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "tables/rules/find/search.h"
#include "tables/rules/kinds/joint.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr size_t kMaxColumns = 48;  // the work grows with their square, and rarely with their cube
constexpr size_t kMaxTried = 8;     // combinations for a target, those of the fewest levels
constexpr size_t kMaxListed = 20'000;
// Of the rows, those whose combination is listed: few are not, or the column is hardly a function in samples.
constexpr double kMinListed = 0.5;

// A column in the proposing rows; the code of a missing cell is −1.
struct Coded {
  int column;
  int32_t levels;
  bool many;  // numbers of more values than a combination's: they decide others by themselves only
  std::vector<int32_t> codes;
};

struct Combined {
  int32_t levels = 0;
  std::vector<int32_t> codes = {};
};
struct Candidate {
  size_t a, b, target;  // of the coded columns; a = b: one column alone
  int32_t levels;       // of their combinations
  int64_t possible;     // the same, if all occurred

  // Of a distance and two airports that give each other, the distance follows.
  auto order() const { return std::pair(levels, possible); }
};

Coded coded(const RuleSearch& search, int column) {
  const Column& c = search.column(column);
  Labels labels = labels_of(search, column, kMaxListed);
  const bool many = !labels.text && labels.levels > static_cast<int32_t>(kMaxDistinctNumbers);
  for (size_t i = 0; i < labels.proposing.size(); ++i)
    if (c.is_missing(search.proposing[i])) labels.proposing[i] = -1;
  return {column, labels.levels, many, std::move(labels.proposing)};
}

// The combinations of two columns, numbered; none where they repeat too rarely to show anything.
Combined combined(const std::vector<Coded>& columns, size_t a, size_t b) {
  const Coded &x = columns[a], &y = columns[b];
  if (a == b) return {x.levels, x.codes};
  Combined out{0, std::vector<int32_t>(x.codes.size(), -1)};
  std::unordered_map<int64_t, int32_t> known;
  for (size_t i = 0; i < x.codes.size(); ++i) {
    if (x.codes[i] < 0 || y.codes[i] < 0) continue;
    const auto [at, fresh] = known.try_emplace(int64_t{x.codes[i]} * y.levels + y.codes[i], out.levels);
    out.levels += fresh;
    out.codes[i] = at->second;
  }
  if (static_cast<size_t>(out.levels) > x.codes.size() / 4 * 3) return {};
  return out;
}

// Whether rows of the same code have the same target, where it is not missing.
bool decides(const std::vector<int32_t>& codes, int32_t levels, const Coded& target, std::vector<int32_t>& first) {
  first.assign(static_cast<size_t>(levels), -1);
  for (size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] < 0 || target.codes[i] < 0) continue;
    int32_t& value = first[static_cast<size_t>(codes[i])];
    if (value < 0) value = target.codes[i];
    else if (value != target.codes[i]) return false;
  }
  return true;
}

class Lookup {
 public:
  Lookup(const RuleSearch& search, std::vector<int> of, int target)
      : search_(search), of_(std::move(of)), target_{target} {
    for (const int64_t row : search.proposing)
      if (applies(row)) proposed_.try_emplace(combination_key(search, of_, row), key_of(row));
  }

  std::optional<FoundRule> rule(double tried) const {
    const auto holds = [&](int64_t row, int64_t other) {
      if (!applies(row) || search_.column(target_[0]).is_missing(other)) return -1;
      const auto at = proposed_.find(combination_key(search_, of_, row));
      return at == proposed_.end() ? -1 : at->second == key_of(other) ? 1 : 0;
    };
    auto evidence = search_.evidence_of(holds, tried);
    auto data = evidence ? listed_rows(evidence->rows) : std::nullopt;
    if (!data) return {};
    return FoundRule{make_rule(std::move(*data)), *evidence};
  }

 private:
  bool applies(int64_t row) const {
    return !search_.column(target_[0]).is_missing(row) &&
           std::ranges::none_of(of_, [&](int j) { return search_.column(j).is_missing(row); });
  }
  uint64_t key_of(int64_t row) const { return combination_key(search_, target_, row); }

  // The combinations that enough holders have, if every row keeps them; `rows`: in these combinations.
  std::optional<LookupData> listed_rows(int64_t& rows) const {
    struct Entry {
      uint64_t value;
      int64_t row;
      Held held;
    };
    std::unordered_map<uint64_t, size_t> known;
    std::vector<Entry> entries;
    bool all = true;
    search_.holders.each([&](int64_t row, int64_t holder) {
      if (!all || !applies(row)) return;
      const auto [at, fresh] = known.try_emplace(combination_key(search_, of_, row), entries.size());
      if (fresh) entries.push_back({key_of(row), row, {}});
      Entry& entry = entries[at->second];
      all = entry.value == key_of(row) && entries.size() <= static_cast<size_t>(search_.table.rows) / 2;
      entry.held.add(holder);
    });
    if (!all || search_.holders.hide_texts()) return {};
    std::vector<int> columns = of_;
    columns.push_back(target_[0]);
    const int64_t least = search_.holders.least(search_.columns_at(columns));
    std::erase_if(entries, [&](const Entry& e) { return e.held.holders < least; });
    rows = std::accumulate(entries.begin(), entries.end(), int64_t{0},
                           [](int64_t sum, const Entry& e) { return sum + e.held.rows; });
    if (entries.size() > kMaxListed || static_cast<double>(rows) < kMinListed * static_cast<double>(search_.table.rows))
      return {};
    const Column& target = search_.column(target_[0]);
    LookupData out{head_of(target), {}, {}, {}, search_.seen_as(target, true)};
    for (const int j : of_) out.of.push_back(search_.column(j).name);
    for (const Entry& e : entries) {
      const auto row = static_cast<size_t>(e.row);
      std::vector<std::string> cells;
      for (const int j : of_) cells.push_back(value_text(search_.column(j), row));
      out.combinations.push_back(join_cells(cells, std::vector<char>(cells.size(), 0)));
      out.values.push_back(value_text(target, row));
    }
    return out;
  }

  const RuleSearch& search_;
  std::vector<int> of_, target_;
  std::unordered_map<uint64_t, uint64_t> proposed_;  // the target of each combination
};

}  // namespace

std::vector<FoundRule> find_lookups(const RuleSearch& search, const std::vector<std::string>& but) {
  std::vector<Coded> columns;
  for (const int j : search.usable_columns(kMaxColumns, [](const Column&) { return true; }))
    if (Coded one = coded(search, j);
        one.levels >= 2 && one.levels <= static_cast<int32_t>(search.proposing.size() / 2))
      columns.push_back(std::move(one));
  const size_t n = columns.size();
  std::vector<int32_t> first;
  std::vector<std::vector<char>> alone(n, std::vector<char>(n));  // [a][b]: a decides b
  for (size_t a = 0; a < n; ++a)
    for (size_t b = 0; b < n; ++b)
      alone[a][b] = a == b || decides(columns[a].codes, columns[a].levels, columns[b], first);
  const auto may_be_target = [&](size_t t) {
    return !columns[t].many && std::ranges::find(but, search.column(columns[t].column).name) == but.end();
  };
  std::vector<Candidate> candidates;
  for (size_t a = 0; a < n; ++a)
    for (size_t b = a; b < n; ++b) {
      if (a == b ? !columns[a].many : columns[a].many || columns[b].many) continue;
      const Combined pair = combined(columns, a, b);
      if (pair.levels == 0) continue;
      for (size_t t = 0; t < n; ++t)
        if (may_be_target(t) && t != a && t != b && (a == b || !(alone[a][t] || alone[b][t])) &&
            decides(pair.codes, pair.levels, columns[t], first))
          candidates.push_back({a, b, t, pair.levels, int64_t{columns[a].levels} * columns[b].levels});
    }
  std::ranges::stable_sort(candidates, {}, &Candidate::order);
  std::vector<FoundRule> out;
  std::vector<char> given(n), gives(n);
  std::vector<size_t> tried(n);
  for (const auto& [a, b, t, levels, possible] : candidates) {
    if (given[t] || gives[t] || given[a] || given[b] || ++tried[t] > kMaxTried) continue;
    std::vector<int> of{columns[a].column};
    if (b != a) of.push_back(columns[b].column);
    auto found = Lookup(search, of, columns[t].column).rule(static_cast<double>(n * n * n));
    if (!found) continue;
    given[t] = gives[a] = gives[b] = 1;
    out.push_back(std::move(*found));
  }
  return out;
}

}  // namespace tessera
