// The ends of a column beyond the means that protected numbers end with (data/protection/protected_numbers.h): the
// outermost rows as a generalized Pareto distribution (Pickands 1975) of the outermost kTailRows.
#pragma once
#include <span>

#include "tables/encoding/quantiles.h"

namespace tessera {

// Rows that a tail is a function of, in protected numbers: each of these is a mean over several rows, or a value that
// several have.
constexpr int kTailRows = 25;

// The quantiles of `ascending`, continued at both ends: up to where the outermost row is expected. No end passes 0, and
// an end stays if more rows share it than a mean would be over, or if there are few rows.
Quantiles with_tails(const Quantiles& quantiles, std::span<const double> ascending);

}  // namespace tessera
