#include "models/config.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/text/json_fields.h"

namespace tessera {
namespace {

constexpr Range kEpochs{0, 1 << 30}, kBatch{2, 1 << 24}, kUnits{1, kMostWidth}, kRate{0, 1, true},
    kPositive{0, 1e6, true}, kShare{0, 1}, kAny{-kUnbounded, kUnbounded}, kAbove0{0, kUnbounded, true};
constexpr const char* kEpochsHelp = "passes over the table; 0 writes an untrained model";

// ctgan ---------------------------------------------------------------------------------------------------------------

std::vector<Option> list(CtganConfig& c) {
  return {{"epochs", &c.epochs, kEpochs, kEpochsHelp},
          {"batch_size", &c.batch, kBatch, "rows of a step, a multiple of pac"},
          {"learning_rate", &c.learning_rate, kRate, "of both networks"},
          {"embedding_dim", &c.embedding_dim, kUnits, "length of the noise"},
          {"pac", &c.pac, {1, 1 << 16}, "rows the critic sees at once"},
          {"generator_dim", &c.generator_dim, kUnits, "widths of the generator's hidden layers"},
          {"discriminator_dim", &c.discriminator_dim, kUnits, "widths of the critic's hidden layers"},
          {"discriminator_steps", &c.discriminator_steps, {1, 1000}, "critic steps per generator step"},
          {"beta1", &c.beta1, kShare, nullptr},
          {"beta2", &c.beta2, kShare, nullptr},
          {"adam_eps", &c.adam_eps, kAny, nullptr},
          {"weight_decay", &c.weight_decay, kAny, nullptr},
          {"penalty_weight", &c.penalty_weight, kAny, nullptr},
          {"leaky_slope", &c.leaky_slope, kAny, nullptr},
          {"dropout", &c.dropout, kShare, nullptr},
          {"tau", &c.tau, kAny, nullptr},
          {"bn_eps", &c.bn_eps, kAbove0, nullptr},
          {"bn_momentum", &c.bn_momentum, kAny, nullptr},
          {"average_decay", &c.average_decay, kShare, nullptr},
          {"decay_from", &c.decay_from, kShare, nullptr},
          {"population_norm", &c.population_norm, kAny, nullptr}};
}

MethodConfig ctgan(bool best) {
  CtganConfig c;
  if (best) c.average_decay = 0.999, c.decay_from = 0.5, c.population_norm = true;
  return c;
}

void check(const CtganConfig& c) {
  if (c.batch % c.pac == 0) return;
  const int below = c.batch / c.pac * c.pac, above = below + c.pac;
  throw Error(ErrorCode::usage, fmt::format("--batch-size {} is not a multiple of --pac {}. {}{} is.", c.batch, c.pac,
                                            below > 0 ? fmt::format("{} or ", below) : "", above));
}

// tvae ----------------------------------------------------------------------------------------------------------------

std::vector<Option> list(TvaeConfig& c) {
  return {{"epochs", &c.epochs, kEpochs, kEpochsHelp},
          {"batch_size", &c.batch, kBatch, "rows of a step"},
          {"learning_rate", &c.learning_rate, kRate, "of both networks"},
          {"embedding_dim", &c.embedding_dim, kUnits, "latent dimensions"},
          {"encoder_dim", &c.encoder_dim, kUnits, "widths of the encoder's hidden layers"},
          {"decoder_dim", &c.decoder_dim, kUnits, "widths of the decoder's hidden layers"},
          {"loss_factor", &c.loss_factor, kPositive, "weight of the reconstruction loss beside the KL divergence"},
          {"beta1", &c.beta1, kShare, nullptr},
          {"beta2", &c.beta2, kShare, nullptr},
          {"adam_eps", &c.adam_eps, kAny, nullptr},
          {"weight_decay", &c.weight_decay, kAny, nullptr},
          {"sigma_start", &c.sigma_start, kAny, nullptr},
          {"sigma_low", &c.sigma_low, kAny, nullptr},
          {"sigma_high", &c.sigma_high, kAny, nullptr},
          {"average_decay", &c.average_decay, kShare, nullptr},
          {"decay_from", &c.decay_from, kShare, nullptr},
          {"prior_components", &c.prior_components, {0, 1 << 12}, nullptr},
          {"active_divergence", &c.active_kl, kAny, nullptr}};
}

MethodConfig tvae(bool best) {
  TvaeConfig c;
  if (best) c.average_decay = 0.999, c.decay_from = 0.5, c.prior_components = 60;
  return c;
}

void check(const TvaeConfig&) {}

// timegan -------------------------------------------------------------------------------------------------------------

std::vector<Option> list(TimeganConfig& c) {
  constexpr Range kIterations{0, 1 << 30};
  return {{"iterations", std::vector{&c.embedding_iterations, &c.supervised_iterations, &c.joint_iterations},
           kIterations, "steps of each of the three phases; 0 writes an untrained model"},
          {"embedding_iterations", &c.embedding_iterations, kIterations, "steps of the first phase"},
          {"supervised_iterations", &c.supervised_iterations, kIterations, "steps of the second phase"},
          {"joint_iterations", &c.joint_iterations, kIterations, "steps of the third phase"},
          {"batch_size", &c.batch, kBatch, "sequences of a step"},
          {"learning_rate", &c.learning_rate, kRate, "of all networks"},
          {"hidden_dim", &c.hidden, {1, 4096}, "units of a recurrent layer; 4 times the features serves wide tables"},
          {"layers", &c.layers, {1, kMostLayers}, "recurrent layers of a network"},
          {"cell", &c.cell, kAny, "recurrent cell; gru-reset-before is the published one"},
          {"gamma", &c.gamma, kPositive, "weight of the adversarial loss on latent steps before the supervisor"},
          {"beta1", &c.beta1, kShare, nullptr},
          {"beta2", &c.beta2, kShare, nullptr},
          {"adam_eps", &c.adam_eps, kAny, nullptr},
          {"average_decay", &c.average_decay, kShare, nullptr},
          {"noise", &c.noise, {0, 1 << 20}, nullptr},
          {"least_noise", &c.least_noise, {0, 1 << 20}, nullptr, true},
          {"random_start", &c.random_start, kAny, nullptr, true}};
}

MethodConfig timegan(bool best) {
  TimeganConfig c;
  if (best) c.average_decay = 0.999, c.random_start = true, c.least_noise = 24;
  else c.cell = Cell::gru_reset_before, c.embedding_iterations = c.supervised_iterations = c.joint_iterations = 50000;
  return c;
}

void check(const TimeganConfig&) {}

}  // namespace

const std::vector<MethodInfo>& methods() {
  // as MethodConfig has them
  static const std::vector<MethodInfo> all{
      {"tvae", false, 128, tvae}, {"ctgan", false, 16, ctgan}, {"timegan", true, 16, timegan}};
  return all;
}
const MethodInfo& method_info(const MethodConfig& config) { return methods()[config.index()]; }
const MethodInfo& method_info(const std::string& name) {
  std::string names;
  for (const MethodInfo& m : methods()) {
    if (name == m.name) return m;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", m.name);
  }
  throw Error(ErrorCode::usage, fmt::format("--method {}: there are {}.", name, names));
}

std::vector<Option> options(MethodConfig& config) {
  return std::visit([](auto& c) { return list(c); }, config);
}

void check_config(const MethodConfig& config) {
  MethodConfig copy = config;
  for (const Option& o : options(copy)) o.check();
  std::visit([](const auto& c) { check(c); }, config);
}

bool fits_prior(const MethodConfig& config) {
  const auto* c = std::get_if<TvaeConfig>(&config);
  return c != nullptr && c->prior_components > 0;
}

bool trains(const MethodConfig& config) {
  if (const auto* c = std::get_if<TimeganConfig>(&config))
    return c->embedding_iterations > 0 || c->supervised_iterations > 0 || c->joint_iterations > 0;
  if (const auto* c = std::get_if<CtganConfig>(&config)) return c->epochs > 0;
  return std::get<TvaeConfig>(config).epochs > 0;
}

nlohmann::json config_json(const MethodConfig& config) {
  nlohmann::json json;
  MethodConfig copy = config;
  for (const Option& o : options(copy))
    if (!o.is_group()) json[o.key] = o.json();
  return json;
}

MethodConfig read_config(const MethodInfo& method, const nlohmann::json& json) {
  MethodConfig config = method.config(false);
  const Fields f(json, "its configuration");
  for (const Option& o : options(config)) o.read(f);
  return config;
}

}  // namespace tessera
