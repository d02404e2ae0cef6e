// A random multilayer perceptron: h₀ = W x + b, then h ← W f(h) + b + noise. Causal: the table shows units of all
// layers after the first. Otherwise its features are the causes and its target is the output of one more block.
#include "base/cpu/cpu_features.h"
#include "kernels/activations.h"
#include "models/prior/scm.h"

namespace tessera::prior {
namespace {

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

void draw_dropout(const Settings& s, int l, Draws& d, DrawnLayer& to) {
  if (s.block_dropout) {
    const auto most = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(std::min(to.outputs, to.inputs)))));
    to.blocks = d.whole(1, most), to.down = to.outputs / to.blocks, to.across = to.inputs / to.blocks;
    const double kept =
        static_cast<double>(to.blocks * to.down * to.across) / static_cast<double>(to.outputs * to.inputs);
    to.scale = static_cast<float>(s.init_deviation / std::sqrt(kept));
    return;
  }
  to.keep = 1 - (l == 0 ? 0 : std::min(s.dropout, 0.99));
  to.scale = static_cast<float>(s.init_deviation / std::sqrt(to.keep));
}

CurveTerms draw_curve(Draws& d) {
  CurveTerms c;
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
  return c;
}

// W [outputs][inputs] of layer l.
void draw_weights(const DrawnLayer& from, const TableKey& key, int l, Work& work) {
  work.weights.resize(static_cast<size_t>(from.outputs * from.inputs));
  float* w = work.weights.data();
  draw_matrix(Random::normal, purpose_of(Use::weights, l), key, 0, 0, from.outputs, from.inputs, from.inputs, w);
  if (from.blocks > 0) {
    for (int64_t i = 0; i < from.outputs; ++i)
      for (int64_t j = 0; j < from.inputs; ++j)
        w[i * from.inputs + j] *= i / from.down == j / from.across && i / from.down < from.blocks ? from.scale : 0.0f;
    return;
  }
  work.kept.assign(work.weights.size(), 1);
  if (from.keep < 1)
    draw_matrix(Random::bernoulli, purpose_of(Use::kept, l), key, from.keep, 0, from.outputs, from.inputs, from.inputs,
                work.kept.data());
  for (size_t i = 0; i < work.weights.size(); ++i) w[i] *= from.scale * work.kept[i];
}

// Returns the moments of each unit, by which the next activation standardizes it.
std::vector<UnitMoments> add_bias_and_noise(const DrawnLayer& from, const TableKey& key, int l, Work& work,
                                            Columns& h) {
  if (l > 0) {
    work.noise.resize(h.count(), h.rows());
    draw_matrix(Random::normal, purpose_of(Use::noise, l), key, 0, 0, h.count(), h.rows(), h.stride(), work.noise[0]);
  }
  std::vector<UnitMoments> moments(static_cast<size_t>(h.count()));
  for (int64_t j = 0; j < h.count(); ++j) {
    const auto unit = static_cast<size_t>(j);
    array_kernels().shifted_moments(h[j], l > 0 ? work.noise[j] : nullptr, from.deviation[unit], from.bias[unit],
                                    h.rows(), &moments[unit].mean, &moments[unit].deviation);
  }
  return moments;
}

void activate_units(const DrawnLayer& to, const std::vector<UnitMoments>& moments, Work& work, Columns& h) {
  if (to.terms != nullptr) {
    static_cast<CurveTerms&>(*work.curve) = *to.terms;
    array_kernels().tabulate_curve(*work.curve);
  }
  for (int64_t j = 0; j < h.count(); ++j) {
    const Standardized s = standardized(moments[static_cast<size_t>(j)], to.a, to.b, to.terms != nullptr);
    array_kernels().activate(to.f, s.mean, s.scale, s.shift, work.curve.get(), h.rows(), h[j]);
  }
}

}  // namespace

DrawnPerceptron draw_structure(const Settings& s, const TableKey& key) {
  Draws d(key, Use::structure);
  DrawnPerceptron out;
  if (s.causal) out.units = shown_units(s, d);
  const int blocks = s.layers - 1 + (s.causal ? 0 : 1);
  for (int l = 0; l <= blocks; ++l) {
    DrawnLayer& to = out.layers.emplace_back();
    to.inputs = l == 0 ? s.causes : s.hidden, to.outputs = l == blocks && !s.causal ? 1 : s.hidden;
    if (l > 0) {
      to.f = activation_of(s.activations[static_cast<size_t>(l - 1)]);
      to.a = std::exp(2 * d.normal()), to.b = d.normal();
      if (to.f == Activation::random) to.terms = std::make_unique<CurveTerms>(draw_curve(d));
    }
    draw_dropout(s, l, d, to);
    const double bound = 1 / std::sqrt(static_cast<double>(to.inputs));
    for (int64_t j = 0; j < to.outputs; ++j) {
      to.bias.push_back(static_cast<float>(d.uniform(-bound, bound)));
      const double noise = s.noise_by_unit ? std::fabs(s.noise_deviation * d.normal()) : s.noise_deviation;
      to.deviation.push_back(static_cast<float>(noise));
    }
  }
  return out;
}

void draw_perceptron(const Settings& s, const TableKey& key, Work& work) {
  const DrawnPerceptron drawn = draw_structure(s, key);
  draw_causes(s, key, work);
  work.x.resize(s.features, s.rows);
  work.y.resize(static_cast<size_t>(s.rows));
  const auto n = static_cast<size_t>(s.rows);
  for (int64_t j = 0; j < s.features && !s.causal; ++j) std::copy_n(work.layer[j], n, work.x[j]);
  std::vector<UnitMoments> moments;
  for (int l = 0; l < static_cast<int>(drawn.layers.size()); ++l) {
    const DrawnLayer& from = drawn.layers[static_cast<size_t>(l)];
    if (l > 0) activate_units(from, moments, work, work.layer);
    draw_weights(from, key, l, work);
    work.next.resize(from.outputs, s.rows);
    multiply(work.weights.data(), work.layer, work.next, work);
    moments = add_bias_and_noise(from, key, l, work, work.next);
    std::swap(work.layer, work.next);
    const int64_t first = static_cast<int64_t>(l - 1) * s.hidden;
    for (size_t j = 0; l > 0 && j < drawn.units.size(); ++j) {
      const int64_t unit = drawn.units[j] - first;
      if (unit < 0 || unit >= s.hidden) continue;
      std::copy_n(work.layer[unit], n, j == 0 ? work.y.data() : work.x[static_cast<int64_t>(j) - 1]);
    }
  }
  if (!s.causal) std::copy_n(work.layer[0], n, work.y.data());
}

}  // namespace tessera::prior
