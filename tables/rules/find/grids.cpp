// Columns whose values are multiples of a step coarser than their digits, in all rows or as a category says.
#include "tables/rules/kinds/grid.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_set>

#include "tables/formats/number_format.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/row_formats.h"
#include "tables/rules/find/search.h"
#include "tables/rules/kinds/function.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

// Columns of fewer values are learned value by value.
constexpr size_t kMinValues = 17;

// The number of groups of rows, without a common holder, that fit no coarser grid: with `least` of them, the grid is
// the same without any least − 1 holders, because one group stays complete.
int64_t groups_on(const RuleSearch& search, const Column& c, double unit, int64_t wanted) {
  int64_t groups = 0, step = 0, closed = -1;
  std::optional<int64_t> first;
  for (const int64_t row : search.holders.together(search.proposing)) {
    const double x = c.numbers[static_cast<size_t>(row)];
    if (x != x || search.holders.of(row) == closed) continue;
    const int64_t v = std::llround(x * unit);
    if (!first) first = v;
    step = std::gcd(step, v - *first);
    if (step != wanted) continue;
    ++groups, step = 0, closed = search.holders.of(row);
    first.reset();
  }
  return groups;
}

// The values in units of their last digit, of some rows; empty if they are too large.
std::vector<int64_t> units_of(const Column& c, const std::vector<int64_t>& rows, double unit) {
  std::vector<int64_t> out;
  for (const int64_t row : rows) {
    const double x = c.numbers[static_cast<size_t>(row)] * unit;
    if (x != x) continue;
    if (std::abs(x) > Grid::kMaxUnits) return {};
    out.push_back(std::llround(x));
  }
  return out;
}

std::optional<FoundRule> grid_of_column(const RuleSearch& search, const Column& c, const std::string& said,
                                        double tried) {
  const int digits = digits_of(c);
  if (digits == kAllDigits) return {};
  const double unit = grid_of(digits);
  std::vector<int64_t> values = units_of(c, search.proposing, unit);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < kMinValues) return {};
  int64_t step = 0;
  for (const int64_t v : values) step = std::gcd(step, v - values[0]);
  if (step < 2) return {};
  const int64_t first = ((values[0] % step) + step) % step;
  const auto holds = [&](int64_t row, int64_t) {
    const double x = c.numbers[static_cast<size_t>(row)] * unit;
    if (x != x) return -1;
    return std::abs(x) <= Grid::kMaxUnits && (std::llround(x) - first) % step == 0 ? 1 : 0;
  };
  Evidence e;
  e.chance = 1 / static_cast<double>(step);
  for (const int64_t row : search.testing) e.held_out += holds(row, row) > 0;
  // Repeated values are no evidence: only distinct ones count.
  if (!RuleSearch::beyond_chance(static_cast<int64_t>(values.size()) - 1, e.chance, tried)) return {};
  if (groups_on(search, c, unit, step) < search.holders.least({&c})) return {};
  const auto rows = search.kept_rows(holds);
  if (!rows) return {};
  e.rows = *rows;
  return FoundRule{make_rule(GridData{c.name, said, {step, first, digits}}), e};
}

// The digits that a number needs, below 0 for multiples of ten, but no more than `most`.
int needed_digits(double x, int most) {
  int digits = most;
  const auto fits = [&](int fewer) {
    return fewer >= 0 ? round_decimals(x, fewer) == x : std::fmod(x, grid_of(-fewer)) == 0;
  };
  while (digits > DigitsData::kMin && fits(digits - 1)) --digits;
  return digits;
}

// What the rows of a category have.
struct LevelDigits {
  int64_t rows = 0;
  int needed = DigitsData::kMin;  // the most that a number needs
  Held held;                      // of these
  int32_t format = -1;            // in which its rows are written
  bool formats = false;           // in several
  std::unordered_set<double> distinct;
};

// Finds the category that decides the digits of a column.
class DigitsSearch {
 public:
  DigitsSearch(const RuleSearch& search, const Column& c)
      : search_(search), column_(c), digits_(digits_of(c) == kAllDigits ? -1 : digits_of(c)) {
    for (const std::string& format : c.values) {
      NumberFormat f;
      written_.push_back(NumberFormat::parse(format, f) ? f.most : 0);
    }
    if (digits_ >= 0 && is_quantity(c) && !is_clock_format(c.format) && !is_spelled(c)) count();
  }

  std::optional<FoundRule> find() const {
    std::optional<DigitsData> best;
    double most = 0;
    for (const int j : search_.usable_texts()) {
      if (rows_ == 0 || search_.column(j).values.size() > kMaxLevels || !is_proposed(search_.column(j))) continue;
      const auto [data, gain] = of_category(search_.column(j));
      if (gain > most) most = gain, best = data;
    }
    if (!best) return {};
    return FoundRule{make_rule(std::move(*best)), {rows_}};
  }

 private:
  static constexpr size_t kMaxLevels = 1000, kEnough = 200;  // distinct numbers are as much evidence as more
  static constexpr double kLogChance = 21;                   // of a false level
  static constexpr size_t kRepeats = 4;                      // a number counts as many times: prices of a product
  static constexpr double kMinCoarse = 10;                   // a tenth of the levels, or of the rows, differs
  static constexpr int64_t kMaxOthers = 10;                  // a tenth of the rows may be of levels that say nothing

  // How many rows need that many digits or fewer, and are written in each format; unless nearly all are alike.
  void count() {
    needed_.resize(column_.numbers.size(), kNone);
    std::map<int, double> rows;
    for (size_t i = 0; i < needed_.size(); ++i) {
      const double x = column_.numbers[i];
      if (x != x) continue;
      needed_[i] = static_cast<int8_t>(needed_digits(x, digits_));
      ++rows[needed_[i]], ++rows_;
    }
    double sum = 0;
    for (const auto& [digits, n] : rows) share_[digits] = (sum += n) / static_cast<double>(rows_);
    shares_.resize(written_.size());
    if (by_row(column_))
      for (const int32_t code : column_.codes)
        if (code >= 0) shares_[static_cast<size_t>(code)] += 1 / static_cast<double>(rows_);
    if (rows.size() < 2 && written_.empty()) rows_ = 0;
  }

  void add(const Column& by, int64_t row, int64_t holder, std::vector<LevelDigits>& levels) const {
    const auto i = static_cast<size_t>(row);
    if (by.codes[i] < 0 || needed_[i] == kNone) return;
    LevelDigits& level = levels[static_cast<size_t>(by.codes[i])];
    ++level.rows;
    if (needed_[i] > level.needed) level.needed = needed_[i], level.held = {};
    if (needed_[i] == level.needed) level.held.add(holder);
    if (level.distinct.size() < kEnough && column_.numbers[i] != 0) level.distinct.insert(column_.numbers[i]);
    if (written_.empty()) return;
    const int32_t format = column_.codes[i];
    level.formats |= level.format >= 0 && level.format != format;
    level.format = format;
  }

  // Whether the levels of some rows differ.
  bool is_proposed(const Column& by) const {
    std::vector<LevelDigits> levels(by.values.size());
    for (const int64_t row : search_.proposing) add(by, row, row, levels);
    std::erase_if(levels, [](const LevelDigits& level) { return level.rows < kRareRows; });
    return std::ranges::any_of(levels, [&](const LevelDigits& level) {
      return level.needed != levels.front().needed || level.format != levels.front().format;
    });
  }

  // The levels of a category that have digits of their own, and how much they save; 0: they are no rule.
  std::pair<DigitsData, double> of_category(const Column& by) const {
    std::vector<LevelDigits> levels(by.values.size());
    search_.holders.each([&](int64_t row, int64_t holder) { add(by, row, holder, levels); });
    const auto own = [](const LevelDigits& level) { return level.format < 0 || !level.formats; };
    DigitsData data{column_.name, by.name, {}, {}, !written_.empty() && std::ranges::all_of(levels, own)};
    const std::vector<Held>& held = search_.holders.of_values(by);
    const int64_t least = search_.holders.least({&column_, &by});
    std::vector<double> rows;  // of each level
    int64_t others = 0;
    double gain = 0, evidence = 0;
    for (size_t v = 0; v < levels.size(); ++v) {
      const LevelDigits& level = levels[v];
      const auto format = static_cast<size_t>(std::max(level.format, 0));
      const auto own_rows = static_cast<double>(level.rows),
                 counted = std::min(own_rows, static_cast<double>(kRepeats * level.distinct.size()));
      if (level.rows == 0) continue;
      const double said =
          data.written ? own_rows * -std::log(shares_[format]) : counted * -std::log(share_.at(level.needed));
      const bool finest = !data.written && level.needed == digits_;
      if (held[v].holders < least || level.held.holders < least || (!finest && !data.written && said < kLogChance)) {
        others += level.rows;
        continue;
      }
      const int digits = data.written ? written_[format] : level.needed;
      data.levels.push_back(by.values[v]), data.digits.push_back(digits);
      rows.push_back(own_rows);
      evidence += said;
      gain += own_rows * (digits_ - level.needed + (data.written ? 1 : 0));
    }
    // Of many levels, a few may have a coarser grid for another reason, such as prices of whole tens.
    double coarse = 0, coarse_rows = 0;
    const double finest = data.digits.empty() ? 0 : *std::ranges::max_element(data.digits);
    for (size_t k = 0; k < data.digits.size(); ++k)
      if (data.digits[k] < finest) ++coarse, coarse_rows += rows[k];
    const bool differ = kMinCoarse * coarse >= static_cast<double>(data.digits.size()) ||
                        kMinCoarse * coarse_rows >= static_cast<double>(rows_);
    const bool holds = coarse > 0 && differ && evidence >= kLogChance && others * kMaxOthers <= rows_;
    // of several, that of fewest levels
    return {std::move(data), holds ? gain - 1e-6 * static_cast<double>(levels.size()) : 0};
  }
  static constexpr int8_t kNone = 100;
  const RuleSearch& search_;
  const Column& column_;
  int digits_;
  int64_t rows_ = 0;
  std::vector<int8_t> needed_;   // of each row
  std::map<int, double> share_;  // by number of digits: of the rows that need no more
  std::vector<int> written_;     // of each format
  std::vector<double> shares_;   // of the rows in each format
};

// What is found of each column of numbers, dates or times.
template <class Find>
std::vector<FoundRule> of_each(const RuleSearch& search, Find&& find) {
  std::vector<std::optional<FoundRule>> found;
  for (const int j : search.usable_numbers(SIZE_MAX)) {
    found.push_back(find(search.column(j)));
    search.table.relax();
  }
  return those_found(std::move(found));
}

}  // namespace

std::vector<FoundRule> find_digits(const RuleSearch& search) {
  return of_each(search, [&](const Column& c) { return DigitsSearch(search, c).find(); });
}

std::vector<FoundRule> find_grids(const RuleSearch& search, const std::vector<FoundRule>& bounds) {
  return of_each(search, [&](const Column& c) {
    const std::string said = learned_as(bounds, c.name);
    return grid_of_column(search, c, said.empty() ? quoted_name(c.name) : said, static_cast<double>(search.columns()));
  });
}

}  // namespace tessera
