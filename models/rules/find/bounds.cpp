// Columns that are never below others. a <= b <= c needs two rules: those that follow from others are left out.
#include "models/rules/bound.h"

#include <algorithm>

#include "models/rules/columns.h"
#include "models/rules/find/search.h"

namespace tessera {
namespace {

constexpr size_t kMostBoundColumns = 300;  // the work grows with their square

// Which columns are not above which, and by what evidence.
struct Order {
  std::vector<int> columns;
  std::vector<std::vector<std::optional<Evidence>>> below;  // [lower][upper]

  bool holds(size_t lower, size_t upper) const { return below[lower][upper].has_value(); }
  bool follows(size_t lower, size_t upper) const {
    for (size_t between = 0; between < columns.size(); ++between)
      if (between != lower && between != upper && holds(lower, between) && holds(between, upper)) return true;
    return false;
  }
};

std::optional<Evidence> evidence_below(const RuleSearch& search, const Column& lower, const Column& upper,
                                       double tried) {
  const auto holds = [&](int64_t row, int64_t other) {
    const double a = lower.numbers[static_cast<size_t>(row)], b = upper.numbers[static_cast<size_t>(other)];
    // The distance is missing where the upper one is; it has to be known where it is not.
    return b != b ? -1 : a <= b ? 1 : 0;
  };
  for (const int64_t row : search.proposing)
    if (holds(row, row) == 0) return {};
  return search.evidence_of(holds, tried);
}

// Without regard to chance.
std::optional<Evidence> always_below(const Column& lower, const Column& upper) {
  Evidence e;
  for (size_t i = 0; i < upper.numbers.size(); ++i) {
    if (upper.numbers[i] != upper.numbers[i]) continue;
    if (!(lower.numbers[i] <= upper.numbers[i])) return {};
    ++e.rows;
  }
  return e;
}

// Of two equal columns, which hold both ways, the first is the lower one: an order without circles.
void break_ties(Order& order, const RuleSearch& search) {
  for (size_t first = 0; first < order.columns.size(); ++first)
    for (size_t second = first + 1; second < order.columns.size(); ++second) {
      auto &up = order.below[first][second], &down = order.below[second][first];
      if (!down || !always_below(search.column(order.columns[first]), search.column(order.columns[second]))) continue;
      if (!up) up = down;
      down.reset();
    }
}

Order order_of(const RuleSearch& search, const std::vector<std::pair<int, int>>& given,
               const std::vector<std::string>& fresh) {
  Order out;
  for (int j = 0; j < static_cast<int>(search.columns()) && out.columns.size() < kMostBoundColumns; ++j)
    if (search.usable(j) && is_numeric(search.column(j).type)) out.columns.push_back(j);
  const auto asked = [&](size_t lower, size_t upper) {
    return std::find(given.begin(), given.end(), std::pair(out.columns[lower], out.columns[upper])) != given.end();
  };
  const auto is_fresh = [&](const Column& c) {
    return fresh.empty() || std::find(fresh.begin(), fresh.end(), c.name) != fresh.end();
  };
  const size_t n = out.columns.size();
  out.below.assign(n, std::vector<std::optional<Evidence>>(n));
  search.team.for_each(static_cast<int64_t>(n), [&](int64_t i) {
    const auto lower = static_cast<size_t>(i);
    const Column& low = search.column(out.columns[lower]);
    for (size_t upper = 0; upper < n; ++upper) {
      const Column& up = search.column(out.columns[upper]);
      if (upper == lower || !comparable(low, up) || !(is_fresh(low) || is_fresh(up))) continue;
      auto& below = out.below[lower][upper];
      if (search.options.find) below = evidence_below(search, low, up, static_cast<double>(n * n));
      if (!below && asked(lower, upper)) below = always_below(low, up);
      up.relax();
    }
    low.relax();
  });
  break_ties(out, search);
  return out;
}

}  // namespace

std::vector<FoundRule> find_bounds(const RuleSearch& search, const std::vector<std::pair<int, int>>& given,
                                   const std::vector<std::string>& fresh) {
  const Order order = order_of(search, given, fresh);
  const size_t n = order.columns.size();
  // By the number of columns below, most first: a column is replaced before those that its distance is counted from.
  std::vector<std::pair<size_t, size_t>> uppers;
  for (size_t upper = 0; upper < n; ++upper) {
    size_t lower = 0;
    for (size_t k = 0; k < n; ++k) lower += order.holds(k, upper);
    if (lower > 0) uppers.emplace_back(n - lower, upper);
  }
  std::sort(uppers.begin(), uppers.end());
  std::vector<FoundRule> out;
  for (const auto& [rank, upper] : uppers) {
    std::vector<std::string> lower;
    Evidence evidence;
    for (size_t k = 0; k < n; ++k) {
      if (!order.holds(k, upper) || order.follows(k, upper)) continue;
      const Evidence& e = *order.below[k][upper];
      if (lower.empty() || e.chance > evidence.chance) evidence = e;  // of several, the weakest
      lower.push_back(search.column(order.columns[k]).name);
    }
    const Column& target = search.column(order.columns[upper]);
    out.push_back({std::make_shared<BoundRule>(head_of(target), std::move(lower)), evidence});
  }
  return out;
}

}  // namespace tessera
