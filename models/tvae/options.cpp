#include "models/tvae/options.h"

#include "models/tvae/method.h"

namespace tessera {

std::vector<Option> TvaeConfig::options() {
  using namespace ranges;
  return {{"epochs", &epochs, kEpochs, kEpochsHelp},
          {"batch_size", &batch, kBatch, "rows of a step"},
          {"learning_rate", &learning_rate, kRate, "of both networks"},
          {"embedding_dim", &embedding_dim, kUnits, "latent dimensions"},
          {"encoder_dim", &encoder_dim, kUnits, "widths of the encoder's hidden layers"},
          {"decoder_dim", &decoder_dim, kUnits, "widths of the decoder's hidden layers"},
          {"loss_factor", &loss_factor, kPositive, "weight of the reconstruction loss beside the KL divergence"},
          {"beta1", &beta1, kShare, nullptr},
          {"beta2", &beta2, kShare, nullptr},
          {"adam_eps", &adam_eps, kAny, nullptr},
          {"weight_decay", &weight_decay, kAny, nullptr},
          {"sigma_start", &sigma_start, kAny, nullptr},
          {"sigma_low", &sigma_low, kAny, nullptr},
          {"sigma_high", &sigma_high, kAny, nullptr},
          {"average_decay", &average_decay, kShare, nullptr},
          {"decay_from", &decay_from, kShare, nullptr},
          {"prior_components", &prior_components, {0, 1 << 12}, nullptr},
          {"active_divergence", &active_kl, kAny, nullptr}};
}

namespace {

std::unique_ptr<Hyperparameters> preset(bool best) {
  auto c = std::make_unique<TvaeConfig>();
  if (best) c->average_decay = 0.999, c->decay_from = 0.5, c->prior_components = 60;
  return c;
}

constexpr LossSpec kLosses[] = {
    {"reconstruction", "{:.2f}", "minus the log-likelihood of a row, in nats, times the loss factor"},
    {"divergence", "{:.2f}", "KL divergence of q(z | row) from N(0, I), in nats"}};

}  // namespace

const MethodSpec kTvae{.name = "tvae",
                       .integer_levels = 128,
                       .preset = preset,
                       .losses = kLosses,
                       .make_rows = make_tvae,
                       .best_bins = true};

}  // namespace tessera
