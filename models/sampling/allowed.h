// The levels and parts of bins that a condition allows; the methods propose candidates from them.
#pragma once
#include <vector>

#include "models/sampling/shown.h"
#include "tables/expression/where.h"

namespace tessera {

struct Allowed {
  std::vector<AllowedLevels> levels;  // of columns of categories and bins that decide a term alone
  BinParts parts;                     // of bins that a term cuts
  std::vector<size_t> terms;          // terms that the levels decide
};

Allowed allowed_levels(const Where& where, const RowModel& model, const ShownColumns& columns);

}  // namespace tessera
