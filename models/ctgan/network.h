// CTGAN (Xu, Skoularidou, Cuesta-Infante, Veeramachaneni: Modeling Tabular Data using Conditional GAN, NeurIPS 2019) as
// plans: training step, statistics, sampling.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/plan/recorder.h"
#include "models/ctgan/options.h"
#include "models/layers/batch_norm.h"
#include "models/layers/linear.h"
#include "models/layers/weights.h"
#include "tables/encoding/encoder.h"

namespace tessera {

using layers::Norm;

// Widths of a row and both networks.
struct Ctgan {
  Ctgan(const RowLayout& layout, const CtganConfig& config);

  // The conditional generator (§4.3): residual blocks x → [ReLU(BN(x·W + b)) ‖ x], then a linear layer.
  struct Generator : ParameterSet {
    struct Residual {
      layers::Linear linear;
      layers::BatchNorm norm;
    };
    std::vector<Residual> blocks;
    layers::Linear output;

    Generator(int64_t in, int64_t out, const CtganConfig& config);
    Var operator()(Var x, Norm norm) const;
  };
  // The critic of packed rows: hidden layers, then a score.
  struct Critic : ParameterSet {
    layers::Mlp hidden;
    layers::Linear output;

    Critic(int64_t in, const CtganConfig& config);
    // Scores [batch / pac, 1] of packed rows; the dropout masks are the random tensors "mask.<use>.<layer>".
    Var operator()(Var packed, const std::string& use) const;
  };

  CtganConfig config;
  std::shared_ptr<const Spans> spans;
  int64_t data = 0, cond = 0;  // widths
  Generator generator;
  Critic discriminator;
};

// A batch's condition as an index into the condition vector (−1: none) and, for the networks, as one-hot rows ([batch,
// 0 columns]: empty Var).
struct Condition {
  Var index, one_hot;
};

// Logits [batch, data].
Var generate(const Ctgan& m, Var z, const Condition& c, Norm norm);
Var activate(Recorder& r, const Ctgan& m, Var logits, const std::string& noise);

// [batch, data] and its condition as critic rows [batch / pac, pac·(data + cond)]: pac rows' data, then their
// conditions.
Var pack(const Ctgan& m, Var rows, const Condition& c);

// As visit_weights(set, visit), but the critic's first layer is stored in files row by row of the pack; in memory the
// data of all pac rows come first, then their conditions.
void visit_weights(const Ctgan& m, const ParameterSet& set, const WeightVisitor& visit);

struct CriticLoss {
  Var real, fake, interpolate, norm;  // [batch / pac, 1]: scores and gradient norms
  Var wasserstein, penalty, loss;     // [1, 1]
};
// mean critic(fake) − mean critic(real) + λ·mean (‖∂critic(x̂)/∂x̂‖ − 1)², x̂ on the line between them (Gulrajani et
// al. 2017).
CriticLoss critic_loss(Recorder& r, const Ctgan& m, Var real, Var fake, const std::string& suffix = "");

struct GeneratorLoss {
  Var scores, cross_entropy, loss;
};
GeneratorLoss generator_loss(Recorder& r, const Ctgan& m, Var logits, Var fake, const Condition& c,
                             const std::string& use);

AdamOptions critic_adam(const Ctgan& m, int64_t index, int64_t steps);
AdamOptions generator_adam(const Ctgan& m, int64_t steps);

// One iteration: discriminator_steps critic updates, one generator update, averages, losses into the ring "losses"
// [kLossSlots, 3] (critic, generator, penalty).
// Bound leaves: "codes", "alphas" (the encoded table), "cumulative", "start", "row_offset", "row_index" (conditions).
// `steps` is the whole run's, for the decay.
void record_training(Recorder& r, const Ctgan& m, int64_t table_rows, int64_t columns, int64_t steps);
// Batch-norm statistics of the averaged weights over `batch` training-style conditions, into the running ones.
void record_population(Recorder& r, const Ctgan& m, int64_t batch, int64_t columns);
// Rows: outputs "codes", "alphas". Bound: "rows" [batch, 3] (the identity of each row), "condition" [batch, 1] int32
// or, without it, drawn from "cumulative", "start".
void record_sampling(Recorder& r, const Ctgan& m, int64_t batch, int64_t columns, bool given_condition);

}  // namespace tessera
