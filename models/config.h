// Hyper-parameters of the methods, as presets and callers set them.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "kernels/ops.h"
#include "models/option.h"

namespace tessera {

// CTGAN (Xu et al. 2019, §4.3). Sizes in rows and units; `preset` has already been applied when a field is read.
struct CtganConfig {
  int epochs = 300;  // 0: an untrained model
  int batch = 500;   // rows, drawn with replacement; a multiple of pac
  int pac = 10;      // rows a critic row packs
  int embedding_dim = 128;
  std::vector<int> generator_dim{256, 256};
  std::vector<int> discriminator_dim{256, 256};
  int discriminator_steps = 1;  // critic steps a generator step
  double learning_rate = 2e-4;
  double beta1 = 0.5, beta2 = 0.9, adam_eps = 1e-8, weight_decay = 1e-6;
  double penalty_weight = 10, leaky_slope = 0.2, dropout = 0.5, tau = 0.2;
  double bn_eps = 1e-5, bn_momentum = 0.1;
  // exponential average of the generator's weights, used for sampling; less in runs too short for it; 0: the last
  // weights
  double average_decay = 0;
  double decay_from = 1;  // share of the steps after which the learning rate falls linearly to 0; 1: never
  // batch-norm statistics measured at the end for the weights used, instead of running ones
  bool population_norm = false;
};

// TVAE (Xu et al. 2019, §4.4).
struct TvaeConfig {
  int epochs = 300;         // 0: an untrained model
  int batch = 500;          // rows, drawn with replacement
  int embedding_dim = 128;  // latent dimensions
  std::vector<int> encoder_dim{128, 128};
  std::vector<int> decoder_dim{128, 128};
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, adam_eps = 1e-8, weight_decay = 1e-5;
  double loss_factor = 2;  // weight of the reconstruction loss beside the KL divergence
  // deviation of a number inside its mode: learnt, and kept in these bounds
  double sigma_start = 0.1, sigma_low = 0.01, sigma_high = 1;
  double average_decay = 0, decay_from = 1;  // as CTGAN's, for both networks
  // Gaussians of the prior that sampling uses, fitted to q(z | row) of the training rows; 0: N(0, I)
  int prior_components = 0;
  // mean KL divergence (nats) above which a latent dimension carries something, and is fitted
  double active_kl = 0.01;
};

// TimeGAN (Yoon et al. 2019, as their code has it).
struct TimeganConfig {
  // of each phase; 0: left out
  int embedding_iterations = 10000, supervised_iterations = 10000, joint_iterations = 10000;
  int batch = 128;  // sequences, drawn with replacement
  int hidden = 24;  // units of a recurrent layer
  int layers = 3;   // of every network; the supervisor has one less
  int noise = 0;    // wide at each step; 0: as wide as a step of the data, but at least least_noise
  int least_noise = 0;
  // the generator's first layer begins in a random state instead of 0: what tells sequences apart is there from the
  // first step on
  bool random_start = false;
  Cell cell = Cell::gru;
  double gamma = 1;  // weight of the discriminator's verdict on latent steps before they are supervised
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, adam_eps = 1e-8;
  // exponential average of the networks that sampling uses, over the joint phase; 0: the last weights
  double average_decay = 0;
};
using MethodConfig = std::variant<TvaeConfig, CtganConfig, TimeganConfig>;

// A method as the rest of the program knows it: what is not here is in its own files.
struct MethodInfo {
  const char* name;
  bool sequences;                     // it learns sequences, not rows
  int integer_levels;                 // of preset best: integer columns of at most so many values are categories
  MethodConfig (*config)(bool best);  // of preset best, or of paper
};
const std::vector<MethodInfo>& methods();                // the default first
const MethodInfo& method_info(const std::string& name);  // Error(usage) for an unknown one
const MethodInfo& method_info(const MethodConfig& config);
inline const char* method_name(const MethodConfig& config) { return method_info(config).name; }

// Every option of the configuration's method; they point into it. Options that set several others come first.
std::vector<Option> options(MethodConfig& config);

// Every option within its range, and the options with each other. Error(usage) names the option.
void check_config(const MethodConfig& config);

bool fits_prior(const MethodConfig& config);  // after training
bool trains(const MethodConfig& config);      // false: an untrained model is asked for

nlohmann::json config_json(const MethodConfig& config);
// What config_json() wrote, or somebody else: throws Error(format) for what no configuration holds.
MethodConfig read_config(const MethodInfo& method, const nlohmann::json& json);

}  // namespace tessera
