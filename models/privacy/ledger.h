// What a differentially private fit spent: every mechanism that read the table, as the model file stores it.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/privacy/noise.h"

namespace tessera {

// Counts, each with noise of sigma², of which a row changes `changed` by at most 1: the L2 sensitivity is its root.
struct Mechanism {
  std::string name, of;
  int64_t counts = 0, changed = 1;
  uint64_t sigma2 = 1;
  double delta = 0;  // that a value of one row alone is published
  double spent() const { return static_cast<double>(changed) / static_cast<double>(sigma2); }
};

// Σ(sensitivity/sigma)² over all mechanisms is at most μ²: each may depend on the results of those before.
class Ledger {
 public:
  // `thresholds`: whether a part of delta publishes values that nobody declared
  Ledger(double epsilon, double delta, bool thresholds);
  double budget() const { return budget_; }  // μ²
  double threshold_delta() const { return threshold_delta_; }
  // Variance of the noise, for mechanisms that together change `changed` counts and may spend this share of the budget.
  uint64_t sigma2(int64_t changed, double share) const;
  void add(Mechanism mechanism);  // Error(internal) if the budget is exceeded
  nlohmann::json to_json() const;

 private:
  double epsilon_, delta_, threshold_delta_, budget_, spent_ = 0;
  std::vector<Mechanism> mechanisms_;
};

}  // namespace tessera
