// Layers of boosted regression trees, fitted to random targets: h ← trees(h) (+ noise). The features are the causes,
// the target is the output of the last layer.
//   squared error, learning rate 0.3, λ = 1, at least one row per leaf, 256 quantile bins, as XGBoost's "hist"
#include <cstring>

#include "base/cpu/cpu_features.h"
#include "models/prior/scm.h"

namespace tessera::prior {
namespace {

constexpr float kLearningRate = 0.3f;

// Bin of each number of a column: the number of up to 255 cuts, at even ranks, that are not above it. Returns the bins.
int bin_column(const float* x, int64_t n, Work& work, uint8_t* bins) {
  work.order.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    bits = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;  // the bits now ascend as the numbers do
    work.order[static_cast<size_t>(i)] = static_cast<uint64_t>(bits) << 32 | static_cast<uint32_t>(i);
  }
  std::sort(work.order.begin(), work.order.end());
  int bin = 0;
  int64_t next = 1;  // the first cut whose rank is not reached
  for (int64_t rank = 0; rank < n; ++rank) {
    const uint64_t here = work.order[static_cast<size_t>(rank)];
    if (rank > 0 && here >> 32 != work.order[static_cast<size_t>(rank - 1)] >> 32) {
      const int64_t passed = n < kTreeBins ? rank : rank * kTreeBins / n;
      if (passed >= next) ++bin, next = passed + 1;
    }
    bins[static_cast<uint32_t>(here)] = static_cast<uint8_t>(bin);
  }
  return bin + 1;
}

struct Split {
  int64_t feature = -1;
  int32_t cut = 0;
};

// Sums of the residuals, [nodes][width], and rows of each node.
struct NodeSums {
  std::vector<float> sum, rows;
};
NodeSums sum_nodes(size_t nodes, size_t width, const Work& work) {
  NodeSums out{std::vector<float>(nodes * width, 0), std::vector<float>(nodes, 0)};
  for (size_t i = 0; i < work.node.size(); ++i) {
    const size_t k = work.node[i];
    out.rows[k] += 1;
    for (size_t o = 0; o < width; ++o) out.sum[k * width + o] += work.residual[i * width + o];
  }
  return out;
}

// Grows one tree; its predictions are subtracted from the residuals.
void grow(int depth, size_t width, const std::vector<int>& bins, Work& work) {
  const size_t n = work.node.size();
  std::fill(work.node.begin(), work.node.end(), uint8_t{0});
  for (size_t level = 0, nodes = 1; level < static_cast<size_t>(depth); ++level, nodes *= 2) {
    const NodeSums all = sum_nodes(nodes, width, work);
    std::vector<float> gain(nodes, 1e-6f);  // a split must exceed the gain of the node as a leaf
    for (size_t k = 0; k < nodes; ++k)
      for (size_t o = 0; o < width; ++o) gain[k] += all.sum[k * width + o] * all.sum[k * width + o] / (all.rows[k] + 1);
    std::vector<Split> best(nodes);
    for (size_t f = 0; f < bins.size(); ++f) {
      int32_t cut[kMaxTreeNodes];
      bool better[kMaxTreeNodes];
      array_kernels().split_feature(
          {static_cast<int64_t>(n), static_cast<int>(nodes), static_cast<int>(width), bins[f], work.bins.data() + f * n,
           work.node.data(), work.residual.data(), work.sums.data(), work.rows.data()},
          gain.data(), cut, better);
      for (size_t k = 0; k < nodes; ++k)
        if (better[k]) best[k] = {static_cast<int64_t>(f), cut[k]};
    }
    for (size_t i = 0; i < n; ++i) {  // an unsplit node keeps its rows on the left
      const Split& s = best[work.node[i]];
      const bool right = s.feature >= 0 && work.bins[static_cast<size_t>(s.feature) * n + i] >= s.cut;
      work.node[i] = static_cast<uint8_t>(2 * work.node[i] + (right ? 1 : 0));
    }
  }
  const NodeSums leaves = sum_nodes(size_t{1} << depth, width, work);
  for (size_t i = 0; i < n; ++i)
    for (size_t o = 0, k = work.node[i]; o < width; ++o)
      work.residual[i * width + o] -= kLearningRate * leaves.sum[k * width + o] / (leaves.rows[k] + 1);
}

// work.layer ← trees(work.layer) with `outputs` outputs, plus noise unless it is the first layer.
void grow_layer(const Settings& s, const TableKey& key, int l, int64_t outputs, Draws& d, Work& work) {
  const int depth = std::min(4, 2 + static_cast<int>(d.exponential(2))),
            trees = std::min(4, 1 + static_cast<int>(d.exponential(2)));
  const int width = *std::find_if(std::begin(kTreeWidths), std::end(kTreeWidths), [&](int w) { return w >= outputs; });
  const int64_t n = s.rows, features = work.layer.count();
  work.bins.resize(static_cast<size_t>(features * n));
  work.node.resize(static_cast<size_t>(n));
  std::vector<int> bins;
  for (int64_t f = 0; f < features; ++f) bins.push_back(bin_column(work.layer[f], n, work, work.bins.data() + f * n));
  work.next.resize(outputs, n);
  draw_matrix(Random::normal, purpose_of(Use::targets, l), key, 0, 0, outputs, n, work.next.stride(), work.next[0]);
  work.residual.assign(static_cast<size_t>(n * width), 0);
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t i = 0; i < n; ++i) work.residual[static_cast<size_t>(i * width + o)] = work.next[o][i];
  const size_t places = size_t{kMaxTreeNodes} * kTreeBins;
  work.sums.resize(places * static_cast<size_t>(width));
  work.rows.resize(places);
  for (int t = 0; t < trees; ++t) grow(depth, static_cast<size_t>(width), bins, work);
  if (l > 0) {
    work.noise.resize(outputs, n);
    draw_matrix(Random::normal, purpose_of(Use::noise, l), key, 0, 0, outputs, n, work.noise.stride(), work.noise[0]);
  }
  for (int64_t o = 0; o < outputs; ++o) {
    const double noise = l == 0 ? 0 : s.noise_by_unit ? std::fabs(s.noise_deviation * d.normal()) : s.noise_deviation;
    for (int64_t i = 0; i < n; ++i) {
      float& x = work.next[o][i];
      x -= work.residual[static_cast<size_t>(i * width + o)];  // target − residual
      if (l > 0) x += static_cast<float>(noise) * work.noise[o][i];
    }
  }
  std::swap(work.layer, work.next);
}

}  // namespace

void draw_trees(const Settings& s, const TableKey& key, Work& work) {
  Draws d(key, Use::structure);
  draw_causes(s, key, work);
  const auto n = static_cast<size_t>(s.rows);
  work.x.resize(s.features, s.rows);
  work.y.resize(n);
  for (int64_t j = 0; j < s.features; ++j) std::copy_n(work.layer[j], n, work.x[j]);
  for (int l = 0; l < s.layers; ++l) grow_layer(s, key, l, s.hidden, d, work);
  grow_layer(s, key, s.layers, 1, d, work);
  std::copy_n(work.layer[0], n, work.y.data());
}

}  // namespace tessera::prior
