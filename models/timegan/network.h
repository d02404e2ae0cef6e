// TimeGAN (Yoon, Jarrett, van der Schaar: Time-series Generative Adversarial Networks, NeurIPS 2019) as plans: its
// three phases, and sampling. The networks, losses and schedule are those of the authors' code, with masks for
// sequences that end early; the attributes of a sequence are given to the networks at every step.
#pragma once
#include <string>

#include "engine/plan/recorder.h"
#include "models/layers/linear.h"
#include "models/layers/recurrent.h"
#include "models/timegan/options.h"

namespace tessera {

constexpr double kRootEps = 1e-8;  // inside the roots of the squared errors

// A batch of sequences, one per row. Steps past the end hold 0.
struct SequenceBatch {
  Var x;           // [B, steps·features]
  Var length;      // [B, 1]
  Var valid;       // [B, steps]: 1 where the sequence has the step
  Var attributes;  // [B, attributes]; empty if there are none
};

// Recurrent layers over time and a linear layer at each step, squashed to [0, 1] except for the discriminator's logit.
struct SequenceNetwork {
  ParameterSet weights;
  layers::Recurrent rnn;  // "rnn.layer.<l>.…"
  layers::Linear output;
  int64_t attributes;  // of the inputs: given at every step
  bool squashed;

  SequenceNetwork(const std::string& name, int64_t in, int64_t attributes, int64_t out, const TimeganConfig& config,
                  int64_t depth, bool squashed = true);
  // The network's output at every step, [B, steps·width]; 0 past the end if `batch.valid` is set. start [B, hidden]:
  // the first layer's state before the first step; empty: 0.
  Var operator()(Var x, const SequenceBatch& batch, Var start = {}) const;
};

struct Timegan {
  // `features` of a step, `attributes` of a sequence, at most `steps` steps; `windows` of one series, or sequences of a
  // key.
  Timegan(int64_t features, int64_t attributes, int64_t steps, const TimeganConfig& config, bool windows = false);

  TimeganConfig config;  // with the number of layers resolved; correlations: 0 if not part of the generator's loss
  int64_t features, attributes, steps, noise;
  SequenceNetwork embedder, recovery, generator, supervisor, discriminator;
  const SequenceNetwork* all[5] = {&embedder, &recovery, &generator, &supervisor, &discriminator};
  Timegan(const Timegan&) = delete;
  Timegan& operator=(const Timegan&) = delete;
};

// Means are over valid steps. All [1, 1].
struct EmbeddingLoss {
  Var error;  // R0 = mean (X − X̃)²
  Var loss;   // 10·√(R0 + 1e-8)
};
EmbeddingLoss embedding_loss(Recorder& r, const Timegan& m, const SequenceBatch& batch, Var recovered);
// S = mean (H_t − s(H)_{t−1})²
Var supervised_loss(Recorder& r, const Timegan& m, const SequenceBatch& batch, Var hidden, Var supervised);
// V3: root mean square of the differences of correlations, over valid steps: every feature of a step with every feature
// of the same step, of the sequence's first, of the step before, and with every attribute. Deviations are in units of
// the real steps' standard deviations. Needs attributes.
Var correlation_loss(Recorder& r, const Timegan& m, const SequenceBatch& batch, Var made);
struct MomentLoss {
  Var stddev, mean;  // V1, V2: over the batch, for every step that two sequences have, and every feature
  Var sum;           // V = V1 + V2, with attributes + correlations·V3
};
MomentLoss moment_loss(Recorder& r, const Timegan& m, const SequenceBatch& batch, Var made);
// mean softplus(∓logit): the discriminator's cross-entropy for the label real (or made)
Var cross_entropy(Recorder& r, const SequenceBatch& batch, Var logits, bool real);

struct SequenceGeneratorLoss {
  Var unsupervised, unsupervised_e, supervised, loss;  // U, U_e, S; loss = U + γ·U_e + 100·√(S + 1e-8) + 100·V
  MomentLoss moments;
};
struct SequenceDiscriminatorLoss {
  Var real, fake, fake_e, loss;  // loss = real + fake + γ·fake_e
};
// The noise from which a sequence is generated. The authors' code has only z: then everything that persists over a
// sequence must come from the noise of its steps.
struct Noise {
  Var z;      // [B, steps·noise] in [0, 1)
  Var start;  // [B, hidden] in [−1, 1): the generator's `start`, under random_start
};
// The outputs of the networks for a batch and noise.
struct JointOutputs {
  Var hidden;            // H = e(X)
  Var supervised;        // s(H)
  Var e_hat;             // Ê = g(Z)
  Var h_hat;             // Ĥ = s(Ê)
  Var x;                 // X̂ = r(Ĥ)
  Var logits, logits_e;  // d(Ĥ), d(Ê)
};
JointOutputs make(const Timegan& m, const SequenceBatch& batch, Var hidden, const Noise& noise);
SequenceGeneratorLoss generator_loss(Recorder& r, const Timegan& m, const SequenceBatch& batch,
                                     const JointOutputs& made);
SequenceDiscriminatorLoss discriminator_loss(Recorder& r, const Timegan& m, const SequenceBatch& batch, Var real_logits,
                                             Var logits, Var logits_e);

enum class TimeganPhase { embedding, supervised, joint };
constexpr Purpose purpose_of(TimeganPhase phase) {
  return phase == TimeganPhase::embedding    ? Purpose::second_plan
         : phase == TimeganPhase::supervised ? Purpose::third_plan
                                             : Purpose::fourth_plan;
}

// One iteration of a phase. Bound leaves: "features" [rows, features], "first", "length" [sequences, 1] (the rows of
// each sequence), "attributes" [sequences, attributes], "own.row" (0, 1, 2, …) and "own.step" (1, 1, 1, …) [sequences,
// 1] beside them.
// Losses into the ring "losses" [kLossSlots, 5]: D_loss, U, √S, V, √R0; 0 for losses that a phase does not
// have (embedding has the last, supervised √S).
//   joint: twice { a batch; the generator's and supervisor's step, then the embedder's and recovery's on the same batch
//   }, then the discriminator's step on a separate batch, if its loss is above 0.15
void record_training(Recorder& r, const Timegan& m, TimeganPhase phase, int64_t rows, int64_t sequences,
                     int64_t iterations);

// Sequences: output "x" [batch, steps·features]. Bound: "rows" [batch, 3] (the identity of each sequence), "length"
// [batch, 1], "attributes" [batch, attributes].
void record_sampling(Recorder& r, const Timegan& m, int64_t batch);

}  // namespace tessera
