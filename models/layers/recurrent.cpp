#include "models/layers/recurrent.h"

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

RecurrentStates recurrent(Recorder& r, const ParameterSet& set, const std::string& prefix,
                          const RecurrentLayers& layers, Var x, int64_t steps, Var length, const std::vector<Var>& h0,
                          const std::vector<Var>& c0) {
  RecurrentStates out;
  out.y = x;
  for (int64_t l = 0; l < layers.layers; ++l) {
    const std::string layer = layer_of(prefix, l);
    const size_t i = static_cast<size_t>(l);
    const bool one_bias = layers.cell == Cell::gru_reset_before;
    const auto made =
        r.emit(Recurrent{layers.cell, steps, layers.cell == Cell::lstm ? layers.forget_bias : 0},
               {out.y, length, h0.empty() ? Var{} : h0[i], c0.empty() ? Var{} : c0[i], r(set, layer + "weight_ih"),
                r(set, layer + "weight_hh"), r(set, layer + (one_bias ? "bias" : "bias_ih")),
                one_bias ? Var{} : r(set, layer + "bias_hh")});
    out.y = made[0];
    out.h.push_back(made[1]);
    if (layers.cell == Cell::lstm) out.c.push_back(made[3]);
  }
  return out;
}

}  // namespace tessera
