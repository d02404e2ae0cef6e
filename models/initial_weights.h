// Initial weights, a function of (seed, stream, place in the set) alone.
#pragma once
#include <cstdint>

#include "engine/var.h"

namespace tessera {

// Uniform in ±1/√fan_in, weights and biases, as torch initialises a linear layer; batch norm starts as the identity. `stream` tells the sets of one model apart.
void initial_weights(const ParameterSet& set, uint64_t seed, uint32_t stream, float* flat);

}  // namespace tessera
