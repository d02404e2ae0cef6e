// Random numbers of one attempt at one table: philox(block; purpose + use, table, attempt), without shared state.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/math/philox.h"

namespace tessera::prior {

// Purposes of random numbers: 0x200 purposes behind those of kernels/math/philox.h, of which `sorted` is the last.
// Purposes of layers own one number per layer.
constexpr uint32_t kFirstPurpose = 0x7800;
static_assert(kFirstPurpose > static_cast<uint32_t>(Purpose::sorted));
constexpr int kMaxLayers = 64;
enum class Use : uint32_t {
  settings = 0,
  structure = 1,  // observed units of the layers, biases, activations
  causes = 2,
  after = 3,     // categories, labels, order of columns and rows
  values = 4,    // matrix: causes
  graph = 5,     // matrices: all of a graph's
  filter = 6,    // whether the target can be predicted
  missing = 7,   // cells
  weights = 64,  // matrix, of layers, as those below
  kept = 128,
  noise = 192,
  targets = 256
};
inline int purpose_of(Use use, int layer = 0) {
  return static_cast<int>(kFirstPurpose + static_cast<uint32_t>(use)) + layer;
}

struct TableKey {
  uint64_t seed;
  uint32_t table, attempt;
};

class Draws {
 public:
  Draws(const TableKey& key, Use use)
      : seed_(key.seed), counter_(counter(static_cast<uint32_t>(purpose_of(use)), key.table, key.attempt)) {}

  uint32_t word() {
    if (at_ == 4) words_ = random_words(seed_, counter_, block_++), at_ = 0;
    return words_.word[at_++];
  }
  double uniform() {
    const uint32_t high = word();
    return open_uniform(high, word());
  }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  bool chance(double p) { return uniform() < p; }
  // From low to high, inclusive.
  int64_t whole(int64_t low, int64_t high) {
    const double n = static_cast<double>(high - low + 1);
    return low + std::min(high - low, static_cast<int64_t>(uniform() * n));
  }
  // 0 … n−1, n below 2³²
  size_t index(size_t n) { return static_cast<size_t>(uint64_t{word()} * n >> 32); }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(6.283185307179586476925 * uniform());
  }
  double exponential(double mean) { return -mean * std::log(uniform()); }
  // Marsaglia and Tsang, A simple method for generating gamma variables (2000).
  // shape ≥ 1
  double gamma(double shape) {
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal(), v = std::pow(1 + c * x, 3);
      if (1 + c * x > 0 && std::log(uniform()) < x * x / 2 + d * (1 - v + std::log(v))) return d * v;
    }
  }
  // By logarithms: gamma numbers of small shapes are smaller than any double.
  double log_gamma_number(double shape) { return std::log(gamma(shape + 1)) + std::log(uniform()) / shape; }
  double beta(double a, double b) {
    const double x = log_gamma_number(a), y = log_gamma_number(b);
    return 1 / (1 + std::exp(y - x));
  }
  // An index, with probabilities proportional to `weight`.
  int pick(const std::vector<double>& weight) {
    double left = uniform() * std::accumulate(weight.begin(), weight.end(), 0.0);
    for (size_t i = 0; i + 1 < weight.size(); ++i)
      if ((left -= weight[i]) < 0) return static_cast<int>(i);
    return static_cast<int>(weight.size()) - 1;
  }
  // One of `count` by softmax([1, U(−3, 5), …]): the distribution of a choice.
  int choice(int count) { return pick(softmax(count, -3, 5)); }
  std::vector<double> softmax(int count, double low, double high) {
    std::vector<double> weight{std::exp(1.0)};
    while (static_cast<int>(weight.size()) < count) weight.push_back(std::exp(uniform(low, high)));
    return weight;
  }
  // The distribution of a number: base + N(m, (m·s)²) cut to [0, 10⁶], ln m uniform over [ln low, ln high], ln s over
  // [ln 0.01, 0].
  double truncated(double low, double high, double base, bool rounded) {
    const double m = std::exp(uniform(std::log(low), std::log(high))), s = std::exp(uniform(std::log(0.01), 0));
    double x = -1;
    while (x < 0 || x > 1e6) x = m + m * s * normal();
    return base + (rounded ? std::nearbyint(x) : x);
  }
  std::vector<int32_t> permutation(int64_t n) {
    std::vector<int32_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = n - 1; i > 0; --i)
      std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(whole(0, i))]);
    return order;
  }

 private:
  uint64_t seed_;
  Counter counter_;
  Philox words_{};
  uint32_t block_ = 0;
  int at_ = 4;
};

}  // namespace tessera::prior
