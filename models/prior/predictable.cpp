// Extremely randomized trees (Geurts, Ernst, Wehenkel 2006) on bootstrap samples: does y depend on x at all?
#include "base/cpu/cpu_features.h"
#include "models/prior/graph.h"

namespace tessera::prior {
namespace {

constexpr int kTrees = 25, kDepth = 6, kSamples = 200;
constexpr size_t kLeaves = size_t{1} << kDepth;

// Features [rows][stride], and the target of each row: a class or a number.
struct Problem {
  size_t rows, features, stride, classes, targets;  // classes 1: numbers; of two classes the second is the target
  std::vector<float> x, y;

  double target(size_t row, size_t t) const {
    const auto v = static_cast<double>(y[row]);
    return classes <= 2 ? v : v == static_cast<double>(t) ? 1 : 0;
  }
  size_t group(size_t row) const { return classes == 1 ? 0 : static_cast<size_t>(y[row]); }
};

Problem problem_of(const Columns& x, const std::vector<float>& y, int64_t classes) {
  const auto features = static_cast<size_t>(x.count()), padding = static_cast<size_t>(kCutPadding);
  Problem p{y.size(),
            features,
            (features + padding - 1) / padding * padding,
            static_cast<size_t>(std::max<int64_t>(classes, 1)),
            static_cast<size_t>(classes <= 2 ? 1 : classes),
            {},
            y};
  p.x.resize(p.rows * p.stride);
  for (size_t j = 0; j < p.features; ++j)
    for (size_t i = 0; i < p.rows; ++i) p.x[i * p.stride + j] = x[static_cast<int64_t>(j)][i];
  return p;
}

// The trees of one filter, one after the other.
class Trees {
 public:
  Trees(const Problem& problem, Draws& draws)
      : sum(problem.rows * problem.targets, 0), votes(problem.rows, 0), p(problem), d(draws) {}

  // Adds the tree's predictions of the rows that its sample lacks.
  void add() {
    times_.assign(p.rows, 0);  // how often the bootstrap sample has each row
    for (size_t i = 0; i < p.rows; ++i) times_[d.index(p.rows)] += 1;
    node_.assign(p.rows, 0);
    for (size_t level = 0; level < kDepth; ++level) split_level(size_t{1} << level);
    std::vector<double> leaf(kLeaves * p.targets, 0), rows(kLeaves, 0);
    for (size_t i = 0; i < p.rows; ++i) {
      const auto count = static_cast<double>(times_[i]);
      rows[node_[i]] += count;
      for (size_t t = 0; t < p.targets; ++t) leaf[node_[i] * p.targets + t] += count * p.target(i, t);
    }
    for (size_t i = 0; i < p.rows; ++i) {
      if (times_[i] > 0 || rows[node_[i]] == 0) continue;
      ++votes[i];
      for (size_t t = 0; t < p.targets; ++t) sum[i * p.targets + t] += leaf[node_[i] * p.targets + t] / rows[node_[i]];
    }
  }

  std::vector<double> sum;
  std::vector<int> votes;

 private:
  // The sample's rows by node, and within a node by class.
  void sort_rows(size_t nodes) {
    end_.assign(nodes * p.classes + 1, 0);
    for (size_t i = 0; i < p.rows; ++i)
      if (times_[i] > 0) ++end_[node_[i] * p.classes + p.group(i) + 1];
    std::partial_sum(end_.begin(), end_.end(), end_.begin());
    row_.resize(p.rows);
    for (size_t i = 0; i < p.rows; ++i)
      if (times_[i] > 0) row_[static_cast<size_t>(end_[node_[i] * p.classes + p.group(i)]++)] = static_cast<int32_t>(i);
  }

  // One level of a tree: every node takes, of one random cut a feature, the one with the largest Σ L²/n_L + R²/n_R.
  // Rows move to the nodes of the level below.
  void split_level(size_t nodes) {
    sort_rows(nodes);
    const size_t size = nodes * p.stride;
    cut_.resize(size), high_.resize(size), left_rows_.resize(size * p.classes), left_.resize(size);
    const RandomCuts level{static_cast<int64_t>(p.stride),
                           static_cast<int64_t>(nodes),
                           static_cast<int64_t>(p.classes),
                           p.x.data(),
                           p.y.data(),
                           times_.data(),
                           row_.data(),
                           end_.data()};
    array_kernels().node_ranges(level, cut_.data(), high_.data());
    for (size_t k = 0; k < nodes; ++k)
      for (size_t f = 0; f < p.features; ++f) {
        float& cut = cut_[k * p.stride + f];
        cut += (high_[k * p.stride + f] - cut) * static_cast<float>(d.uniform());
      }
    array_kernels().sums_below(level, cut_.data(), left_rows_.data(), left_.data());
    best_.assign(nodes, p.features);  // no cut
    for (size_t k = 0; k < nodes; ++k) choose_cut(k);
    for (size_t i = 0; i < p.rows; ++i) {
      const size_t k = node_[i], f = best_[k];
      const bool right = f < p.features && p.x[i * p.stride + f] > cut_[k * p.stride + f];
      node_[i] = static_cast<uint8_t>(2 * k + (right ? 1 : 0));
    }
  }

  void choose_cut(size_t k) {
    float rows = 0, most = 0;
    std::vector<float>&all = all_, &below = below_, &gain = gain_;
    all.assign(p.targets, 0), below.assign(p.stride, 0), gain.resize(p.stride);
    const size_t first = k == 0 ? 0 : static_cast<size_t>(end_[k * p.classes - 1]);
    for (size_t at = first; at < static_cast<size_t>(end_[(k + 1) * p.classes - 1]); ++at) {
      const auto i = static_cast<size_t>(row_[at]);
      rows += times_[i];
      if (p.classes > 2) all[p.group(i)] += times_[i];
      else all[0] += times_[i] * p.y[i];
    }
    for (const float a : all) most += a * a;
    most *= (1 + 1e-6f) / std::max(1.0f, rows);
    const auto left = [&](size_t t) {  // of a target, the remainder of each feature's split
      return p.classes == 1 ? &left_[k * p.stride] : &left_rows_[(k * p.classes + (p.classes == 2 ? 1 : t)) * p.stride];
    };
    for (size_t c = 0; c < p.classes; ++c)
      for (size_t f = 0; f < p.stride; ++f) below[f] += left_rows_[(k * p.classes + c) * p.stride + f];
    squares_.assign(2 * p.stride, 0);
    float *const low = squares_.data(), *const high = low + p.stride;  // Σ L², Σ R²
    for (size_t t = 0; t < p.targets; ++t) {
      const float *from = left(t), whole = all[t];
      for (size_t f = 0; f < p.stride; ++f) {
        const float l = from[f], r = whole - l;
        low[f] += l * l, high[f] += r * r;
      }
    }
    for (size_t f = 0; f < p.stride; ++f) gain[f] = low[f] / below[f] + high[f] / (rows - below[f]);
    for (size_t f = 0; f < p.features; ++f)
      if (below[f] > 0 && below[f] < rows && gain[f] > most) most = gain[f], best_[k] = f;
  }

  const Problem& p;
  Draws& d;
  std::vector<float> times_, cut_, high_, left_rows_, left_, all_, below_, gain_, squares_;
  std::vector<uint8_t> node_;
  std::vector<int32_t> row_, end_;
  std::vector<size_t> best_;
};

}  // namespace

bool predictable(const Columns& x, const std::vector<float>& y, int64_t classes, Draws& d) {
  const Problem p = problem_of(x, y, classes);
  std::vector<double> mean(p.targets, 0), gain;
  Trees trees(p, d);
  for (int t = 0; t < kTrees; ++t) trees.add();
  for (size_t i = 0; i < p.rows; ++i)
    for (size_t t = 0; t < p.targets; ++t) mean[t] += p.target(i, t) / static_cast<double>(p.rows);
  for (size_t i = 0; i < p.rows; ++i) {  // by how much the squared error is smaller than the mean's
    if (trees.votes[i] == 0) continue;
    double better = 0;
    for (size_t t = 0; t < p.targets; ++t) {
      const double actual = p.target(i, t), seen = trees.sum[i * p.targets + t] / trees.votes[i];
      better += (actual - mean[t]) * (actual - mean[t]) - (actual - seen) * (actual - seen);
    }
    gain.push_back(better);
  }
  if (gain.empty()) return false;
  int worse = 0;
  for (int s = 0; s < kSamples && worse < kSamples / 20; ++s) {
    double total = 0;
    for (size_t i = 0; i < gain.size(); ++i) total += gain[d.index(gain.size())];
    worse += total <= 0 ? 1 : 0;
  }
  return worse < kSamples / 20;
}

}  // namespace tessera::prior
