// Options of random tables, and the hyper-parameters drawn for each table with the distributions that TabICL publishes
// (Qu et al., TabICL, 2025), every table a group of its own.
#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "kernels/array_kernels.h"
#include "models/prior/draws.h"

namespace tessera::prior {

enum class Kind { mix, mlp, tree, graph };  // mix: a perceptron with probability 0.7, else trees
enum class Task { classification, regression };

template <class T>
struct Between {
  T low, high;
};

struct Options {
  uint64_t seed = 0;
  Between<int64_t> rows{1024, 1024}, features{2, 100}, classes{2, 10};
  Kind kind = Kind::mix;
  Task task = Task::classification;
  Between<double> imbalance{0, 0};     // largest class to smallest; 0: classes of random sizes
  Between<double> separability{1, 1};  // 1: features unchanged
  Between<double> missing{0, 0};       // share of the cells of features
};
// Throws Error(usage) that names the option.
void check_options(const Options& options);

constexpr int kActivations = 28;  // 18 functions and ten times Activation::random
Activation activation_of(int entry);

struct Settings {
  Kind kind = Kind::mlp;
  int64_t rows = 0, train_rows = 0, features = 0, classes = 0;  // classes: 0 for regression
  bool causal = false, y_is_effect = false, in_clique = false, sort_features = false;
  enum Sampling { normal, mixed, uniform } sampling = normal;
  bool cause_statistics = false, noise_by_unit = false, block_dropout = false, labels_by_rank = false;
  int causes = 0, layers = 0, hidden = 0;
  double init_deviation = 0, noise_deviation = 0, dropout = 0;
  double imbalance = 0, separability = 1, missing = 0;
  int nodes = 0, edges = 0, categorical = 0;      // of a graph: draw_graph() sets them
  std::array<int32_t, kMaxLayers> activations{};  // of the blocks of a perceptron, entries of activation_of()
};
Settings draw_settings(const Options& options, const TableKey& key);

nlohmann::json to_json(const Options& options);
nlohmann::json to_json(const Settings& settings);

}  // namespace tessera::prior
