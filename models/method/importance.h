// Draws from a proposal and their importance weights for the target distribution.
#pragma once
#include <span>
#include <vector>

#include "models/method/method.h"

namespace tessera {

struct WeighedDraw {
  double weight;       // target density / proposal density, up to a factor
  double density = 1;  // number of proposals that this draw represents
};

// The bound for which candidates accepted with probability min(1, weight / bound) follow the target. The largest weight
// would depend on a single outlier; all but a hundredth of the mass lies below this bound, and larger weights are
// clipped to it. `mass`: the sum of weight · density.
double acceptance_bound(std::vector<WeighedDraw> draws, double mass);

// (Σ w)² / (n · Σ w²): the effective share of n draws (Kish 1965). 0 if all weights are 0.
double effective_share(std::span<const double> weights);

// Row i of a one-column value of a program, such as "log_weight".
double row_value(const Program& p, Id value, int64_t i);

// Accepts a candidate with probability min(1, exp(log_weight)), with its own random number.
bool accepts_weight(double log_weight, uint64_t seed, const Candidate& c);

}  // namespace tessera
