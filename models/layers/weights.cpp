#include "models/layers/weights.h"

namespace tessera {

void visit_weights(const ParameterSet& set, const WeightVisitor& visit) {
  visit_weights(set, visit, [](const Parameter&, int64_t k) { return k; });
}

void visit_weights(const ParameterSet& set, const WeightVisitor& visit, const RowInMemory& row) {
  for (const Parameter& p : set.parameters) {
    const int64_t offset = p.offset, in = p.shape.rows, out = p.shape.cols;
    // weight, weight_ih, weight_hh
    const bool matrix =
        p.name.substr(p.name.rfind('.') + 1).starts_with("weight") && p.name.find("norm") == std::string::npos;
    if (matrix)
      visit(set.name + "." + p.name, {out, in}, [=, &p](int64_t i) { return offset + row(p, i % in) * out + i / in; });
    else visit(set.name + "." + p.name, {out}, [=](int64_t i) { return offset + i; });
  }
}

}  // namespace tessera
