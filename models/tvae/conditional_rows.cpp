// Conditions on a TVAE's categories. The decoder gives P(c | z), the probability that a row from z has allowed levels
// only; so rows of the conditional distribution are z from p(z)·P(c | z), then levels among the allowed ones. Such z
// are drawn from a proposal q(z) that covers them, and accepted with probability P(c | z)·p(z) / q(z) over a bound. q
// is half the prior, which keeps every weight below 2, and half a mixture fitted to the draws of a pilot.
#include "models/tvae/conditional_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "kernels/math/philox.h"
#include "models/method/given.h"
#include "models/method/importance.h"
#include "models/tvae/latent_mixture.h"

namespace tessera {
namespace {

constexpr int64_t kPilotRows = 16384;
constexpr int64_t kFitRows = 4096;  // draws of the pilot, resampled by P(c | z), to which the proposal is fitted
constexpr double kWider = 1.25;     // factor of its deviations, so that it covers the tails of its target

// The mixture of Gaussians from which z is drawn.
struct Components {
  int64_t dimensions = 0;
  std::vector<double> share, mean, factor;

  int64_t count() const { return static_cast<int64_t>(share.size()); }
  void add(const Components& other, double weight) {
    for (const double s : other.share) share.push_back(weight * s);
    mean.insert(mean.end(), other.mean.begin(), other.mean.end());
    factor.insert(factor.end(), other.factor.begin(), other.factor.end());
  }
  // As inputs of DrawConditions: running sums that reach 1 at the last component with a positive share.
  std::vector<float> cumulative() const {
    std::vector<float> c(share.size(), 1);
    double sum = 0;
    size_t last = 0;
    for (size_t k = 0; k < share.size(); ++k) {
      c[k] = static_cast<float>(sum += share[k]);
      if (share[k] > 0) last = k;
    }
    std::fill(c.begin() + static_cast<std::ptrdiff_t>(last), c.end(), 1.0f);
    return c;
  }
};

Components prior_of(const FittedState& kept) {
  Components c;
  const auto share = kept.states.find("prior.share");
  if (share == kept.states.end()) return c;
  auto doubles = [&](const char* name) {
    const std::vector<float>& v = kept.states.at(name);
    return std::vector<double>(v.begin(), v.end());
  };
  c.dimensions = kept.active;
  c.share = doubles("prior.share"), c.mean = doubles("prior.mean"), c.factor = doubles("prior.factor");
  const double total = std::accumulate(c.share.begin(), c.share.end(), 0.0);
  // if all shares are 0, in a foreign file, use the first component
  for (size_t k = 0; k < c.share.size(); ++k) c.share[k] = total > 0 ? c.share[k] / total : k == 0;
  return c;
}

// `cumulative` and `start` live as long as the program runs.
void bind_prior(Program& p, const Components& c, const std::vector<float>& cumulative, std::vector<int32_t>& start) {
  if (c.count() == 0) return;
  start = {0, static_cast<int32_t>(c.count())};
  p.bind_if("prior.cumulative", cumulative.data());
  p.bind_if("prior.start", start.data());
  load_states(p,
              {{"prior.mean", {c.mean.begin(), c.mean.end()}}, {"prior.factor", {c.factor.begin(), c.factor.end()}}});
}

// The pilot's latent draws from the prior, and P(c | z) of each.
struct Pilot {
  std::vector<float> latent;        // [draws, dimensions]
  std::vector<double> probability;  // [draws]
  double mass() const { return std::accumulate(probability.begin(), probability.end(), 0.0); }
};

class TvaeRows : public RowGenerator {
 public:
  TvaeRows(const Tvae& network, const FittedState& kept, const std::vector<AllowedLevels>& allowed, uint64_t seed,
           Team& team)
      : network_(network), prior_(prior_of(kept)), proposal_(prior_), seed_(seed) {
    std::vector<float> barrier(static_cast<size_t>(network.data), 0);
    for (const AllowedLevels& a : allowed)
      for (int k = 0; k < a.span->width; ++k)
        if (a.share[static_cast<size_t>(k)] == 0) barrier[static_cast<size_t>(a.span->start + k)] = kImpossible;
    if (std::find(barrier.begin(), barrier.end(), kImpossible) != barrier.end()) survey(std::move(barrier), kept, team);
    cumulative_ = proposal_.cumulative();
  }

  void record(Recorder& r, int64_t batch) const override {
    record_sampling(r, network_, batch, {proposal_.count(), proposal_.dimensions}, conditioned());
  }

  void bind(Program& p) override {
    bind_prior(p, proposal_, cumulative_, start_);
    p.bind_if("barrier", barrier_.data());
    probability_ = p.find("log_probability"), latent_ = p.find("latent");
  }

  bool accepts(const Program& p, int64_t i, const Candidate& c) const override {
    if (!conditioned()) return true;
    double log_weight = row_value(p, probability_, i) - log_bound_;
    if (latent_ != kNone) {
      const View z = p.fetch(latent_);
      log_weight += log_ratio(static_cast<const float*>(z.data) + i * z.ld);
    }
    return accepts_weight(log_weight, seed_, c);
  }

 private:
  bool conditioned() const { return !barrier_.empty(); }
  double log_ratio(const float* z) const { return prior_density_->log_at(z) - proposal_density_->log_at(z); }

  Pilot draw_pilot(const std::vector<float>& barrier, const FittedState& kept, Team& team) {
    const auto program = compile({team, seed_}, Purpose::pilot, [&](Recorder& r) {
      record_sampling(r, network_, kPilotRows, {prior_.count(), prior_.dimensions}, true);
    });
    Program& p = *program;
    std::vector<int32_t> identity(static_cast<size_t>(3 * kPilotRows), 0);
    for (int64_t i = 0; i < kPilotRows; ++i) identity[static_cast<size_t>(3 * i)] = static_cast<int32_t>(i);
    p.bind_if("rows", identity.data());
    p.bind_if("barrier", barrier.data());
    load_states(p, kept.states);
    const std::vector<float> cumulative = prior_.cumulative();
    bind_prior(p, prior_, cumulative, start_);
    p.run(1);
    Pilot pilot;
    for (const float l : p.read<float>(p.find("log_probability")))
      pilot.probability.push_back(std::exp(static_cast<double>(l)));
    if (prior_.count() > 0) pilot.latent = p.read<float>(p.find("latent"));
    return pilot;
  }

  // If no draw of the pilot can meet the condition, plain rejection is used: it reports the rare term.
  void survey(std::vector<float> barrier, const FittedState& kept, Team& team) {
    const Pilot pilot = draw_pilot(barrier, kept, team);
    if (!(pilot.mass() > 0)) return;
    std::vector<double> ratio(pilot.probability.size(), 1);
    if (prior_.count() > 0) {
      proposal_ = {prior_.dimensions, {}, {}, {}};
      proposal_.add(prior_, 0.5);
      proposal_.add(fitted_to(pilot, team), 0.5);
      prior_density_.emplace(prior_.dimensions, prior_.share, prior_.mean, prior_.factor);
      proposal_density_.emplace(proposal_.dimensions, proposal_.share, proposal_.mean, proposal_.factor);
      team.for_each(kPilotRows, [&](int64_t i) {
        ratio[static_cast<size_t>(i)] = std::exp(log_ratio(pilot.latent.data() + i * prior_.dimensions));
      });
    }
    log_bound_ = std::log(bound(pilot, ratio));
    barrier_ = std::move(barrier);
  }

  // Fits a mixture to evenly spaced quantiles of the pilot's draws weighted by P(c | z); the effective number of draws
  // limits its number of components.
  Components fitted_to(const Pilot& pilot, Team& team) const {
    const int64_t d = prior_.dimensions;
    const double mass = pilot.mass();
    double squares = 0;
    for (const double x : pilot.probability) squares += x * x;
    std::vector<float> points;
    double sum = 0;
    size_t at = 0;
    for (int64_t j = 0; j < kFitRows; ++j) {
      const double target = (static_cast<double>(j) + 0.5) / static_cast<double>(kFitRows) * mass;
      while (at + 1 < pilot.probability.size() && sum + pilot.probability[at] < target) sum += pilot.probability[at++];
      for (int64_t a = 0; a < d; ++a)
        points.push_back(pilot.latent[at * static_cast<size_t>(d) + static_cast<size_t>(a)]);
    }
    LatentMixtureOptions options;
    options.components = static_cast<int>(std::clamp(mass * mass / squares / static_cast<double>(10 * d), 1.0, 30.0));
    options.max_iterations = 30;
    options.covariance_floor = 1e-2;
    options.seed = seed_;
    const LatentMixture m = fit_latent_mixture(points, d, options, team, Monitor{});
    Components c{d, m.share, m.mean, m.factor};
    for (double& f : c.factor) f *= kWider;
    return c;
  }

  // The bound of P(c | z)·p/q.
  static double bound(const Pilot& pilot, const std::vector<double>& ratio) {
    std::vector<WeighedDraw> draws;
    for (size_t i = 0; i < ratio.size(); ++i) draws.push_back({pilot.probability[i] * ratio[i], 1 / ratio[i]});
    return acceptance_bound(std::move(draws), pilot.mass());
  }

  const Tvae& network_;
  Components prior_, proposal_;
  uint64_t seed_;
  std::vector<float> barrier_;  // [data]: 0 or kImpossible; empty: no level is excluded
  double log_bound_ = 0;
  std::optional<MixtureDensity> prior_density_, proposal_density_;
  std::vector<float> cumulative_;
  std::vector<int32_t> start_;
  Id probability_ = kNone, latent_ = kNone;
};

class TvaeGiven : public GivenGenerator {
 public:
  TvaeGiven(const Tvae& network, const FittedState& kept)
      : network_(network), prior_(prior_of(kept)), cumulative_(prior_.cumulative()) {}

  void record(Recorder& r, int64_t batch) const override {
    record_given(r, network_, batch, {prior_.count(), prior_.dimensions});
  }
  void bind(Program& p) override {
    bind_prior(p, prior_, cumulative_, start_);
    const auto bind_zeros = [&](const char* leaf, std::vector<float>& to) {
      const Id id = p.plan().find_leaf(leaf);
      if (id == kNone) return;
      to.assign(static_cast<size_t>(p.plan().shape(id).count()), 0);
      p.bind(leaf, to.data());
    };
    bind_zeros("given.levels", given_.levels);
    bind_zeros("given.alphas", given_.alphas);
    bind_zeros("given.known", given_.known);
    weight_ = p.find("log_weight");
  }
  void give(Program& p, const GivenCells& cells) override {
    std::copy(cells.levels.begin(), cells.levels.end(), given_.levels.begin());
    std::copy(cells.alphas.begin(), cells.alphas.end(), given_.alphas.begin());
    std::copy(cells.known.begin(), cells.known.end(), given_.known.begin());
    p.refresh({"given.levels", "given.alphas", "given.known"});
  }
  double log_weight(const Program& p, int64_t i) const override { return row_value(p, weight_, i); }

 private:
  const Tvae& network_;
  Components prior_;
  std::vector<float> cumulative_;
  std::vector<int32_t> start_;
  GivenCells given_;
  Id weight_ = kNone;
};

}  // namespace

std::unique_ptr<GivenGenerator> make_tvae_given(const Tvae& network, const FittedState& kept) {
  return std::make_unique<TvaeGiven>(network, kept);
}

std::unique_ptr<RowGenerator> make_tvae_rows(const Tvae& network, const FittedState& kept,
                                             const std::vector<AllowedLevels>& allowed, uint64_t seed, Team& team) {
  return std::make_unique<TvaeRows>(network, kept, allowed, seed, team);
}

}  // namespace tessera
