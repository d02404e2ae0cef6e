// What weights begin at. Draw k of a set depends on (seed, purpose, stream, k) alone.
#pragma once
#include <cstdint>
#include <vector>

#include "engine/plan/recorder.h"
#include "kernels/math/philox.h"
#include "models/layers/recurrent.h"

namespace tessera {

// Uniform in ±1/√fan_in, weights and biases, as torch begins a linear layer; but for parameters that say what they
// start from.
std::vector<float> initial_weights(const ParameterSet& set, uint64_t seed, uint32_t stream);

// Recurrent layers as TF1 has them: Glorot-uniform over the concatenated input [x, h] of what is drawn together (a
// GRU's two gates, its candidate; an LSTM's four gates), for other matrices over their own sides; biases 0, but 1 for a
// GRU's gates.
std::vector<float> glorot_start(const ParameterSet& set, const RecurrentLayers& layers, Purpose purpose,
                                uint32_t stream, uint64_t seed);

}  // namespace tessera
