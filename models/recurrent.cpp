#include "models/recurrent.h"

#include <cmath>

namespace tessera {
namespace {

std::string layer_of(const std::string& prefix, int64_t l) { return prefix + "layer." + std::to_string(l) + "."; }

}  // namespace

void add_recurrent(ParameterSet& set, const std::string& prefix, const RecurrentLayers& layers) {
  const int64_t gates = gates_of(layers.cell) * layers.hidden;
  for (int64_t l = 0; l < layers.layers; ++l) {
    const std::string layer = layer_of(prefix, l);
    set.add(layer + "weight_ih", {l == 0 ? layers.in : layers.hidden, gates});
    set.add(layer + "weight_hh", {layers.hidden, gates});
    if (layers.cell == Cell::gru_reset_before) {
      set.add(layer + "bias", {1, gates});
    } else {
      set.add(layer + "bias_ih", {1, gates});
      set.add(layer + "bias_hh", {1, gates});
    }
  }
}

std::vector<float> glorot_start(const ParameterSet& set, const RecurrentLayers& layers, Purpose purpose, uint32_t stream, uint64_t seed) {
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
      const int64_t fan_in = of_layer ? in + hidden : p.shape.rows, fan_out = !of_layer ? p.shape.cols : !gru ? 4 * hidden : gate ? 2 * hidden : hidden;
      const Philox draw = philox(static_cast<uint32_t>(k / 4), 0, stream, static_cast<uint32_t>(purpose) << 16, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
      w = static_cast<float>(std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)) * (2 * static_cast<double>(open_uniform(draw.word[k % 4])) - 1));
    }
  }
  return flat;
}

RecurrentStates recurrent(Recorder& r, const ParameterSet& set, const std::string& prefix, const RecurrentLayers& layers, Var x, int64_t steps, Var length, const std::vector<Var>& h0,
                          const std::vector<Var>& c0) {
  RecurrentStates out;
  out.y = x;
  for (int64_t l = 0; l < layers.layers; ++l) {
    const std::string layer = layer_of(prefix, l);
    const size_t i = static_cast<size_t>(l);
    const bool one_bias = layers.cell == Cell::gru_reset_before;
    const auto made = r.emit(Recurrent{layers.cell, steps, layers.cell == Cell::lstm ? layers.forget_bias : 0},
                             {out.y, length, h0.empty() ? Var{} : h0[i], c0.empty() ? Var{} : c0[i], r(set, layer + "weight_ih"), r(set, layer + "weight_hh"),
                              r(set, layer + (one_bias ? "bias" : "bias_ih")), one_bias ? Var{} : r(set, layer + "bias_hh")});
    out.y = made[0];
    out.h.push_back(made[1]);
    if (layers.cell == Cell::lstm) out.c.push_back(made[3]);
  }
  return out;
}

}  // namespace tessera
