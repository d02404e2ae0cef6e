// Extends a column's quantiles beyond the means at the ends of protected numbers
// (tables/protection/protected_numbers.h) by a generalized Pareto distribution (Pickands 1975) fitted to the outermost
// kTailRows.
#pragma once
#include <span>

#include "tables/protection/quantiles.h"

namespace tessera {

// Rows that determine a tail. Protected numbers are means over several rows, or values that several rows share.
constexpr int kTailRows = 25;

// The quantiles of `ascending`, continued at both ends up to the expected position of the outermost row. No end crosses
// 0. An end stays if more rows share it than a mean would cover, or if there are few rows.
Quantiles with_tails(const Quantiles& quantiles, std::span<const double> ascending);

}  // namespace tessera
