// Which columns of few rows depend on others. The rest are drawn by their frequencies: of them a network would learn
// nothing but who was in the table, and that ends the training of all columns (docs/quality/privacy.md).
#pragma once
#include <vector>

#include "models/made/network.h"

namespace tessera {

// Sets Made::seen and Made::learned. A column is learned if its dependence on one before it is more than chance makes
// of as many rows, by a χ² of the pair's levels, numbers in 2 and in 8 groups of their ranks; it is seen if it depends
// on any other. Both stay empty if all columns are learned.
void leave_out_chance(Made& m, const std::vector<double>& frequencies, const EncodedTable& table, Team& team);

}  // namespace tessera
