// Stacked recurrent layers: their weights in a set, and their place in a plan. Weights are [in, gates·H]; in files
// [gates·H, in], as torch stores them.
#pragma once
#include <string>
#include <vector>

#include "engine/plan/recorder.h"

namespace tessera {

struct RecurrentLayers {
  Cell cell = Cell::gru;
  int64_t in = 0, hidden = 0, layers = 1;
  double forget_bias = 0;  // lstm: added to the forget gate at run time
};

// Parameters "<prefix>layer.<l>.weight_ih", "weight_hh", "bias_ih" and "bias_hh" ("bias" alone for reset before).
void add_recurrent(ParameterSet& set, const std::string& prefix, const RecurrentLayers& layers);

struct RecurrentStates {
  Var y;                  // [B, steps·hidden] of the last layer: 0 past a sequence's end
  std::vector<Var> h, c;  // [B, hidden] of each layer after the last step; c: lstm
};
// x [B, steps·in], one sequence a row; length [B, 1]: how many of its steps a sequence has, or nothing: all. h0, c0 by
// layer; empty: zero.
RecurrentStates recurrent(Recorder& r, const ParameterSet& set, const std::string& prefix,
                          const RecurrentLayers& layers, Var x, int64_t steps, Var length = {},
                          const std::vector<Var>& h0 = {}, const std::vector<Var>& c0 = {});

}  // namespace tessera
