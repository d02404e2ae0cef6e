#include "models/initial_weights.h"

#include <cmath>
#include <string>

#include "kernels/philox.h"

namespace tessera {

void initial_weights(const ParameterSet& set, uint64_t seed, uint32_t stream, float* flat) {
  int64_t fan_in = 1;
  for (const Parameter& p : set.parameters) {
    const bool norm = p.name.find(".norm.") != std::string::npos;
    if (p.shape.rows > 1 || p.name.find("weight") != std::string::npos) fan_in = norm ? fan_in : p.shape.rows;
    const float bound = static_cast<float>(1 / std::sqrt(static_cast<double>(fan_in)));
    for (int64_t i = 0; i < p.shape.count(); ++i) {
      const int64_t k = p.offset + i;
      if (norm) {
        flat[k] = p.name.find("weight") != std::string::npos ? 1.0f : 0.0f;
        continue;
      }
      const Philox w = philox(static_cast<uint32_t>(k / 4), static_cast<uint32_t>(k / 4 >> 32), stream, static_cast<uint32_t>(Purpose::init) << 16,
                              static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
      flat[k] = bound * (2 * open_uniform(w.word[k % 4]) - 1);
    }
  }
}

}  // namespace tessera
