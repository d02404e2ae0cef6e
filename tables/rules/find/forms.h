// Columns whose rows are written in several ways.
#pragma once
#include "tables/rules/find/search.h"

namespace tessera {

// Smallest and largest number, as means over the min number of rows per stored number.
std::pair<double, double> ends_of(const Column& c, int64_t least);
// Columns with more values on a coarser grid than chance explains; not those of `others`.
std::vector<FoundRule> find_forms(const RuleSearch& search, const std::vector<FoundRule>& others);
// Each row has its own format.
std::vector<FoundRule> find_formats(const RuleSearch& search);

}  // namespace tessera
