// TVAE (Xu, Skoularidou, Cuesta-Infante, Veeramachaneni: Modeling Tabular Data using Conditional GAN, NeurIPS 2019,
// §4.4) as plans: training step, posterior, sampling.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/plan/recorder.h"
#include "models/layers/linear.h"
#include "models/layers/recording.h"
#include "models/method/private_rows.h"
#include "models/tvae/options.h"
#include "tables/encoding/encoder.h"

namespace tessera {

struct Posterior {
  Var mean, log_variance, stddev;  // [batch, embedding_dim]; stddev = e^(log_variance / 2)
};

// Widths of a row and both networks.
struct Tvae {
  Tvae(const RowLayout& layout, const TvaeConfig& config);

  // q(z | row): hidden layers, then a linear layer each for mean and log variance.
  struct Encoder : ParameterSet {
    layers::Mlp hidden;
    layers::Linear mean, log_variance;

    Encoder(int64_t in, const TvaeConfig& config);
    Posterior operator()(Var rows) const;
  };
  // p(row | z): hidden layers, then logits [batch, data]; also σ of every number.
  struct Decoder : ParameterSet {
    layers::Mlp hidden;
    layers::Linear output;
    Weight sigma;  // [1, numbers]; none without numbers

    Decoder(int64_t out, int64_t numbers, const TvaeConfig& config);
    Var operator()(Var z) const;
  };

  TvaeConfig config;
  std::shared_ptr<const Spans> spans;
  int64_t data = 0;     // width of a row
  int64_t numbers = 0;  // columns with a position under tanh
  Encoder encoder;
  Decoder decoder;

  std::vector<const ParameterSet*> weights() const { return {&encoder, &decoder}; }
};

struct ElboLoss {
  Var spans;                     // [batch, spans]: −log p(row's span | z)
  Var reconstruction, kl, loss;  // [1, 1]
};
// The negative evidence lower bound: loss_factor·mean Σ −log p(span | z) + mean KL(q(z | row) ‖ N(0, I)).
ElboLoss elbo_loss(Recorder& r, const Tvae& m, const SparseRows& rows, Var logits, const Posterior& q);

// One update of both networks from a loss, σ kept inside its bounds. `steps` is the whole run's, for the decay of the
// learning rate.
void update(Recorder& r, const Tvae& m, Var loss, int64_t steps);

// One iteration on a batch of table rows: loss, update, averages, losses into the ring "losses" [kLossSlots, 2]
// (reconstruction, KL).
// Bound leaves: "codes", "alphas" (the encoded table).
void record_training(Recorder& r, const Tvae& m, int64_t table_rows, int64_t steps);
// The same as DP-SGD.
void record_training(Recorder& r, const Tvae& m, const PrivateRows& rows, int64_t steps);
// q(z | row) of the rows bound to "row" [batch, 1]: outputs "mean" and "stddev".
void record_posterior(Recorder& r, const Tvae& m, int64_t table_rows, int64_t batch);

// The negative evidence lower bound of the rows bound to "row" [batch, 1], without loss_factor: output "elbo_loss"
// [batch, 1], in nats.
void record_elbo(Recorder& r, const Tvae& m, int64_t table_rows, int64_t batch);

// The prior from which rows are sampled. States "prior.mean" [components, active], "prior.factor" [components·active,
// active]; bound "prior.cumulative", "prior.start" (cumulative shares of the components, as DrawConditions takes them);
// the other latent dimensions are N(0, 1). Without components: N(0, I).
struct Prior {
  int64_t components = 0, active = 0;
};
// Rows: outputs "codes", "alphas". Bound: "rows" [batch, 3] (the identity of each row). With `conditioned`, also bound
// "barrier" [1, data]: 0, or a large negative number at forbidden levels; and outputs "log_probability" [batch, 1] that
// a row from this z has none of them, "latent" [batch, active] if there is a mixture.
void record_sampling(Recorder& r, const Tvae& m, int64_t batch, const Prior& prior, bool conditioned);

// Rows with given cells: as record_sampling(), with bound "given.levels" [batch, data], ln of the allowed share of each
// level, "given.alphas" and "given.known" [batch, numbers], a position and 1 if it is given; and output "log_weight"
// [batch, 1]: ln p(given cells | z), up to a constant of the given cells.
void record_given(Recorder& r, const Tvae& m, int64_t batch, const Prior& prior);

}  // namespace tessera
