#include "models/layers/recurrent.h"

#include "models/layers/initial_weights.h"

namespace tessera::layers {
namespace {

// Initial values of the columns of a weight or bias [·, gates·H]: a GRU's two gates and its candidate, or an LSTM's
// four gates.
std::vector<Start> by_gates(Cell cell, int64_t hidden, Start gates, Start candidate) {
  if (cell == Cell::lstm) return {candidate};
  gates.columns = 2 * hidden;
  return {gates, candidate};
}

}  // namespace

Recurrent::Recurrent(ParameterSet& set, const std::string& prefix, const RecurrentSizes& s) : sizes(s) {
  const int64_t hidden = s.hidden, width = gates_of(s.cell) * hidden;
  for (int64_t l = 0; l < s.layers; ++l) {
    const std::string name = prefix + "layer." + std::to_string(l) + ".";
    const int64_t in = l == 0 ? s.in : hidden, fan_in = in + hidden;
    const auto glorot = by_gates(s.cell, hidden, glorot_uniform(fan_in, 2 * hidden),
                                 glorot_uniform(fan_in, s.cell == Cell::lstm ? 4 * hidden : hidden));
    const auto bias = by_gates(s.cell, hidden, Start{1}, Start{0});
    Layer layer;
    layer.weight_ih = set.add(name + "weight_ih", {in, width}, glorot);
    layer.weight_hh = set.add(name + "weight_hh", {hidden, width}, glorot);
    if (s.cell == Cell::gru_reset_before) {
      layer.bias_ih = set.add(name + "bias", {1, width}, bias);
    } else {
      layer.bias_ih = set.add(name + "bias_ih", {1, width}, bias);
      layer.bias_hh = set.add(name + "bias_hh", {1, width});
    }
    layers.push_back(layer);
  }
}

RecurrentStates Recurrent::operator()(Var x, Var length, const std::vector<Var>& h0, const std::vector<Var>& c0) const {
  Recorder& r = *x.r;
  const tessera::Recurrent op{sizes.cell, x.cols() / sizes.in, sizes.cell == Cell::lstm ? sizes.forget_bias : 0};
  RecurrentStates out;
  out.y = x;
  for (size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = layers[l];
    const auto made =
        r.emit(op, {out.y, length, h0.empty() ? Var{} : h0[l], c0.empty() ? Var{} : c0[l], r(layer.weight_ih),
                    r(layer.weight_hh), r(layer.bias_ih), layer.bias_hh.set.empty() ? Var{} : r(layer.bias_hh)});
    out.y = made[0];
    out.h.push_back(made[1]);
    if (sizes.cell == Cell::lstm) out.c.push_back(made[3]);
  }
  return out;
}

}  // namespace tessera::layers
