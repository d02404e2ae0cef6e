// Random functions of units, which the nodes of a graph are of their parents.
#include "base/cpu/cpu_features.h"
#include "models/prior/graph.h"

namespace tessera::prior {
namespace {

constexpr double kPi = 3.14159265358979323846;

// ---- activations -------------------------------------------------------------------------------------------------
// Those of each number by the array kernels, then those of each number here, then those of a row's units.
constexpr Activation kByKernel[] = {Activation::tanh,    Activation::leaky_relu, Activation::elu,  Activation::identity,
                                    Activation::selu,    Activation::silu,       Activation::relu, Activation::softplus,
                                    Activation::relu6,   Activation::hardtanh,   Activation::sign, Activation::gauss,
                                    Activation::exp,     Activation::indicator,  Activation::sine, Activation::square,
                                    Activation::absolute};
constexpr int kKernelActivations = static_cast<int>(std::size(kByKernel));
enum class OfNumber { step, log_absolute, sigmoid, round, fraction, log_sigmoid, count };
enum class OfRow { rank, softmax, largest, order, count };
constexpr int kListed =
    kKernelActivations + static_cast<int>(OfNumber::count) + static_cast<int>(OfRow::count);  // 27, alike likely

float of_number(OfNumber f, float x) {
  switch (f) {
    case OfNumber::step: return x >= 0 ? 1.0f : x < 0 ? 0.0f : x;
    case OfNumber::log_absolute: return std::log(std::max(std::fabs(x), 1e-6f));
    case OfNumber::sigmoid: return 1 / (1 + std::exp(-x));
    case OfNumber::round: return std::nearbyint(x);
    case OfNumber::fraction: return x - std::floor(x);
    case OfNumber::log_sigmoid: return std::min(x, 0.0f) - std::log1p(std::exp(-std::fabs(x)));
    case OfNumber::count: break;
  }
  return x;
}

// `row`: the units of one row.
void of_row(OfRow f, std::vector<float>& row) {
  const size_t n = row.size();
  if (f == OfRow::rank || f == OfRow::order) {
    std::vector<int32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return row[static_cast<size_t>(a)] < row[static_cast<size_t>(b)]; });
    for (size_t k = 0; k < n; ++k)
      row[f == OfRow::order ? k : static_cast<size_t>(order[k])] =
          static_cast<float>(f == OfRow::order ? static_cast<size_t>(order[k]) : k);
    return;
  }
  const float top = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (float& v : row) {
    v = f == OfRow::largest ? (v == top ? 1.0f : 0.0f) : std::exp(v - top);
    sum += static_cast<double>(v);
  }
  if (f == OfRow::softmax)
    for (float& v : row) v = static_cast<float>(static_cast<double>(v) / sum);
}

// One of the 27 on `units` vectors of n numbers; the units of a row are `stride` numbers from each other.
void listed_activation(int entry, int64_t units, int64_t stride, int64_t n, float* x) {
  if (entry < kKernelActivations) {
    for (int64_t j = 0; j < units; ++j) array_kernels().activate(kByKernel[entry], 0, 1, 0, nullptr, n, x + j * stride);
    return;
  }
  entry -= kKernelActivations;
  if (entry < static_cast<int>(OfNumber::count)) {
    for (int64_t j = 0; j < units; ++j)
      for (int64_t i = 0; i < n; ++i) x[j * stride + i] = of_number(static_cast<OfNumber>(entry), x[j * stride + i]);
    return;
  }
  entry -= static_cast<int>(OfNumber::count);
  std::vector<float> row(static_cast<size_t>(units));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < units; ++j) row[static_cast<size_t>(j)] = x[j * stride + i];
    of_row(static_cast<OfRow>(entry), row);
    for (int64_t j = 0; j < units; ++j) x[j * stride + i] = row[static_cast<size_t>(j)];
  }
}

enum class PowerKind { relu, sign_kept, negative, whole };

void power_activation(GraphDraws& g, PowerKind kind, int64_t units, int64_t stride, int64_t n, float* x) {
  const auto exponent = static_cast<float>(
      kind == PowerKind::relu        ? g.number(Scalar::relu_exponent, 0.1, 10, true)
      : kind == PowerKind::sign_kept ? g.number(Scalar::power_exponent, 0.1, 10, true)
      : kind == PowerKind::negative  ? -g.number(Scalar::negative_exponent, 0.1, 10, true)
                                     : static_cast<double>(g.whole(Scalar::whole_exponent, 2, 6, false)));
  std::vector<float> power(static_cast<size_t>(n));
  for (int64_t j = 0; j < units; ++j) {
    float* v = x + j * stride;
    if (kind == PowerKind::negative)
      for (int64_t i = 0; i < n; ++i) v[i] = std::fabs(v[i]) + 1e-3f;
    powers(v, n, exponent, power.data());
    const bool odd = kind == PowerKind::sign_kept || (kind == PowerKind::whole && std::fmod(exponent, 2.0f) != 0);
    for (int64_t i = 0; i < n; ++i) {
      const float size = power[static_cast<size_t>(i)];
      v[i] = kind == PowerKind::relu ? (v[i] > 0 ? size : v[i] * 0.0f) : odd ? std::copysign(size, v[i]) : size;
    }
  }
}

// ---- functions ---------------------------------------------------------------------------------------------------
Columns linear(GraphDraws& g, const Columns& x, int64_t outputs) {
  const std::vector<float> m = random_matrices(g, 1, outputs, x.count());
  Columns out;
  g.multiply(m.data(), x, outputs, out);
  return out;
}

Columns perceptron(GraphDraws& g, const Columns& x, int64_t outputs) {
  const int64_t units = g.whole(Scalar::layer_units, 1, 128, true), layers = g.whole(Scalar::layers, 1, 4, true);
  const bool bend_first = g.d.chance(0.5), bend_last = g.d.chance(0.5);
  Columns h = x;
  if (bend_first) random_activation(g, h);
  for (int64_t l = 1; l <= layers; ++l) {
    h = linear(g, h, l == layers ? outputs : units);
    if (l < layers || bend_last) random_activation(g, h);
  }
  return h;
}

// The mean of oblivious trees (one split a level) with normal leaves; units are split by their deviation, at a row's
// value.
Columns trees(GraphDraws& g, const Columns& x, int64_t outputs) {
  const int64_t n = x.rows(), count = std::lround(g.number(Scalar::trees, 1, 128, true)),
                depth = g.whole(Scalar::depth, 1, 8, false), leaves = int64_t{1} << depth;
  std::vector<double> end;  // of each unit's share of the splits
  double total = 0;
  for (int64_t j = 0; j < x.count(); ++j) {
    double mean = 0, deviation = 0;
    array_kernels().shifted_moments(const_cast<float*>(x[j]), nullptr, 0, 0, n, &mean, &deviation);
    end.push_back(total += std::isfinite(deviation) ? std::max(deviation, 1e-8) : 1e-8);
  }
  std::vector<float> leaf(static_cast<size_t>(count * leaves * outputs));  // [outputs][trees][leaves]
  g.fill(Random::normal, leaf.data(), outputs, count * leaves, count * leaves);
  Columns out;
  out.resize(outputs, n);
  std::vector<int32_t> at(static_cast<size_t>(n));
  for (int64_t t = 0; t < count; ++t) {
    std::fill(at.begin(), at.end(), 0);
    for (int64_t level = 0; level < depth; ++level) {
      const auto unit = std::min<int64_t>(
          x.count() - 1, std::upper_bound(end.begin(), end.end(), g.d.uniform() * total) - end.begin());
      const float* from = x[unit];
      const float cut = from[g.d.whole(0, n - 1)];
      for (int64_t i = 0; i < n; ++i) at[static_cast<size_t>(i)] |= (from[i] > cut ? 1 : 0) << level;
    }
    for (int64_t o = 0; o < outputs; ++o) {
      const float* values = leaf.data() + (o * count + t) * leaves;
      for (int64_t i = 0; i < n; ++i) out[o][i] += values[at[static_cast<size_t>(i)]];
    }
  }
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t i = 0; i < n; ++i) out[o][i] /= static_cast<float>(count);
  return out;
}

// The nearest of 2 to 255 rows, then a linear function of it.
Columns discretization(GraphDraws& g, const Columns& x, int64_t outputs) {
  const int64_t n = x.rows();
  std::vector<int32_t> centers = g.d.permutation(n);
  centers.resize(static_cast<size_t>(n < 3 ? 1 : g.whole(Scalar::centers, 2, std::min<int64_t>(n, 256), true)));
  const std::vector<int32_t> nearest = nearest_centers(x, centers, g.number(Scalar::power, 0.5, 4, true));
  return rows_of(linear(g, rows_of(x, centers), outputs), nearest);
}

// Σ_ij A_ij x_i x_j with x_0 = 1 and up to 20 units.
Columns quadratic(GraphDraws& g, const Columns& x, int64_t outputs) {
  constexpr int64_t kMaxUnits = 20;
  const int64_t n = x.rows();
  std::vector<int32_t> units = g.d.permutation(x.count());
  if (x.count() > kMaxUnits) units.resize(kMaxUnits);
  const auto terms = static_cast<int64_t>(units.size()) + 1;
  const std::vector<float> m = random_matrices(g, outputs, terms, terms);
  const int64_t pairs = terms * (terms + 1) / 2;
  Columns product, out;
  product.resize(pairs, n);
  std::vector<float> weight(static_cast<size_t>(outputs * pairs));
  const auto at = [&](int64_t a, int64_t i) { return a + 1 == terms ? 1.0f : x[units[static_cast<size_t>(a)]][i]; };
  int64_t pair = 0;
  for (int64_t a = 0; a < terms; ++a)
    for (int64_t b = a; b < terms; ++b, ++pair) {
      for (int64_t i = 0; i < n; ++i) product[pair][i] = at(a, i) * at(b, i);
      for (int64_t o = 0; o < outputs; ++o) {
        const float* own = m.data() + o * terms * terms;
        weight[static_cast<size_t>(o * pairs + pair)] = own[a * terms + b] + (a == b ? 0 : own[b * terms + a]);
      }
    }
  g.multiply(weight.data(), product, outputs, out);
  return out;
}

// A sample of a Gaussian process by 256 random Fourier features, whose frequencies have the density (a − 1)(1 +
// f)^(−a): along the axes, or radially through a random linear map.
Columns gaussian_process(GraphDraws& g, const Columns& x, int64_t outputs) {
  constexpr int64_t kTerms = 256;
  const int64_t in = x.count();
  const double power = 1 / (1 - g.number(Scalar::decay, 2, 20, true));
  const auto frequency = [&] { return std::pow(std::min(std::max(g.d.uniform(), 1e-6), 1 - 1e-6), power) - 1; };
  std::vector<float> f(static_cast<size_t>(kTerms * in));  // [terms][in]
  if (g.d.chance(0.5)) {
    for (float& v : f) v = static_cast<float>(frequency());
  } else {
    Columns direction, mapped;  // [in][terms], of length 1
    direction.resize(in, kTerms);
    g.fill(Random::normal, direction[0], in, kTerms, direction.stride());
    for (int64_t k = 0; k < kTerms; ++k) {
      double squares = 0;
      for (int64_t j = 0; j < in; ++j) squares += std::pow(static_cast<double>(direction[j][k]), 2);
      const auto scale = static_cast<float>(frequency() / std::sqrt(squares));
      for (int64_t j = 0; j < in; ++j) direction[j][k] *= scale;
    }
    std::vector<float> map = g.normals(in * in);
    const std::vector<float> w = random_weights(g, in);
    const auto scale = static_cast<float>(g.number(Scalar::kernel_scale, 0.5, 10, true));
    for (size_t i = 0; i < map.size(); ++i) map[i] *= scale * w[i / w.size()];
    g.multiply(map.data(), direction, in, mapped);
    for (int64_t k = 0; k < kTerms; ++k)
      for (int64_t j = 0; j < in; ++j) f[static_cast<size_t>(k * in + j)] = mapped[j][k];
  }
  Columns wave, out;
  g.multiply(f.data(), x, kTerms, wave);
  for (int64_t k = 0; k < kTerms; ++k)  // cos(z + φ), φ uniform: as sin(z + φ)
    array_kernels().activate(Activation::sine, 0, 1, static_cast<float>(2 * kPi * g.d.uniform()), nullptr, x.rows(),
                             wave[k]);
  std::vector<float> weight = g.normals(outputs * kTerms);
  for (float& w : weight) w /= 16;  // √256
  g.multiply(weight.data(), wave, outputs, out);
  return out;
}

// Soft assignment to clusters around rows, then a linear function of it.
Columns soft_clusters(GraphDraws& g, const Columns& x, int64_t outputs) {
  const int64_t n = x.rows(), count = g.whole(Scalar::clusters, 2, std::max<int64_t>(16, 2 * outputs) + 1, true);
  const double spread = g.number(Scalar::cluster_spread, 0, 1, false),
               power = g.number(Scalar::cluster_power, 1, 4, true), bend = g.number(Scalar::cluster_bend, 1, 2, false);
  Columns logit;
  logit.resize(count, n);
  std::vector<float> center(static_cast<size_t>(x.count()));
  for (int64_t k = 0; k < count; ++k) {
    const int64_t row = g.d.whole(0, n - 1);
    for (int64_t j = 0; j < x.count(); ++j)
      center[static_cast<size_t>(j)] = x[j][row] + static_cast<float>(g.d.normal());
    const double deviation = std::exp(spread * g.d.normal());
    array_kernels().power_distances(x[0], x.stride(), x.count(), n, center.data(), static_cast<float>(power), logit[k]);
    const auto constant = static_cast<float>(-std::log(2 * kPi * deviation * deviation) / 2);
    const auto exponent = static_cast<float>(bend / power), scale = static_cast<float>(std::pow(deviation, -bend));
    powers(logit[k], n, exponent, logit[k]);
    for (int64_t i = 0; i < n; ++i) logit[k][i] = constant - scale * logit[k][i];
  }
  std::vector<float> row(static_cast<size_t>(count));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < count; ++k) row[static_cast<size_t>(k)] = logit[k][i];
    of_row(OfRow::softmax, row);
    for (int64_t k = 0; k < count; ++k) logit[k][i] = row[static_cast<size_t>(k)];
  }
  return linear(g, logit, outputs);
}

Columns product_of_two(GraphDraws& g, const Columns& x, int64_t outputs) {
  Columns out = simple_function(g, x, outputs);
  const Columns other = simple_function(g, x, outputs);
  for (int64_t j = 0; j < outputs; ++j)
    for (int64_t i = 0; i < x.rows(); ++i) out[j][i] *= other[j][i];
  return out;
}

// into ← into op other
enum class Join { sum, product, largest, log_sum_exp };
void join(Join op, Columns& into, const Columns& other) {
  std::vector<float> rest(static_cast<size_t>(into.rows()));
  for (int64_t j = 0; j < into.count(); ++j) {
    if (op == Join::log_sum_exp) {  // max + ln(1 + e^(−|a − b|))
      for (int64_t i = 0; i < into.rows(); ++i) rest[static_cast<size_t>(i)] = -std::fabs(into[j][i] - other[j][i]);
      array_kernels().activate(Activation::softplus, 0, 1, 0, nullptr, into.rows(), rest.data());
    }
    for (int64_t i = 0; i < into.rows(); ++i) {
      float &a = into[j][i], b = other[j][i];
      switch (op) {
        case Join::sum: a += b; break;
        case Join::product: a *= b; break;
        case Join::largest: a = std::max(a, b); break;
        case Join::log_sum_exp: a = std::max(a, b) + rest[static_cast<size_t>(i)]; break;
      }
    }
  }
}

}  // namespace

void powers(const float* x, int64_t n, float p, float* to) {
  const float zero = 0;
  array_kernels().power_distances(x, 0, 1, n, &zero, p, to);
}

void standardize(Columns& x) {
  const auto n = static_cast<double>(x.rows());
  for (int64_t j = 0; j < x.count(); ++j) {
    double mean = 0, deviation = 0;
    array_kernels().shifted_moments(x[j], nullptr, 0, 0, x.rows(), &mean, &deviation);
    deviation *= std::sqrt((n - 1) / n);  // divisor n
    array_kernels().activate(Activation::identity, static_cast<float>(mean), static_cast<float>(1 / (deviation + 1e-4)),
                             0, nullptr, x.rows(), x[j]);
  }
}

void random_activation(GraphDraws& g, Columns& x) {
  standardize(x);
  const auto scale = static_cast<float>(g.number(Scalar::activation_scale, 1, 10, true));
  for (int64_t j = 0; j < x.count(); ++j)  // about the value of a row, so that no unit is cut off as a whole
    array_kernels().activate(Activation::identity, x[j][g.d.whole(0, x.rows() - 1)], scale, 0, nullptr, x.rows(), x[j]);
  const int kind = g.choice(6);  // 4 of 6: one of the list
  if (kind < 4) listed_activation(g.choice(kListed), x.count(), x.stride(), x.rows(), x[0]);
  else power_activation(g, kind == 4 ? PowerKind::relu : PowerKind::sign_kept, x.count(), x.stride(), x.rows(), x[0]);
  standardize(x);
}

void plain_activation(GraphDraws& g, std::vector<float>& x) {
  const auto n = static_cast<int64_t>(x.size());
  const int kind = g.choice(12);  // 8 of 12: one of the list
  if (kind >= 8) return power_activation(g, static_cast<PowerKind>(kind - 8), 1, n, n, x.data());
  const int entry = g.choice(kListed);
  const bool of_rows = entry >= kKernelActivations + static_cast<int>(OfNumber::count);
  if (of_rows) listed_activation(entry, n, 1, 1, x.data());  // the vector is one row
  else listed_activation(entry, 1, n, n, x.data());
}

Columns simple_function(GraphDraws& g, const Columns& x, int64_t outputs) {
  switch (g.choice(5)) {
    case 0: return gaussian_process(g, x, outputs);
    case 1: return trees(g, x, outputs);
    case 2: return discretization(g, x, outputs);
    case 3: return linear(g, x, outputs);
    default: return quadratic(g, x, outputs);
  }
}

Columns random_function(GraphDraws& g, const Columns& x, int64_t outputs) {
  switch (g.choice(8)) {
    case 0: return perceptron(g, x, outputs);
    case 1: return trees(g, x, outputs);
    case 2: return discretization(g, x, outputs);
    case 3: return linear(g, x, outputs);
    case 4: return quadratic(g, x, outputs);
    case 5: return gaussian_process(g, x, outputs);
    case 6: return soft_clusters(g, x, outputs);
    default: return product_of_two(g, x, outputs);
  }
}

Columns function_of_parents(GraphDraws& g, const std::vector<const Columns*>& parents, int64_t outputs) {
  if (g.d.chance(0.5)) {
    Columns all;
    int64_t units = 0;
    for (const Columns* p : parents) units += p->count();
    all.resize(units, parents[0]->rows());
    units = 0;
    for (const Columns* p : parents)
      for (int64_t j = 0; j < p->count(); ++j) std::copy_n((*p)[j], p->rows(), all[units++]);
    return random_function(g, all, outputs);
  }
  const auto op = static_cast<Join>(g.choice(4));
  Columns out = random_function(g, *parents[0], outputs);
  for (size_t k = 1; k < parents.size(); ++k) join(op, out, random_function(g, *parents[k], outputs));
  return out;
}

Columns random_points(GraphDraws& g, int64_t units, int64_t rows) {
  return random_function(g, base_points(g, units, rows), units);
}

Columns rows_of(const Columns& x, const std::vector<int32_t>& rows) {
  Columns out;
  out.resize(x.count(), static_cast<int64_t>(rows.size()));
  for (int64_t j = 0; j < x.count(); ++j)
    for (size_t k = 0; k < rows.size(); ++k) out[j][k] = x[j][rows[k]];
  return out;
}

std::vector<int32_t> nearest_centers(const Columns& x, const std::vector<int32_t>& centers, double p) {
  // Units of large differences first: a sum soon exceeds that of another center.
  std::vector<std::pair<double, int64_t>> order;
  for (int64_t j = 0; j < x.count(); ++j) {
    double mean = 0, deviation = 0;
    array_kernels().shifted_moments(const_cast<float*>(x[j]), nullptr, 0, 0, x.rows(), &mean, &deviation);
    order.emplace_back(std::isfinite(deviation) ? -deviation : 0, j);
  }
  std::sort(order.begin(), order.end());
  Columns sorted;
  sorted.resize(x.count(), x.rows());
  for (int64_t j = 0; j < x.count(); ++j) std::copy_n(x[order[static_cast<size_t>(j)].second], x.stride(), sorted[j]);
  const auto stride = static_cast<size_t>(x.stride());
  std::vector<int32_t> nearest(stride, 0);
  std::vector<float> best(stride, INFINITY), center(static_cast<size_t>(x.count()));
  for (size_t k = 0; k < centers.size(); ++k) {
    for (int64_t j = 0; j < x.count(); ++j) center[static_cast<size_t>(j)] = sorted[j][centers[k]];
    array_kernels().nearest_center(sorted[0], x.stride(), x.count(), center.data(), static_cast<float>(p),
                                   static_cast<int32_t>(k), best.data(), nearest.data());
  }
  nearest.resize(static_cast<size_t>(x.rows()));
  return nearest;
}

}  // namespace tessera::prior
