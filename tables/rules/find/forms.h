// Columns whose rows are written in several ways.
#pragma once
#include "tables/rules/find/search.h"

namespace tessera {

// The least and the largest numbers, as means over as many rows as any number of a model is.
std::pair<double, double> ends_of(const Column& c, int64_t least);
// More numbers lie on wider grids than by chance.
std::vector<FoundRule> find_forms(const RuleSearch& search);
// Each row has its own format.
std::vector<FoundRule> find_formats(const RuleSearch& search);

}  // namespace tessera
