// Stacked recurrent layers. Weights are [in, gates·H]; in files [gates·H, in], as torch stores them.
#pragma once
#include <string>
#include <vector>

#include "engine/plan/recorder.h"

namespace tessera::layers {

struct RecurrentSizes {
  Cell cell = Cell::gru;
  int64_t in = 0, hidden = 0, layers = 1;
  double forget_bias = 0;  // lstm: added to the forget gate at run time
};

struct RecurrentStates {
  Var y;                  // [B, steps·hidden] of the last layer: 0 past a sequence's end
  std::vector<Var> h, c;  // [B, hidden] of each layer after the last step; c: lstm
};

// Weights "<prefix>layer.<l>.weight_ih", "weight_hh", "bias_ih" and "bias_hh" ("bias" alone for reset before). They
// begin as in TF1: Glorot-uniform over the concatenated input [x, h] of each jointly drawn group (a GRU's two gates,
// its candidate; an LSTM's four gates); biases 0, but 1 for a GRU's gates.
struct Recurrent {
  struct Layer {
    Weight weight_ih, weight_hh, bias_ih, bias_hh;  // no bias_hh for reset before
  };
  RecurrentSizes sizes;
  std::vector<Layer> layers;

  Recurrent(ParameterSet& set, const std::string& prefix, const RecurrentSizes& sizes);
  // x [B, steps·in]: one sequence per row. length [B, 1]: the number of steps of each sequence; absent: all. h0, c0:
  // by layer; empty: 0.
  RecurrentStates operator()(Var x, Var length = {}, const std::vector<Var>& h0 = {},
                             const std::vector<Var>& c0 = {}) const;
};

}  // namespace tessera::layers
