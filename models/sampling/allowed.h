// What a condition leaves of the levels of the model's columns: the methods propose from it.
#pragma once
#include <vector>

#include "models/sampling/shown.h"
#include "tables/expression/where.h"

namespace tessera {

struct Allowed {
  std::vector<AllowedLevels> levels;  // of columns of categories and bins with terms that they decide
  BinParts parts;                     // of bins that a term cuts
  std::vector<size_t> terms;          // those that the levels decide
};

Allowed allowed_levels(const Where& where, const RowModel& model, const ShownColumns& columns);

}  // namespace tessera
