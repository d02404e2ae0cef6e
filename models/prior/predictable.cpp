// Extremely randomized trees (Geurts, Ernst, Wehenkel 2006) on bootstrap samples: does y depend on x at all?
#include "base/cpu/cpu_features.h"
#include "models/prior/graph.h"

namespace tessera::prior {
namespace {

constexpr int kTrees = 25, kDepth = 6, kSamples = 200;
constexpr size_t kLeaves = size_t{1} << kDepth;

// Features [rows][features], targets [rows][targets]: a class is a column of zeros and ones.
struct Problem {
  size_t rows, features, targets;
  std::vector<float> x, y;
};

Problem problem_of(const Columns& x, const std::vector<float>& y, int64_t classes) {
  Problem p{y.size(), static_cast<size_t>(x.count()), static_cast<size_t>(classes <= 2 ? 1 : classes), {}, {}};
  p.x.resize(p.rows * p.features);
  for (size_t j = 0; j < p.features; ++j)
    for (size_t i = 0; i < p.rows; ++i) p.x[i * p.features + j] = x[static_cast<int64_t>(j)][i];
  p.y.assign(p.rows * p.targets, 0);
  for (size_t i = 0; i < p.rows; ++i)
    if (classes > 2) p.y[i * p.targets + static_cast<size_t>(y[i])] = 1;
    else p.y[i] = y[i];
  return p;
}

// One level of a tree: every node takes, of one random cut a feature, the one with the largest Σ L²/n_L + R²/n_R. Rows
// move to the nodes of the level below.
void split_level(const Problem& p, const std::vector<float>& times, size_t nodes, Draws& d,
                 std::vector<uint8_t>& node) {
  std::vector<float> cut(nodes * p.features, INFINITY), high(cut.size(), -INFINITY), left_rows(cut.size(), 0),
      left(cut.size() * p.targets, 0), rows(nodes, 0), all(nodes * p.targets, 0);
  const RandomCuts level{static_cast<int64_t>(p.rows),
                         static_cast<int64_t>(p.features),
                         static_cast<int64_t>(p.targets),
                         p.x.data(),
                         p.y.data(),
                         times.data(),
                         node.data()};
  array_kernels().node_ranges(level, cut.data(), high.data());
  for (size_t k = 0; k < cut.size(); ++k) cut[k] += (high[k] - cut[k]) * static_cast<float>(d.uniform());
  array_kernels().sums_below(level, cut.data(), left_rows.data(), left.data());
  for (size_t i = 0; i < p.rows; ++i) {
    rows[node[i]] += times[i];
    for (size_t t = 0; t < p.targets; ++t) all[node[i] * p.targets + t] += times[i] * p.y[i * p.targets + t];
  }
  std::vector<size_t> best(nodes, p.features);  // no cut
  for (size_t k = 0; k < nodes; ++k) {
    float most = 0;
    for (size_t t = 0; t < p.targets; ++t) most += all[k * p.targets + t] * all[k * p.targets + t];
    most *= (1 + 1e-6f) / std::max(1.0f, rows[k]);
    for (size_t f = 0; f < p.features; ++f) {
      const float below = left_rows[k * p.features + f], above = rows[k] - below;
      if (below == 0 || above == 0) continue;
      float gain = 0;
      for (size_t t = 0; t < p.targets; ++t) {
        const float l = left[(k * p.targets + t) * p.features + f], r = all[k * p.targets + t] - l;
        gain += l * l / below + r * r / above;
      }
      if (gain > most) most = gain, best[k] = f;
    }
  }
  for (size_t i = 0; i < p.rows; ++i) {
    const size_t k = node[i], f = best[k];
    const bool right = f < p.features && p.x[i * p.features + f] > cut[k * p.features + f];
    node[i] = static_cast<uint8_t>(2 * k + (right ? 1 : 0));
  }
}

// Adds the tree's predictions of the rows that its sample lacks.
void add_tree(const Problem& p, Draws& d, std::vector<double>& sum, std::vector<int>& votes) {
  std::vector<float> times(p.rows, 0);  // how often the bootstrap sample has each row
  for (size_t i = 0; i < p.rows; ++i) times[d.index(p.rows)] += 1;
  std::vector<uint8_t> node(p.rows, 0);
  for (size_t level = 0; level < kDepth; ++level) split_level(p, times, size_t{1} << level, d, node);
  std::vector<double> leaf(kLeaves * p.targets, 0), rows(kLeaves, 0);
  for (size_t i = 0; i < p.rows; ++i) {
    const auto count = static_cast<double>(times[i]);
    rows[node[i]] += count;
    for (size_t t = 0; t < p.targets; ++t)
      leaf[node[i] * p.targets + t] += count * static_cast<double>(p.y[i * p.targets + t]);
  }
  for (size_t i = 0; i < p.rows; ++i) {
    if (times[i] > 0 || rows[node[i]] == 0) continue;
    ++votes[i];
    for (size_t t = 0; t < p.targets; ++t) sum[i * p.targets + t] += leaf[node[i] * p.targets + t] / rows[node[i]];
  }
}

}  // namespace

bool predictable(const Columns& x, const std::vector<float>& y, int64_t classes, Draws& d) {
  const Problem p = problem_of(x, y, classes);
  std::vector<double> sum(p.rows * p.targets, 0), mean(p.targets, 0), gain;
  std::vector<int> votes(p.rows, 0);
  for (int t = 0; t < kTrees; ++t) add_tree(p, d, sum, votes);
  for (size_t i = 0; i < p.y.size(); ++i)
    mean[i % p.targets] += static_cast<double>(p.y[i]) / static_cast<double>(p.rows);
  for (size_t i = 0; i < p.rows; ++i) {  // by how much the squared error is smaller than the mean's
    if (votes[i] == 0) continue;
    double better = 0;
    for (size_t t = 0; t < p.targets; ++t) {
      const auto actual = static_cast<double>(p.y[i * p.targets + t]);
      better += std::pow(actual - mean[t], 2) - std::pow(actual - sum[i * p.targets + t] / votes[i], 2);
    }
    gain.push_back(better);
  }
  if (gain.empty()) return false;
  int worse = 0;
  for (int s = 0; s < kSamples; ++s) {
    double total = 0;
    for (size_t i = 0; i < gain.size(); ++i) total += gain[d.index(gain.size())];
    worse += total <= 0 ? 1 : 0;
  }
  return worse < kSamples / 20;
}

}  // namespace tessera::prior
