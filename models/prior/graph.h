// The graph models of TabICL's second prior (Qu, Holzmüller, Varoquaux, Le Morvan: TabICLv2, 2026, section 5 and its
// appendix): a random graph whose nodes are matrices [units][rows], each a random function of its parents. Laws are
// those with which TabICLv2 was trained.
#pragma once
#include <array>

#include "models/prior/scm.h"

namespace tessera::prior {

// Numbers of one name are alike within a table: a name draws l ~ U(0, 1) and s ~ log-U(0.1, 10⁴) once, and its numbers
// are Beta(l·s, (1 − l)·s), stretched to their range.
enum class Scalar : int {
  nodes,
  feature_nodes,
  units,
  node_scale,
  category_limit,
  categories,
  warp_a,
  warp_b,
  power,
  softmax_factor,
  layer_units,
  layers,
  trees,
  depth,
  centers,
  decay,
  kernel_scale,
  clusters,
  cluster_spread,
  cluster_power,
  cluster_bend,
  weight_decay,
  weight_noise,
  matrix_distance,
  mixture_centers,
  relu_exponent,
  power_exponent,
  negative_exponent,
  whole_exponent,
  activation_scale,
  count
};

// What the functions of one table share: its random numbers and a thread's scratch.
class GraphDraws {
 public:
  GraphDraws(const TableKey& key, Work& work) : d(key, Use::structure), work_(work), key_(key) {}

  // From low to high; `log`: log-uniform at equal shape. `to_ends`: a twelfth of the probability at each end.
  double number(Scalar name, double low, double high, bool log, bool to_ends = false);
  // low, …, end − 1
  int64_t whole(Scalar name, int64_t low, int64_t end, bool log);
  int choice(int count) { return static_cast<int>(d.whole(0, count - 1)); }

  // n numbers that nothing else of the table uses.
  void fill(Random::Kind kind, float* out, int64_t n) { fill(kind, out, 1, n, n); }
  void fill(Random::Kind kind, float* out, int64_t columns, int64_t n, int64_t stride);
  std::vector<float> normals(int64_t n);

  // to [outputs] = matrix [outputs][inputs] · from [inputs]
  void multiply(const float* matrix, const Columns& from, int64_t outputs, Columns& to);

  Draws d;

 private:
  struct Shape {
    double a = 0, b = 0;  // of the Beta law; 0: not drawn yet
  };
  std::array<Shape, static_cast<size_t>(Scalar::count)> shapes_;
  Work& work_;
  TableKey key_;
  int64_t next_ = 0;
};

// ---- random vectors and matrices (models/prior/matrices.cpp) -------------------------------------------------
// n weights ≥ 0 whose squares sum to n: powers of their rank times log-normal noise, in random order.
std::vector<float> random_weights(GraphDraws& g, int64_t n);
// `count` matrices [rows][columns], one after the other, of one of five kinds; the rows have length 1.
std::vector<float> random_matrices(GraphDraws& g, int64_t count, int64_t rows, int64_t columns);
// [units][rows]: uniform in a cube or ball, normal, or correlated.
Columns base_points(GraphDraws& g, int64_t units, int64_t rows);

// ---- functions of units (models/prior/functions.cpp) ---------------------------------------------------------
// Standardizes every unit (divisor n, deviation + 10⁻⁴).
void standardize(Columns& x);
// One of the activations, between two standardizations.
void random_activation(GraphDraws& g, Columns& x);
// An activation as it is, of one vector: what random matrices pass through.
void plain_activation(GraphDraws& g, std::vector<float>& x);
// One of eight functions of `x`: perceptron, trees, nearest center, linear, quadratic, Gaussian process, soft
// clusters, product of two.
Columns random_function(GraphDraws& g, const Columns& x, int64_t outputs);
// One of those that call no other function: what products and categories take.
Columns simple_function(GraphDraws& g, const Columns& x, int64_t outputs);
// A function of several parents: of all their units, or the sum, product, maximum or log-sum-exp of one a parent.
Columns function_of_parents(GraphDraws& g, const std::vector<const Columns*>& parents, int64_t outputs);
// |x|^p of n numbers; to may be x.
void powers(const float* x, int64_t n, float p, float* to);
// A function of base points: what a node without parents holds.
Columns random_points(GraphDraws& g, int64_t units, int64_t rows);
// x of these rows, by their numbers.
Columns rows_of(const Columns& x, const std::vector<int32_t>& rows);
// The row of `x` nearest to each row, among rows `centers` of x, by Σ|·|^p.
std::vector<int32_t> nearest_centers(const Columns& x, const std::vector<int32_t>& centers, double p);

// ---- graphs (models/prior/graph.cpp) -------------------------------------------------------------------------
// parents[j]: nodes i < j, each with probability σ(A + B_j + C_i), all three standard Cauchy.
std::vector<std::vector<int>> random_graph(Draws& d, int nodes);
// Whether a node that holds x and one that holds y have a common ancestor, or are one.
bool related(const std::vector<std::vector<int>>& parents, const std::vector<int>& x_nodes, int y_node);

// Into work.x and work.y; sets what `settings` tells of the graph. With classes and without an imbalance, y holds
// classes.
void draw_graph(Settings& settings, const TableKey& key, Work& work);

// ---- filter (models/prior/predictable.cpp) -------------------------------------------------------------------
// Whether 25 extremely randomized trees of depth 6 predict y better than its mean does, on rows that they have not seen
// (in fewer than 5 % of 200 bootstrap samples they do not).
bool predictable(const Columns& x, const std::vector<float>& y, int64_t classes, Draws& d);

}  // namespace tessera::prior
