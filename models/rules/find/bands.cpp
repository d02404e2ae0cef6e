// Columns of few values that a number decides by the band it lies in. What proposing rows show in turn, sorted by the
// number, are bands; all rows then say where one ends and the next begins.
#include "models/rules/kinds/band.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <queue>
#include <unordered_map>

#include "models/data/table/decimals.h"
#include "models/rules/columns.h"
#include "models/rules/find/search.h"

namespace tessera {
namespace {

constexpr size_t kMostBandColumns = 200;  // the work grows with their square
constexpr size_t kMostBands = 24;
constexpr double kNumbersPerBand = 2;  // fewer are a list of pairs: combinations
constexpr int kMostCutDigits = 9;

// The first day of the year or month of a day; the day.
double floor_day(double day, char to) {
  using namespace std::chrono;
  const year_month_day date{sys_days{days{static_cast<int>(day)}}};
  const sys_days first = to == 'y' ? sys_days{date.year() / January / 1} : sys_days{date.year() / date.month() / 1};
  return to == 'd' ? std::floor(day) : static_cast<double>(first.time_since_epoch().count());
}

// The simplest number above `below` and not above `above`: of fewest digits, and rather a multiple of 5 or 2. With
// `from_below` it may be `below`, and not `above`. NaN: none is simple.
double simple_between(const Column& c, double below, double above, bool from_below) {
  const auto lies_between = [=](double x) { return from_below ? below <= x && x < above : below < x && x <= above; };
  if (c.type == ColumnType::date || c.type == ColumnType::datetime) {
    const double unit = c.type == ColumnType::date ? 1 : kSecondsPerDay;
    for (const char to : {'y', 'm', 'd'})
      if (const double first = floor_day(std::floor(above / unit), to) * unit; lies_between(first)) return first;
    for (const double part : {3600.0, 60.0})
      if (const double first = std::floor(above / part) * part; lies_between(first) && unit > 1) return first;
    return kMissing;
  }
  for (int digits = -kMostCutDigits; digits <= kMostCutDigits; ++digits) {
    const double tens = std::pow(10.0, std::abs(digits));
    for (const double part : {10, 5, 2}) {
      const double parts = (digits < 0 ? below / tens : below * tens) / part;
      const double whole = (from_below ? std::ceil(parts) : std::floor(parts) + 1) * part;
      if (const double cut = digits < 0 ? whole * tens : whole / tens; lies_between(cut)) return cut;
    }
  }
  return kMissing;
}

// The outermost numbers of a band, as many as may be known of one.
class Edge {
 public:
  Edge(double sign, int64_t least) : sign_(sign), least_(static_cast<size_t>(least)) {}
  void add(double x) {
    if (inner_.size() == least_ && sign_ * x >= inner_.top()) return;
    inner_.push(sign_ * x);
    if (inner_.size() > least_) inner_.pop();
    outer_ = inner_.size() == 1 ? sign_ * x : std::min(outer_, sign_ * x);
  }
  bool full() const { return inner_.size() == least_; }
  double outermost() const { return sign_ * outer_; }
  double innermost() const { return sign_ * inner_.top(); }

 private:
  double sign_, outer_ = INFINITY;
  size_t least_;
  std::priority_queue<double> inner_;
};

struct Band {
  int32_t value;  // numbered as the proposing rows show them
  double low, high;
  Edge lowest, highest;
};

// A target of few values, numbered.
class Values {
 public:
  explicit Values(const Column& c) : column_(c) {}
  // −1: missing; −2: a value that proposing rows do not have.
  int32_t of(int64_t row, bool fresh) {
    if (column_.is_missing(row)) return -1;
    const auto i = static_cast<size_t>(row);
    const double key = is_numeric(column_.type) ? column_.numbers[i] + 0.0 : column_.codes[i];
    if (!fresh) {
      const auto at = known_.find(key);
      return at == known_.end() ? -2 : at->second;
    }
    const auto [at, added] = known_.try_emplace(key, static_cast<int32_t>(texts_.size()));
    if (added) texts_.push_back(band_value(column_, i));
    return at->second;
  }
  size_t size() const { return texts_.size(); }
  const std::string& text(int32_t value) const { return texts_[static_cast<size_t>(value)]; }

 private:
  const Column& column_;
  std::unordered_map<double, int32_t> known_;
  std::vector<std::string> texts_;
};

struct Target {
  int column;
  Values values;
  std::vector<int32_t> proposing;
};

std::vector<Band> proposed(const RuleSearch& search, const Column& of, const std::vector<size_t>& order,
                           const Target& target) {
  std::vector<Band> out;
  double numbers = 0, last = kMissing;
  for (const size_t i : order) {
    const int32_t value = target.proposing[i];
    const double x = of.numbers[static_cast<size_t>(search.proposing[i])];
    if (value < 0) return {};
    if (x != last) ++numbers;
    if (out.empty() || out.back().value != value) {
      const int64_t least = search.options.least_rows;
      if (x == last || out.size() == kMostBands) return {};
      out.push_back({value, x, x, Edge(1, least), Edge(-1, least)});
    }
    out.back().high = last = x;
  }
  if (out.size() < 2 || numbers < kNumbersPerBand * static_cast<double>(out.size())) return {};
  return out;
}

// Extends the bands by all rows; false: a row is in none.
bool extend(const RuleSearch& search, const Column& of, Target& target, std::vector<Band>& bands) {
  const Column& c = search.column(target.column);
  for (int64_t row = 0; row < search.table.rows; ++row) {
    const double x = of.numbers[static_cast<size_t>(row)];
    const int32_t value = target.values.of(row, false);
    if ((x != x) != c.is_missing(row)) return false;
    if (x != x) continue;
    auto band = std::lower_bound(bands.begin(), bands.end(), x, [](const Band& b, double v) { return b.high < v; });
    if (band == bands.end() || (x < band->low && band != bands.begin() && band->value != value)) --band;
    if (band->value != value) return false;
    band->low = std::min(band->low, x), band->high = std::max(band->high, x);
    band->lowest.add(x), band->highest.add(x);
  }
  return true;
}

// Where each band ends: the same numbers for all tables that lack fewer rows than may be known at either end.
std::optional<Bands> cut(const Column& of, const Target& target, const std::vector<Band>& bands, bool with_cut) {
  Bands out;
  out.with_cut = with_cut;
  for (const Band& b : bands) {
    if (!b.lowest.full()) return {};
    out.values.push_back(target.values.text(b.value));
  }
  for (size_t k = 1; k < bands.size(); ++k) {
    const Edge &below = bands[k - 1].highest, &above = bands[k].lowest;
    const double cut = simple_between(of, below.outermost(), above.outermost(), with_cut);
    if (!(cut == simple_between(of, below.innermost(), above.innermost(), with_cut))) return {};
    out.cuts.push_back(cut);
  }
  return out;
}

std::optional<FoundRule> bands_of(const RuleSearch& search, const Column& of, const std::vector<size_t>& order,
                                  Target& target, double tried) {
  std::vector<Band> bands = proposed(search, of, order, target);
  if (bands.empty() || !extend(search, of, target, bands)) return {};
  const Column& c = search.column(target.column);
  std::optional<Bands> cuts = cut(of, target, bands, false);
  if (!cuts) cuts = cut(of, target, bands, true);
  if (!cuts) return {};
  const auto holds = [&](int64_t row, int64_t other) {
    const double x = of.numbers[static_cast<size_t>(row)];
    const int32_t value = target.values.of(other, false);
    if (x != x || value == -1) return -1;
    return bands[cuts->of(x)].value == value ? 1 : 0;
  };
  const auto evidence = search.evidence_of(holds, tried);
  if (!evidence) return {};
  return FoundRule{std::make_shared<BandRule>(head_of(c), head_of(of), *cuts), *evidence, "", c.name};
}

}  // namespace

std::optional<FoundRule> find_bands(const RuleSearch& search) {
  std::vector<Target> targets;
  std::vector<int> numbers;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    const Column& c = search.column(j);
    if (!search.usable(j)) continue;
    if (is_numeric(c.type) && numbers.size() < kMostBandColumns) numbers.push_back(j);
    Target target{j, Values(c), {}};
    for (const int64_t row : search.proposing) {
      target.proposing.push_back(target.values.of(row, true));
      if (target.values.size() > kMostBands) break;
    }
    c.relax();
    if (target.values.size() >= 2 && target.values.size() <= kMostBands && targets.size() < kMostBandColumns)
      targets.push_back(std::move(target));
  }
  const auto tried = static_cast<double>(numbers.size() * targets.size());
  for (const int j : numbers) {
    const Column& of = search.column(j);
    std::vector<size_t> order;
    for (size_t i = 0; i < search.proposing.size(); ++i)
      if (!of.is_missing(search.proposing[i])) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return of.numbers[static_cast<size_t>(search.proposing[a])] <
             of.numbers[static_cast<size_t>(search.proposing[b])];
    });
    for (Target& target : targets) {
      if (target.column == j) continue;
      auto found = bands_of(search, of, order, target, tried);
      search.column(target.column).relax();
      if (found) return found;
    }
    of.relax();
  }
  return {};
}

}  // namespace tessera
