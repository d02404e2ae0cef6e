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
constexpr size_t kCurveRows = 512, kMinCurveRows = 30;
constexpr size_t kMinDistinct = 20;         // of both columns: many curves pass through few points
constexpr double kFunctionRounding = 1e-9;  // relative to a deviation: rounding error of the function itself

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

// A straight line through the rows that have both numbers.
struct Line {
  double factor = 0, constant = 0, rest = 0, deviation = 0;  // rest: residual, as a share of the deviation
  double of_x = 0, mean = 0;                                 // deviation of the first numbers, mean of the second ones
  size_t rows = 0;
};

Line line_through(const std::vector<double>& x, const std::vector<double>& y) {
  Line out;
  double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
  const auto each = [&](auto&& f) {
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i] == x[i] && y[i] == y[i]) f(x[i], y[i]);
  };
  each([&](double a, double b) { ++out.rows, sx += a, sy += b; });
  if (out.rows < kMinCurveRows) return out;
  const auto n = static_cast<double>(out.rows);
  each([&](double a, double b) {
    xx += (a - sx / n) * (a - sx / n), yy += (b - sy / n) * (b - sy / n), xy += (a - sx / n) * (b - sy / n);
  });
  if (!(xx > 0 && yy > 0 && std::isfinite(xx) && std::isfinite(yy))) return {};
  out.factor = xy / xx, out.constant = (sy - out.factor * sx) / n;
  double rest = 0;
  each([&](double a, double b) { rest += std::pow(b - out.factor * a - out.constant, 2); });
  out.rest = std::sqrt(rest / n), out.deviation = std::sqrt(yy / n), out.of_x = std::sqrt(xx / n), out.mean = sy / n;
  return out;
}

std::string curve_text(const Curve& f, const std::string& name, double factor, double constant) {
  const std::string of = fmt::format(fmt::runtime(f.text), name);
  const auto times = [&](double by) { return by == 1 ? of : fmt::format("{} * {}", by, of); };
  if (constant == 0) return times(factor);
  if (factor < 0) return fmt::format("{} - {}", constant, times(-factor));
  return fmt::format("{} {} {}", times(factor), constant < 0 ? "-" : "+", std::abs(constant));
}

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
        const Line line = line_through(x, target.x);
        const double half = half_unit(search.column(target.column));
        if (line.rows < kMinCurveRows || !(line.rest <= std::max(1.5 * half, kFunctionRounding * line.deviation)) ||
            line.deviation < 10 * half)
          continue;
        // four deviations of a mean over the rows
        const double near = 4 * std::max({line.rest, 0.58 * half, kFunctionRounding * line.deviation}) /
                            std::sqrt(static_cast<double>(line.rows));
        const double factor = short_number(line.factor, near / line.of_x);
        const double mean_of_x = (line.mean - line.constant) / line.factor;
        const double constant =
            short_number(line.mean - factor * mean_of_x, std::max(0.4 * half, kFunctionRounding * std::abs(line.mean)));
        Computed curve{target.column, curve_text(f, quoted_name(search.column(source.column).name), factor, constant)};
        if (auto found = computed_rule(search, curve, tried)) return found;
        curve.rounded = 3;  // calculated with 7 digits, before it was rounded
        if (auto found = computed_rule(search, curve, tried)) return found;
      }
    }
  return {};
}

}  // namespace tessera
