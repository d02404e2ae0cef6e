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
constexpr double kOverflow = 0.01;   // and that for batches with more rows than there are places
constexpr double kMaxNoise = 1e4;    // in clips
constexpr double kReserve = 1e-3;    // of μ²: allowance for upper bounds of the accountant

}  // namespace

Ledger::Ledger(double epsilon, double delta, bool thresholds, double counted)
    : epsilon_(epsilon),
      delta_(delta),
      counted_(counted),
      threshold_delta_(thresholds ? kThresholds * delta : 0),
      overflow_delta_(counted < 1 ? kOverflow * delta : 0) {
  const double mu = gaussian_budget(epsilon, delta_of_losses());
  budget_ = counted * mu * mu * (1 - kReserve);
}

double Ledger::accounted(std::vector<PrivacyLoss::Times> losses, const PrivateSteps& s,
                         PrivacyLoss::Neighbor neighbor) const {
  if (s.steps > 0) losses.push_back({PrivacyLoss::subsampled_gaussian(s.noise, s.rate, neighbor), s.steps});
  return PrivacyLoss::composed(losses).epsilon(delta_of_losses());
}

double Ledger::accounted(const std::vector<PrivacyLoss::Times>& counts, const PrivateSteps& s) const {
  const double removed = accounted(counts, s, PrivacyLoss::Neighbor::removed);
  return s.steps == 0 ? removed : std::max(removed, accounted(counts, s, PrivacyLoss::Neighbor::added));
}

PrivateSteps Ledger::add_gradients(double rows, double deviation, PrivateSteps s) {
  s.rate = std::max(1.0, std::round(s.expected / rows / PrivateSteps::kRateUnit)) * PrivateSteps::kRateUnit;
  s.expected = s.rate * rows;
  // Half of overflow_delta_ is for a table of more rows than this, half for Chernoff's bound on a batch of it.
  // A failure of probability p adds p·(1 + e^ε) to delta.
  const double failure = overflow_delta_ / 2 / (1 + std::exp(epsilon_));
  const double mean = s.rate * (rows + deviation * std::sqrt(-2 * std::log(failure)));
  const double allowed = std::log(failure / static_cast<double>(s.steps));
  double capacity = std::ceil(mean);
  while (capacity - mean - capacity * std::log(capacity / mean) > allowed) ++capacity;
  constexpr int64_t kPlaces = 64;  // ranks and micro-batches divide them
  s.capacity = (static_cast<int64_t>(capacity) + kPlaces - 1) / kPlaces * kPlaces;
  const std::vector<PrivacyLoss::Times> counts = all_of_budget();
  // Rényi divergences, which are cheap, give an upper bound of the noise; privacy losses then find the minimum below
  // it.
  const auto search = [&](double low, double high, double tolerance, const auto& holds) {
    while (high - low > tolerance * high) {
      const double middle = (low + high) / 2;
      (holds(middle) ? high : low) = middle;
    }
    return high;
  };
  const auto by_rdp = [&](double noise) {
    return epsilon_of_subsampled_rdp(noise, s.rate, s.steps, delta_of_losses(), budget_ / 2) <= epsilon_;
  };
  double enough = 1;
  while (!by_rdp(enough) && enough < kMaxNoise) enough *= 2;
  enough = search(0.2, enough, 1e-3, by_rdp);
  constexpr double kGain = 0.6;  // of the noise by Rényi divergences: lower bound of the search
  s.noise = search(kGain * enough, enough, 2e-3, [&](double noise) {
    s.noise = noise;
    return accounted(counts, s, PrivacyLoss::Neighbor::removed) <= epsilon_;
  });
  while (accounted(counts, s) > epsilon_ && s.noise < kMaxNoise) s.noise *= 1.002;
  return gradients_ = s;
}

// One Gaussian mechanism with the whole budget of the counts.
std::vector<PrivacyLoss::Times> Ledger::all_of_budget() const {
  return {{PrivacyLoss::gaussian(1 / std::sqrt(budget_)), 1}};
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
  for (const Mechanism& m : mechanisms_) {
    uses[m.sigma2] += m.changed;
    const double share = counted_ * m.spent() / spent_;
    list.push_back({{"mechanism", m.name},
                    {"of", m.of},
                    {"counts", m.counts},
                    {"sensitivity", std::sqrt(static_cast<double>(m.changed))},
                    {"sigma", std::sqrt(static_cast<double>(m.sigma2))},
                    {"share", share},
                    {"epsilon", epsilon_ * share},
                    {"delta", m.delta}});
  }
  std::vector<PrivacyLoss::Times> losses;
  for (const auto& [sigma2, n] : uses)
    losses.push_back({PrivacyLoss::discrete_gaussian(static_cast<double>(sigma2)), n});
  double rdp = epsilon_of_zcdp(spent_ / 2, delta_of_losses());
  if (const PrivateSteps& s = gradients_; s.steps > 0) {
    list.push_back({{"mechanism", "clipped gradients"},
                    {"of", fmt::format("{} batches of about {:.0f} rows", s.steps, s.expected)},
                    {"counts", 0},
                    {"sensitivity", s.clip},
                    {"sigma", s.noise * s.clip},
                    {"share", 1 - counted_},
                    {"epsilon", epsilon_ * (1 - counted_)},
                    {"delta", overflow_delta_},
                    {"rate", s.rate},
                    {"steps", s.steps}});
    rdp = epsilon_of_subsampled_rdp(s.noise, s.rate, s.steps, delta_of_losses(), spent_ / 2);
  }
  // Two bounds; where epsilon is small, the rounding of many losses makes the first one the larger.
  const double together = std::min(accounted(losses, gradients_), accounted(all_of_budget(), gradients_));
  if (together > epsilon_ * (1 + 1e-3))
    throw Error(ErrorCode::internal, fmt::format("epsilon {} is accounted as {}", epsilon_, together));
  return {{"epsilon", epsilon_},           {"delta", delta_},    {"neighbors", "a row is added or removed"},
          {"accounted_epsilon", together}, {"rdp_epsilon", rdp}, {"mechanisms", std::move(list)}};
}

}  // namespace tessera
