// Recording: a Var is a value of a plan under construction, and the functions here append ops to the plan. Models
// describe their steps with them.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "kernels/math/philox.h"

namespace tessera {

class Recorder;

struct Var {
  Recorder* r = nullptr;
  Id id = kNone;
  explicit operator bool() const { return id != kNone; }
  Shape shape() const;
  int64_t rows() const { return shape().rows; }
  int64_t cols() const { return shape().cols; }
};

// Initial values of a weight's elements: a uniform draw from center ± spread.
struct Start {
  double center = 0, spread = 0;
  int64_t columns = 0;  // of the weight, from the left; for its last Start: the remaining ones
};

// A named weight [rows, cols] inside a flat set.
struct Parameter {
  std::string name;
  Shape shape;
  int64_t offset = 0;
  std::vector<Start> start{};  // none: 0
};

// A parameter and the name of the set that owns it: how a layer refers to its weights.
struct Weight {
  std::string set;
  Parameter parameter;
};

// The weights one optimizer owns, in one flat state [1, size].
struct ParameterSet {
  std::string name;
  std::vector<Parameter> parameters;
  int64_t size = 0;
  Weight add(const std::string& parameter, Shape shape, const std::vector<Start>& start = {});
  const Parameter& find(const std::string& parameter) const;
};

struct AdamOptions {
  Adam::Form form = Adam::torch;
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  int64_t updates = 1, index = 0, decay_from = 0, decay_steps = 0;
};

// Condition of an update: a [1, 1] value of the step is above a bound, decided within the step.
struct Gate {
  Var value;
  double above = 0;
};

class Recorder {
 public:
  // Random tensors whose name is in `bound` become bound leaves, so that tests can supply them.
  explicit Recorder(Plan& p, std::set<std::string> bound = {}) : plan(p), bound_(std::move(bound)) {}
  Plan& plan;
  bool share = false;  // reuse equal ops (passes do; recording does not)

  std::vector<Var> emit(const Op& op, const std::vector<Var>& in);
  Var emit1(const Op& op, const std::vector<Var>& in) { return emit(op, in)[0]; }
  Var var(Id id) { return {this, id}; }

  Var state(const std::string& name, Shape shape, DType dtype = DType::real);
  Var input(const std::string& name, Shape shape, DType dtype = DType::real);
  Var name(Var v, const std::string& name);
  void output(Var v, const std::string& name);

  // Random tensors. start_purposes() separates the streams of different plans of one seed.
  Var uniform(const std::string& name, Shape shape) { return random(name, Random::uniform, shape, 0); }
  Var normal(const std::string& name, Shape shape) { return random(name, Random::normal, shape, 0); }
  Var bernoulli(const std::string& name, Shape shape, double keep) {
    return random(name, Random::bernoulli, shape, keep);
  }
  int next_purpose();
  Var add_noise(Var x, double scale);  // scale·(the sum of two normal numbers) is added to each element
  void start_purposes(Purpose purpose) {
    purpose_ = static_cast<int>(purpose), end_purpose_ = static_cast<int>(end_of(purpose));
  }
  Var rows;  // identities [n, 3] of the rows, if not (index in the batch, step)

  // Weights: the current version of a set's parameters; minimize() makes a new version.
  void own(const ParameterSet& set);
  Var operator()(const Weight& weight);
  Var operator()(const ParameterSet& set, const std::string& parameter) {
    return (*this)({set.name, set.find(parameter)});
  }
  Var flat(const ParameterSet& set);
  // Gradients of `loss` [1, 1] for every parameter of the sets, then Adam on each, as part of the plan. States of a
  // set: "<set>", "<set>.m", "<set>.v".
  // With a gate, the state "<first set>.done" counts the updates that were made.
  void minimize(Var loss, const std::vector<const ParameterSet*>& sets, const AdamOptions& adam, const Gate& gate = {});
  void minimize(Var loss, const ParameterSet& set, const AdamOptions& adam) { minimize(loss, std::vector{&set}, adam); }
  // in the order of sets and their parameters
  std::vector<Var> gradients(Var loss, const std::vector<const ParameterSet*>& sets);
  std::vector<Var> gradients(Var loss, const ParameterSet& set) { return gradients(loss, std::vector{&set}); }

  void advance(Var from, Var to);  // `to` is the new version of the state `from`
  Var current(const std::string& state);

 private:
  Var random(const std::string& name, Random::Kind kind, Shape shape, double keep);
  std::set<std::string> bound_;
  int purpose_ = static_cast<int>(Purpose::step), end_purpose_ = static_cast<int>(end_of(Purpose::step));
  std::map<std::string, Id> current_;
};

// d outputs·seeds / d wrt, as ops. Entries are empty if the outputs do not depend on them.
std::vector<Var> pullback(Recorder& r, const std::vector<Var>& outputs, const std::vector<Var>& seeds,
                          const std::vector<Var>& wrt);

// ---- the vocabulary -----------------------------------------------------------------------------
Var matmul(Var a, Var b, bool trans_a = false, bool trans_b = false);
// A product with a weight that is nonzero in blocks only; the forward form may have an addend.
Var block_matmul(BlockMatmul::Form form, const BlockTable* blocks, Var x, Var y, Var addend = {});
Var operator+(Var x, Var y);  // y may be [r, c], [1, c], [r, 1] or [1, 1]; x too, then the operands are swapped
Var operator-(Var x, Var y);
Var operator*(Var x, Var y);
Var operator/(Var x, Var y);
Var operator*(double a, Var x);
Var operator+(Var x, double b);
Var operator-(double a, Var x);
Var clamp(Var x, double low, double high);
Var step(Var x, double otherwise = 0);  // x > 0 ? 1 : otherwise
Var exp(Var x);
Var log(Var x);
Var tanh(Var x);
Var sigmoid(Var x);
Var silu(Var x);
Var silu_slope(Var x, Var y);     // x·silu′(y)
Var sigmoid_slope(Var x, Var y);  // x·y·(1 − y): y is a sigmoid
Var tanh_slope(Var x, Var y);     // x·(1 − y²): y is a tanh
Var softplus(Var x);
Var sqrt(Var x);   // derivative 0 at 0
Var rsqrt(Var x);  // 0 at 0
Var leaky_relu(Var x, double slope);
Var relu(Var x);
Var gate(Var x, Var y, double slope);  // y > 0 ? x : slope·x
Var square(Var x);
Var lerp_rows(Var a, Var x, Var y);
Var broadcast(Var x, Shape shape);
Var fill(Recorder& r, Shape shape, double value);
Var sum_rows(Var x, double scale = 1);
Var sum_cols(Var x, double scale = 1);
Var sum(Var x);
Var mean(Var x);
Var row_dot(Var x, Var y);
Var reshape(Var x, Shape shape);
Var slice_rows(Var x, int64_t start, int64_t rows);
Var slice_cols(Var x, int64_t start, int64_t cols);
Var concat_rows(const std::vector<Var>& x);
Var concat_cols(const std::vector<Var>& x);
Var sum_to(Var x, Shape shape);  // the transpose of broadcasting
Var sparse_dense(Var index, Var value, int64_t width, int64_t per);

// One Adam update of each set from gradients in the order of sets and their parameters; `changed` replaces the flat
// gradient [1, size] of a set. `waits`: further inputs of Adam (kernels/ops.h), of which the gate must exceed `above`.
void update(Recorder& r, const std::vector<Var>& gradients, const std::vector<const ParameterSet*>& sets,
            const AdamOptions& adam, const std::vector<Var>& waits = {}, double above = 0,
            const std::function<Var(Var flat, const ParameterSet& set)>& changed = {});

struct Normalized {
  Var y, mean, var;
};
Normalized batch_norm(Var x, Var gamma, Var beta, double eps);

}  // namespace tessera
