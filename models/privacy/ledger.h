// The budget that a differentially private fit spent: every mechanism that read the table, as stored in the model file.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/method/private_rows.h"
#include "models/privacy/noise.h"
#include "models/privacy/privacy_loss.h"

namespace tessera {

// Counts, each with noise of sigma², of which a row changes `changed` by at most 1: the L2 sensitivity is its root.
struct Mechanism {
  std::string name, of;
  int64_t counts = 0, changed = 1;
  uint64_t sigma2 = 1;
  double delta = 0;  // that a value of one row alone is published
  double spent() const { return static_cast<double>(changed) / static_cast<double>(sigma2); }
};

// Σ(sensitivity/sigma)² over all counts is at most a part of μ²: each may depend on the results of those before. The
// rest is for steps on gradients.
class Ledger {
 public:
  // `thresholds`: whether a part of delta publishes values that nobody declared; `counted`: the part of μ² for counts
  Ledger(double epsilon, double delta, bool thresholds, double counted = 1);
  double threshold_delta() const { return threshold_delta_; }
  // Variance of the noise, for mechanisms that together change `changed` counts and may spend this share of the budget.
  uint64_t sigma2(int64_t changed, double share) const;
  void add(Mechanism mechanism);  // Error(internal) if the budget is exceeded
  // Gives what the counts may not spend to steps of DP-SGD on about `rows` rows, known up to `deviation`: the least
  // noise that epsilon allows.
  PrivateSteps add_gradients(double rows, double deviation, PrivateSteps steps);
  nlohmann::json to_json() const;

 private:
  std::vector<PrivacyLoss::Times> all_of_budget() const;
  // of counts that spend this much, and the steps; by privacy loss distributions
  double accounted(const std::vector<PrivacyLoss::Times>& counts, const PrivateSteps& steps) const;
  double accounted(std::vector<PrivacyLoss::Times> counts, const PrivateSteps& steps, PrivacyLoss::Neighbor) const;
  double delta_of_losses() const { return delta_ - threshold_delta_ - overflow_delta_; }
  double epsilon_, delta_, counted_, threshold_delta_, overflow_delta_, budget_, spent_ = 0;
  PrivateSteps gradients_{};
  std::vector<Mechanism> mechanisms_;
};

}  // namespace tessera
