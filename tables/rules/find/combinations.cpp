// Columns of which few combinations occur: each city lies in one country, each product has one price.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/rules/find/search.h"
#include "tables/rules/kinds/joint.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

constexpr size_t kMaxJointColumns = 100;              // the work grows with their square
constexpr size_t kMaxDistinct = kMaxDistinctNumbers;  // also combinations of several that none determines
// Max share of rows whose combination would also occur by chance, if no text column determines the other one: a number
// that joins a combination becomes a list of levels, which must pay off.
constexpr double kMaxByChance = 0.5;
constexpr double kMaxByChanceOfMany = 0.1;  // for long lists: levels lose which numbers are close
constexpr int32_t kManyNumbers = 32;
constexpr double kMaxUnseen = 0.002;  // of testing rows: combinations that the proposing rows did not have
// In combinations that are protected because few rows have them: more than of the columns by themselves, in all, and in
// all where they are the rare values of one column: products of which a quarter of the sales are rare ones.
constexpr double kMaxRareRows = 0.02, kMaxRareAnyway = 0.1, kMaxRareOfOne = 0.25;
constexpr int32_t kNotSeen = -1;

constexpr uint64_t kBlank = ~uint64_t{0};

uint64_t value_key(const Column& c, int64_t row) {
  const auto i = static_cast<size_t>(row);
  if (has_texts(c)) return static_cast<uint64_t>(static_cast<int64_t>(c.codes[i]));
  if (c.is_missing(row)) return kBlank;
  const double x = c.numbers[i] + 0.0;
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

}  // namespace

Labels labels_of(const RuleSearch& search, int column, size_t most) {
  const Column& c = search.column(column);
  Labels out{column, has_texts(c), 0, -1, {}, {}};
  std::unordered_map<uint64_t, int32_t> known;
  for (const int64_t row : search.proposing) {
    const auto [entry, fresh] = known.try_emplace(value_key(c, row), out.levels);
    out.levels += fresh;
    out.proposing.push_back(entry->second);
    if (!out.text && known.size() > most) break;
  }
  if (const auto blank = known.find(kBlank); blank != known.end()) out.blank = blank->second;
  if (out.text || known.size() <= most)
    for (const int64_t row : search.testing) {
      const auto entry = known.find(value_key(c, row));
      out.testing.push_back(entry == known.end() ? kNotSeen : entry->second);
    }
  c.relax();
  return out;
}

uint64_t combination_key(const RuleSearch& search, const std::vector<int>& columns, int64_t row) {
  uint64_t key = 0;
  for (const int j : columns) {
    key = (key ^ value_key(search.column(j), row)) * 0x9e3779b97f4a7c15ull;
    key ^= key >> 29;
  }
  return key;
}

namespace {

// Which values of two columns occur together.
class SeenPairs {
 public:
  SeenPairs(int32_t a, int32_t b) : wide_(b), few_(static_cast<int64_t>(a) * b <= kMatrix) {
    if (few_) matrix_.assign(static_cast<size_t>(a) * static_cast<size_t>(b), 0);
  }
  void insert(int32_t x, int32_t y) {
    if (few_) size_ += std::exchange(matrix_[place(x, y)], 1) == 0;
    else size_ += set_.insert(place(x, y)).second;
  }
  bool contains(int32_t x, int32_t y) const { return few_ ? matrix_[place(x, y)] != 0 : set_.contains(place(x, y)); }
  size_t size() const { return size_; }

 private:
  static constexpr int64_t kMatrix = 1 << 20;
  size_t place(int32_t x, int32_t y) const {
    return static_cast<size_t>(x) * static_cast<size_t>(wide_) + static_cast<size_t>(y);
  }
  int32_t wide_;
  bool few_;
  size_t size_ = 0;
  std::vector<char> matrix_;
  std::unordered_set<size_t> set_;
};

// Evidence from the testing rows that a determines b; rows with a value unseen in the proposing rows are ignored.
// `present`: and those in which both are missing, which a rule of their own says.
std::optional<Evidence> evidence_of_pair(const Labels& a, const Labels& b, double tried, bool present) {
  const auto levels = [](const Labels& l) { return l.text ? static_cast<size_t>(l.levels) : 0; };
  SeenPairs seen(a.levels, b.levels);
  for (size_t i = 0; i < a.proposing.size(); ++i)
    if (!present || a.proposing[i] != a.blank) seen.insert(a.proposing[i], b.proposing[i]);
  if (seen.size() > std::max({kMaxDistinct, levels(a), levels(b)})) return {};
  Evidence e;
  int64_t unseen = 0;
  double kept = 1, said = 1;
  std::vector<size_t> rows;
  for (size_t i = 0; i < a.testing.size(); ++i)
    if (!present || a.testing[i] != a.blank) rows.push_back(i);
  for (size_t k = 0; k < rows.size(); ++k) {
    const size_t i = rows[k];
    const int32_t x = a.testing[i], y = b.testing[i], other = b.testing[rows[(k + 1) % rows.size()]];
    if (x != kNotSeen && y != kNotSeen) ++e.held_out, unseen += !seen.contains(x, y);
    if (x != kNotSeen && other != kNotSeen) ++said, kept += seen.contains(x, other);
  }
  e.chance = kept / said;
  const bool fixed = static_cast<double>(unseen) <= kMaxUnseen * static_cast<double>(e.held_out);
  const auto combinations = static_cast<int32_t>(seen.size()) + (present ? 1 : 0);  // none of the two is one
  const bool determined = (a.text && combinations == a.levels) || (b.text && combinations == b.levels);
  const auto many = [](const Labels& l) { return !l.text && l.levels > kManyNumbers; };
  const double most = many(a) || many(b) ? kMaxByChanceOfMany : kMaxByChance;
  if (!fixed || (!determined && e.chance > most) || !RuleSearch::beyond_chance(e.held_out, e.chance, tried)) return {};
  return e;
}

// Rows with a text that is frequent enough alone, but in no retained combination: it would never be sampled.
int64_t rows_that_vanish(const RuleSearch& search, const std::vector<int>& columns,
                         const std::unordered_map<uint64_t, Held>& held, int64_t least) {
  int64_t most = 0;
  for (const int j : columns) {
    const Column& c = search.column(j);
    if (is_ordered(c)) continue;
    const std::vector<Held>& values = search.holders.of_values(c);
    std::vector<char> stays(values.size());
    for (int64_t row = 0; row < c.size(); ++row)
      if (!c.is_missing(row) && held.at(combination_key(search, columns, row)).holders >= least)
        stays[static_cast<size_t>(c.codes[static_cast<size_t>(row)])] = 1;
    int64_t rows = 0;
    for (size_t v = 0; v < values.size(); ++v)
      if (stays[v] == 0 && values[v].holders >= least) rows += values[v].rows;
    most = std::max(most, rows);
  }
  return most;
}

// The number of rows in retained combinations if these can be the levels of one column; else nullopt. If a text column
// determines the others, the combinations are its levels, which are learned and protected in any case.
std::optional<int64_t> rows_in_levels(const RuleSearch& search, const std::vector<int>& columns) {
  size_t most = kMaxDistinct;
  int64_t rare_anyway = 0;
  const int64_t least = search.holders.least(search.columns_at(columns));
  for (const int j : columns) {
    const Column& c = search.column(j);
    most = std::max(most, c.values.size());
    if (is_ordered(c)) continue;
    int64_t rare = 0;
    for (const Held& value : search.holders.of_values(c)) rare += value.holders < least ? value.rows : 0;
    rare_anyway = std::max(rare_anyway, rare);
  }
  std::unordered_map<uint64_t, Held> held;
  search.holders.each([&](int64_t row, int64_t holder) {
    if (held.size() > 8 * most) return;
    held[combination_key(search, columns, row)].add(holder);
  });
  if (held.size() > 8 * most || search.holders.hide_texts()) return {};
  int64_t rare = 0;
  size_t levels = 0;
  for (const auto& [key, combination] : held) {
    if (combination.holders < least) rare += combination.rows;
    else ++levels;
  }
  const auto share = [&](int64_t n) { return static_cast<double>(n) / static_cast<double>(search.table.rows); };
  const bool of_one = rare == rare_anyway;
  if (levels > most || share(rare - rare_anyway) > kMaxRareRows ||
      share(rare) > (of_one ? kMaxRareOfOne : kMaxRareAnyway) ||
      (share(rare) > kMaxRareAnyway && share(rows_that_vanish(search, columns, held, least)) > kMaxRareRows))
    return {};
  return search.table.rows - rare;
}

struct Pair {
  size_t a, b;  // of the labelled columns
  Evidence evidence;
};

// By which column the cells of this one are missing; null: by none.
const std::string* missing_by(const RuleSearch& search, int column) {
  const auto at = std::ranges::find(search.missing_by, search.column(column).name, &RuleSearch::MissingBy::column);
  return at == search.missing_by.end() ? nullptr : &at->by;
}

bool missing_together(const RuleSearch& search, int a, int b) {
  const Column &x = search.column(a), &y = search.column(b);
  for (int64_t row = 0; row < search.table.rows; ++row)
    if (x.is_missing(row) != y.is_missing(row)) return false;
  return true;
}

// Whether the combinations of columns of which some are missing by a rule say where they are: all of these rules are by
// others of them. Or by columns outside, for all of them: then combinations are learned as if no cell were missing.
enum class Gaps { none, within, outside, mixed };
Gaps gaps_of(const RuleSearch& search, const std::vector<int>& columns) {
  size_t within = 0, outside = 0;
  for (const int j : columns)
    if (const std::string* by = missing_by(search, j)) {
      const bool own = std::ranges::any_of(columns, [&](int k) { return search.column(k).name == *by; });
      ++(own ? within : outside);
    }
  if (within + outside == 0) return Gaps::none;
  if (outside == 0) return Gaps::within;
  return within + outside == columns.size() ? Gaps::outside : Gaps::mixed;
}

std::vector<Pair> fixed_pairs(const RuleSearch& search, const std::vector<Labels>& labels) {
  const size_t n = labels.size();
  std::vector<char> by_rule;
  for (const Labels& l : labels) by_rule.push_back(missing_by(search, l.column) != nullptr);
  std::vector<std::vector<Pair>> found(n);
  search.team.for_each(static_cast<int64_t>(n), [&](int64_t i) {
    const auto b = static_cast<size_t>(i);
    for (size_t a = 0; a < b; ++a) {
      const bool present = by_rule[a] != 0 || by_rule[b] != 0;
      if (present && ((labels[a].blank < 0) != (labels[b].blank < 0) ||
                      !missing_together(search, labels[a].column, labels[b].column)))
        continue;
      if (const auto e = evidence_of_pair(labels[a], labels[b], static_cast<double>(n * n), present))
        found[b].push_back({a, b, *e});
    }
  });
  std::vector<Pair> out;
  for (const auto& of : found) out.insert(out.end(), of.begin(), of.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const Pair& x, const Pair& y) { return x.evidence.chance < y.evidence.chance; });
  return out;
}

struct Group {
  std::vector<int> columns;
  Evidence evidence;
};

// Pairs that share columns, together, as far as their combinations can be levels; the surest pairs first.
std::vector<Group> groups_of(const RuleSearch& search, const std::vector<Labels>& labels,
                             const std::vector<Pair>& pairs) {
  std::vector<Group> groups;
  const auto group_with = [&](int column) {
    return std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return std::find(g.columns.begin(), g.columns.end(), column) != g.columns.end();
    });
  };
  for (const Pair& p : pairs) {
    const int a = labels[p.a].column, b = labels[p.b].column;
    const auto with_a = group_with(a), with_b = group_with(b);
    if (with_a != groups.end() && with_a == with_b) continue;
    Group joined{{}, p.evidence};
    for (const auto& [group, column] : {std::pair{with_a, a}, std::pair{with_b, b}}) {
      if (group == groups.end()) {
        joined.columns.push_back(column);
        continue;
      }
      joined.columns.insert(joined.columns.end(), group->columns.begin(), group->columns.end());
      joined.evidence.chance = std::max(joined.evidence.chance, group->evidence.chance);
    }
    std::sort(joined.columns.begin(), joined.columns.end());
    const auto rows = rows_in_levels(search, joined.columns);
    if (!rows || gaps_of(search, joined.columns) == Gaps::mixed) continue;
    joined.evidence.rows = *rows;
    std::erase_if(groups, [&](const Group& g) {
      return std::includes(joined.columns.begin(), joined.columns.end(), g.columns.begin(), g.columns.end());
    });
    groups.push_back(std::move(joined));
  }
  return groups;
}

FoundRule rule_of(const RuleSearch& search, const Group& group) {
  std::vector<Column> parts;
  std::string name;
  for (const int j : group.columns) {
    parts.push_back(head_of(search.column(j)));
    name += (name.empty() ? "" : " | ") + parts.back().name;
  }
  const bool missing = gaps_of(search, group.columns) == Gaps::outside;
  return {make_rule(JointData{free_name(search.table, name), std::move(parts), {missing}}), group.evidence};
}

}  // namespace

std::vector<FoundRule> find_combinations(const RuleSearch& search) {
  std::vector<Labels> labels;
  for (int j = 0; j < static_cast<int>(search.columns()) && labels.size() < kMaxJointColumns; ++j) {
    if (!search.usable(j)) continue;
    Labels one = labels_of(search, j);
    if (one.levels >= 2 && (one.text || one.levels <= static_cast<int32_t>(kMaxDistinct)))
      labels.push_back(std::move(one));
  }
  std::vector<FoundRule> out;
  for (const Group& group : groups_of(search, labels, fixed_pairs(search, labels)))
    out.push_back(rule_of(search, group));
  return out;
}

std::optional<FoundRule> joint_rule(const RuleSearch& search, std::vector<int> columns) {
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  const auto rows = rows_in_levels(search, columns);
  if (!rows) return {};
  Group group{std::move(columns), {}};
  group.evidence.rows = *rows;
  return rule_of(search, group);
}

}  // namespace tessera
