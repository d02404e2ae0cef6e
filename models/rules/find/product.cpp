// Columns that are a product or a quotient of two others, rounded: total = price * quantity, mean = total / count.
#include <algorithm>
#include <cmath>

#include "models/rules/columns.h"
#include "models/rules/find/search.h"

namespace tessera {
namespace {

constexpr size_t kMostFactorColumns = 200;  // the work grows with their cube
constexpr size_t kFirstRows = 8;            // refute most candidates
constexpr int kLeastUnits = 20;             // distinct values that the target takes: few are the product of many pairs

struct Numbers {
  int column;
  double half;  // of a unit of its last digit
  std::vector<double> x;
};

bool varied(std::vector<double> values, size_t least) {
  std::erase_if(values, [](double v) { return v != v; });
  std::sort(values.begin(), values.end());
  return static_cast<size_t>(std::unique(values.begin(), values.end()) - values.begin()) >= least;
}

// Whether the value is the result but for rounding; what is missing says nothing here, but the rule is tried on all
// rows later.
bool rounds_to(double value, double result, double half) {
  return std::abs(value - result) <= std::max(1.0000002 * half, 1e-12 * std::abs(value)) || value != value ||
         result != result;
}

template <class Result>
bool fits(const Numbers& target, size_t rows, Result&& result) {
  const auto at = [&](size_t i) { return rounds_to(target.x[i], result(i), target.half); };
  for (size_t i = 0; i < std::min(kFirstRows, rows); ++i)
    if (!at(i)) return false;
  for (size_t i = kFirstRows; i < rows; ++i)
    if (!at(i)) return false;
  return true;
}

std::string name_of(const RuleSearch& search, const Numbers& n) { return quoted_name(search.column(n.column).name); }

}  // namespace

std::optional<FoundRule> find_product(const RuleSearch& search) {
  std::vector<Numbers> all;
  for (int j = 0; j < static_cast<int>(search.columns()) && all.size() < kMostFactorColumns; ++j) {
    const Column& c = search.column(j);
    if (!search.usable(j) || (c.type != ColumnType::integer && c.type != ColumnType::decimal)) continue;
    Numbers n{j, digits_of(c) == kAllDigits ? 0 : 0.5 * std::pow(10.0, -digits_of(c)), {}};
    for (const int64_t row : search.proposing) n.x.push_back(c.numbers[static_cast<size_t>(row)]);
    c.relax();
    if (varied(n.x, 2)) all.push_back(std::move(n));
  }
  const auto rows = search.proposing.size();
  const double tried = std::pow(static_cast<double>(all.size()), 3);
  // Products first: of a product rounded to cents, each factor is a quotient but for its digits.
  for (const bool product : {true, false})
    for (const Numbers& target : all) {
      if (!varied(target.x, kLeastUnits)) continue;
      for (const Numbers& a : all)
        for (const Numbers& b : all) {
          if (&a == &target || &b == &target || &a == &b || (product && &b < &a)) continue;
          const bool near =
              product ? fits(target, rows, [&](size_t i) { return a.x[i] * b.x[i]; })
                      : fits(target, rows, [&](size_t i) { return b.x[i] == 0 ? kMissing : a.x[i] / b.x[i]; });
          if (!near) continue;
          const std::string expression = name_of(search, a) + (product ? " * " : " / ") + name_of(search, b);
          if (auto found = computed_rule(search, {target.column, expression}, tried)) return found;
        }
    }
  return {};
}

}  // namespace tessera
