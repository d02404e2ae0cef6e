// Draws of a proposal and what they weigh in the law that is wanted.
#pragma once
#include <span>
#include <vector>

#include "models/method/method.h"

namespace tessera {

struct WeighedDraw {
  double weight;       // the wanted law's density beside the proposal's, up to a factor
  double density = 1;  // proposals for each draw that this one stands for
};

// The weight that is accepted in full, so that candidates accepted with probability weight / bound follow the law. The
// largest seen would be set by one odd draw; below this bound all but a hundredth of the mass lies, and what exceeds it
// counts as the bound. `mass`: the sum of weight · density.
double acceptance_bound(std::vector<WeighedDraw> draws, double mass);

// (Σ w)² / (n · Σ w²): the share of n draws that an estimate has the precision of (Kish 1965). 0 without weight.
double effective_share(std::span<const double> weights);

// Row i of a value of one column, such as "log_weight", that a program has made.
double row_value(const Program& p, Id value, int64_t i);

// Accepts a candidate with probability min(1, exp(log_weight)), by a number of its own.
bool accepts_weight(double log_weight, uint64_t seed, const Candidate& c);

}  // namespace tessera
