#include "models/weights.h"

namespace tessera {
namespace {

// `row` says where row k of a matrix lies in memory.
void visit(const ParameterSet& set, const Parameter& p, const WeightVisitor& visitor,
           const std::function<int64_t(int64_t)>& row) {
  const int64_t offset = p.offset, in = p.shape.rows, out = p.shape.cols;
  // weight, weight_ih, weight_hh
  const bool matrix =
      p.name.substr(p.name.rfind('.') + 1).starts_with("weight") && p.name.find("norm") == std::string::npos;
  if (matrix)
    visitor(set.name + "." + p.name, {out, in}, [=](int64_t i) { return offset + row(i % in) * out + i / in; });
  else visitor(set.name + "." + p.name, {out}, [=](int64_t i) { return offset + i; });
}

}  // namespace

void visit_weights(const ParameterSet& set, const WeightVisitor& visitor) {
  for (const Parameter& p : set.parameters) visit(set, p, visitor, [](int64_t k) { return k; });
}

void visit_weights(const Ctgan& m, const ParameterSet& set, const WeightVisitor& visitor) {
  const int64_t data = m.data, cond = m.cond, pac = m.config.pac, width = data + cond;
  for (const Parameter& p : set.parameters) {
    const bool packed = set.name == m.discriminator.name && p.name == "hidden.0.weight";
    visit(set, p, visitor, [=](int64_t k) {
      if (!packed) return k;
      const int64_t slot = k / width, at = k % width;
      return at < data ? slot * data + at : pac * data + slot * cond + (at - data);
    });
  }
}

}  // namespace tessera
