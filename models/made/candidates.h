// Candidates of a Made stream. A column is drawn among the levels that its condition allows, or takes its given cell.
// Importance weights correct the columns drawn before it.
#pragma once
#include <memory>
#include <vector>

#include "models/made/sampling.h"
#include "models/method/given.h"

namespace tessera {

// For conditions that are the same for all rows: a pilot run determines the bound of the weights. `network` must
// outlive the result.
std::unique_ptr<RowGenerator> make_made_rows(const Made& network, const FittedState& kept,
                                             const std::vector<AllowedLevels>& allowed, uint64_t seed, Team& team);

// For each row's own given cells. Both networks must outlive the result. With `any_order` (may be null) that network
// proposes the candidates, which are weighted for the distribution of `network`: few candidates suffice for any set of
// given columns.
std::unique_ptr<GivenGenerator> make_made_given(const Made& network, const Made* any_order);

}  // namespace tessera
