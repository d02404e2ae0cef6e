// Columns that are a function of one other number, times a factor and plus a constant, up to rounding:
// lwage = ln(wage), ph = 7 - log10(acid), price = exp(log_price), more = ln(count + 1). Roots without a
// constant are products (product.cpp), which are looked for before.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tables/kinds/kind.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"

namespace tessera {
namespace {

constexpr size_t kMaxCurveColumns = 200;  // the work grows with their square
constexpr size_t kCurveRows = 512;
constexpr size_t kMinDistinct = 20;  // of both columns: many curves pass through few points

struct Curve {
  Arithmetic::Op op;
  const char* text;
  double added = 0;  // to the number
};

// ln before exp: of a number and its logarithm, the logarithm is the one that was calculated.
constexpr Curve kCurves[] = {{Arithmetic::Op::ln, "ln({})"},       {Arithmetic::Op::ln, "ln({} + 1)", 1},
                             {Arithmetic::Op::log10, "log10({})"}, {Arithmetic::Op::log10, "log10({} + 1)", 1},
                             {Arithmetic::Op::sqrt, "sqrt({})"},   {Arithmetic::Op::exp, "exp({})"}};

struct Varying {
  int column;
  std::vector<double> x;  // of the first proposing rows
};

}  // namespace

std::optional<FoundRule> find_curve(const RuleSearch& search) {
  std::vector<Varying> all;
  for (const int j : search.usable_numbers(kMaxCurveColumns)) {
    const Column& c = search.column(j);
    if (!is_quantity(c)) continue;
    const size_t rows = std::min(search.proposing.size(), kCurveRows);
    Varying n{j, numbers_in(c, {search.proposing.begin(), search.proposing.begin() + static_cast<int64_t>(rows)})};
    for (double& x : n.x) x /= kind_of(c).unit;
    if (distinct_of(n.x) >= kMinDistinct) all.push_back(std::move(n));
  }
  const double tried = static_cast<double>(all.size() * all.size() * std::size(kCurves));
  for (const Curve& f : kCurves)
    for (const Varying& source : all) {
      std::vector<double> x;
      for (const double v : source.x) x.push_back(value_of_function(f.op, v + f.added));
      for (const Varying& target : all) {
        if (&target == &source) continue;
        const double half = half_unit(search.column(target.column));
        const auto line = line_through(x, target.x, half);
        if (!line) continue;
        const std::string of = fmt::format(fmt::runtime(f.text), quoted_name(search.column(source.column).name));
        Computed curve{target.column, line_text(*line, of)};
        if (auto found = computed_rule(search, curve, tried)) return found;
        if (!has_fractions(search.column(target.column))) continue;
        curve.rounded = 3;  // calculated with 7 digits, before it was rounded
        if (auto found = computed_rule(search, curve, tried)) return found;
      }
    }
  return {};
}

}  // namespace tessera
