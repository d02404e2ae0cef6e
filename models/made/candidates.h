// Candidates of a Made stream. A column is drawn among the levels that its condition allows, or takes its given cell;
// columns drawn before it are corrected by importance.
#pragma once
#include <memory>
#include <vector>

#include "models/made/sampling.h"
#include "models/method/given.h"

namespace tessera {

// Under conditions that are the same for all rows: a pilot determines the bound of the weights. `network` outlives the
// result.
std::unique_ptr<RowGenerator> make_made_rows(const Made& network, const FittedState& kept,
                                             const std::vector<AllowedLevels>& allowed, uint64_t seed, Team& team);

// Under each row's own given cells. Both networks outlive the result. With `any_order` (null: none) that network
// proposes the candidates, which are weighted for the distribution of `network`: few candidates are then enough, for
// any given columns.
std::unique_ptr<GivenGenerator> make_made_given(const Made& network, const Made* any_order);

}  // namespace tessera
