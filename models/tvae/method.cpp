// TVAE as a Method, with the prior fitted to the training rows' posteriors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/math/philox.h"
#include "models/layers/initial_weights.h"
#include "models/layers/weights.h"
#include "models/method/method.h"
#include "models/method/row_outputs.h"
#include "models/training/trainer.h"
#include "models/training/validation.h"
#include "models/tvae/conditional_rows.h"
#include "models/tvae/latent_mixture.h"
#include "models/tvae/method.h"

namespace tessera {
namespace {

constexpr double kMinElbo = 0.01;          // nats per row
constexpr int64_t kPosteriorRows = 50000;  // rows encoded for the prior; evenly spaced in a longer table
constexpr int64_t kMaxActive = 48;         // of the fitted covariances; further dimensions carry least
// The time of the prior, in rows of a training step (measured on Adult: a row of a training step took 13 µs, a row of a
// step of the prior 19).
constexpr double kPriorCost = 1.5, kPriorSteps = 100;

// The posteriors of evenly spaced training rows, at most `rows`: outputs 0 and 1 are their means and standard
// deviations.
RowOutputs::Record record_posteriors(const Tvae& m, const EncodedTable& table) {
  return [&](Recorder& r, int64_t batch) { record_posterior(r, m, table.rows, batch); };
}
std::unique_ptr<RowOutputs> posteriors(const Tvae& m, const EncodedTable& table, int64_t rows,
                                       const std::vector<float>& encoder, const RunContext& context) {
  return std::make_unique<RowOutputs>(table, rows, States{{"encoder", encoder}},
                                      std::vector<std::string>{"mean", "stddev"}, Purpose::posterior, context,
                                      record_posteriors(m, table));
}

// Mean KL divergence of each dimension from N(0, 1), in nats.
std::vector<double> kl_of_dimensions(RowOutputs& q) {
  const auto dimensions = static_cast<size_t>(q.width(0));
  std::vector<double> kl(dimensions, 0);
  q.each_batch([&](int64_t, int64_t count, const std::vector<std::vector<float>>& out) {
    for (size_t i = 0; i < static_cast<size_t>(count); ++i)
      for (size_t j = 0; j < dimensions; ++j) {
        const double mean = static_cast<double>(out[0][i * dimensions + j]),
                     s = static_cast<double>(out[1][i * dimensions + j]);
        kl[j] += 0.5 * (mean * mean + s * s - 2 * std::log(s) - 1) / static_cast<double>(q.rows());
      }
  });
  return kl;
}

// A draw of each posterior in the first `active` dimensions of `order`, row by row.
std::vector<float> draws(RowOutputs& q, const std::vector<size_t>& order, int64_t active, const RunContext& context) {
  std::vector<float> points(static_cast<size_t>(q.rows() * active));
  const int64_t dimensions = q.width(0);
  q.each_batch([&](int64_t first, int64_t count, const std::vector<std::vector<float>>& out) {
    context.team.for_each(count, [&](int64_t i) {
      for (int64_t j = 0; j < active; ++j) {
        const size_t at = static_cast<size_t>(i * dimensions) + order[static_cast<size_t>(j)];
        const Philox w =
            random_words(context.seed, Purpose::posterior, static_cast<uint32_t>(j), static_cast<uint64_t>(first + i));
        const double normal = std::sqrt(-2 * std::log(open_uniform(w.word[0], w.word[1]))) *
                              std::cos(6.283185307179586 * open_uniform(w.word[2], w.word[3]));
        points[static_cast<size_t>((first + i) * active + j)] =
            static_cast<float>(static_cast<double>(out[0][at]) + static_cast<double>(out[1][at]) * normal);
      }
    });
  });
  return points;
}

class TvaeMethod : public RowMethod {
 public:
  TvaeMethod(const RowLayout& layout, const TvaeConfig& config) : network_(layout, config) {}

  const MethodSpec& spec() const override { return kTvae; }
  // Without a prior from posteriors: they are functions of single rows.
  bool train_privately(const PrivateRows& rows, const FittedState*) override {
    private_ = &rows;
    return network_.config.prior_components == 0;
  }
  std::vector<Phase> phases() const override {
    if (private_ != nullptr) return {private_->phase()};
    const TvaeConfig& c = network_.config;
    return {passes_over(table_->rows, c.epochs, c.batch, c.decay_from)};
  }
  double learning_rate() const override { return network_.config.learning_rate; }
  void relax() const override { table_->relax(); }
  int64_t random_rows() const override { return table_->random_rows(); }
  void bind(Program& p) const override { private_ != nullptr ? private_->bind(p) : bind_rows(p, *table_); }
  void prepare(const EncodedTable& table, Team&) override { table_ = &table; }

  States start(uint64_t seed) const override {
    States s{{"encoder", initial_weights(network_.encoder, seed, 0)},
             {"decoder", initial_weights(network_.decoder, seed, 1)}};
    if (averaged())
      for (const char* set : {"encoder", "decoder"}) s[std::string("average.") + set] = s[set];
    return s;
  }
  void record_training(Recorder& r, size_t, int64_t steps) const override {
    if (private_ != nullptr) return tessera::record_training(r, network_, *private_, steps);
    tessera::record_training(r, network_, table_->rows, steps);
  }

  FittedState keep(States end, const RunContext& context) const override {
    FittedState kept;
    kept.states["decoder"] = std::move(end.at(averaged() ? "average.decoder" : "decoder"));
    if (network_.config.prior_components > 0)
      fit_prior(kept, end.at(averaged() ? "average.encoder" : "encoder"), context);
    return kept;
  }
  void assist(const RunContext& context) const override {
    if (network_.config.prior_components > 0) (void)fit_mixture({}, 0, context);
  }

  int64_t bytes_after(const RunContext& context) const override {
    const TvaeConfig& c = network_.config;
    if (c.prior_components == 0) return 0;
    return RowOutputs::bytes(*table_, kPosteriorRows, Purpose::posterior, context,
                             record_posteriors(network_, *table_)) +
           latent_mixture_bytes(std::min(table_->rows, kPosteriorRows), std::min<int64_t>(c.embedding_dim, kMaxActive),
                                c.prior_components, context.team.size());
  }
  double rows_after() const override {
    if (network_.config.prior_components == 0) return 0;
    return kPriorCost * kPriorSteps * static_cast<double>(std::min(table_->rows, kPosteriorRows));
  }

  // The negative evidence lower bound, in nats per row, under one fixed draw of the latent for each.
  std::unique_ptr<HeldOut> held_out(const EncodedTable& rows, const RunContext& context) const override {
    return recorded_loss(
        rows, {"elbo_loss", averaged() ? "average." : "", {"encoder", "decoder"}, kMinElbo},
        [this](Recorder& r, int64_t table_rows, int64_t batch) { record_elbo(r, network_, table_rows, batch); },
        context);
  }

  std::unique_ptr<GivenGenerator> given_generator(const FittedState& kept, uint64_t, Team&) const override {
    return make_tvae_given(network_, kept);
  }
  std::unique_ptr<RowGenerator> row_generator(const FittedState& kept, const std::vector<AllowedLevels>& allowed,
                                              uint64_t seed, Team& team) const override {
    return make_tvae_rows(network_, kept, allowed, seed, team);
  }

  void visit_tensors(const FittedState& kept, const std::function<void(const TensorSpec&)>& visit) const override {
    visit_weights(network_.decoder,
                  [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
                    visit({name, shape, "decoder", network_.decoder.size, element});
                  });
    if (kept.active == 0) return;
    const int64_t k = network_.config.prior_components, d = kept.active;
    auto same = [](int64_t i) { return i; };
    visit({"prior.share", {k}, "prior.share", k, same, "a negative share"});
    visit({"prior.mean", {k, d}, "prior.mean", k * d, same});
    visit({"prior.factor", {k, d, d}, "prior.factor", k * d * d, same});
  }

  int64_t max_active() const override { return network_.config.embedding_dim; }
  int64_t parameters() const override { return network_.decoder.size; }
  std::vector<std::string> networks() const override { return {"decoder"}; }

 protected:
  bool averaged() const { return network_.config.average_decay > 0; }
  const Tvae& network() const { return network_; }
  const EncodedTable& table() const { return *table_; }

 private:
  // A mixture fitted to one draw of q(z | row) for every row, in the informative dimensions (docs/methods/fidelity.md).
  // The decoder's inputs are sorted by descending KL, so that these come first.
  void fit_prior(FittedState& kept, const std::vector<float>& encoder, const RunContext& context) const {
    // Rows pass through the encoder twice: posteriors in all dimensions take several times the memory of the points.
    std::unique_ptr<RowOutputs> q = posteriors(network_, *table_, kPosteriorRows, encoder, context);
    const std::vector<double> kl = kl_of_dimensions(*q);
    std::vector<size_t> order(kl.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return kl[a] > kl[b]; });
    int64_t active = 0;
    while (active < std::min(q->width(0), kMaxActive) &&
           (context.rehearsal || kl[order[static_cast<size_t>(active)]] > network_.config.active_kl))
      ++active;

    const MemoryShare held = context.team.share(
        latent_mixture_bytes(q->rows(), active, network_.config.prior_components, context.team.size()),
        "the points of a prior");
    std::vector<float> points = draws(*q, order, active, context);
    q.reset();
    const LatentMixture mixture = fit_mixture(std::move(points), active, context);
    if (active == 0) return;

    const Parameter& first =
        network_.decoder.find(network_.config.decoder_dim.empty() ? "output.weight" : "hidden.0.weight");
    const std::vector<float> before = kept.states.at("decoder");
    for (size_t j = 0; j < order.size(); ++j)
      std::copy_n(before.begin() + first.offset + static_cast<int64_t>(order[j]) * first.shape.cols, first.shape.cols,
                  kept.states["decoder"].begin() + first.offset + static_cast<int64_t>(j) * first.shape.cols);
    // As many components as configured; unused ones have share 0.
    auto padded = [&](const std::vector<double>& v, int64_t each) {
      std::vector<float> out(static_cast<size_t>(network_.config.prior_components * each), 0);
      std::transform(v.begin(), v.end(), out.begin(), [](double x) { return static_cast<float>(x); });
      return out;
    };
    kept.active = active;
    kept.states["prior.share"] = padded(mixture.share, 1);
    kept.states["prior.mean"] = padded(mixture.mean, active);
    kept.states["prior.factor"] = padded(mixture.factor, active * active);
  }

  // `points` [rows, active] and `active` are rank 0's; no mixture if no dimension is active.
  LatentMixture fit_mixture(std::vector<float> points, int64_t active, const RunContext& context) const {
    points = context.shared.given(std::move(points));
    active = context.shared.agreed(active);
    if (active == 0) return {};
    LatentMixtureOptions options;
    options.components = network_.config.prior_components;
    options.seed = context.seed;
    options.until = context.until;
    options.shared = context.shared;
    return fit_latent_mixture(points, active, options, context.team, context.monitor);
  }

  Tvae network_;
  const EncodedTable* table_ = nullptr;
  const PrivateRows* private_ = nullptr;
};

// Of which the encoder is wanted, not rows.
class LatentMethod final : public TvaeMethod {
 public:
  using TvaeMethod::TvaeMethod;
  FittedState keep(States end, const RunContext& context) const override {
    const auto q =
        posteriors(network(), table(), table().rows, end.at(averaged() ? "average.encoder" : "encoder"), context);
    const std::vector<double> kl = kl_of_dimensions(*q);
    std::vector<size_t> active;
    for (size_t j = 0; j < kl.size(); ++j)
      if (kl[j] > network().config.active_kl) active.push_back(j);
    FittedState kept;
    kept.active = static_cast<int64_t>(active.size());
    std::vector<float>& mean = kept.states["mean"];
    mean.reserve(static_cast<size_t>(q->rows()) * active.size());
    q->each_batch([&](int64_t, int64_t count, const std::vector<std::vector<float>>& out) {
      for (size_t i = 0; i < static_cast<size_t>(count); ++i)
        for (const size_t j : active) mean.push_back(out[0][i * kl.size() + j]);
    });
    return kept;
  }
};

}  // namespace

Latents learn_latents(const RowLayout& layout, const EncodedTable& table, TvaeConfig config, uint64_t seed, Team& team,
                      const Monitor& monitor) {
  config.prior_components = 0;
  LatentMethod method(layout, config);
  FitOptions options;
  options.seed = seed;
  FittedState kept = train_aside(method, table, options, team, monitor);
  return {kept.active, std::move(kept.states.at("mean"))};
}

std::unique_ptr<RowMethod> make_tvae(const RowLayout& layout, const MethodConfig& config) {
  return std::make_unique<TvaeMethod>(layout, config.as<TvaeConfig>());
}

}  // namespace tessera
