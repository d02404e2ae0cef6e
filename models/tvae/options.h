#pragma once
#include "models/method/config.h"

namespace tessera {

// TVAE (Xu et al. 2019, §4.4).
struct TvaeConfig : Hyperparameters {
  int epochs = 300;         // 0: an untrained model
  int batch = 500;          // rows, drawn with replacement
  int embedding_dim = 128;  // latent dimensions
  std::vector<int> encoder_dim{128, 128};
  std::vector<int> decoder_dim{128, 128};
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, adam_eps = 1e-8, weight_decay = 1e-5;
  double loss_factor = 2;  // weight of the reconstruction loss relative to the KL divergence
  // deviation of a number inside its mode: learned, and clamped to these bounds
  double sigma_start = 0.1, sigma_low = 0.01, sigma_high = 1;
  // exponential average of both networks' weights, used for sampling, and the share of the steps after which the
  // learning rate falls linearly to 0
  double average_decay = 0, decay_from = 1;
  // Gaussians of the prior that sampling uses, fitted to q(z | row) of the training rows; 0: N(0, I)
  int prior_components = 0;
  // mean KL divergence (nats) above which a latent dimension is informative, and is fitted
  double active_kl = 0.01;

  std::unique_ptr<Hyperparameters> copy() const override { return std::make_unique<TvaeConfig>(*this); }
  std::vector<Option> options() override;
  bool trains() const override { return epochs > 0; }
  bool fits_prior() const override { return prior_components > 0; }
};

extern const MethodSpec kTvae;

}  // namespace tessera
