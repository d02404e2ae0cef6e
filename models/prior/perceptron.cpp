// A random multilayer perceptron: h₀ = W x + b, then h ← W f(h) + b + noise. Causal: the table shows units of all
// layers after the first. Otherwise its features are the causes and its target is the output of one more block.
#include "base/cpu/cpu_features.h"
#include "models/prior/scm.h"

namespace tessera::prior {
namespace {

// Indices of the observed units over all blocks; the target's comes first, then those of the features.
std::vector<int64_t> shown_units(const Settings& s, Draws& d) {
  const int64_t all = static_cast<int64_t>(s.layers - 1) * s.hidden,
                first = s.in_clique ? d.whole(0, all - 1 - s.features) : 0;
  const std::vector<int32_t> order = d.permutation(s.in_clique ? 1 + s.features : all - 1);
  std::vector<int64_t> units;
  for (int64_t j = 0; j <= s.features; ++j) units.push_back(first + order[static_cast<size_t>(j)]);
  if (s.y_is_effect) units[0] = all - 1;
  if (s.sort_features) std::sort(units.begin() + 1, units.end());
  return units;
}

// W [outputs][inputs] of layer l.
void draw_weights(const Settings& s, const TableKey& key, int l, int64_t outputs, int64_t inputs, Draws& d,
                  Work& work) {
  work.weights.resize(static_cast<size_t>(outputs * inputs));
  float* w = work.weights.data();
  draw_matrix(Random::normal, purpose_of(Use::weights, l), key, 0, 0, outputs, inputs, inputs, w);
  if (s.block_dropout) {
    const auto most = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(std::min(outputs, inputs)))));
    const int64_t n = d.whole(1, most), down = outputs / n, across = inputs / n;
    const double kept = static_cast<double>(n * down * across) / static_cast<double>(outputs * inputs);
    const auto scale = static_cast<float>(s.init_deviation / std::sqrt(kept));
    for (int64_t i = 0; i < outputs; ++i)
      for (int64_t j = 0; j < inputs; ++j) w[i * inputs + j] *= i / down == j / across && i / down < n ? scale : 0.0f;
    return;
  }
  const double dropped = l == 0 ? 0 : std::min(s.dropout, 0.99);
  const auto scale = static_cast<float>(s.init_deviation / std::sqrt(1 - dropped));
  work.kept.assign(work.weights.size(), 1);
  if (dropped > 0)
    draw_matrix(Random::bernoulli, purpose_of(Use::kept, l), key, 1 - dropped, 0, outputs, inputs, inputs,
                work.kept.data());
  for (size_t i = 0; i < work.weights.size(); ++i) w[i] *= scale * work.kept[i];
}

void draw_curve(Draws& d, RandomCurve& c) {
  const double power = std::exp(d.uniform(std::log(0.7), std::log(3.0)));
  double weight[kCurveTerms], squares = 0;
  for (int k = 0; k < kCurveTerms; ++k) {
    const double f = 256 * d.uniform();
    c.frequency[k] = static_cast<float>(f);
    c.turn[k] = static_cast<float>(d.uniform());
    weight[k] = std::pow(f, -power);
    squares += weight[k] * weight[k];
  }
  for (int k = 0; k < kCurveTerms; ++k) c.weight[k] = static_cast<float>(weight[k] / std::sqrt(squares) * d.normal());
  array_kernels().tabulate_curve(c);
}

// The moments of each unit after bias and noise, by which the next activation standardizes it.
struct Moment {
  double mean, deviation;
};
std::vector<Moment> add_bias_and_noise(const Settings& s, const TableKey& key, int l, int64_t inputs, Draws& d,
                                       Work& work, Columns& h) {
  if (l > 0) {
    work.noise.resize(h.count(), h.rows());
    draw_matrix(Random::normal, purpose_of(Use::noise, l), key, 0, 0, h.count(), h.rows(), h.stride(), work.noise[0]);
  }
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  std::vector<Moment> moments(static_cast<size_t>(h.count()));
  for (int64_t j = 0; j < h.count(); ++j) {
    const double bias = d.uniform(-bound, bound);
    const double noise = s.noise_by_unit ? std::fabs(s.noise_deviation * d.normal()) : s.noise_deviation;
    Moment& m = moments[static_cast<size_t>(j)];
    array_kernels().shifted_moments(h[j], l > 0 ? work.noise[j] : nullptr, static_cast<float>(noise),
                                    static_cast<float>(bias), h.rows(), &m.mean, &m.deviation);
  }
  return moments;
}

void activate_units(Activation f, const std::vector<Moment>& moments, Draws& d, Work& work, Columns& h) {
  const double a = std::exp(2 * d.normal()), b = d.normal();
  if (f == Activation::random) draw_curve(d, *work.curve);
  for (int64_t j = 0; j < h.count(); ++j) {
    const Moment& m = moments[static_cast<size_t>(j)];
    double scale = a / (m.deviation + 1e-6), shift = a * b;
    if (f == Activation::random)  // standardized once more: mean a·b, deviation scale·deviation
      scale /= scale * m.deviation + 1e-6, shift = 0;
    array_kernels().activate(f, static_cast<float>(m.mean), static_cast<float>(scale), static_cast<float>(shift),
                             work.curve.get(), h.rows(), h[j]);
  }
}

}  // namespace

void draw_perceptron(const Settings& s, const TableKey& key, Work& work) {
  Draws d(key, Use::structure);
  draw_causes(s, key, work);
  work.x.resize(s.features, s.rows);
  work.y.resize(static_cast<size_t>(s.rows));
  const auto n = static_cast<size_t>(s.rows);
  std::vector<int64_t> units;
  if (s.causal) units = shown_units(s, d);
  else
    for (int64_t j = 0; j < s.features; ++j) std::copy_n(work.layer[j], n, work.x[j]);
  std::vector<Moment> moments;
  const int blocks = s.layers - 1 + (s.causal ? 0 : 1);
  for (int l = 0; l <= blocks; ++l) {
    if (l > 0) activate_units(activation_of(s.activations[static_cast<size_t>(l - 1)]), moments, d, work, work.layer);
    const int64_t inputs = work.layer.count(), outputs = l == blocks && !s.causal ? 1 : s.hidden;
    draw_weights(s, key, l, outputs, inputs, d, work);
    work.next.resize(outputs, s.rows);
    multiply(work.weights.data(), work.layer, work.next, work);
    moments = add_bias_and_noise(s, key, l, inputs, d, work, work.next);
    std::swap(work.layer, work.next);
    if (l == 0 || !s.causal) continue;
    const int64_t first = static_cast<int64_t>(l - 1) * s.hidden;
    for (size_t j = 0; j < units.size(); ++j) {
      const int64_t unit = units[j] - first;
      if (unit < 0 || unit >= s.hidden) continue;
      std::copy_n(work.layer[unit], n, j == 0 ? work.y.data() : work.x[static_cast<int64_t>(j) - 1]);
    }
  }
  if (!s.causal) std::copy_n(work.layer[0], n, work.y.data());
}

}  // namespace tessera::prior
