#include "models/config.h"

#include <fmt/format.h>

#include "models/encoding/json_fields.h"

namespace tessera {
namespace {

constexpr int64_t kMostUnits = 1 << 20, kMostLayers = 64;

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

void check(TimeganConfig& c) {
  for (const auto& [n, option] : {std::pair{c.embedding_iterations, "--embedding-iterations"}, {c.supervised_iterations, "--supervised-iterations"}, {c.joint_iterations, "--joint-iterations"}})
    need(n >= 0, fmt::format("{} {}: there are no negative iterations. 0 leaves the phase out.", option, n));
  need(c.learning_rate > 0 && c.learning_rate <= 1, fmt::format("--learning-rate {}: must lie in (0, 1].", c.learning_rate));
  need(c.batch >= 2, fmt::format("--batch-size {}: moments over a batch need at least 2 sequences.", c.batch));
  need(c.hidden >= 1, fmt::format("--hidden-dim {}: at least 1 unit.", c.hidden));
  need(c.layers >= 1, fmt::format("--layers {}: at least 1.", c.layers));
  need(c.gamma >= 0, fmt::format("--gamma {}: must not be negative.", c.gamma));
}

// Where each field of a configuration stands in its document: one list for writing and reading.
template <class C, class F>
void numbers(C& c, F&& f) {
  f("learning_rate", c.learning_rate), f("beta1", c.beta1), f("beta2", c.beta2), f("adam_eps", c.adam_eps);
  f("average_decay", c.average_decay);
  if constexpr (requires { c.decay_from; }) f("weight_decay", c.weight_decay), f("decay_from", c.decay_from);
  if constexpr (requires { c.gamma; }) {
    f("gamma", c.gamma);
  } else if constexpr (requires { c.pac; }) {
    f("penalty_weight", c.penalty_weight), f("leaky_slope", c.leaky_slope), f("dropout", c.dropout), f("tau", c.tau), f("bn_eps", c.bn_eps), f("bn_momentum", c.bn_momentum);
  } else {
    f("loss_factor", c.loss_factor), f("sigma_start", c.sigma_start), f("sigma_low", c.sigma_low), f("sigma_high", c.sigma_high);
    f("active_divergence", c.active_divergence);
  }
}
template <class C, class F>
void counts(C& c, F&& f) {
  constexpr int64_t kMost = int64_t{1} << 30;
  f("batch_size", c.batch, 1, kMost);
  if constexpr (requires { c.gamma; }) {
    f("embedding_iterations", c.embedding_iterations, 0, kMost), f("supervised_iterations", c.supervised_iterations, 0, kMost), f("joint_iterations", c.joint_iterations, 0, kMost);
    f("hidden_dim", c.hidden, 1, kMostUnits), f("layers", c.layers, 1, kMostLayers), f("noise", c.noise, 0, kMostUnits);
    return;
  } else {
    f("epochs", c.epochs, 0, kMost), f("embedding_dim", c.embedding_dim, 1, kMostUnits);
  }
  if constexpr (requires { c.pac; }) f("pac", c.pac, 1, kMost), f("discriminator_steps", c.discriminator_steps, 1, kMost);
  else if constexpr (requires { c.prior_components; }) f("prior_components", c.prior_components, 0, 1 << 12);
}
template <class C, class F>
void widths(C& c, F&& f) {
  if constexpr (requires { c.pac; }) f("generator_dim", c.generator_dim), f("discriminator_dim", c.discriminator_dim);
  else if constexpr (requires { c.encoder_dim; }) f("encoder_dim", c.encoder_dim), f("decoder_dim", c.decoder_dim);
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
  if constexpr (std::is_same_v<C, TimeganConfig>) {
    const std::optional<Cell> cell = cell_of(f.text("cell"));
    f.check(cell.has_value(), "\"cell\" is none that this version knows");
    c.cell = *cell;
    if (f.has("random_start")) c.random_start = f.flag("random_start"), c.least_noise = static_cast<int>(f.integer("least_noise", 0, kMostUnits));  // files of before have neither
  }
  return c;
}

}  // namespace

constexpr const char* kMethods[] = {"ctgan", "tvae", "timegan"};  // as MethodConfig has them
constexpr const char* kCells[] = {"gru", "gru-reset-before", "lstm"};

const char* method_name(const MethodConfig& config) { return kMethods[config.index()]; }
const char* cell_name(Cell cell) { return kCells[static_cast<int>(cell)]; }
std::optional<Cell> cell_of(const std::string& name) {
  for (int i = 0; i < 3; ++i)
    if (name == kCells[i]) return static_cast<Cell>(i);
  return std::nullopt;
}

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
        if constexpr (requires { c.cell; }) json["cell"] = cell_name(c.cell), json["random_start"] = c.random_start, json["least_noise"] = c.least_noise;
        if constexpr (requires { c.population_norm; }) json["population_norm"] = c.population_norm;
      },
      config);
  return json;
}

MethodConfig read_config(const std::string& method, const nlohmann::json& json) {
  if (method == kMethods[2]) return read<TimeganConfig>(json);
  return method == "tvae" ? MethodConfig(read<TvaeConfig>(json)) : MethodConfig(read<CtganConfig>(json));
}

}  // namespace tessera
