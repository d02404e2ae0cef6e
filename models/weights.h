// Weights between a program's memory ([in, out], the critic's packed rows as data then conditions) and files and golden
// vectors ([out, in], row after row).
#pragma once
#include <functional>
#include <string>

#include "models/ctgan.h"

namespace tessera {

// Calls visit(name, shape as in files, element(i) → flat index in the set's memory) for every parameter of a set.
using WeightVisitor = std::function<void(const std::string& name, const std::vector<int64_t>& shape,
                                         const std::function<int64_t(int64_t)>& element)>;
void visit_weights(const ParameterSet& set, const WeightVisitor& visit);
// its critic's first layer is packed
void visit_weights(const Ctgan& m, const ParameterSet& set, const WeightVisitor& visit);

}  // namespace tessera
