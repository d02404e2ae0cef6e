#include "models/config.h"

#include <fmt/format.h>

#include "models/encoding/json_fields.h"

namespace tessera {
namespace {

constexpr int64_t kMostUnits = 1 << 20;

void need(bool ok, const std::string& what) {
  if (!ok) throw Error(ErrorCode::usage, what);
}

void check_widths(const std::vector<int>& widths, const char* option) {
  need(!widths.empty(), fmt::format("{}: at least one layer.", option));
  for (const int w : widths) need(w >= 1, fmt::format("{}: a layer of {} units.", option, w));
}

void check_common(int epochs, double learning_rate) {
  need(epochs >= 0, fmt::format("--epochs {}: there are no negative epochs. 0 prepares an untrained model.", epochs));
  need(learning_rate > 0 && learning_rate <= 1, fmt::format("--learning-rate {}: must lie in (0, 1].", learning_rate));
}

void check(CtganConfig& c) {
  check_common(c.epochs, c.learning_rate);
  need(c.pac >= 1, fmt::format("--pac {}: a critic row packs at least 1 row.", c.pac));
  need(c.batch >= 2, fmt::format("--batch-size {}: batch norm needs at least 2 rows.", c.batch));
  need(c.batch >= c.pac, fmt::format("--batch-size {} is smaller than --pac {}: a batch holds at least one critic row.", c.batch, c.pac));
  need(c.embedding_dim >= 1, fmt::format("--embedding-dim {}: the generator needs noise; at least 1.", c.embedding_dim));
  need(c.discriminator_steps >= 1, fmt::format("--discriminator-steps {}: at least 1.", c.discriminator_steps));
  check_widths(c.generator_dim, "--generator-dim");
  check_widths(c.discriminator_dim, "--discriminator-dim");
  c.batch = c.batch / c.pac * c.pac;
}

void check(TvaeConfig& c) {
  check_common(c.epochs, c.learning_rate);
  need(c.batch >= 2, fmt::format("--batch-size {}: at least 2 rows.", c.batch));
  need(c.embedding_dim >= 1, fmt::format("--embedding-dim {}: at least 1 latent dimension.", c.embedding_dim));
  need(c.loss_factor > 0, fmt::format("--loss-factor {}: must be positive.", c.loss_factor));
  check_widths(c.encoder_dim, "--encoder-dim");
  check_widths(c.decoder_dim, "--decoder-dim");
}

// Where each field of a configuration stands in its document: one list for writing and reading.
template <class C, class F>
void numbers(C& c, F&& f) {
  f("learning_rate", c.learning_rate), f("beta1", c.beta1), f("beta2", c.beta2), f("adam_eps", c.adam_eps), f("weight_decay", c.weight_decay);
  f("average_decay", c.average_decay), f("decay_from", c.decay_from);
  if constexpr (requires { c.pac; }) {
    f("penalty_weight", c.penalty_weight), f("leaky_slope", c.leaky_slope), f("dropout", c.dropout), f("tau", c.tau), f("bn_eps", c.bn_eps), f("bn_momentum", c.bn_momentum);
  } else {
    f("loss_factor", c.loss_factor), f("sigma_start", c.sigma_start), f("sigma_low", c.sigma_low), f("sigma_high", c.sigma_high);
    f("active_divergence", c.active_divergence);
  }
}
template <class C, class F>
void counts(C& c, F&& f) {
  constexpr int64_t kMost = int64_t{1} << 30;
  f("epochs", c.epochs, 0, kMost), f("batch_size", c.batch, 1, kMost), f("embedding_dim", c.embedding_dim, 1, kMostUnits);
  if constexpr (requires { c.pac; }) f("pac", c.pac, 1, kMost), f("discriminator_steps", c.discriminator_steps, 1, kMost);
  else f("prior_components", c.prior_components, 0, 1 << 12);
}
template <class C, class F>
void widths(C& c, F&& f) {
  if constexpr (requires { c.pac; }) f("generator_dim", c.generator_dim), f("discriminator_dim", c.discriminator_dim);
  else f("encoder_dim", c.encoder_dim), f("decoder_dim", c.decoder_dim);
}

template <class C>
C read(const nlohmann::json& json) {
  const Fields f(json, "its configuration");
  C c;
  counts(c, [&](const char* key, int& value, int64_t low, int64_t high) { value = static_cast<int>(f.integer(key, low, high)); });
  numbers(c, [&](const char* key, double& value) { value = f.number(key); });
  widths(c, [&](const char* key, std::vector<int>& value) {
    value.clear();
    for (const auto& w : f.array(key)) {
      f.check(w.is_number_integer() && w >= 1 && w <= kMostUnits, std::string("\"") + key + "\" has a layer that is not 1 … 1048576 wide");
      value.push_back(w.get<int>());
    }
    f.check(!value.empty() && value.size() <= 64, std::string("\"") + key + "\" has no layer or more than 64");
  });
  if constexpr (std::is_same_v<C, CtganConfig>) {
    f.check(c.bn_eps > 0, "\"bn_eps\" is not positive");
    c.population_norm = f.flag("population_norm");
  }
  return c;
}

}  // namespace

const char* method_name(const MethodConfig& config) { return std::holds_alternative<TvaeConfig>(config) ? "tvae" : "ctgan"; }

void check_config(MethodConfig& config) {
  std::visit([](auto& c) { check(c); }, config);
}

nlohmann::json config_json(const MethodConfig& config) {
  nlohmann::json json;
  std::visit(
      [&](const auto& c) {
        counts(c, [&](const char* key, int value, int64_t, int64_t) { json[key] = value; });
        numbers(c, [&](const char* key, double value) { json[key] = value; });
        widths(c, [&](const char* key, const std::vector<int>& value) { json[key] = value; });
        if constexpr (requires { c.population_norm; }) json["population_norm"] = c.population_norm;
      },
      config);
  return json;
}

MethodConfig read_config(const std::string& method, const nlohmann::json& json) { return method == "tvae" ? MethodConfig(read<TvaeConfig>(json)) : MethodConfig(read<CtganConfig>(json)); }

}  // namespace tessera
