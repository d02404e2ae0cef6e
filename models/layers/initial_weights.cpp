#include "models/layers/initial_weights.h"

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

float initial_draw(int64_t k, uint32_t stream, uint64_t seed) { return draw(k, Purpose::init, stream, seed); }

std::vector<float> initial_weights(const ParameterSet& set, uint64_t seed, uint32_t stream, Purpose purpose) {
  std::vector<float> flat(static_cast<size_t>(set.size), 0);
  for (const Parameter& p : set.parameters) {
    int64_t begin = 0;
    for (const Start& s : p.start) {
      const int64_t end = &s == &p.start.back() ? p.shape.cols : begin + s.columns;
      for (int64_t row = 0; row < p.shape.rows; ++row)
        for (int64_t k = p.offset + row * p.shape.cols + begin; k < p.offset + row * p.shape.cols + end; ++k) {
          const double u = s.spread == 0 ? 0 : 2 * static_cast<double>(draw(k, purpose, stream, seed)) - 1;
          flat[static_cast<size_t>(k)] = static_cast<float>(s.center + s.spread * u);
        }
      begin = end;
    }
  }
  return flat;
}

namespace layers {

Start torch_uniform(int64_t fan_in) {
  return {0, static_cast<double>(static_cast<float>(1 / std::sqrt(static_cast<double>(fan_in))))};
}

Start glorot_uniform(int64_t fan_in, int64_t fan_out) {
  return {0, std::sqrt(6.0 / static_cast<double>(fan_in + fan_out))};
}

}  // namespace layers
}  // namespace tessera
