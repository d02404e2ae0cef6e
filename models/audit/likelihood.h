// ln p(row) under the networks of a model file.
#pragma once
#include <string>
#include <vector>

#include "base/threads/team.h"
#include "models/model/model.h"

namespace tessera::audit {

struct Likelihood {
  std::vector<double> rows;                    // empty: neither the method nor its decoder has one
  std::vector<std::string> columns;            // of the model, if the method gives their terms
  std::vector<std::vector<double>> of_column;  // [column][row]
};

// Made gives it exactly, a TVAE's decoder by the mean over latents drawn from its prior (the likelihood attack of
// Hilprecht et al. 2019; the file holds no encoder, so the prior is the proposal). Of numbers it is that of their bin
// or mode; of values that the model does not know, of the nearest it knows.
Likelihood log_likelihood(const Model& model, const Table& rows, uint64_t seed, Team& team);

// The logit of the density ratio of calibrated sampling; empty: the model is not calibrated.
std::vector<double> logits_of_ratio(const Model& model, const Table& rows, Team& team);

}  // namespace tessera::audit
