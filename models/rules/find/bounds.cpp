// Columns that are never below others. a <= b <= c needs two rules: those that follow from others are left out.
#include "models/rules/kinds/bound.h"

#include <algorithm>

#include "models/rules/find/search.h"
#include "models/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr size_t kMostBoundColumns = 300;  // the work grows with their square
constexpr double kLoose = 0.6;             // chance keeps an order of numbers in more of the rows: few are drawn again

// Which columns are not above which, and by what evidence.
struct Order {
  std::vector<int> columns;
  std::vector<std::vector<std::optional<Evidence>>> below;  // [lower][upper]

  std::vector<std::vector<char>> loose = {};

  bool holds(size_t lower, size_t upper) const { return below[lower][upper].has_value(); }
  bool holds_tightly(size_t lower, size_t upper) const { return holds(lower, upper) && !loose[lower][upper]; }
  // From two others, which are kept by construction if this one would be.
  bool follows(size_t lower, size_t upper) const {
    for (size_t between = 0; between < columns.size(); ++between) {
      if (between == lower || between == upper) continue;
      const bool both = loose[lower][upper] ? holds(lower, between) && holds(between, upper)
                                            : holds_tightly(lower, between) && holds_tightly(between, upper);
      if (both) return true;
    }
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
  out.loose.assign(n, std::vector<char>(n));
  // The time between two dates says more of a row than the later one; of two numbers, each says what it is.
  const auto instant = [&](size_t k) {
    const ColumnType type = search.column(out.columns[k]).type;
    return type == ColumnType::date || type == ColumnType::datetime;
  };
  for (size_t lower = 0; lower < n && search.options.by_rejection; ++lower)
    for (size_t upper = 0; upper < n; ++upper)
      out.loose[lower][upper] = !instant(upper) && out.holds(lower, upper) && !asked(lower, upper) &&
                                out.below[lower][upper]->chance > kLoose;
  return out;
}

}  // namespace

std::vector<FoundRule> find_bounds(const RuleSearch& search, const std::vector<std::pair<int, int>>& given,
                                   const std::vector<std::string>& fresh) {
  const Order order = order_of(search, given, fresh);
  const size_t n = order.columns.size();
  const auto column = [&](size_t k) -> const Column& { return search.column(order.columns[k]); };
  std::vector<FoundRule> out;
  // Those that reduce nothing come first: they are of columns as they are before others are distances.
  for (size_t upper = 0; upper < n; ++upper)
    for (size_t lower = 0; lower < n; ++lower) {
      if (!order.loose[lower][upper] || order.follows(lower, upper)) continue;
      const std::vector<std::string> one{column(lower).name};
      FoundRule found{std::make_shared<LooseBoundRule>(head_of(column(upper)), one), *order.below[lower][upper]};
      found.check = found.rule->text();
      out.push_back(std::move(found));
    }
  // By the number of columns below, most first: a column is replaced before those that its distance is counted from.
  std::vector<std::pair<size_t, size_t>> uppers;
  for (size_t upper = 0; upper < n; ++upper) {
    size_t lower = 0;
    for (size_t k = 0; k < n; ++k) lower += order.holds_tightly(k, upper);
    if (lower > 0) uppers.emplace_back(n - lower, upper);
  }
  std::sort(uppers.begin(), uppers.end());
  for (const auto& [rank, upper] : uppers) {
    std::vector<std::string> lower;
    Evidence evidence;
    for (size_t k = 0; k < n; ++k) {
      if (!order.holds_tightly(k, upper) || order.follows(k, upper)) continue;
      const Evidence& e = *order.below[k][upper];
      if (lower.empty() || e.chance > evidence.chance) evidence = e;  // of several, the weakest
      lower.push_back(column(k).name);
    }
    out.push_back({std::make_shared<BoundRule>(head_of(column(upper)), std::move(lower)), evidence});
  }
  return out;
}

}  // namespace tessera
