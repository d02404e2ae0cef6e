// Columns whose rows are written in several ways: more of them on wider grids than chance has there, or in several
// formats.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tables/formats/calendar.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/row_formats.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/forms.h"
#include "tables/rules/kinds/form.h"
#include "tables/rules/rule/columns.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr size_t kRowsPerBin = 16, kMinBins = 4, kMaxBins = 128;  // columns of fewer values are learned value by value
constexpr double kMinCells = 10;                                  // steps that numbers spread over: a peak is no grid
constexpr double kMinGain = 0.05;  // in nats a row: a weaker preference is not worth a category
constexpr double kLogFalse = 7;    // each half of a table shows a false level once in a thousand
constexpr int kAllKnown = 15;      // digits that numbers without a grid of their own have

// Of rows on a grid, the share that is on a wider one.
struct Wider {
  Grid grid;
  double rows = 0, gain = 0;  // the same number again counts less
};

double divergence(double share, double chance) {
  const auto part = [](double p, double q) { return p > 0 ? p * std::log(p / q) : 0; };
  return share <= chance ? 0 : part(share, chance) + part(1 - share, 1 - chance);
}

class FormLevels {
 public:
  FormLevels(const RuleSearch& search, const Column& c) : search_(search), column_(c) {}

  std::vector<FormLevel> find() {
    std::vector<double> some = counted(search_.proposing);
    std::vector<double> distinct = some;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    const size_t bins = std::clamp<size_t>(static_cast<size_t>(search_.table.rows) / kRowsPerBin, kMinBins, kMaxBins);
    if (distinct.size() <= bins) return {};
    const int digits = digits_of(column_);
    const bool all = digits != kAllDigits && std::all_of(distinct.begin(), distinct.end(), [&](double x) {
                       return std::abs(x) * grid_of(digits) <= Grid::kMaxUnits;
                     });
    widen(all ? std::optional(Grid{1, 0, digits}) : std::nullopt, some, counted(search_.testing));
    if (levels_.size() < 2) return {};
    std::stable_sort(levels_.begin(), levels_.end(), [](const FormLevel& a, const FormLevel& b) {
      return a.grid && (!b.grid || a.grid->spacing() > b.grid->spacing());
    });
    return shares();
  }

 private:
  // Numbers that many rows hold are learned as they are.
  std::vector<double> counted(const std::vector<int64_t>& rows) const {
    std::vector<double> out;
    for (const int64_t row : rows)
      if (const double x = column_.numbers[static_cast<size_t>(row)]; x == x) out.push_back(x);
    const auto often = frequent_numbers(out);
    std::erase_if(out, [&](double x) { return often.contains(x); });
    return out;
  }

  // Multiples of the grid's step that people use.
  std::vector<Grid> wider_than(const std::optional<Grid>& grid) const {
    std::vector<Grid> out;
    if (!grid) {
      for (int digits = 0; digits < kAllKnown - 2; ++digits) out.push_back({1, 0, digits});
      return out;
    }
    const auto unit = static_cast<int64_t>(grid_of(grid->digits));
    const auto add = [&](int64_t step) {
      if (step > grid->step && step % grid->step == 0) out.push_back({step, 0, grid->digits});
    };
    if (has_time(column_)) {
      for (const int64_t seconds :
           std::initializer_list<int64_t>{1, 60, 300, 600, 900, 1800, 3600, 21600, 43200, kSecondsOfDay})
        add(seconds * unit);
      for (int64_t step = 10; step < unit; step *= 10) add(step);
      return out;
    }
    for (int64_t step = 1, limit = unit * 1'000'000; step <= limit && step < (int64_t{1} << 48); step *= 10)
      for (const int64_t by : {10, 20, 25, 50}) add(step * by);
    for (const int64_t by : {2, 3, 4, 5, 6, 8, 12, 15, 24, 30, 36, 60, 90, 120}) add(by * unit);
    return out;
  }

  // How much more often than by chance rows of `grid` are on the wider one, whose first is set to the most frequent.
  Wider compared(const std::optional<Grid>& grid, Grid wide, const std::vector<double>& rows, bool fixed) const {
    const double unit = grid_of(wide.digits), step = static_cast<double>(wide.step);
    const double chance = grid ? static_cast<double>(grid->step) / step : std::pow(10.0, wide.digits - kAllKnown);
    if (grid && !fixed) {
      std::unordered_map<int64_t, size_t> firsts;
      size_t most = 0;
      for (const double x : rows) {
        const int64_t units = std::llround(x * unit), first = ((units % wide.step) + wide.step) % wide.step;
        if (const size_t n = ++firsts[first]; n > most || (n == most && first < wide.first))
          most = n, wide.first = first;
      }
    }
    std::unordered_map<double, double> cells, values;
    double on = 0;
    for (const double x : rows) {
      on += wide.holds(x);
      ++values[x];
      ++cells[grid ? std::floor((x * unit - static_cast<double>(wide.first)) / step + .5) : x];
    }
    const auto n = static_cast<double>(rows.size());
    const auto effective = [&](const std::unordered_map<double, double>& counts) {
      double squares = 0;
      for (const auto& [at, count] : counts) squares += count * count;
      return squares > 0 ? n * n / squares : 0;
    };
    const double gain = effective(cells) < kMinCells ? 0 : divergence(on / n, chance);
    return {wide, effective(values), gain};
  }

  // Levels of rows on `grid`, the wider ones first.
  void widen(const std::optional<Grid>& grid, const std::vector<double>& proposing,
             const std::vector<double>& testing) {
    Wider best;
    const std::vector<Grid> candidates = wider_than(grid);
    const double needed = kLogFalse + std::log(static_cast<double>(candidates.size() * search_.columns() + 1));
    for (const Grid& wide : candidates)
      if (const Wider w = compared(grid, wide, proposing, false);
          w.gain > best.gain && w.gain * w.rows > needed + log_firsts(grid, wide))
        best = w;
    if (best.gain > kMinGain) {
      const Wider tested = compared(grid, best.grid, testing, true);
      if (tested.gain > kMinGain && tested.gain * tested.rows > needed) {
        widen(best.grid, split(proposing, best.grid, true), split(testing, best.grid, true));
        if (grid) add_endings(*grid, best.grid, split(proposing, best.grid, false), split(testing, best.grid, false));
      }
    }
    levels_.push_back({grid, 0});
  }

  // Log of the number of firsts that a wider grid may have, of which the most frequent is taken.
  static double log_firsts(const std::optional<Grid>& grid, const Grid& wide) {
    return grid ? std::log(static_cast<double>(wide.step) / static_cast<double>(grid->step)) : 0;
  }

  static std::vector<double> split(std::vector<double> rows, const Grid& grid, bool on) {
    std::erase_if(rows, [&](double x) { return grid.holds(x) != on; });
    return rows;
  }

  // For values off the wide grid, further residues of the same step, and wider grids of theirs: most prices end in .99,
  // others in .95 or .00, or in 4,900 and 9,900.
  void add_endings(const Grid& grid, Grid wide, std::vector<double> proposing, std::vector<double> testing) {
    constexpr int kMaxEndings = 4, kMinEndings = 10;
    for (int k = 0; k < kMaxEndings && wide.step >= kMinEndings * grid.step; ++k) {
      const Wider found = compared(grid, wide, proposing, false), tested = compared(grid, found.grid, testing, true);
      if (!(found.gain * found.rows > kLogFalse + log_firsts(grid, wide))) return;
      if (!(tested.gain > kMinGain && tested.gain * tested.rows > kLogFalse)) return;
      widen(found.grid, split(proposing, found.grid, true), split(testing, found.grid, true));
      proposing = split(proposing, found.grid, false), testing = split(testing, found.grid, false);
    }
  }

  // Shares over all rows. Levels of too few rows to be disclosed are merged into the next level.
  std::vector<FormLevel> shares() const {
    std::vector<FormLevel> out = levels_;
    const auto least = static_cast<double>(search_.holders.least({&column_}));
    for (bool few = true; few && out.size() > 1;) {
      double rows = 0;
      for (FormLevel& l : out) l.share = 0;
      for (const double x : column_.numbers)
        if (x == x) ++out[level_of(out, x)].share, ++rows;
      const auto rare = std::find_if(out.begin(), out.end(), [&](const FormLevel& l) { return l.share < least; });
      few = rare != out.end();
      if (few) out.erase(rare);
      else
        for (FormLevel& l : out) l.share /= rows;
    }
    if (out.size() < 2) out.clear();
    return out;
  }

  const RuleSearch& search_;
  const Column& column_;
  std::vector<FormLevel> levels_;
};

}  // namespace

std::pair<double, double> ends_of(const Column& c, int64_t least) {
  std::vector<double> x(c.numbers.begin(), c.numbers.end());
  std::erase_if(x, [](double v) { return v != v; });
  const auto some =
      static_cast<std::ptrdiff_t>(std::min<size_t>(static_cast<size_t>(std::max<int64_t>(least, 1)), x.size()));
  const auto mean = [&](auto order) {
    std::partial_sort(x.begin(), x.begin() + some, x.end(), order);
    double sum = 0;
    for (auto at = x.begin(); at != x.begin() + some; ++at) sum += *at / static_cast<double>(some);
    return sum;
  };
  const double low = mean(std::less<>());
  return {low, mean(std::greater<>())};
}

std::vector<FoundRule> find_forms(const RuleSearch& search, const std::vector<FoundRule>& others) {
  std::vector<std::optional<FoundRule>> found(search.columns());
  search.team.for_each(static_cast<int64_t>(found.size()), [&](int64_t j) {
    const Column& c = search.column(static_cast<int>(j));
    const auto is_other = [&](const FoundRule& f) { return f.rule->column() == c.name; };
    if (!search.usable(static_cast<int>(j)) || !is_ordered(c) || is_day(c) || std::ranges::any_of(others, is_other))
      return;
    std::vector<FormLevel> levels = FormLevels(search, c).find();
    if (!levels.empty()) {
      const auto [low, high] = ends_of(c, search.holders.least({&c}));
      found[static_cast<size_t>(j)] =
          FoundRule{make_rule(FormData{c.name, std::move(levels), low, high}), {search.table.rows}};
    }
    c.relax();
  });
  return those_found(std::move(found));
}

// Formats that few rows have are protected as categories are; a column of which they are most keeps the most frequent.
std::vector<FoundRule> find_formats(const RuleSearch& search) {
  std::vector<FoundRule> out;
  for (int j = 0; j < static_cast<int>(search.columns()); ++j) {
    Column& c = search.table.columns[static_cast<size_t>(j)];
    if (!by_row(c) || is_quantity(c)) continue;  // digits of numbers: find_digits()
    std::vector<int64_t> rows(c.values.size());
    for (const int32_t code : c.codes)
      if (code >= 0) ++rows[static_cast<size_t>(code)];
    const int64_t least = search.holders.least({&c});
    int64_t all = 0, known = 0, formats = 0;
    for (const int64_t n : rows) all += n, known += n >= least ? n : 0, formats += n >= least;
    c.format = c.values[static_cast<size_t>(std::max_element(rows.begin(), rows.end()) - rows.begin())];
    if (search.usable(j) && formats > 1 && 2 * known > all) {
      out.push_back({make_rule(FormData{c.name}), {all}});
    } else {
      c.values.clear();
      c.codes = c.codes.empty_like();
    }
  }
  return out;
}

}  // namespace tessera
