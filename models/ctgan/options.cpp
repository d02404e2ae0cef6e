#include "models/ctgan/options.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/ctgan/method.h"

namespace tessera {

std::vector<Option> CtganConfig::options() {
  using namespace ranges;
  return {{"epochs", &epochs, kEpochs, kEpochsHelp},
          {"batch_size", &batch, kBatch, "rows of a step, a multiple of pac"},
          {"learning_rate", &learning_rate, kRate, "of both networks"},
          {"embedding_dim", &embedding_dim, kUnits, "length of the noise"},
          {"pac", &pac, {1, 1 << 16}, "rows the critic sees at once"},
          {"generator_dim", &generator_dim, kUnits, "widths of the generator's hidden layers"},
          {"discriminator_dim", &discriminator_dim, kUnits, "widths of the critic's hidden layers"},
          {"discriminator_steps", &discriminator_steps, {1, 1000}, "critic steps per generator step"},
          {"beta1", &beta1, kShare, nullptr},
          {"beta2", &beta2, kShare, nullptr},
          {"adam_eps", &adam_eps, kAny, nullptr},
          {"weight_decay", &weight_decay, kAny, nullptr},
          {"penalty_weight", &penalty_weight, kAny, nullptr},
          {"leaky_slope", &leaky_slope, kAny, nullptr},
          {"dropout", &dropout, kShare, nullptr},
          {"tau", &tau, kAny, nullptr},
          {"bn_eps", &bn_eps, kAbove0, nullptr},
          {"bn_momentum", &bn_momentum, kAny, nullptr},
          {"average_decay", &average_decay, kShare, nullptr},
          {"decay_from", &decay_from, kShare, nullptr},
          {"population_norm", &population_norm, kAny, nullptr}};
}

void CtganConfig::check() const {
  if (batch % pac == 0) return;
  const int below = batch / pac * pac, above = below + pac;
  throw Error(ErrorCode::usage, fmt::format("`batch_size={}` is not a multiple of `pac={}`. {}{} is.", batch, pac,
                                            below > 0 ? fmt::format("{} or ", below) : "", above));
}

namespace {

std::unique_ptr<Hyperparameters> preset(bool best) {
  auto c = std::make_unique<CtganConfig>();
  if (best) c->average_decay = 0.999, c->decay_from = 0.5, c->population_norm = true;
  return c;
}

constexpr LossSpec kLosses[] = {
    {"critic", "{:+.2f}", "the critic's loss: minus the estimated Wasserstein distance, with the gradient penalty"},
    {"generator", "{:+.2f}", "the generator's loss: minus the critic's mean score, with the conditions' cross-entropy"},
    {"penalty", nullptr, "the gradient penalty in the critic's loss"}};

}  // namespace

const MethodSpec kCtgan{"ctgan", 16, preset, kLosses, make_ctgan};

}  // namespace tessera
