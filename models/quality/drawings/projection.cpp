// Principal components by subspace iteration: the covariance, which is wide with many levels, is never formed.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/quality/common/json_number.h"
#include "models/quality/common/sampling.h"
#include "models/quality/common/statistics.h"
#include "models/quality/drawings/drawings.h"
#include "models/quality/learners/boosted_trees.h"

namespace tessera::quality {
namespace {

using nlohmann::json;

constexpr int kIterations = 100, kCells = 24;
constexpr size_t kFeatureLevels = 12;  // of one column, the commonest
constexpr double kOutermost = 4;       // standard deviations: a few huge values must not determine the plane

using Vector = std::vector<double>;

// A number minus its mean, divided by its standard deviation; or whether a row has a level, minus the level's share,
// divided by the root of the share.
struct Feature {
  size_t column;
  int32_t level;  // −1: a number
  double center, scale;

  double at(const ComparedColumn& c, size_t row) const {
    const bool missing = c.is_missing(static_cast<int64_t>(row));
    if (level >= 0) return ((!missing && c.codes[row] == level ? 1 : 0) - center) * scale;
    return missing ? 0 : std::clamp((c.numbers[row] - center) * scale, -kOutermost, kOutermost);
  }
};

void add_number(const Comparison& c, size_t k, std::vector<Feature>& out) {
  const std::span<const double> x = c.tables[0].columns[k].numbers;
  const double mean = mean_defined({x.begin(), x.end()});
  std::vector<double> squares;
  for (const double v : x) squares.push_back((v - mean) * (v - mean));
  const double deviation = std::sqrt(mean_defined(squares));
  if (deviation > 0) out.push_back({k, -1, mean, 1 / deviation});
}

std::vector<Feature> features(const Comparison& c) {
  std::vector<Feature> out;
  const auto rows = static_cast<double>(c.tables[0].rows);
  for (size_t k = 0; k < c.facts.size(); ++k) {
    if (c.facts[k].kind != Kind::categorical) {
      add_number(c, k, out);
      continue;
    }
    const Axis axis = make_axis(c, k, 1, kFeatureLevels);
    std::vector<int64_t> count(static_cast<size_t>(c.facts[k].levels), 0);
    for (const int32_t code : c.tables[0].columns[k].codes)
      if (code >= 0) ++count[static_cast<size_t>(code)];
    for (const int32_t level : axis.shown) {
      const double share = static_cast<double>(count[static_cast<size_t>(level)]) / rows;
      if (share < 1) out.push_back({k, level, share, 1 / std::sqrt(share)});
    }
  }
  return out;
}

// Features of some rows of a table, row-major.
struct Matrix {
  size_t rows, width;
  Vector values;
  const double* row(size_t i) const { return values.data() + i * width; }
};

Matrix gather(const Comparison& c, size_t table, const std::vector<Feature>& f, uint64_t seed) {
  const std::vector<int64_t> rows =
      drawn(every_row(c.tables[table].rows), kProjectedRows, seed, Draw::projected_rows, static_cast<uint32_t>(table));
  Matrix m{rows.size(), f.size(), {}};
  m.values.reserve(rows.size() * f.size());
  for (const int64_t r : rows)
    for (const Feature& feature : f)
      m.values.push_back(feature.at(c.tables[table].columns[feature.column], static_cast<size_t>(r)));
  return m;
}

double dot(const double* a, const double* b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Scales to unit length; false for a zero vector.
bool normalize(Vector& v) {
  const double length = std::sqrt(dot(v.data(), v.data(), v.size()));
  if (!(length > 1e-9)) return false;
  for (double& x : v) x /= length;
  return true;
}

void subtract_along(Vector& v, const Vector& direction) {
  const double along = dot(v.data(), direction.data(), v.size());
  for (size_t i = 0; i < v.size(); ++i) v[i] -= along * direction[i];
}

// v ← XᵀX v / rows; its length is then the variance along it.
Vector times_covariance(const Matrix& m, const Vector& v) {
  Vector out(m.width, 0);
  for (size_t i = 0; i < m.rows; ++i) {
    const double* const x = m.row(i);
    const double along = dot(x, v.data(), m.width) / static_cast<double>(m.rows);
    for (size_t j = 0; j < m.width; ++j) out[j] += along * x[j];
  }
  return out;
}

// The two directions of the largest variance; empty if there are none. The largest component of each is positive.
std::vector<Vector> components(const Matrix& m, uint64_t seed) {
  std::vector<Vector> v(2, Vector(m.width));
  for (uint32_t k = 0; k < 2; ++k)
    for (size_t j = 0; j < m.width; ++j) {
      const Philox p = random_words(seed, Draw::projection_start, k, j);
      v[k][j] = open_uniform(p.word[0], p.word[1]) - 0.5;
    }
  for (int iteration = 0; iteration < kIterations; ++iteration)
    for (size_t k = 0; k < 2; ++k) {
      v[k] = times_covariance(m, v[k]);
      if (k == 1) subtract_along(v[1], v[0]);
      if (!normalize(v[k])) return {};
    }
  for (Vector& direction : v) {
    const auto largest = std::max_element(direction.begin(), direction.end(),
                                          [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (*largest < 0)
      for (double& x : direction) x = -x;
  }
  return v;
}

// The columns that contribute most to a direction: squares of its components, summed over a column's levels.
json main_columns(const Comparison& c, const std::vector<Feature>& f, const Vector& direction) {
  std::vector<double> part(c.facts.size(), 0);
  for (size_t j = 0; j < f.size(); ++j) part[f[j].column] += direction[j] * direction[j];
  std::vector<size_t> order(part.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return part[a] > part[b]; });
  json out = json::array();
  for (size_t i = 0; i < std::min<size_t>(3, order.size()); ++i)
    if (part[order[i]] > 0.05) out.push_back(c.facts[order[i]].name);
  return out;
}

struct Range {
  double low, high;
  size_t cell(double x) const {
    return static_cast<size_t>(std::clamp((x - low) / (high - low) * kCells, 0.0, kCells - 1.0));
  }
};

// The 2 % to 98 % quantiles of the real table, with a margin of 15 % of their distance.
Range range_of(Vector along) {
  std::sort(along.begin(), along.end());
  const double low = quantile_sorted(along, 0.02), high = quantile_sorted(along, 0.98), margin = 0.15 * (high - low);
  return high > low ? Range{low - margin, high + margin} : Range{low - 1, low + 1};
}

Vector coordinates(const Matrix& m, const Vector& direction) {
  Vector out;
  for (size_t i = 0; i < m.rows; ++i) out.push_back(dot(m.row(i), direction.data(), m.width));
  return out;
}

}  // namespace

json draw_projection(const Comparison& c, uint64_t seed) {
  const std::vector<Feature> f = features(c);
  if (f.size() < 2) return nullptr;
  const Matrix real = gather(c, 0, f, seed), synthetic = gather(c, 1, f, seed);
  const std::vector<Vector> directions = components(real, seed);
  if (directions.empty()) return nullptr;
  json out{{"cells", kCells}, {"rows", {{"real", real.rows}, {"synthetic", synthetic.rows}}}};
  const double all = dot(real.values.data(), real.values.data(), real.values.size());
  std::vector<Range> range;
  for (const Vector& d : directions) {
    const Vector along = coordinates(real, d);
    out["axes"].push_back({{"variance", number_or_null(dot(along.data(), along.data(), along.size()) / all)},
                           {"columns", main_columns(c, f, d)}});
    range.push_back(range_of(along));
  }
  for (const Matrix* m : {&real, &synthetic}) {
    const Vector x = coordinates(*m, directions[0]), y = coordinates(*m, directions[1]);
    std::vector<int64_t> count(kCells * kCells, 0);
    for (size_t i = 0; i < m->rows; ++i) ++count[range[1].cell(y[i]) * kCells + range[0].cell(x[i])];
    if (m == &real) out["withheld"] = withhold(count, kCells, out["real"]);
    else out["synthetic"] = count;
  }
  return out;
}

}  // namespace tessera::quality
