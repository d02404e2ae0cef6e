#include "models/timegan/options.h"

#include "models/timegan/method.h"

namespace tessera {

std::vector<Option> TimeganConfig::options() {
  using namespace ranges;
  constexpr Range kIterations{0, 1 << 30};
  return {{"iterations", std::vector{&embedding_iterations, &supervised_iterations, &joint_iterations}, kIterations,
           "steps of each of the three phases; 0 writes an untrained model"},
          {"embedding_iterations", &embedding_iterations, kIterations, "steps of the first phase"},
          {"supervised_iterations", &supervised_iterations, kIterations, "steps of the second phase"},
          {"joint_iterations", &joint_iterations, kIterations, "steps of the third phase"},
          {"batch_size", &batch, kBatch, "sequences of a step"},
          {"learning_rate", &learning_rate, kRate, "of all networks"},
          {"hidden_dim", &hidden, {1, 4096}, "units of a recurrent layer; 4 times the features serves wide tables"},
          {"layers",
           &layers,
           {0, kMaxLayers},
           "recurrent layers of a network; 0: 1 for sequences of a key with attributes, else 3"},
          {"cell", &cell, kAny, "recurrent cell; gru-reset-before is the published one"},
          {"gamma", &gamma, kPositive, "weight of the adversarial loss on latent steps before the supervisor"},
          {"beta1", &beta1, kShare, nullptr},
          {"beta2", &beta2, kShare, nullptr},
          {"adam_eps", &adam_eps, kAny, nullptr},
          {"average_decay", &average_decay, kShare, nullptr},
          {"noise", &noise, {0, 1 << 20}, nullptr},
          {"least_noise", &min_noise, {0, 1 << 20}, nullptr, true},
          {"random_start", &random_start, kAny, nullptr, true},
          {"correlations", &correlations, {0, 1e6}, nullptr, true}};
}

namespace {

std::unique_ptr<Hyperparameters> preset(bool best) {
  auto c = std::make_unique<TimeganConfig>();
  if (best) c->average_decay = 0.999, c->random_start = true, c->min_noise = 24, c->correlations = 1, c->layers = 0;
  else
    c->cell = Cell::gru_reset_before, c->embedding_iterations = c->supervised_iterations = c->joint_iterations = 50000;
  return c;
}

constexpr LossSpec kLosses[] = {
    {"discriminator", "{:.2f}", "cross-entropy of the discriminator over real and made latent steps, in nats"},
    {"generator", "{:.2f}", "cross-entropy of made latent steps taken for real, in nats"},
    {"supervised", "{:.4f}", "root mean square error of the next latent step"},
    {"moments", "{:.4f}", "differences of means, standard deviations and correlations over a batch"},
    {"reconstruction", "{:.4f}", "root mean square error of a step, in units of its range"}};

}  // namespace

const MethodSpec kTimegan{"timegan", 16, preset, kLosses, nullptr, make_timegan};

}  // namespace tessera
