#include "models/prior/settings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace tessera::prior {
namespace {

template <class T>
void check_range(const char* option, const Between<T>& given, T low, T high) {
  if (given.low >= low && given.low <= given.high && given.high <= high) return;
  throw Error(ErrorCode::usage, fmt::format("{} {}..{}: both ends must be from {} to {}, in ascending order.", option,
                                            given.low, given.high, low, high));
}

template <class T>
nlohmann::json pair(const Between<T>& range) {
  return {range.low, range.high};
}

constexpr const char* kKinds[] = {"mix", "mlp", "tree", "graph"};
constexpr const char* kTasks[] = {"classification", "regression"};
constexpr const char* kSamplings[] = {"normal", "mixed", "uniform"};
constexpr const char* kFunctions[] = {"tanh",      "leaky_relu", "elu",      "identity", "selu",  "silu", "relu",
                                      "softplus",  "relu6",      "hardtanh", "sign",     "gauss", "exp",  "root",
                                      "indicator", "sine",       "square",   "absolute", "random"};

}  // namespace

void check_options(const Options& o) {
  check_range<int64_t>("rows", o.rows, 10, 1'000'000);
  check_range<int64_t>("features", o.features, 1, 10'000);
  if (o.task == Task::classification) check_range<int64_t>("classes", o.classes, 2, 100);
  if (o.imbalance.low != 0 || o.imbalance.high != 0) check_range("imbalance", o.imbalance, 1.0, 1000.0);
  check_range("separability", o.separability, 1.0, 1000.0);
  check_range("missing", o.missing, 0.0, 0.9);
  if (o.task == Task::regression && (o.imbalance.low != 0 || o.separability.high != 1))
    throw Error(ErrorCode::usage, "imbalance and separability need classes. Omit them for the task regression.");
}

Activation activation_of(int entry) { return static_cast<Activation>(std::min(entry, 18)); }

Settings draw_settings(const Options& o, const TableKey& key) {
  Draws d(key, Use::settings);
  Settings s;
  s.kind = o.kind != Kind::mix ? o.kind : d.chance(0.7) ? Kind::mlp : Kind::tree;
  const auto log_rows = [&] {
    return std::exp(d.uniform(std::log(static_cast<double>(o.rows.low)), std::log(static_cast<double>(o.rows.high))));
  };
  s.rows = o.rows.low == o.rows.high ? o.rows.low : static_cast<int64_t>(log_rows());
  s.train_rows = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(s.rows) * d.uniform(0.1, 0.9)));
  s.features = static_cast<int64_t>(
      std::nearbyint(d.uniform(static_cast<double>(o.features.low), static_cast<double>(o.features.high))));
  if (o.task == Task::classification)
    s.classes = s.kind == Kind::graph || d.chance(0.5) ? d.whole(o.classes.low, o.classes.high) : o.classes.low;
  s.causal = d.choice(2) == 0;
  s.y_is_effect = d.choice(2) == 0;
  s.in_clique = d.choice(2) == 0;
  s.sort_features = d.choice(2) == 0;
  s.sampling = static_cast<Settings::Sampling>(d.choice(3));
  s.cause_statistics = d.choice(2) == 0;
  s.noise_by_unit = d.choice(2) == 0;
  s.block_dropout = d.choice(2) == 0;
  s.labels_by_rank = d.choice(2) == 1;
  s.causes = static_cast<int>(d.truncated(1, 12, 1, true));
  s.layers = static_cast<int>(std::min<double>(d.truncated(1, 6, 2, true), kMaxLayers - 2));
  s.hidden = static_cast<int>(d.truncated(5, 130, 4, true));
  s.init_deviation = d.truncated(0.01, 10, 0, false);
  s.noise_deviation = d.truncated(1e-4, 0.3, 0, false);
  const double a = d.uniform(0.1, 5), b = d.uniform(0.1, 5);
  s.dropout = 0.9 * d.beta(a, b);
  const std::vector<double> weights = d.softmax(2 * kActivations, -5, 6);
  for (int32_t& entry : s.activations) {  // of two entries each, the second half is uniform over the first
    entry = d.pick(weights);
    if (entry >= kActivations) entry = static_cast<int32_t>(d.whole(0, kActivations - 1));
  }
  s.imbalance = o.imbalance.low == 0 ? 0 : d.uniform(o.imbalance.low, o.imbalance.high);
  s.separability = d.uniform(o.separability.low, o.separability.high);
  s.missing = Draws(key, Use::missing).uniform(o.missing.low, o.missing.high);
  if (s.kind == Kind::tree) {
    s.causal = false;
    s.layers = static_cast<int>(d.whole(1, 2));
    s.hidden = static_cast<int>(d.whole(3, 9));
  }
  if (s.causal) s.hidden = std::max(s.hidden, static_cast<int>(1 + 2 * s.features));
  else s.causes = static_cast<int>(s.features);
  return s;
}

nlohmann::json to_json(const Options& o) {
  nlohmann::json out{{"seed", o.seed},
                     {"prior_type", std::string(kKinds[static_cast<int>(o.kind)]) + "_scm"},
                     {"task", kTasks[static_cast<int>(o.task)]},
                     {"rows", pair(o.rows)},
                     {"features", pair(o.features)},
                     {"min_features", o.features.low},
                     {"max_features", o.features.high},
                     {"max_classes", o.task == Task::classification ? o.classes.high : 0},
                     {"max_seq_len", o.rows.high},
                     {"seq_len_per_gp", false}};
  if (o.task == Task::classification) out["classes"] = pair(o.classes);
  if (o.imbalance.low != 0) out["imbalance"] = pair(o.imbalance);
  if (o.separability.high != 1) out["separability"] = pair(o.separability);
  if (o.missing.high != 0) out["missing"] = pair(o.missing);
  return out;
}

nlohmann::json to_json(const Settings& s) {
  nlohmann::json out{{"kind", kKinds[static_cast<int>(s.kind)]}};
  if (s.classes > 0) out["classes_asked"] = s.classes;
  if (s.imbalance > 0) out["imbalance_asked"] = s.imbalance;
  if (s.separability != 1) out["separability"] = s.separability;
  if (s.missing > 0) out["missing_share"] = s.missing;
  if (s.kind == Kind::graph) {
    out["n_nodes"] = s.nodes, out["n_edges"] = s.edges, out["categorical_features"] = s.categorical;
    return out;
  }
  out.update({{"is_causal", s.causal},
              {"sampling", kSamplings[s.sampling]},
              {"pre_sample_cause_stats", s.cause_statistics},
              {"pre_sample_noise_std", s.noise_by_unit},
              {"num_causes", s.causes},
              {"num_layers", s.layers},
              {"hidden_dim", s.hidden},
              {"noise_std", s.noise_deviation}});
  if (s.classes > 0 && s.imbalance == 0) out["multiclass_type"] = s.labels_by_rank ? "rank" : "value";
  if (s.kind == Kind::tree) return out;
  out["init_std"] = s.init_deviation;
  out["block_wise_dropout"] = s.block_dropout;
  out["mlp_dropout_prob"] = s.dropout;
  if (s.causal)
    out["y_is_effect"] = s.y_is_effect, out["in_clique"] = s.in_clique, out["sort_features"] = s.sort_features;
  for (int l = 0; l < s.layers - 1 + (s.causal ? 0 : 1); ++l)
    out["activations"].push_back(kFunctions[static_cast<int>(activation_of(s.activations[static_cast<size_t>(l)]))]);
  return out;
}

}  // namespace tessera::prior
