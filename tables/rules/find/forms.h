// Columns whose rows are written in several ways.
#pragma once
#include "tables/rules/find/search.h"

namespace tessera {

// More numbers lie on wider grids than by chance.
std::vector<FoundRule> find_forms(const RuleSearch& search);
// Each row has its own format.
std::vector<FoundRule> find_formats(const RuleSearch& search);

}  // namespace tessera
