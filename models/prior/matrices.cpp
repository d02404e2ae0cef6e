// Random weights, matrices and points of graph models.
#include "models/prior/graph.h"

namespace tessera::prior {
namespace {

void normalize_rows(std::vector<float>& m, int64_t columns) {
  for (size_t at = 0; at < m.size(); at += static_cast<size_t>(columns)) {
    double squares = 0;
    for (int64_t j = 0; j < columns; ++j) squares += std::pow(static_cast<double>(m[at + static_cast<size_t>(j)]), 2);
    const auto scale = static_cast<float>(1 / (1e-6 + std::sqrt(squares)));
    for (int64_t j = 0; j < columns; ++j) m[at + static_cast<size_t>(j)] *= scale;
  }
}

// Rows of random weights, each times normal numbers.
void weights_matrix(GraphDraws& g, int64_t rows, int64_t columns, float* m) {
  for (int64_t i = 0; i < rows; ++i) {
    const std::vector<float> w = random_weights(g, columns), z = g.normals(columns);
    for (int64_t j = 0; j < columns; ++j) m[i * columns + j] = w[static_cast<size_t>(j)] * z[static_cast<size_t>(j)];
  }
}

// U·diag(weights)·V of normal U and V: invariant to rotations, like its singular values.
void spectral_matrix(GraphDraws& g, int64_t rows, int64_t columns, float* m) {
  const int64_t k = std::min(rows, columns);
  std::vector<float> u = g.normals(rows * k);
  const std::vector<float> w = random_weights(g, k);
  Columns v, product;
  v.resize(k, columns);
  g.fill(Random::normal, v[0], k, columns, v.stride());
  for (size_t i = 0; i < u.size(); ++i) u[i] *= w[i % w.size()];
  g.multiply(u.data(), v, rows, product);
  for (int64_t i = 0; i < rows; ++i) std::copy_n(product[i], columns, m + i * columns);
}

constexpr int kKernelDims = 3;
using Point = std::array<double, kKernelDims>;

// Points of a mixture of normal laws with random centers and covariances.
std::vector<Point> mixture_points(GraphDraws& g, int64_t n) {
  const int64_t centers = g.whole(Scalar::mixture_centers, 1, 16, true);
  const std::vector<float> share = random_weights(g, centers);
  struct Cluster {
    Point center;
    double matrix[kKernelDims][kKernelDims];
  };
  std::vector<Cluster> clusters(static_cast<size_t>(centers));
  const double mean = g.d.normal(), deviation = g.d.normal();
  for (Cluster& c : clusters) {
    const std::vector<float> w = random_weights(g, kKernelDims);
    const double scale = std::exp(mean + deviation * g.d.normal());
    for (int i = 0; i < kKernelDims; ++i) {
      c.center[static_cast<size_t>(i)] = g.d.normal();
      for (int j = 0; j < kKernelDims; ++j)
        c.matrix[i][j] = scale * g.d.normal() * static_cast<double>(w[static_cast<size_t>(j)]);
    }
  }
  const std::vector<double> weight(share.begin(), share.end());
  std::vector<Point> out(static_cast<size_t>(n));
  for (Point& p : out) {
    const Cluster& c = clusters[static_cast<size_t>(g.d.pick(weight))];
    p = c.center;
    for (int j = 0; j < kKernelDims; ++j) {
      const double z = g.d.normal();
      for (int i = 0; i < kKernelDims; ++i) p[static_cast<size_t>(i)] += c.matrix[i][j] * z;
    }
  }
  return out;
}

// ±e^(−distance) of points of a mixture: nearby rows and columns share large entries.
void kernel_matrix(GraphDraws& g, int64_t rows, int64_t columns, const Point* points, double factor, float* m) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double squares = 0;
      for (size_t d = 0; d < kKernelDims; ++d) squares += std::pow(points[i][d] - points[rows + j][d], 2);
      const double size = std::exp(-factor * std::sqrt(squares));
      m[i * columns + j] = static_cast<float>(g.d.chance(0.5) ? size : -size);
    }
}

enum class MatrixKind { normal, weights, spectral, kernel, activation };

std::vector<float> matrices_of(GraphDraws& g, MatrixKind kind, int64_t count, int64_t rows, int64_t columns) {
  const int64_t size = rows * columns;
  std::vector<float> m(static_cast<size_t>(count * size));
  switch (kind) {
    case MatrixKind::normal: m = g.normals(count * size); break;
    case MatrixKind::weights: weights_matrix(g, count * rows, columns, m.data()); break;
    case MatrixKind::spectral:
      for (int64_t k = 0; k < count; ++k) spectral_matrix(g, rows, columns, m.data() + k * size);
      break;
    case MatrixKind::kernel: {
      const std::vector<Point> points = mixture_points(g, count * (rows + columns));
      const double factor = g.number(Scalar::matrix_distance, 0.1, 10, true);
      for (int64_t k = 0; k < count; ++k)
        kernel_matrix(g, rows, columns, points.data() + k * (rows + columns), factor, m.data() + k * size);
      break;
    }
    case MatrixKind::activation: {
      m = matrices_of(g, static_cast<MatrixKind>(g.choice(4)), count, rows, columns);
      const std::vector<float> tiny = g.normals(count * size), noise = g.normals(count * size);
      for (size_t i = 0; i < m.size(); ++i) m[i] += 1e-6f * tiny[i];
      normalize_rows(m, columns);
      plain_activation(g, m);
      for (size_t i = 0; i < m.size(); ++i) m[i] += 1e-3f * noise[i];
      return m;
    }
  }
  if (kind == MatrixKind::weights) normalize_rows(m, columns);
  return m;
}

}  // namespace

std::vector<float> random_weights(GraphDraws& g, int64_t n) {
  const auto count = static_cast<size_t>(n);
  const double decay =
      g.number(Scalar::weight_decay, 0.1 / std::log(1 + static_cast<double>(n)), 6, true, /*to_ends=*/true);
  const double noise = g.number(Scalar::weight_noise, 1e-4, 10, true);
  const std::vector<int32_t> order = g.d.permutation(n);
  std::vector<double> logit(count);
  double top = -INFINITY, squares = 0;
  for (size_t i = 0; i < count; ++i) {
    logit[i] = noise * g.d.normal() - decay * std::log(static_cast<double>(order[i]) + 1);
    top = std::max(top, logit[i]);
  }
  for (double& l : logit) l = std::exp(l - top), squares += l * l;
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(logit[i] * std::sqrt(static_cast<double>(n) / squares));
  return out;
}

std::vector<float> random_matrices(GraphDraws& g, int64_t count, int64_t rows, int64_t columns) {
  std::vector<float> m = matrices_of(g, static_cast<MatrixKind>(g.choice(5)), count, rows, columns);
  const std::vector<float> noise = g.normals(static_cast<int64_t>(m.size()));
  for (size_t i = 0; i < m.size(); ++i) m[i] += 1e-6f * noise[i];
  normalize_rows(m, columns);
  return m;
}

Columns base_points(GraphDraws& g, int64_t units, int64_t rows) {
  enum { kCube, kBall, kNormal, kCorrelated } law = static_cast<decltype(law)>(g.choice(4));
  const bool correlated = law == kCorrelated;
  if (correlated) law = g.choice(2) == 0 ? kCube : kNormal;
  Columns x;
  x.resize(units, rows);
  g.fill(law == kCube ? Random::uniform : Random::normal, x[0], units, rows, x.stride());
  if (law == kCube)
    for (int64_t j = 0; j < units; ++j)
      for (int64_t i = 0; i < rows; ++i) x[j][i] = 2 * x[j][i] - 1;
  if (law == kBall) {  // a radius u^(1/units) in the direction of a normal vector
    std::vector<float> radius(static_cast<size_t>(rows));
    g.fill(Random::uniform, radius.data(), rows);
    for (int64_t i = 0; i < rows; ++i) {
      double squares = 0;
      for (int64_t j = 0; j < units; ++j) squares += std::pow(static_cast<double>(x[j][i]), 2);
      float& r = radius[static_cast<size_t>(i)];
      r = static_cast<float>(std::pow(static_cast<double>(r), 1 / static_cast<double>(units)) / std::sqrt(squares));
    }
    for (int64_t j = 0; j < units; ++j)
      for (int64_t i = 0; i < rows; ++i) x[j][i] *= radius[static_cast<size_t>(i)];
  }
  if (!correlated) return x;
  std::vector<float> matrix = g.normals(units * units);
  const std::vector<float> w = random_weights(g, units);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] *= w[i % w.size()];
  Columns out;
  g.multiply(matrix.data(), x, units, out);
  return out;
}

}  // namespace tessera::prior
