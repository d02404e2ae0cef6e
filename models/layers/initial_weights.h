// Initial values of weights, according to Parameter::start. Draw k of a set depends on (seed, purpose, stream, k)
// alone.
#pragma once
#include <cstdint>
#include <vector>

#include "engine/plan/recorder.h"
#include "kernels/math/philox.h"

namespace tessera {

// Number k of a stream, uniform in (0, 1): for weights whose initial values a Start cannot describe.
float initial_draw(int64_t k, uint32_t stream, uint64_t seed);

std::vector<float> initial_weights(const ParameterSet& set, uint64_t seed, uint32_t stream,
                                   Purpose purpose = Purpose::init);

namespace layers {

// The convention for a layer's initial weights.
enum class Initial {
  torch,  // weights and biases uniform in ±1/√fan_in
  tf1     // weights Glorot-uniform, biases 0
};

Start torch_uniform(int64_t fan_in);
Start glorot_uniform(int64_t fan_in, int64_t fan_out);  // ±√(6 / (fan_in + fan_out))

}  // namespace layers
}  // namespace tessera
