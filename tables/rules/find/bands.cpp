// Columns of few values that follow from the band in which a number lies. Runs of equal values in the proposing rows,
// sorted by the number, propose the bands; all rows then decide where one band ends and the next begins.
#include "tables/kinds/cells.h"
#include "tables/rules/kinds/band.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "tables/formats/calendar.h"
#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"
#include "tables/rules/find/waiting.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr size_t kMaxBandColumns = 200;  // the work grows with their square
constexpr size_t kMaxBands = 24, kMaxPartBands = 60;
constexpr size_t kNumbersPerBand = 2;  // fewer are a list of pairs: combinations
constexpr int kMaxCutDigits = 9;

// The first day of the year or month of a day; the day.
double floor_day(double day, char to) {
  const Civil c = civil_from_days(day_in_calendar(day));
  return to == 'd' ? day : static_cast<double>(days_from_civil(c.year, to == 'y' ? 1 : c.month, 1));
}

// The simplest number in (below, above]: fewest digits, multiples of 5 or 2 preferred. With `from_below`, in [below,
// above). `day`: of ColumnKind. NaN: none is simple.
double simple_between(double day, double below, double above, bool from_below) {
  const auto lies_between = [=](double x) { return from_below ? below <= x && x < above : below < x && x <= above; };
  if (day != 0) {
    for (const char to : {'y', 'm', 'd'})
      if (const double first = floor_day(std::floor(above / day), to) * day; lies_between(first)) return first;
    for (const double part : {3600.0, 60.0})
      if (const double first = std::floor(above / part) * part; lies_between(first) && day > 1) return first;
    return kMissing;
  }
  return simplest_between(below, above, from_below ? Ends::below : Ends::above, kMaxCutDigits);
}

struct Band {
  int32_t value;  // numbered as the proposing rows show them
  double low, high;
  Outermost lowest, highest;
};

constexpr int32_t kNoValue = -1, kNewValue = -2, kRareValue = -3;

// A target of few values, numbered as proposing rows show them.
class Values {
 public:
  Values(const Column& c, const Holders& holders) : column_(c) {
    if (has_texts(c)) held_ = &holders.of_values(c);
  }
  void add(int64_t row) {
    if (column_.is_missing(row)) return;
    if (known_.try_emplace(key_of(row), static_cast<int32_t>(texts_.size())).second)
      texts_.push_back(value_text(column_, static_cast<size_t>(row)));
  }
  // kNoValue: missing; kRareValue: a text of fewer holders, which protection replaces; kNewValue: proposing rows do not
  // have it.
  int32_t of(int64_t row, int64_t least) const {
    if (column_.is_missing(row)) return kNoValue;
    if (held_ != nullptr && (*held_)[static_cast<size_t>(column_.codes[static_cast<size_t>(row)])].holders < least)
      return kRareValue;
    const auto at = known_.find(key_of(row));
    return at == known_.end() ? kNewValue : at->second;
  }
  size_t size() const { return texts_.size(); }
  const std::string& text(int32_t value) const { return texts_[static_cast<size_t>(value)]; }

 private:
  double key_of(int64_t row) const { return column_.key(static_cast<size_t>(row)); }
  const Column& column_;
  const std::vector<Held>* held_ = nullptr;
  std::unordered_map<double, int32_t> known_;
  std::vector<std::string> texts_;
};

struct Target {
  int column;
  Values values;
};

// What the bands divide: a column, a part of one, or what two columns say together.
struct Source {
  const Column& column;
  BandPart part = nullptr;
  const Column* beside = nullptr;
  Compares by = Compares::difference;
  double of(int64_t row) const {
    const auto i = static_cast<size_t>(row);
    return beside == nullptr ? part_of(part, column, column.numbers[i])
                             : compared(column, column.numbers[i], *beside, beside->numbers[i], by);
  }
};

struct Proposal {
  std::vector<Band> bands;
  Bands cuts;
  bool gaps;
};

int64_t least_of(const RuleSearch& search, const Source& source, const Target& target) {
  const Column* beside = source.beside == nullptr ? &source.column : source.beside;
  return search.holders.least({&search.column(target.column), &source.column, beside});
}

std::vector<Band> proposed(const RuleSearch& search, const Source& source, const std::vector<int64_t>& order,
                           const Target& target) {
  const size_t most = source.part == nullptr ? kMaxBands : kMaxPartBands;
  std::vector<Band> out;
  std::unordered_set<double> numbers;
  double last = kMissing;
  const int64_t least = least_of(search, source, target);
  for (const int64_t row : order) {
    const int32_t value = target.values.of(row, least);
    const double x = source.of(row);
    if (value == kRareValue || (value == kNoValue && search.gaps_may_be())) continue;
    if (value < 0) return {};
    if (numbers.size() < kNumbersPerBand * kMaxPartBands)
      numbers.insert(source.column.numbers[static_cast<size_t>(row)]);
    if (out.empty() || out.back().value != value) {
      if (x == last || out.size() == most) return {};
      out.push_back({value, x, x, Outermost(1, least), Outermost(-1, least)});
    }
    out.back().high = last = x;
  }
  if (out.size() < 2 || numbers.size() < kNumbersPerBand * out.size()) return {};
  return out;
}

// Extends the bands by all rows; false: a row is in none. `gaps`: cells of one of the two are missing alone.
bool extend(const RuleSearch& search, const Source& source, const Target& target, std::vector<Band>& bands,
            bool& gaps) {
  const Column& c = search.column(target.column);
  const int64_t least = least_of(search, source, target);
  bool all = true;
  search.holders.each([&](int64_t row, int64_t holder) {
    if (!all) return;
    const double x = source.of(row);
    const int32_t value = target.values.of(row, least);
    if (value == kRareValue) return;
    const bool missing = c.is_missing(row);
    gaps |= (x != x) != missing;
    all = !gaps || search.gaps_may_be();
    if (x != x || missing || !all) return;
    auto band = std::lower_bound(bands.begin(), bands.end(), x, [](const Band& b, double v) { return b.high < v; });
    if (band == bands.end() || (x < band->low && band != bands.begin() && band->value != value)) --band;
    all = band->value == value;
    band->low = std::min(band->low, x), band->high = std::max(band->high, x);
    band->lowest.add(x, holder), band->highest.add(x, holder);
  });
  return all;
}

// Where each band ends.
std::optional<Bands> cut(const Source& source, const Target& target, std::vector<Band>& bands, bool with_cut) {
  Bands out;
  out.part = source.part, out.with_cut = with_cut;
  for (Band& b : bands) {
    if (!b.lowest.full()) return {};
    out.values.push_back(target.values.text(b.value));
  }
  const bool clock = source.part != nullptr && source.part->name == std::string_view("time");
  const double day = clock                                                ? kSecondsPerDay  // cut at full hours
                     : source.part == nullptr && source.beside == nullptr ? kind_of(source.column).day
                                                                          : 0;
  for (size_t k = 1; k < bands.size(); ++k) {
    const auto cut = stable_between(bands[k - 1].highest, bands[k].lowest, [&](double below, double above) {
      return simple_between(day, below, above, with_cut);
    });
    if (!cut) return {};
    out.cuts.push_back(*cut);
  }
  return out;
}

size_t letters(const Bands& bands) {
  size_t out = 0;
  for (const double cut : bands.cuts) out += fmt::format("{}", cut).size();
  return out;
}

std::optional<Proposal> proposal(const RuleSearch& search, const Source& source, const std::vector<int64_t>& order,
                                 const Target& target) {
  std::vector<Band> bands = proposed(search, source, order, target);
  bool gaps = false;
  if (bands.empty() || !extend(search, source, target, bands, gaps)) return {};
  std::optional<Bands> cuts = cut(source, target, bands, false), with_cut = cut(source, target, bands, true);
  if (!cuts || (with_cut && letters(*with_cut) < letters(*cuts))) cuts = std::move(with_cut);
  if (!cuts) return {};
  return Proposal{std::move(bands), std::move(*cuts), gaps};
}

std::optional<FoundRule> rule_of(const RuleSearch& search, const Source& source, const Proposal& proposal,
                                 const Target& target, double tried) {
  const int64_t least = least_of(search, source, target);
  const auto holds = [&](int64_t row, int64_t other) {
    const double x = source.of(row);
    const int32_t value = target.values.of(other, least);
    if (x != x || value == kNoValue || value == kRareValue) return -1;
    return proposal.bands[proposal.cuts.of(x)].value == value ? 1 : 0;
  };
  const auto evidence = search.evidence_of(holds, tried);
  if (!evidence) return {};
  const Column& c = search.column(target.column);
  return FoundRule{make_rule(BandData{head_of(c), head_of(source.column), proposal.cuts,
                                      source.beside == nullptr ? Beside{} : Beside{source.beside->name, source.by},
                                      search.seen_as(c, proposal.gaps)}),
                   *evidence};
}

// Proposing rows by their number.
std::vector<int64_t> order_of(const RuleSearch& search, const Source& source) {
  std::vector<int64_t> out = search.proposing;
  std::erase_if(out, [&](int64_t row) {
    return source.column.is_missing(row) || (source.beside != nullptr && source.beside->is_missing(row));
  });
  std::sort(out.begin(), out.end(), [&](int64_t a, int64_t b) { return source.of(a) < source.of(b); });
  return out;
}

// The `wanted` columns that have few values.
template <class Wanted>
std::vector<Target> targets_of(const RuleSearch& search, Wanted&& wanted) {
  std::vector<Target> out;
  for (const int j : search.usable_columns(SIZE_MAX, wanted)) {
    const Column& c = search.column(j);
    Target target{j, Values(c, search.holders)};
    for (const int64_t row : search.proposing) {
      target.values.add(row);
      if (target.values.size() > kMaxPartBands) break;
    }
    c.relax();
    if (target.values.size() >= 2 && target.values.size() <= kMaxPartBands && out.size() < kMaxBandColumns)
      out.push_back(std::move(target));
  }
  return out;
}

// Of each target, the rule of the fewest bands: a quarter follows from the month, not from the date.
struct FewestBands {
  explicit FewestBands(std::vector<Target> all) : targets(std::move(all)), found(targets.size()) {}

  void look_in(const RuleSearch& search, int column, double tried) {
    const Column& c = search.column(column);
    std::vector<BandPart> parts{nullptr};
    for (const TimeFunction& f : time_functions())
      if (f.by_band && (when_parts(c) & f.needs) == f.needs) parts.push_back(&f);
    for (const BandPart part : parts) {
      const Source source{c, part};
      const std::vector<int64_t> order = order_of(search, source);
      for (size_t t = 0; t < targets.size(); ++t) {
        if (targets[t].column == column) continue;
        const auto bands = proposal(search, source, order, targets[t]);
        if (bands && bands->bands.size() < fewest[t])
          if (auto rule = rule_of(search, source, *bands, targets[t], tried))
            found[t] = std::move(rule), fewest[t] = bands->bands.size();
        search.column(targets[t].column).relax();
      }
    }
    c.relax();
  }

  std::vector<Target> targets;
  std::vector<std::optional<FoundRule>> found;
  std::vector<size_t> fewest = std::vector<size_t>(targets.size(), kMaxPartBands + 1);
};

// A number in the proposing rows.
struct Compared {
  int column;
  std::vector<double> x;
  bool positive, signs;  // all numbers are positive; some are, and some are negative
};

// Two values of a target, by proposing row; −1: neither, or missing.
class TwoValues {
 public:
  TwoValues(const RuleSearch& search, const Target& target)
      : least_(search.holders.least({&search.column(target.column)})) {
    for (const int64_t row : search.proposing) of_.push_back(std::max(target.values.of(row, least_), kNoValue));
  }
  // Whether a quantity of each row is lower with one value than with the other.
  template <class Quantity>
  bool are_apart(Quantity&& quantity) const {
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (size_t i = 0; i < of_.size(); ++i) {
      const double x = of_[i] < 0 ? kMissing : quantity(i);
      if (x != x) continue;
      const auto value = static_cast<size_t>(of_[i]);
      low[value] = std::min(low[value], x), high[value] = std::max(high[value], x);
      if (high[0] >= low[1] && high[1] >= low[0]) return false;
    }
    return high[0] >= low[0] && high[1] >= low[1];
  }

 private:
  int64_t least_;
  std::vector<int32_t> of_;
};

}  // namespace

std::optional<FoundRule> find_compared(const RuleSearch& search) {
  constexpr size_t kMaxCompared = 60;  // the work grows with their square
  std::vector<Compared> numbers;
  for (const int j : search.usable_columns(kMaxCompared, is_ordered)) {
    numbers.push_back({j, numbers_in(search.column(j), search.proposing), false, false});
    auto& [at, x, positive, signs] = numbers.back();
    positive = std::ranges::none_of(x, [](double each) { return each <= 0; });
    signs = !positive && std::ranges::any_of(x, [](double each) { return each > 0; }) &&
            std::ranges::any_of(x, [](double each) { return each < 0; });
  }
  std::vector<Target> targets = targets_of(search, [](const Column&) { return true; });
  const auto tried = static_cast<double>(3 * numbers.size() * numbers.size() * targets.size());
  const auto rule_by = [&](const Source& source, const Target& target) -> std::optional<FoundRule> {
    const auto bands = proposal(search, source, order_of(search, source), target);
    return bands ? rule_of(search, source, *bands, target, tried) : std::nullopt;
  };
  for (const Target& target : targets) {
    if (target.values.size() != 2 || !search.may_give(target.column, {})) continue;
    const TwoValues values(search, target);
    const auto decides = [&](const Compared& a) {
      return a.column != target.column && values.are_apart([&](size_t i) { return a.x[i]; });
    };
    if (std::ranges::any_of(numbers, decides)) continue;  // one column is enough
    for (const Compared& a : numbers)
      for (const Compared& b : numbers) {
        const Column &first = search.column(a.column), &second = search.column(b.column);
        if (&a == &b || a.column == target.column || b.column == target.column) continue;
        if (!search.may_give(target.column, {a.column, b.column})) continue;
        const bool quantities = is_quantity(first) && is_quantity(second), ordered = have_order(first, second);
        for (const Compares by : {Compares::difference, Compares::ratio, Compares::size}) {
          if (by == Compares::ratio ? !quantities || !b.positive : !ordered) continue;
          if (by == Compares::size && (!quantities || !a.signs)) continue;
          if (!values.are_apart([&](size_t i) { return compared(first, a.x[i], second, b.x[i], by); })) continue;
          if (auto found = rule_by(Source{first, nullptr, &second, by}, target)) return found;
        }
      }
  }
  return {};
}

namespace {

// Whether a text without bands of its own decides the target, as a country does its currency: the two occur in fixed
// combinations, which bands would take the one out of.
bool follows_from_text(const RuleSearch& search, const FewestBands& bands, size_t t,
                       std::optional<std::vector<FoundRule>>& combinations) {
  constexpr size_t kRows = 5;  // of each text
  const Target& target = bands.targets[t];
  const int64_t least = search.holders.least({&search.column(target.column)});
  std::vector<int32_t> of;
  for (const int64_t row : search.proposing) of.push_back(target.values.of(row, least));
  const auto decides = [&](int j) {
    const Column& c = search.column(j);
    std::vector<int32_t> value(c.values.size(), kNoValue);
    size_t texts = 0;
    for (size_t i = 0; i < of.size(); ++i) {
      const int32_t code = c.codes[static_cast<size_t>(search.proposing[i])];
      if (code < 0 || of[i] < 0) continue;
      int32_t& known = value[static_cast<size_t>(code)];
      texts += known == kNoValue;
      if (known != kNoValue && known != of[i]) return false;
      known = of[i];
    }
    return texts > target.values.size() && kRows * texts <= of.size();
  };
  for (const int j : search.usable_texts()) {
    if (j == target.column) continue;
    const auto own = std::ranges::find(bands.targets, j, &Target::column);
    if (own != bands.targets.end() && bands.found[static_cast<size_t>(own - bands.targets.begin())]) continue;
    if (!decides(j)) continue;
    if (!combinations) combinations = find_combinations(search);
    const auto has_both = [&](const FoundRule& f) {
      const std::vector<std::string> columns = f.rule->columns(search.table);
      return has(columns, search.column(j).name) && has(columns, search.column(target.column).name);
    };
    if (std::ranges::any_of(*combinations, has_both)) return true;
  }
  return false;
}

}  // namespace

std::optional<FoundRule> find_bands(const RuleSearch& search) {
  const std::vector<int> numbers = search.usable_columns(kMaxBandColumns, is_ordered);
  FewestBands bands(targets_of(search, [](const Column&) { return true; }));
  const auto tried = static_cast<double>(numbers.size() * bands.targets.size());
  for (const int j : numbers) bands.look_in(search, j, tried);
  std::optional<std::vector<FoundRule>> combinations;
  for (size_t t = 0; t < bands.targets.size(); ++t)
    if (bands.found[t] && !follows_from_text(search, bands, t, combinations)) return std::move(bands.found[t]);
  return {};
}

std::vector<FoundRule> find_bands_of(const RuleSearch& search, const TableRule& computes) {
  const int source = place_of(search.table, computes.column());
  if (source < 0 || !is_ordered(search.column(source))) return {};
  const std::vector<std::string> needed = computes.columns(search.table);
  FewestBands bands(targets_of(search, [&](const Column& c) {
    return !is_ordered(c) && std::find(needed.begin(), needed.end(), c.name) == needed.end();
  }));
  bands.look_in(search, source, static_cast<double>(search.columns() * bands.targets.size()));
  std::vector<FoundRule> out;
  for (auto& f : bands.found)
    if (f) out.push_back(std::move(*f));
  return out;
}

}  // namespace tessera
