#pragma once
#include "models/method/config.h"

namespace tessera {

// CTGAN (Xu et al. 2019, §4.3). Sizes in rows and units. Presets are applied before a field is read.
struct CtganConfig : Hyperparameters {
  int epochs = 300;  // 0: an untrained model
  int batch = 500;   // rows, drawn with replacement; a multiple of pac
  int pac = 10;      // rows packed into a critic row
  int embedding_dim = 128;
  std::vector<int> generator_dim{256, 256};
  std::vector<int> discriminator_dim{256, 256};
  int discriminator_steps = 1;  // critic steps per generator step
  double learning_rate = 2e-4;
  double beta1 = 0.5, beta2 = 0.9, adam_eps = 1e-8, weight_decay = 1e-6;
  double penalty_weight = 10, leaky_slope = 0.2, dropout = 0.5, tau = 0.2;
  double bn_eps = 1e-5, bn_momentum = 0.1;
  // exponential average of the generator's weights, used for sampling; lower in short runs; 0: the last weights
  double average_decay = 0;
  double decay_from = 1;  // share of the steps after which the learning rate falls linearly to 0; 1: constant
  // batch-norm statistics measured at the end for the weights used in sampling, instead of running ones
  bool population_norm = false;

  std::unique_ptr<Hyperparameters> copy() const override { return std::make_unique<CtganConfig>(*this); }
  std::vector<Option> options() override;
  void check() const override;
  bool trains() const override { return epochs > 0; }
};

extern const MethodSpec kCtgan;

}  // namespace tessera
