#include "models/layers/initial_weights.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// Number k, uniform in (0, 1).
float draw(int64_t k, Purpose purpose, uint32_t stream, uint64_t seed) {
  const Philox w = random_words(seed, purpose, static_cast<uint32_t>(k / 4),
                                static_cast<uint32_t>(k / 4 >> 32) | static_cast<uint64_t>(stream) << 32);
  return open_uniform(w.word[k % 4]);
}

}  // namespace

std::vector<float> initial_weights(const ParameterSet& set, uint64_t seed, uint32_t stream) {
  std::vector<float> flat(static_cast<size_t>(set.size));
  int64_t fan_in = 1;
  for (const Parameter& p : set.parameters) {
    if (p.start) {
      std::fill_n(flat.begin() + p.offset, p.shape.count(), static_cast<float>(*p.start));
      continue;
    }
    if (p.name.ends_with("weight")) fan_in = p.shape.rows;  // a layer's bias follows its weight
    const float bound = static_cast<float>(1 / std::sqrt(static_cast<double>(fan_in)));
    for (int64_t i = 0; i < p.shape.count(); ++i) {
      const int64_t k = p.offset + i;
      flat[static_cast<size_t>(k)] = bound * (2 * draw(k, Purpose::init, stream, seed) - 1);
    }
  }
  return flat;
}

std::vector<float> glorot_start(const ParameterSet& set, const RecurrentLayers& layers, Purpose purpose,
                                uint32_t stream, uint64_t seed) {
  std::vector<float> flat(static_cast<size_t>(set.size), 0);
  const int64_t hidden = layers.hidden;
  const bool gru = layers.cell != Cell::lstm;
  int64_t in = layers.in;  // of the layer that is being filled
  for (const Parameter& p : set.parameters) {
    const bool of_layer = p.name.find("layer.") != std::string::npos, bias = p.name.find("bias") != std::string::npos;
    if (p.name.ends_with("weight_ih")) in = p.shape.rows;
    for (int64_t i = 0; i < p.shape.count(); ++i) {
      const int64_t k = p.offset + i;
      const bool gate = gru && i % p.shape.cols < 2 * hidden;
      float& w = flat[static_cast<size_t>(k)];
      if (bias) {
        w = of_layer && gate && !p.name.ends_with("bias_hh") ? 1.0f : 0.0f;
        continue;
      }
      const int64_t fan_in = of_layer ? in + hidden : p.shape.rows, fan_out = !of_layer ? p.shape.cols
                                                                              : !gru    ? 4 * hidden
                                                                              : gate    ? 2 * hidden
                                                                                        : hidden;
      w = static_cast<float>(std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)) *
                             (2 * static_cast<double>(draw(k, purpose, stream, seed)) - 1));
    }
  }
  return flat;
}

}  // namespace tessera
