#include "models/privacy/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "models/privacy/privacy_loss.h"

namespace tessera {
namespace {

constexpr double kThresholds = 0.1;  // the part of delta for values that nobody declared
constexpr double kReserve = 1e-3;    // of μ²: what upper bounds of the accountant add

}  // namespace

Ledger::Ledger(double epsilon, double delta, bool thresholds)
    : epsilon_(epsilon), delta_(delta), threshold_delta_(thresholds ? kThresholds * delta : 0) {
  const double mu = gaussian_budget(epsilon, delta - threshold_delta_);
  budget_ = mu * mu * (1 - kReserve);
}

uint64_t Ledger::sigma2(int64_t changed, double share) const {
  const double wanted = static_cast<double>(changed) / (share * budget_);
  if (wanted > static_cast<double>(SecretNoise::kMaxSigma2))
    throw Error(ErrorCode::usage,
                fmt::format("`epsilon={}`: the noise would have a standard deviation of {:.0f} rows.\n  "
                            "Use a larger epsilon, or fewer columns.",
                            epsilon_, std::sqrt(wanted)));
  return static_cast<uint64_t>(std::ceil(wanted));
}

void Ledger::add(Mechanism mechanism) {
  spent_ += mechanism.spent();
  if (spent_ > budget_ * (1 + 1e-9)) throw Error(ErrorCode::internal, "the privacy budget is exceeded");
  mechanisms_.push_back(std::move(mechanism));
}

nlohmann::json Ledger::to_json() const {
  std::map<uint64_t, int64_t> uses;
  nlohmann::json list = nlohmann::json::array();
  double delta = 0;
  for (const Mechanism& m : mechanisms_) {
    uses[m.sigma2] += m.changed;
    delta += m.delta;
    list.push_back({{"mechanism", m.name},
                    {"of", m.of},
                    {"counts", m.counts},
                    {"sensitivity", std::sqrt(static_cast<double>(m.changed))},
                    {"sigma", std::sqrt(static_cast<double>(m.sigma2))},
                    {"share", m.spent() / spent_},
                    {"epsilon", epsilon_ * m.spent() / spent_},
                    {"delta", m.delta}});
  }
  std::vector<PrivacyLoss::Times> losses;
  for (const auto& [sigma2, n] : uses)
    losses.push_back({PrivacyLoss::discrete_gaussian(static_cast<double>(sigma2)), n});
  const double accounted = PrivacyLoss::composed(losses).epsilon(delta_ - delta);
  if (accounted > epsilon_ * (1 + 1e-3))
    throw Error(ErrorCode::internal, fmt::format("epsilon {} is accounted as {}", epsilon_, accounted));
  return {{"epsilon", epsilon_},
          {"delta", delta_},
          {"neighbors", "a row is added or removed"},
          {"accounted_epsilon", accounted},
          {"zcdp_rho", spent_ / 2},
          {"zcdp_epsilon", epsilon_of_zcdp(spent_ / 2, delta_ - delta)},
          {"mechanisms", std::move(list)}};
}

}  // namespace tessera
