// The density ratio p_real / p_model of a row, learned as a classifier of real rows against the model's (Azadi et al.,
// Discriminator Rejection Sampling, ICLR 2019; here a separate network, not the GAN's critic): its logit is ln of the
// ratio, both classes with equal weight.
//   inputs → 256 → 256 → 1, leaky ReLU 0.2, dropout 0.35 · Adam 2e-3, batches of 512 rows of each side · keeps the
//   average of the weights over the steps; stops when the held-out loss no longer decreases noticeably
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "engine/device/device.h"
#include "engine/plan/recorder.h"
#include "engine/run/compile.h"
#include "models/layers/linear.h"
#include "models/method/deadline.h"

namespace tessera {

// Rows of one side as input of the network (Profile::encode).
struct RatioRows {
  int64_t rows = 0;
  std::vector<int32_t> cells;
  std::vector<float> inputs;

  static RatioRows sized(int64_t rows, int codes, int inputs) {
    RatioRows r{rows, {}, {}};
    r.cells.resize(static_cast<size_t>(rows * codes));
    r.inputs.resize(static_cast<size_t>(std::max<int64_t>(rows * inputs, 1)));
    return r;
  }
};

struct RatioConfig {
  std::vector<int> hidden{256, 256};
  double slope = 0.2, dropout = 0.35, learning_rate = 2e-3, weight_decay = 1e-5;
  double average_decay = 0.999;
  int batch = 512;         // rows of each side
  int64_t most_steps = 0;  // maximum training steps: the caller's budget
  int most_epochs = 40;
  int patience = 200;   // steps without a decrease of the held-out loss by `least`
  Deadline until = {};  // deadline of training, after the first steps
  double least = 5e-4;
  std::string precision = "fp32";  // of matrix products in training (engine/run/precision.h)
};

class Ratio {
 public:
  Ratio() = default;
  Ratio(std::shared_ptr<const Spans> spans, RatioConfig config);

  // Upper bound of the memory for training a network on rows of that width.
  static int64_t bytes(int64_t width);

  // Trains on real against model rows. The last `held_out` rows of each side are used for validation only. Returns the
  // final held-out loss (ln 2: indistinguishable).
  struct Fitted {
    double held_out_loss = 0;
    int64_t steps = 0;
    int epochs = 0;
  };
  Fitted fit(const RatioRows& real, const RatioRows& model, double held_out, uint64_t seed, Device& device, Team& team,
             const Monitor& monitor);

  // Logits [n, 1] of n sparse rows, recorded into a plan; store `weights` in its state "ratio".
  Var record(Recorder& r, Var index, Var value) const;

  // Logits of `rows`; a network may have many evaluators, each used by one thread at a time.
  class Evaluator {
   public:
    Evaluator(const Ratio& ratio, int64_t batch, Device& device, Team& team);
    int64_t batch() const { return batch_; }
    void run(const int32_t* cells, const float* inputs, int64_t rows, double* logits);

   private:
    int64_t batch_;
    int64_t codes_, inputs_width_;
    std::vector<int32_t> cells_, rows_;
    std::vector<float> inputs_;
    std::unique_ptr<Program> program_;
    Id logits_ = kNone;
  };

  const ParameterSet& parameters() const { return *network_; }
  const RatioConfig& config() const { return config_; }
  std::vector<float> weights;  // flat, as parameters() lays them out; empty: never fitted

 private:
  friend class Evaluator;
  struct Network : ParameterSet {
    layers::Mlp hidden;
    layers::Linear output;

    Network(int64_t in, const RatioConfig& config);
    // Logits [rows, 1]; the dropout masks are the random tensors "mask.<masks>.<layer>"; no dropout without a name.
    Var operator()(Var rows, const std::string& masks = "") const { return output(hidden(rows, masks)); }
  };
  // The program that trains it for `steps` steps on random batches of the first rows of both sides.
  std::unique_ptr<Program> training(const RatioRows& real, const RatioRows& model, int64_t real_rows,
                                    int64_t model_rows, int64_t steps, const Target& target) const;
  Var gather(Recorder& r, const std::string& side, int64_t table_rows, Var row) const;

  std::shared_ptr<const Spans> spans_;
  RatioConfig config_;
  std::optional<Network> network_;
};

}  // namespace tessera
