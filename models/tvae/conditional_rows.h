// Candidates of a TVAE stream: conditions on categories, and given cells, are met by importance sampling of the latent.
#pragma once
#include "models/method/given.h"
#include "models/method/method.h"
#include "models/tvae/network.h"

namespace tessera {

// `network` outlives the result.
std::unique_ptr<RowGenerator> make_tvae_rows(const Tvae& network, const FittedState& kept,
                                             const std::vector<AllowedLevels>& allowed, uint64_t seed, Team& team);

// Latent points of the prior, weighted by the likelihood of the given cells. `network` outlives the result.
std::unique_ptr<GivenGenerator> make_tvae_given(const Tvae& network, const FittedState& kept);

}  // namespace tessera
