#include "models/weights.h"

namespace tessera {

void visit_weights(const Ctgan& m, const ParameterSet& set, const WeightVisitor& visit) {
  for (const Parameter& p : set.parameters) {
    const std::string name = set.name + "." + p.name;
    const bool matrix = p.name.find(".weight") != std::string::npos && p.name.find("norm") == std::string::npos;
    if (!matrix) {
      visit(name, {p.shape.cols}, [&](int64_t i) { return p.offset + i; });
      continue;
    }
    const bool packed = set.name == m.discriminator.name && p.name == "hidden.0.weight";
    const int64_t in = p.shape.rows, out = p.shape.cols, width = m.data + m.cond, pac = m.config.pac;
    visit(name, {out, in}, [&, packed](int64_t i) {
      int64_t row = i % in;
      if (packed) {
        const int64_t slot = row / width, k = row % width;
        row = k < m.data ? slot * m.data + k : pac * m.data + slot * m.cond + (k - m.data);
      }
      return p.offset + row * out + i / in;
    });
  }
}

}  // namespace tessera
