// Recurrent layers against the golden vectors: values and all gradients, in double and float, with all passes and with
// none, the padding poisoned.
#include <limits>

#include "methods/golden_step.h"
#include "models/layers/recurrent.h"

namespace tessera {
namespace {

using namespace golden_step;

layers::RecurrentSizes sizes_of(const nlohmann::json& j) {
  const std::string cell = j["cell"];
  return {cell == "lstm"           ? Cell::lstm
          : cell == "reset_before" ? Cell::gru_reset_before
                                   : Cell::gru,
          j["input"], j["hidden"], j["layers"], j.value("forget_bias", 0.0)};
}

// Steps past the end of each sequence become NaN, so that reading them is visible.
std::vector<double> poisoned(const golden::Tensor& t, const std::vector<double>& length, int64_t steps) {
  std::vector<double> v = t.values;
  const int64_t width = t.cols() / steps;
  for (int64_t b = 0; b < t.rows(); ++b)
    for (int64_t k = static_cast<int64_t>(length[static_cast<size_t>(b)]) * width; k < t.cols(); ++k)
      v[static_cast<size_t>(b * t.cols() + k)] = std::numeric_limits<double>::quiet_NaN();
  return v;
}

template <class T>
void check(const golden::Case& c, bool optimized, double tolerance) {
  const auto& j = c.config;
  const int64_t B = j["batch"], steps = j["steps"];
  ParameterSet set{"layers", {}, 0};
  const layers::Recurrent rnn(set, "", sizes_of(j));
  const int64_t H = rnn.sizes.hidden;
  const bool lstm = rnn.sizes.cell == Cell::lstm;

  Plan plan;
  Recorder r(plan);
  r.own(set);
  const Var x = r.input("x", {B, steps * rnn.sizes.in}), length = r.input("length", {B, 1}),
            up = r.input("upstream.y", {B, steps * H});
  std::map<std::string, std::vector<Var>> states;  // by layer: h0, c0 and the gradients given for the last states
  for (const char* name : {"h0", "upstream.h_last", "c0", "upstream.c_last"})
    for (int64_t l = 0; l < rnn.sizes.layers && (lstm || name[0] == 'h' || name[9] == 'h'); ++l)
      states[name].push_back(r.input(std::string(name) + "." + std::to_string(l), {B, H}));
  const layers::RecurrentStates made = rnn(x, length, states["h0"], states["c0"]);
  std::vector<Var> outputs{made.y}, seeds{up}, wrt{x};
  for (size_t l = 0; l < made.h.size(); ++l) {
    outputs.push_back(made.h[l]), seeds.push_back(states["upstream.h_last"][l]), wrt.push_back(states["h0"][l]);
    if (lstm)
      outputs.push_back(made.c[l]), seeds.push_back(states["upstream.c_last"][l]), wrt.push_back(states["c0"][l]);
  }
  for (const Parameter& p : set.parameters) wrt.push_back(r(set, p.name));
  const std::vector<Var> grads = pullback(r, outputs, seeds, wrt);
  r.output(made.y, "y");
  for (size_t l = 0; l < made.h.size(); ++l) {
    r.output(made.h[l], "h_last." + std::to_string(l));
    if (lstm) r.output(made.c[l], "c_last." + std::to_string(l));
  }
  size_t g = 0;
  r.output(grads[g++], "grad.x");
  for (size_t l = 0; l < made.h.size(); ++l) {
    r.output(grads[g++], "grad.h0." + std::to_string(l));
    if (lstm) r.output(grads[g++], "grad.c0." + std::to_string(l));
  }
  for (const Parameter& p : set.parameters) r.output(grads[g++], "grad." + p.name);

  Team team(2);
  const auto p = program<T>(std::move(plan), optimized, team);
  Feeds<T> feeds;
  const std::vector<double>& lengths = c["length"].values;
  p->bind("x", feeds.real("x", poisoned(c["x"], lengths, steps)));
  p->bind("upstream.y", feeds.real("upstream.y", poisoned(c["upstream.y"], lengths, steps)));
  p->bind("length", feeds.real("length", lengths));
  auto layer = [&](const golden::Tensor& t, size_t l) {
    return golden::Tensor{
        t.dtype,
        {B, H},
        {t.values.begin() + static_cast<int64_t>(l) * B * H, t.values.begin() + static_cast<int64_t>(l + 1) * B * H}};
  };
  for (const auto& [name, vars] : states)
    for (size_t l = 0; l < vars.size(); ++l)
      p->bind(name + "." + std::to_string(l), feeds.real(name + "." + std::to_string(l), layer(c[name], l).values));
  auto named = [](const std::string& name) { return name.substr(7); };  // without "layers."
  std::vector<T> flat(static_cast<size_t>(set.size));
  visit_weights(set, [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
    const golden::Tensor& t = c[named(name)];
    ASSERT_EQ(t.shape, shape) << name;
    for (size_t i = 0; i < t.values.size(); ++i)
      flat[static_cast<size_t>(element(static_cast<int64_t>(i)))] = static_cast<T>(t.values[i]);
  });
  p->put("layers", flat.data());
  ASSERT_EQ(p->run(1), 1);

  double steepest = 0;
  for (const auto& [name, t] : c.tensors)
    if (name.rfind("grad.", 0) == 0) steepest = std::max(steepest, largest(t.values));
  auto read = [&](const std::string& name) { return p->template read<T>(p->find(name)); };
  near(read("y"), c["y"], tolerance, 0, c.name + " y");
  near(read("grad.x"), c["grad.x"], tolerance, 1e-3 * steepest, c.name + " grad.x");
  for (const char* name : {"h_last", "c_last", "grad.h0", "grad.c0"})
    for (size_t l = 0; l < made.h.size() && c.has(name); ++l)
      near(read(std::string(name) + "." + std::to_string(l)), layer(c[name], l), tolerance,
           name[0] == 'g' ? 1e-3 * steepest : 0, c.name + " " + name);
  visit_weights(set, [&](const std::string& name, const std::vector<int64_t>&, const auto& element) {
    const std::string own = named(name);
    const std::vector<T> memory = read("grad." + own);
    std::vector<T> grad;
    for (size_t i = 0; i < memory.size(); ++i)
      grad.push_back(memory[static_cast<size_t>(element(static_cast<int64_t>(i)) - set.find(own).offset)]);
    near(grad, c["grad." + own], tolerance, 1e-3 * steepest, c.name + " grad." + own);
  });
}

TEST(Golden, Gru) {
  each_case("gru", [](const golden::Case& c, bool optimized) {
    check<double>(c, optimized, 1e-10);
    check<float>(c, optimized, 1e-5);
  });
}

TEST(Golden, Lstm) {
  each_case("lstm", [](const golden::Case& c, bool optimized) {
    check<double>(c, optimized, 1e-10);
    check<float>(c, optimized, 1e-5);
  });
}

}  // namespace
}  // namespace tessera
