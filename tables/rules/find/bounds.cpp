// Columns that are never below others. Orders that follow from others are omitted: a <= b <= c needs two rules.
//
// The index of sequences is never changed: a column that is never above it is stored as its distance below it.
#include "tables/rules/kinds/bound.h"
#include "tables/rules/kinds/filled.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tables/kinds/kind.h"
#include "tables/rules/find/search.h"
#include "tables/rules/find/waiting.h"
#include "tables/rules/kinds/function.h"
#include "tables/rules/rule/columns.h"
#include "tables/sequence/sequences.h"

namespace tessera {
namespace {

constexpr size_t kMaxBoundColumns = 300;  // the work grows with their square
constexpr double kLoose = 0.6;            // chance keeps an order in more of the rows: few are drawn again

// For each pair of columns, whether the first is never above the second, and the evidence.
struct Order {
  std::vector<int> columns;
  std::vector<std::vector<std::optional<Evidence>>> below;  // [lower][upper]

  std::vector<std::vector<char>> loose = {}, by_day = {};  // by_day: below the end of the day of the first
  size_t index = SIZE_MAX;                                 // of the columns, the index of sequences

  bool holds(size_t lower, size_t upper) const { return below[lower][upper].has_value(); }
  bool holds_tightly(size_t lower, size_t upper) const { return holds(lower, upper) && !loose[lower][upper]; }
  bool under_index(size_t k) const { return index < columns.size() && (k == index || holds(k, index)); }
  // How many columns are below this one, or between it and the index, also by way of others: of few rows, an order that
  // two others imply may lack evidence of its own.
  size_t beyond(size_t column, bool down) const {
    std::vector<char> is(columns.size());
    std::vector<size_t> found{column};
    for (size_t k = 0; k < found.size(); ++k)
      for (size_t i = 0; i < columns.size(); ++i)
        if (is[i] == 0 && (down ? under_index(i) && holds_tightly(found[k], i) : holds_tightly(i, found[k])))
          is[i] = 1, found.push_back(i);
    return found.size() - 1;
  }
  // Whether the order follows from two others that are kept by construction if this one would be.
  bool follows(size_t lower, size_t upper) const {
    for (size_t between = 0; between < columns.size(); ++between) {
      if (between == lower || between == upper) continue;
      if (!by_day[lower][upper] && (by_day[lower][between] || by_day[between][upper])) continue;
      const bool both = loose[lower][upper] ? holds(lower, between) && holds(between, upper)
                                            : holds_tightly(lower, between) && holds_tightly(between, upper);
      if (both) return true;
    }
    return false;
  }
};

// With `gaps`, rows whose lower cell is missing are ignored; otherwise they violate the order if the upper cell is
// present.
std::optional<Evidence> evidence_below(const RuleSearch& search, const Column& lower, const Column& upper, double tried,
                                       bool gaps, bool by_day = false) {
  const auto holds = [&](int64_t row, int64_t other) {
    const double a = as_bound(upper, lower, lower.numbers[static_cast<size_t>(row)], by_day);
    const double b = upper.numbers[static_cast<size_t>(other)];
    // The distance is missing where the upper one is; where it is not, a missing lower one is filled.
    return b != b || (a != a && gaps) ? -1 : a <= b ? 1 : 0;
  };
  return search.evidence_of(holds, tried);
}

// Whether one of two numbers is always the same where both are: it says which rows these are, not what is larger.
bool constant_beside(const RuleSearch& search, const Column& a, const Column& b) {
  const auto constant = [&](const Column& of) {
    double first = kMissing;
    return std::ranges::all_of(search.proposing, [&](int64_t row) {
      const double x = of.numbers[static_cast<size_t>(row)];
      if (a.is_missing(row) || b.is_missing(row)) return true;
      if (first != first) first = x;
      return x == first;
    });
  };
  return constant(a) || constant(b);
}

// Without regard to chance.
std::optional<Evidence> always_below(const Column& lower, const Column& upper, bool gaps) {
  Evidence e;
  for (size_t i = 0; i < upper.numbers.size(); ++i) {
    if (upper.numbers[i] != upper.numbers[i] || (gaps && lower.numbers[i] != lower.numbers[i])) continue;
    if (!(in_unit_of(upper, lower, lower.numbers[i]) <= upper.numbers[i])) return {};
    ++e.rows;
  }
  return e;
}

bool has_missing(const Column& c) {
  return std::any_of(c.numbers.begin(), c.numbers.end(), [](double x) { return x != x; });
}

// Of two equal columns, which hold both ways, the first is the lower one: an order without circles.
void break_ties(Order& order, const RuleSearch& search) {
  for (size_t first = 0; first < order.columns.size(); ++first)
    for (size_t second = first + 1; second < order.columns.size(); ++second) {
      auto &up = order.below[first][second], &down = order.below[second][first];
      if (!down || !always_below(search.column(order.columns[first]), search.column(order.columns[second]),
                                 search.gaps_may_be()))
        continue;
      if (!up) up = down;
      down.reset();
    }
}

using GivenBounds = std::vector<GivenBound>;

bool is_given(const GivenBounds& given, int lower, int upper, bool strict = false) {
  return std::any_of(given.begin(), given.end(), [&](const GivenBound& g) {
    return g.lower == lower && g.upper == upper && (g.strict || !strict);
  });
}

// Of two columns of sequences, one of them the index. Numbers that few steps would break by chance are learned as they
// are.
std::optional<Evidence> evidence_beside_index(const RuleSearch& search, int lower, int upper) {
  const Column &low = search.column(lower), &up = search.column(upper);
  if (!search.options.find || !have_order(low, up)) return {};
  std::optional<Evidence> out =
      evidence_below(search, low, up, static_cast<double>(2 * search.columns()), upper == search.index());
  const bool loose = out && !is_instant(up) && out->chance > kLoose;
  return loose ? std::nullopt : out;
}

// Whether the distance to another date is spread wider than the later date itself: picks of one week, of goods of a
// year. The last date that several rows have, such as 9999-12-31, is chosen, not a distance.
bool says_less(const RuleSearch& search, const Column& lower, const Column& upper) {
  std::vector<double> later, distance;
  const double last = search.limit_of(upper, true, search.holders.least({&lower, &upper}));
  for (const int64_t row : search.proposing) {
    const auto i = static_cast<size_t>(row);
    const double x = upper.numbers[i], least = in_unit_of(upper, lower, lower.numbers[i]);
    if (x == x && least == least && x != last) later.push_back(x), distance.push_back(x - least);
  }
  const auto spread = [](std::vector<double>& x) {  // of the middle four fifths
    std::ranges::sort(x);
    return x.empty() ? 0 : x[x.size() - 1 - x.size() / 10] - x[x.size() / 10];
  };
  return spread(distance) > spread(later);
}

// Whether a column is missing in half of the rows that have another one, or more.
bool mostly_missing_beside(const Column& c, const Column& other) {
  int64_t rows = 0, missing = 0;
  for (size_t i = 0; i < other.numbers.size(); ++i) {
    if (other.numbers[i] != other.numbers[i]) continue;
    ++rows, missing += c.numbers[i] != c.numbers[i];
  }
  return 2 * missing >= rows;
}

// Of start <= cancelled <= end, most rows lack what is between: the end is learned by its distance to the start, and
// the few rows are checked for the rest.
void loosen_optional(const RuleSearch& search, const GivenBounds& given, Order& order) {
  const size_t n = order.columns.size();
  for (size_t between = 0; between < n; ++between) {
    if (between == order.index || !has_missing(search.column(order.columns[between]))) continue;
    for (size_t upper = 0; upper < n; ++upper) {
      if (upper == order.index || !order.holds_tightly(between, upper) ||
          is_given(given, order.columns[between], order.columns[upper]))
        continue;
      const auto spans = [&](size_t lower) {
        return lower != between && lower != upper && order.holds_tightly(lower, upper) && order.holds(lower, between) &&
               !mostly_missing_beside(search.column(order.columns[lower]), search.column(order.columns[upper]));
      };
      bool any = false;
      for (size_t lower = 0; lower < n; ++lower) any = any || spans(lower);
      if (any && mostly_missing_beside(search.column(order.columns[between]), search.column(order.columns[upper])))
        order.loose[between][upper] = 1;
    }
  }
}

// Orders with the index. A column takes part in the order of another one only while both are plain columns; columns
// that become distances are compared with all others again.
void order_with_index(const RuleSearch& search, const GivenBounds& given, Order& out) {
  const int index = search.index();
  if (index < 0) return;
  out.index = static_cast<size_t>(std::ranges::find(out.columns, index) - out.columns.begin());
  if (out.index == out.columns.size()) {
    out.columns.push_back(index);
    for (auto& of : out.below) of.emplace_back();
    out.below.emplace_back(out.columns.size());
  }
  for (size_t k = 0; k < out.columns.size(); ++k) {
    if (k == out.index) continue;
    const int j = out.columns[k];
    auto &under = out.below[k][out.index], &over = out.below[out.index][k];
    under = evidence_beside_index(search, j, index), over = evidence_beside_index(search, index, j);
    if (!under && is_given(given, j, index)) under = always_below(search.column(j), search.column(index), true);
    if (!over && is_given(given, index, j)) over = always_below(search.column(index), search.column(j), false);
    if (under) over.reset();
  }
}

// Times that are learned as their day and the time of day have orders of their days.
void drop_cycles(const RuleSearch& search, Order& order) {
  if (std::ranges::none_of(order.by_day, [](const auto& of) { return std::ranges::count(of, 1) > 0; })) return;
  for (const FoundRule& f : find_cycles(search, true))
    for (size_t lower = 0; lower < order.columns.size(); ++lower)
      if (search.column(order.columns[lower]).name == f.rule->column())
        for (size_t upper = 0; upper < order.columns.size(); ++upper)
          if (order.by_day[lower][upper] != 0) order.by_day[lower][upper] = 0, order.below[lower][upper].reset();
}

// `days`: dates may also be in order with the days of times.
Order order_of(const RuleSearch& search, const GivenBounds& given, const std::vector<std::string>& fresh,
               bool days = false) {
  Order out{search.usable_numbers(kMaxBoundColumns), {}};
  const size_t own = out.columns.size();
  out.below.assign(own, std::vector<std::optional<Evidence>>(own));
  order_with_index(search, given, out);
  const auto is_fresh = [&](const Column& c) {
    return fresh.empty() || std::find(fresh.begin(), fresh.end(), c.name) != fresh.end();
  };
  const auto beside_index = [&](size_t k) {
    return out.index < out.columns.size() && (out.holds(k, out.index) || out.holds(out.index, k));
  };
  const size_t n = out.columns.size();
  out.by_day.assign(n, std::vector<char>(n));
  days = days && search.options.find && search.options.orders && search.options.by_rejection;
  search.team.for_each(static_cast<int64_t>(own), [&](int64_t i) {
    const auto lower = static_cast<size_t>(i);
    const Column& low = search.column(out.columns[lower]);
    for (size_t upper = 0; upper < own; ++upper) {
      const Column& up = search.column(out.columns[upper]);
      if (upper == lower || !have_order(low, up) || !(is_fresh(low) || is_fresh(up))) continue;
      auto& below = out.below[lower][upper];
      if (search.options.find &&
          (search.options.orders || has_missing(low) || has_missing(up) || beside_index(lower) || beside_index(upper)))
        below = evidence_below(search, low, up, static_cast<double>(own * own), search.gaps_may_be());
      if (below && !is_instant(up) && constant_beside(search, low, up)) below.reset();
      if (!below && is_given(given, out.columns[lower], out.columns[upper]))
        below = always_below(low, up, search.gaps_may_be());
      if (days && !below && is_day(up) && is_instant(low) && has_time(low)) {
        below = evidence_below(search, low, up, static_cast<double>(own * own), false, true);
        out.by_day[lower][upper] = below.has_value();
      }
      up.relax();
    }
    low.relax();
  });
  drop_cycles(search, out);
  for (size_t lower = 0; lower < own; ++lower)  // no circles
    for (size_t upper = 0; upper < own; ++upper)
      if (out.by_day[lower][upper] != 0 && out.holds(upper, lower)) out.below[lower][upper].reset();
  break_ties(out, search);
  out.loose.assign(n, std::vector<char>(n));
  // For dates, model the difference where it is more informative than the later date. For numbers, keep both.
  const auto by_distance = [&](size_t lower, size_t upper) {
    const Column &low = search.column(out.columns[lower]), &up = search.column(out.columns[upper]);
    return is_instant(up) && (upper == out.index || lower == out.index || !says_less(search, low, up));
  };
  for (size_t lower = 0; lower < n && search.options.by_rejection; ++lower)
    for (size_t upper = 0; upper < n; ++upper)
      out.loose[lower][upper] = out.holds(lower, upper) && out.below[lower][upper]->chance > kLoose &&
                                !is_spelled(search.column(out.columns[lower])) &&
                                !is_spelled(search.column(out.columns[upper])) &&
                                !is_given(given, out.columns[lower], out.columns[upper]) && !by_distance(lower, upper);
  if (search.options.by_rejection) loosen_optional(search, given, out);
  return out;
}

// The median, to one digit: no row's own number.
double middle_of(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  const double unit = *middle == 0 ? 1 : std::pow(10.0, std::floor(std::log10(std::abs(*middle))));
  return std::round(*middle / unit) * unit;
}

// Lower columns with missing cells where a column above them is present. Each is interpolated between the present
// cells, including those filled before.
std::vector<FoundRule> filled_columns(const RuleSearch& search, const Order& order) {
  std::vector<FoundRule> out;
  const size_t n = order.columns.size();
  for (size_t k = 0; k < n && search.gaps_may_be(); ++k) {
    const Column& c = search.column(order.columns[k]);
    if (!has_missing(c)) continue;
    FilledData data{c.name};
    int64_t alone = 0, missing = 0;
    for (size_t other = 0; other < n; ++other) {
      const Column& end = search.column(order.columns[other]);
      if (order.holds_tightly(other, k)) data.not_below.push_back(end.name);
      if (!order.holds_tightly(k, other)) continue;
      data.not_above.push_back(end.name);
      for (size_t i = 0; i < c.numbers.size(); ++i)
        alone += c.numbers[i] != c.numbers[i] && end.numbers[i] == end.numbers[i];
    }
    if (alone == 0) continue;
    for (const double x : c.numbers) missing += x != x;
    data.choice = free_name(search.table, "missing " + c.name);
    data.share = static_cast<double>(missing) / static_cast<double>(search.table.rows);
    std::vector<double> distances, numbers;
    const std::vector<const Column*> above = numbers_of(search.table, data.not_above);
    for (const int64_t row : search.proposing) {
      const auto i = static_cast<size_t>(row);
      const double x = c.numbers[i], distance = nearest_end(above, c, i, true) - x;
      if (x == x) numbers.push_back(x);
      if (distance == distance) distances.push_back(distance);
    }
    data.distance = middle_of(std::move(distances)), data.otherwise = middle_of(std::move(numbers));
    out.push_back({make_rule(std::move(data)), {missing}});
  }
  return out;
}

constexpr double kMinFixed = 0.005, kMinFixedDays = 0.02;  // of the rows
constexpr size_t kMaxFixed = 100;
constexpr size_t kFixedShifts = 4;  // pairings of rows with each other's distances

// Whether more rows have a property of the column than distances drawn from other rows would give.
bool beyond_distances(double rows, double expected) {
  return rows >= std::max(2 * expected, expected + 6 * std::sqrt(expected + 1));
}

// Values or calendar days that a later column takes independently of its distance, found in the rows of the search.
class FixedSearch {
 public:
  FixedSearch(const RuleSearch& search, const Column& upper, const std::vector<const Column*>& lower,
              const std::vector<std::string>& by_day)
      : search_(search), upper_(upper) {
    std::vector<const Column*> all = lower;
    all.push_back(&upper);
    least_holders_ = search.holders.least(all);
    for (const std::vector<int64_t>* rows : {&search.proposing, &search.testing})
      for (const int64_t row : *rows) {
        double least = -INFINITY;
        for (const Column* c : lower)
          least = std::max(least, as_bound(upper, *c, c->numbers[static_cast<size_t>(row)], has(by_day, c->name)));
        const double x = upper.numbers[static_cast<size_t>(row)];
        if (x == x && std::isfinite(least)) least_.push_back(least), x_.push_back(x);
      }
  }

  FixedValues find() const {
    FixedValues out;
    out.high = search_.limit_of(upper_, true, least_holders_);
    if (!search_.options.by_rejection || x_.empty()) return out;
    out.values = values();
    for (const FixedDay& day : FixedValues::all_days())
      if (is_instant(upper_) && is_often(day, out)) out.days.push_back(&day);
    if (!out.values.empty() || !out.days.empty()) out.column = free_name(search_.table, "fixed " + upper_.name);
    return out;
  }

 private:
  // The value that row i would have with the distance of another row.
  double shifted(size_t i, size_t shift) const {
    const size_t other = (i + shift) % x_.size();
    return rounded(least_[i] + (x_[other] - least_[other]), digits_of(upper_));
  }

  std::vector<double> values() const {
    const auto rows = static_cast<double>(x_.size());
    std::unordered_map<double, double> seen, expected;
    for (const double x : x_) ++seen[x];
    for (size_t shift = 1; shift <= kFixedShifts; ++shift)
      for (size_t i = 0; i < x_.size(); ++i) expected[shifted(i, shift)] += 1.0 / kFixedShifts;
    std::vector<std::pair<double, double>> often;
    const auto least = static_cast<double>(least_holders_);
    for (const auto& [x, n] : seen) {
      const auto by_distance = expected.find(x);
      if (n >= std::max(kMinFixed * rows, least) &&
          beyond_distances(n, by_distance == expected.end() ? 0 : by_distance->second))
        often.emplace_back(-n, x);
    }
    std::sort(often.begin(), often.end());
    std::vector<double> out;
    for (const auto& [n, x] : often)
      if (out.size() < kMaxFixed) out.push_back(x);
    std::sort(out.begin(), out.end());
    return out;
  }

  // Rows with a fixed value are ignored. If all rows end a month, that is a separate rule.
  bool is_often(const FixedDay& day, const FixedValues& fixed) const {
    const auto lies_on = [&](double x) { return FixedValues::day_of(day, upper_, x) == x; };
    double rows = 0, seen = 0, expected = 0;
    for (size_t i = 0; i < x_.size(); ++i) {
      if (std::binary_search(fixed.values.begin(), fixed.values.end(), x_[i])) continue;
      ++rows, seen += lies_on(x_[i]);
      for (size_t shift = 1; shift <= kFixedShifts; ++shift)
        expected += lies_on(shifted(i, shift)) / (1.0 * kFixedShifts);
    }
    return (seen < rows || day.step > 31) &&
           seen >= std::max(kMinFixedDays * rows, static_cast<double>(least_holders_)) &&
           beyond_distances(seen, expected);
  }

  const RuleSearch& search_;
  const Column& upper_;
  int64_t least_holders_ = 0;
  std::vector<double> least_, x_;  // the largest of the lower columns, and the upper one
};

}  // namespace

std::vector<FoundRule> find_bounds(const RuleSearch& search, const GivenBounds& given,
                                   const std::vector<std::string>& fresh) {
  const Order order = order_of(search, given, fresh, true);
  const size_t n = order.columns.size();
  const auto column = [&](size_t k) -> const Column& { return search.column(order.columns[k]); };
  std::vector<FoundRule> out;
  // Orders that change no column come first: they refer to columns before others become distances.
  for (size_t upper = 0; upper < n; ++upper)
    for (size_t lower = 0; lower < n; ++lower) {
      if (!order.loose[lower][upper] || order.follows(lower, upper)) continue;
      const std::vector<std::string> one{column(lower).name};
      FoundRule found{make_rule(LooseBoundData{head_of(column(upper)), one}), *order.below[lower][upper]};
      found.check = found.rule->text();
      out.push_back(std::move(found));
    }
  for (FoundRule& filled : filled_columns(search, order)) out.push_back(std::move(filled));
  // Sorted by the number of columns below, largest first: a column is replaced before the columns that its distance
  // refers to. Then, in the same order, the columns below the index.
  std::vector<std::tuple<bool, size_t, size_t>> places;
  for (size_t k = 0; k < n; ++k) {
    const bool down = order.under_index(k);
    const size_t others = order.beyond(k, down);
    if (others > 0 && k != order.index) places.emplace_back(down, n - others, k);
  }
  std::sort(places.begin(), places.end());
  for (const auto& [down, rank, k] : places) {
    BoundData data{head_of(column(k)), {}};
    data.distance.down = down;
    Evidence evidence;
    for (size_t i = 0; i < n; ++i) {
      const size_t lower = down ? k : i, upper = down ? i : k;
      const bool strict = is_given(given, order.columns[lower], order.columns[upper], true);
      if (!order.holds_tightly(lower, upper) || (down && !order.under_index(i))) continue;
      if (order.follows(lower, upper) && !strict) continue;
      const Evidence& e = *order.below[lower][upper];
      if (data.others.empty() || e.chance > evidence.chance) evidence = e;  // of several, the weakest
      data.others.push_back(column(i).name);
      if (strict) data.distance.strict.push_back(column(i).name);
      if (order.by_day[lower][upper] != 0) data.distance.by_day.push_back(column(i).name);
    }
    std::vector<const Column*> others;
    for (const std::string& name : data.others) others.push_back(search.table.find(name));
    if (!down) data.fixed = FixedSearch(search, column(k), others, data.distance.by_day).find();
    out.push_back({make_rule(std::move(data)), evidence});
  }
  return out;
}

std::vector<std::pair<int, int>> find_orders(const RuleSearch& search) {
  const Order order = order_of(search, {}, {});
  std::vector<std::pair<int, int>> out;
  for (size_t upper = 0; upper < order.columns.size(); ++upper)
    for (size_t lower = 0; lower < order.columns.size(); ++lower)
      if (order.holds(lower, upper) && !order.follows(lower, upper))
        out.emplace_back(order.columns[lower], order.columns[upper]);
  return out;
}

std::vector<std::string> in_order_with_index(const RuleSearch& search) {
  const int index = search.index();
  std::vector<std::string> out;
  for (const int j : search.usable_numbers(index < 0 ? 0 : kMaxBoundColumns))
    if (evidence_beside_index(search, j, index) || evidence_beside_index(search, index, j))
      out.push_back(search.column(j).name);
  return out;
}

}  // namespace tessera
