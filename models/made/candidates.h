// Candidates of a Made stream. What a condition leaves of a column's levels, or a given cell, is drawn from when the
// column comes; columns drawn before it are corrected by importance.
#pragma once
#include <memory>
#include <vector>

#include "models/made/sampling.h"
#include "models/method/given.h"

namespace tessera {

// Under conditions that are the same for all rows: a pilot says what a candidate's weight is accepted beside. `network`
// outlives the result.
std::unique_ptr<RowGenerator> make_made_rows(const Made& network, const FittedState& kept,
                                             const std::vector<AllowedLevels>& allowed, uint64_t seed, Team& team);

// Under each row's own. Both outlive the result. With `any_order` (null: none) that network proposes the candidates of
// the law of `network`: few are then enough, whichever columns are given.
std::unique_ptr<GivenGenerator> make_made_given(const Made& network, const Made* any_order);

}  // namespace tessera
