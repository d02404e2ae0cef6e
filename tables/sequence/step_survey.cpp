#include "tables/sequence/step_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "tables/formats/number_format.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

constexpr size_t kSurveyed = 4096;  // rows
constexpr size_t kFewValues = 32;   // of a column that is learned value by value
constexpr double kSpike = 0.05;     // share of rows with one value
constexpr size_t kCopies = 4;       // rows of a value, on average, of values that repeat
constexpr int kDigitsOfTerm = 4;    // significant ones
constexpr double kFinest = 1e3;     // units of the last digit in the spread of a column whose digits vary

bool has_any_missing(const Column& c) {
  return std::any_of(c.numbers.begin(), c.numbers.end(), [](double x) { return x != x; });
}

// A few values with an exponent, such as 1.1e-16, do not keep a column from being learned by its last digit.
bool has_a_grid(const Column& c) {
  if (!is_shortest(c.format)) return true;
  std::vector<double> present;
  std::copy_if(c.numbers.begin(), c.numbers.end(), std::back_inserter(present),
               [](double x) { return std::isfinite(x); });
  return !present.empty() && log_spread(std::move(present)) > std::log(kFinest) - decimals_of(c) * std::log(10.0);
}

}  // namespace

double few_digits(double x) { return std::stod(fmt::format("{:.{}e}", x, kDigitsOfTerm - 1)); }

double log_spread(std::vector<double> x) {
  std::erase_if(x, [](double v) { return v != v; });
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  const double median = *middle;
  double sum = 0;
  for (const double v : x) sum += std::fabs(v - median);
  return std::log(sum / static_cast<double>(x.size()));
}

bool has_few_values(const Column& c) {
  std::unordered_set<double> values;
  for (const double x : c.numbers)
    if (values.insert(x).second && values.size() > kFewValues) return false;
  return true;
}

StepSurvey::StepSurvey(const Table& table, const std::vector<int32_t>& key_of_row,
                       const std::vector<std::string>& uncoded, const StaticsOfSteps& statics_of_steps)
    : steps(table),
      statics(statics_of_steps),
      key(key_of_row),
      usable(steps.columns.size(), 0),
      present(usable),
      serves(usable),
      lowest(steps.columns.size(), 0) {
  std::vector<size_t> pairs;
  for (size_t row = 1; row < key.size(); ++row)
    if (key[row] == key[row - 1]) pairs.push_back(row);
  const size_t stride = std::max<size_t>(1, pairs.size() / kSurveyed);
  for (size_t i = 0; i < pairs.size(); i += stride) rows.push_back(pairs[i]);
  if (static_cast<int64_t>(rows.size()) < kMinPairs) return;
  for (size_t row = 0; row < key.size(); ++row)
    if (row == 0 || key[row] != key[row - 1]) begins.push_back(row);
  for (size_t j = 0; j < usable.size(); ++j) {
    const Column& c = steps.columns[j];
    const bool missing = has_any_missing(c), few = has_few_values(c);
    usable[j] = !c.numbers.empty() && c.codes.empty() && has_a_grid(c) && !(missing && few) &&
                std::find(uncoded.begin(), uncoded.end(), c.name) == uncoded.end();
    present[j] = usable[j] && !missing;
    serves[j] = present[j] && !few;
    if (present[j]) lowest[j] = *std::min_element(c.numbers.begin(), c.numbers.end());
  }
  carry();
}

void StepSurvey::carry() {
  carried_.resize(usable.size());
  for (size_t j = 0; j < usable.size(); ++j) {
    if (!usable[j] || present[j]) continue;
    const auto& numbers = steps.columns[j].numbers;
    carried_[j].assign(numbers.begin(), numbers.end());
    for (size_t row = 1; row < numbers.size(); ++row)
      if (numbers[row] != numbers[row] && key[row] == key[row - 1]) carried_[j][row] = carried_[j][row - 1];
  }
}

bool StepSurvey::never_above(size_t a, size_t b) const {
  if (is_instant(steps.columns[a].type) != is_instant(steps.columns[b].type)) return false;
  for (const size_t row : rows)
    if (at(a, row) > at(b, row)) return false;
  for (size_t row = 0; row < key.size(); ++row)
    if (at(a, row) > at(b, row)) return false;
  return true;
}

bool StepSurvey::begins_on_values(size_t j) const {
  const auto& x = steps.columns[j].numbers;
  if (begins.size() > 1 || x.size() < kSurveyed) return false;
  return kCopies * std::unordered_set<double>(x.begin(), x.end()).size() <= x.size();
}

bool StepSurvey::has_spike(size_t j, const StepCoding::Code& c) const {
  const double unit = std::pow(10.0, -decimals_of(steps.columns[j]));
  std::vector<double> moves;
  for (const size_t row : rows)
    if (const double x = at(j, row) - at(static_cast<size_t>(c.base), c.before ? row - 1 : row); x == x)
      moves.push_back(std::round(x / unit));
  std::sort(moves.begin(), moves.end());
  size_t most = 0, beside = 0;
  for (auto from = moves.begin(); from != moves.end();) {
    const auto [low, high] = std::equal_range(from, moves.end(), *from);
    const auto below = std::lower_bound(moves.begin(), low, *from - 1),
               above = std::upper_bound(high, moves.end(), *from + 1);
    if (static_cast<size_t>(high - low) > most)
      most = static_cast<size_t>(high - low), beside = static_cast<size_t>((low - below) + (above - high));
    from = high;
  }
  return static_cast<double>(most) > kSpike * static_cast<double>(moves.size()) && most > beside;
}

}  // namespace tessera
