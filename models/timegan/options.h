#pragma once
#include "models/method/config.h"

namespace tessera {

constexpr int kDeepLayers = 3;  // recurrent layers of the authors' networks

// TimeGAN (Yoon et al. 2019, as their code has it).
struct TimeganConfig : Hyperparameters {
  // of each phase; 0: skipped
  int embedding_iterations = 10000, supervised_iterations = 10000, joint_iterations = 10000;
  int batch = 128;  // sequences, drawn with replacement
  int hidden = 24;  // units of a recurrent layer
  // recurrent layers of every network, one less in the supervisor; 0: one if sequences have attributes, else three.
  // Attributes enter the generator's first layer and hardly pass through three layers in each following network.
  int layers = kDeepLayers;
  int noise = 0;  // numbers per step; 0: as many as a step of the data, but at least min_noise
  int min_noise = 0;
  // the generator's first layer begins in a random state instead of 0: sequences differ from the first step on
  bool random_start = false;
  // If sequences have attributes: the weight, relative to the moments, of the correlations of steps with attributes and
  // with earlier steps; 0: the authors' losses.
  double correlations = 0;
  Cell cell = Cell::gru;
  double gamma = 1;  // weight of the adversarial loss on latent steps before the supervisor
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, adam_eps = 1e-8;
  // exponential average of the networks that sampling uses, over the joint phase; 0: the last weights
  double average_decay = 0;

  int64_t iterations() const { return int64_t{embedding_iterations} + supervised_iterations + joint_iterations; }

  std::unique_ptr<Hyperparameters> copy() const override { return std::make_unique<TimeganConfig>(*this); }
  std::vector<Option> options() override;
  bool trains() const override { return iterations() > 0; }
};

extern const MethodSpec kTimegan;

}  // namespace tessera
