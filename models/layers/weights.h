// Converts weights between a program's memory ([in, out]) and files and golden vectors ([out, in], row-major).
#pragma once
#include <functional>
#include <string>

#include "engine/plan/recorder.h"

namespace tessera {

// Calls visit(name, shape as in files, element(i) → flat index in the set's memory) for every parameter of a set.
using WeightVisitor = std::function<void(const std::string& name, const std::vector<int64_t>& shape,
                                         const std::function<int64_t(int64_t)>& element)>;
void visit_weights(const ParameterSet& set, const WeightVisitor& visit);

// The same, if row k of a parameter's matrix in files is row `row(parameter, k)` in memory.
using RowInMemory = std::function<int64_t(const Parameter&, int64_t)>;
void visit_weights(const ParameterSet& set, const WeightVisitor& visit, const RowInMemory& row);

}  // namespace tessera
