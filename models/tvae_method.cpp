// TVAE behind the face of Method: the prior fitted to the training rows' posteriors, conditions met by importance over the latent and by rejection.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/passes.h"
#include "kernels/philox.h"
#include "models/latent_mixture.h"
#include "models/method.h"
#include "models/tvae.h"
#include "models/weights.h"

namespace tessera {
namespace {

constexpr int kPosteriorPurpose = 0x1800, kPilotPurpose = 0x2800, kAcceptPurpose = 0x3800;  // random numbers apart from those of steps and rows
constexpr int64_t kPosteriorBatch = 2048;
constexpr int64_t kPosteriorRows = 50000;  // of a longer table so many rows, evenly spaced, are encoded for the prior
constexpr int64_t kMostActive = 48;        // dimensions a full covariance is fitted in; those beyond carry the least
constexpr int64_t kPilotRows = 16384;      // latent draws that say where a condition is likely
constexpr double kClipped = 0.01;          // share of a condition's mass that may lie above the weight accepted in full
constexpr float kBarrier = -1e30f;

// The posteriors of evenly spaced training rows, row by row.
struct Posteriors {
  int64_t rows = 0, dimensions = 0;
  std::vector<float> mean, deviation;
};

Posteriors posteriors(const Tvae& m, const EncodedTable& table, const std::vector<float>& encoder, const Surroundings& around) {
  Posteriors out;
  out.rows = std::min(table.rows, kPosteriorRows);
  out.dimensions = m.config.embedding_dim;
  const int64_t batch = std::max<int64_t>(std::min(out.rows, kPosteriorBatch), 2);
  Plan plan;
  Recorder r(plan);
  r.start_purposes(kPosteriorPurpose);
  record_posterior(r, m, table.rows, batch);
  optimise(plan, around.passes_off);
  Program p(std::move(plan), cpu_kernels(), around.team, around.seed, wanted(around.passes_off, "liveness"));
  std::vector<int32_t> row(static_cast<size_t>(batch));
  static const int32_t none = 0;
  bind_if(p, "codes", table.codes.empty() ? &none : table.codes.data());
  bind_if(p, "alphas", table.alphas.empty() ? static_cast<const void*>(&none) : table.alphas.data());
  bind_if(p, "row", row.data());
  load_states(p, {{"encoder", encoder}});
  const Id mean = p.find("mean"), deviation = p.find("deviation");
  for (int64_t first = 0; first < out.rows; first += batch) {
    const int64_t n = std::min(batch, out.rows - first);
    for (int64_t i = 0; i < batch; ++i) row[static_cast<size_t>(i)] = static_cast<int32_t>((first + std::min(i, n - 1)) * table.rows / out.rows);
    p.run(1);
    const std::vector<float> a = p.read<float>(mean), b = p.read<float>(deviation);
    out.mean.insert(out.mean.end(), a.begin(), a.begin() + n * out.dimensions);
    out.deviation.insert(out.deviation.end(), b.begin(), b.begin() + n * out.dimensions);
    around.monitor.check_cancelled("prior");
  }
  return out;
}

// Mean KL divergence of each dimension from N(0, 1), in nats.
std::vector<double> divergences(const Posteriors& q) {
  std::vector<double> kl(static_cast<size_t>(q.dimensions), 0);
  for (int64_t i = 0; i < q.rows; ++i)
    for (int64_t j = 0; j < q.dimensions; ++j) {
      const double mean = static_cast<double>(q.mean[static_cast<size_t>(i * q.dimensions + j)]), s = static_cast<double>(q.deviation[static_cast<size_t>(i * q.dimensions + j)]);
      kl[static_cast<size_t>(j)] += 0.5 * (mean * mean + s * s - 2 * std::log(s) - 1) / static_cast<double>(q.rows);
    }
  return kl;
}

std::vector<float> cumulative(const std::vector<float>& share) {
  std::vector<float> c(share.size(), 1);
  const double total = std::accumulate(share.begin(), share.end(), 0.0);
  if (!(total > 0)) return c;  // a foreign file: the first component
  double sum = 0;
  size_t last = 0;
  for (size_t k = 0; k < share.size(); ++k) {
    sum += static_cast<double>(share[k]);
    c[k] = static_cast<float>(sum / total);
    if (share[k] > 0) last = k;
  }
  std::fill(c.begin() + static_cast<std::ptrdiff_t>(last), c.end(), 1.0f);
  return c;
}

// What a condition makes of the prior: components drawn by other shares, latent draws accepted by how likely they give an allowed row.
struct Importance {
  std::vector<float> barrier;      // [data]: 0 or kBarrier; empty: nothing to bar
  std::vector<float> share;        // of the components, for proposals
  std::vector<double> log_weight;  // by component: ln(prior share / proposal share)
  double log_bound = 0;            // the largest log-weight times probability that is accepted in full
};

class TvaeRows : public RowMaker {
 public:
  TvaeRows(const Tvae& network, const Kept& kept, const std::vector<AllowedLevels>& allowed, uint64_t seed, Team& team) : network_(network), seed_(seed) {
    if (const auto share = kept.states.find("prior.share"); share != kept.states.end()) {
      prior_ = {static_cast<int64_t>(share->second.size()), kept.active};
      importance_.share = share->second;
    }
    std::vector<float> barrier(static_cast<size_t>(network.data), 0);
    for (const AllowedLevels& a : allowed)
      for (int k = 0; k < a.span->width; ++k)
        if (a.level[static_cast<size_t>(k)] == 0) barrier[static_cast<size_t>(a.span->start + k)] = kBarrier;
    if (std::find(barrier.begin(), barrier.end(), kBarrier) != barrier.end()) survey(std::move(barrier), kept, team);
    share_ = cumulative(importance_.share);
  }

  void record(Recorder& r, int64_t batch) const override { record_sampling(r, network_, batch, prior_, conditioned()); }
  void bind(Program& p) override {
    bind_if(p, "prior.cumulative", share_.data());
    bind_if(p, "prior.start", start().data());
    bind_if(p, "barrier", importance_.barrier.data());
    probability_ = p.find("log_probability"), component_ = p.find("component");
  }

  bool accepts(const Program& p, int64_t i, const Candidate& c) const override {
    if (!conditioned()) return true;
    const View v = p.fetch(probability_);
    const double log_weight = static_cast<double>(static_cast<const float*>(v.data)[i * v.ld]) + weight_of(p, i) - importance_.log_bound;
    if (log_weight >= 0) return true;
    const Philox w = philox(0, static_cast<uint32_t>(c.row), static_cast<uint32_t>(static_cast<uint64_t>(c.row) >> 32),
                            static_cast<uint32_t>(kAcceptPurpose) << 16 | static_cast<uint32_t>(c.attempt & 0xFFFF), static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32));
    return std::log(open_uniform(w.word[0], w.word[1])) < log_weight;
  }

 private:
  bool conditioned() const { return !importance_.barrier.empty(); }
  const std::vector<int32_t>& start() {
    start_ = {0, static_cast<int32_t>(prior_.components)};
    return start_;
  }
  double weight_of(const Program& p, int64_t i) const {
    if (component_ == kNone) return 0;
    const View v = p.fetch(component_);
    return importance_.log_weight[static_cast<size_t>(static_cast<const int32_t*>(v.data)[i * v.ld])];
  }

  // The weight that is accepted in full. The largest seen would be set by one odd draw; below this bound all but a hundredth of the mass lies, and what exceeds it
  // counts as the bound.
  double bound_of(const std::vector<float>& log_probability, const std::vector<int32_t>& component) const {
    struct Draw {
      double weight, density;  // density: proposals here for each draw of the prior
    };
    std::vector<Draw> draws;
    double mass = 0;
    for (size_t i = 0; i < log_probability.size(); ++i) {
      const double w = component.empty() ? 1 : std::exp(importance_.log_weight[static_cast<size_t>(component[i])]), probability = std::exp(static_cast<double>(log_probability[i]));
      draws.push_back({probability * w, 1 / w});
      mass += probability;
    }
    std::sort(draws.begin(), draws.end(), [](const Draw& a, const Draw& b) { return a.weight > b.weight; });
    // Mass above the bound b: Σ (weight − b)·density over the draws beyond it.
    double above = 0, density = 0, bound = draws.front().weight;
    for (const Draw& d : draws) {
      if (above + density * (bound - d.weight) > kClipped * mass) return bound - (kClipped * mass - above) / density;
      above += density * (bound - d.weight);
      bound = d.weight;
      density += d.density;
    }
    return bound;
  }

  // Draws from the prior how likely each component gives an allowed row; half of the proposals go where the condition is likely, half by the prior itself, so that
  // no weight exceeds 2. What the condition leaves impossible is left to rejection, which says which term is the rare one.
  void survey(std::vector<float> barrier, const Kept& kept, Team& team) {
    const std::vector<float> prior = importance_.share;
    share_ = cumulative(prior);
    Plan plan;
    Recorder r(plan);
    r.start_purposes(kPilotPurpose);
    record_sampling(r, network_, kPilotRows, prior_, true);
    optimise(plan);
    Program p(std::move(plan), cpu_kernels(), team, seed_);
    std::vector<int32_t> identity(static_cast<size_t>(3 * kPilotRows), 0);
    for (int64_t i = 0; i < kPilotRows; ++i) identity[static_cast<size_t>(3 * i)] = static_cast<int32_t>(i);
    bind_if(p, "rows", identity.data());
    bind_if(p, "prior.cumulative", share_.data());
    bind_if(p, "prior.start", start().data());
    bind_if(p, "barrier", barrier.data());
    load_states(p, kept.states);
    p.run(1);
    const std::vector<float> log_probability = p.read<float>(p.find("log_probability"));
    const std::vector<int32_t> component = prior_.components > 0 ? p.read<int32_t>(p.find("component")) : std::vector<int32_t>{};
    double all = 0;
    std::vector<double> mass(prior.size(), 0);
    for (size_t i = 0; i < log_probability.size(); ++i) {
      const double probability = std::exp(static_cast<double>(log_probability[i]));
      all += probability;
      if (!mass.empty()) mass[static_cast<size_t>(component[i])] += probability;
    }
    if (!(all > 0)) return;
    for (size_t k = 0; k < mass.size(); ++k) {
      const double total = std::accumulate(prior.begin(), prior.end(), 0.0), before = static_cast<double>(prior[k]) / total, after = 0.5 * before + 0.5 * mass[k] / all;
      importance_.share[k] = static_cast<float>(after);
      importance_.log_weight.push_back(after > 0 ? std::log(before / after) : 0);
    }
    importance_.log_bound = std::log(bound_of(log_probability, component));
    importance_.barrier = std::move(barrier);
  }

  const Tvae& network_;
  Prior prior_;
  Importance importance_;
  uint64_t seed_;
  std::vector<float> share_;
  std::vector<int32_t> start_;
  Id probability_ = kNone, component_ = kNone;
};

class TvaeMethod : public Method {
 public:
  TvaeMethod(const RowLayout& layout, const TvaeConfig& config) : network_(layout, config) {}

  Schedule schedule() const override { return {network_.config.epochs, network_.config.batch, network_.config.learning_rate}; }
  void prepare(const EncodedTable& table, Team&) override { table_ = &table; }

  States start(uint64_t seed) const override {
    States s{{"encoder", initial_weights(network_.encoder, seed, 0)}, {"decoder", initial_weights(network_.decoder, seed, 1)}};
    if (averaged())
      for (const char* set : {"encoder", "decoder"}) s[std::string("average.") + set] = s[set];
    return s;
  }
  void record_training(Recorder& r, int64_t table_rows, int64_t steps) const override { tessera::record_training(r, network_, table_rows, steps); }
  void describe_losses(const std::vector<double>& means, LossRow& row) const override {
    row.reconstruction = means[0], row.divergence = means[1];
    row.note = fmt::format("reconstruction {:.2f}  divergence {:.2f}", means[0], means[1]);
  }

  Kept keep(States end, const Surroundings& around) const override {
    Kept kept;
    kept.states["decoder"] = std::move(end.at(averaged() ? "average.decoder" : "decoder"));
    if (network_.config.prior_components > 0) fit_prior(kept, end.at(averaged() ? "average.encoder" : "encoder"), around);
    return kept;
  }

  std::unique_ptr<RowMaker> row_maker(const Kept& kept, const std::vector<AllowedLevels>& allowed, uint64_t seed, Team& team) const override {
    return std::make_unique<TvaeRows>(network_, kept, allowed, seed, team);
  }

  void visit_stored(const Kept& kept, const std::function<void(const Stored&)>& visit) const override {
    visit_weights(network_.decoder, [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
      visit({name, shape, "decoder", network_.decoder.size, element});
    });
    if (kept.active == 0) return;
    const int64_t k = network_.config.prior_components, d = kept.active;
    auto same = [](int64_t i) { return i; };
    visit({"prior.share", {k}, "prior.share", k, same, "a negative share"});
    visit({"prior.mean", {k, d}, "prior.mean", k * d, same});
    visit({"prior.factor", {k, d, d}, "prior.factor", k * d * d, same});
  }

  int64_t parameters() const override { return network_.decoder.size; }

 private:
  bool averaged() const { return network_.config.average_decay > 0; }

  // A mixture fitted to one draw of q(z | row) for every row, in the dimensions that carry something (docs/fidelity.md). The decoder's inputs are put in falling order of
  // divergence, so that these come first.
  void fit_prior(Kept& kept, const std::vector<float>& encoder, const Surroundings& around) const {
    const Posteriors q = posteriors(network_, *table_, encoder, around);
    const std::vector<double> kl = divergences(q);
    std::vector<size_t> order(kl.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return kl[a] > kl[b]; });
    int64_t active = 0;
    while (active < std::min(q.dimensions, kMostActive) && kl[order[static_cast<size_t>(active)]] > network_.config.active_divergence) ++active;
    if (active == 0) return;

    const Parameter& first = network_.decoder.find(network_.config.decoder_dim.empty() ? "output.weight" : "hidden.0.weight");
    const std::vector<float> before = kept.states.at("decoder");
    for (size_t j = 0; j < order.size(); ++j)
      std::copy_n(before.begin() + first.offset + static_cast<int64_t>(order[j]) * first.shape.cols, first.shape.cols, kept.states["decoder"].begin() + first.offset + static_cast<int64_t>(j) * first.shape.cols);

    std::vector<double> points(static_cast<size_t>(q.rows * active));
    around.team.for_each(q.rows, [&](int64_t i) {
      for (int64_t j = 0; j < active; ++j) {
        const size_t at = static_cast<size_t>(i * q.dimensions) + order[static_cast<size_t>(j)];
        const Philox w = philox(static_cast<uint32_t>(j), static_cast<uint32_t>(i), 0, static_cast<uint32_t>(kPosteriorPurpose) << 16, static_cast<uint32_t>(around.seed), static_cast<uint32_t>(around.seed >> 32));
        const double normal = std::sqrt(-2 * std::log(open_uniform(w.word[0], w.word[1]))) * std::cos(6.283185307179586 * open_uniform(w.word[2], w.word[3]));
        points[static_cast<size_t>(i * active + j)] = static_cast<double>(q.mean[at]) + static_cast<double>(q.deviation[at]) * normal;
      }
    });
    LatentMixtureOptions options;
    options.components = network_.config.prior_components;
    options.seed = around.seed;
    const LatentMixture mixture = fit_latent_mixture(points, active, options, around.team, around.monitor);
    // As many components as configured; those that were not needed have no share.
    auto padded = [&](const std::vector<double>& v, int64_t each) {
      std::vector<float> out(static_cast<size_t>(options.components * each), 0);
      std::transform(v.begin(), v.end(), out.begin(), [](double x) { return static_cast<float>(x); });
      return out;
    };
    kept.active = active;
    kept.states["prior.share"] = padded(mixture.share, 1);
    kept.states["prior.mean"] = padded(mixture.mean, active);
    kept.states["prior.factor"] = padded(mixture.factor, active * active);
  }

  Tvae network_;
  const EncodedTable* table_ = nullptr;
};

}  // namespace

std::unique_ptr<Method> make_tvae(const RowLayout& layout, const TvaeConfig& config) { return std::make_unique<TvaeMethod>(layout, config); }

}  // namespace tessera
