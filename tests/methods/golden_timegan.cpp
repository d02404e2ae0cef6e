// TimeGAN's networks, losses and the gradients of its five objectives against the golden vectors: the production
// recording, in double and float, with all passes and with none, the padding of the inputs poisoned where it is not
// read.
#include <limits>

#include "methods/golden_step.h"
#include "models/timegan/network.h"

namespace tessera {
namespace {

using namespace golden_step;

TimeganConfig config_of(const nlohmann::json& j) {
  TimeganConfig c;
  c.batch = j["batch"];
  c.hidden = j["hidden"];
  c.layers = j["layers"];
  c.noise = j["noise"];
  const std::string cell = j["cell"];
  c.cell = cell == "lstm" ? Cell::lstm : cell == "reset_before" ? Cell::gru_reset_before : Cell::gru;
  c.gamma = j["gamma"];
  return c;
}

template <class T>
void check(const golden::Case& c, const std::string& phase, bool optimized, double tolerance) {
  const auto& j = c.config;
  const Timegan m(j["features"], 0, j["steps"], config_of(j));
  ASSERT_EQ(m.supervisor.rnn.sizes.layers, j["supervisor_layers"].get<int64_t>());
  const int64_t B = m.config.batch;
  Plan plan;
  Recorder r(plan);
  for (const SequenceNetwork* n : m.all) r.own(n->weights);
  const SequenceBatch b{
      r.input("X", {B, m.steps * m.features}), r.input("length", {B, 1}), r.input("valid", {B, m.steps}), {}};
  const Var hidden = m.embedder(b.x, b), recovered = m.recovery(hidden, b);
  const JointOutputs made = make(m, b, hidden, {r.input("Z", {B, m.steps * m.noise}), {}});
  const EmbeddingLoss e = embedding_loss(r, m, b, recovered);
  const SequenceGeneratorLoss g = generator_loss(r, m, b, made);
  const Var real = m.discriminator(hidden, b);
  const SequenceDiscriminatorLoss d = discriminator_loss(r, m, b, real, made.logits, made.logits_e);
  const Var joint = e.loss + 0.1 * g.supervised;
  const std::map<std::string, Var> values{
      {"H", hidden},         {"X_tilde", recovered},  {"H_supervised", made.supervised},
      {"E_hat", made.e_hat}, {"H_hat", made.h_hat},   {"X_hat", made.x},
      {"Y_real", real},      {"Y_fake", made.logits}, {"Y_fake_e", made.logits_e}};
  const std::map<std::string, Var> losses{{"R0", e.error},          {"E_loss0", e.loss},    {"S", g.supervised},
                                          {"E_loss", joint},        {"U", g.unsupervised},  {"U_e", g.unsupervised_e},
                                          {"V1", g.moments.stddev}, {"V2", g.moments.mean}, {"V", g.moments.sum},
                                          {"G_loss", g.loss},       {"D_real", d.real},     {"D_fake", d.fake},
                                          {"D_fake_e", d.fake_e},   {"D_loss", d.loss}};
  std::vector<const ParameterSet*> trained;
  for (const auto& name : j["phases"][phase]["networks"])
    for (const SequenceNetwork* n : m.all)
      if (n->weights.name == name.get<std::string>()) trained.push_back(&n->weights);
  r.gradients(losses.at(j["phases"][phase]["objective"]), trained);
  for (const auto& [name, v] : values) r.output(1.0 * v, name);
  for (const auto& [name, v] : losses) r.output(1.0 * v, name);

  Team team(2);
  const auto p = program<T>(std::move(plan), optimized, team);
  Feeds<T> feeds;
  std::vector<double> valid, noise = c["Z"].values;
  for (int64_t i = 0; i < B; ++i)
    for (int64_t t = 0; t < m.steps; ++t) {
      valid.push_back(static_cast<double>(t) < c["length"].values[static_cast<size_t>(i)] ? 1 : 0);
      for (int64_t k = 0; k < m.noise && valid.back() == 0; ++k)
        noise[static_cast<size_t>((i * m.steps + t) * m.noise + k)] = std::numeric_limits<double>::quiet_NaN();
    }
  p->bind("X", feeds.real("X", c["X"].values));
  p->bind("Z", feeds.real("Z", noise));
  p->bind("length", feeds.real("length", c["length"].values));
  p->bind("valid", feeds.real("valid", valid));
  const Visit visit = [](const ParameterSet& set, const WeightVisitor& visitor) { visit_weights(set, visitor); };
  for (const SequenceNetwork* n : m.all) load<T>(visit, *p, n->weights, c);
  ASSERT_EQ(p->run(1), 1);

  for (const auto& [name, v] : values)
    near(p->template read<T>(p->find(name)), c[name], tolerance, 0, c.name + " " + name);
  scalars<T>(*p, c, tolerance);
  const std::string prefix = "grad." + phase + ".";
  double steepest = 0;
  for (const auto& [name, t] : c.tensors)
    if (name.rfind(prefix, 0) == 0) steepest = std::max(steepest, largest(t.values));
  for (const ParameterSet* set : trained)
    visit_weights(*set, [&](const std::string& name, const std::vector<int64_t>&, const auto& element) {
      const std::vector<T> memory = p->template read<T>(p->find("grad." + name));
      const Parameter& parameter = set->find(name.substr(set->name.size() + 1));
      std::vector<T> grad;
      for (size_t i = 0; i < memory.size(); ++i)
        grad.push_back(memory[static_cast<size_t>(element(static_cast<int64_t>(i)) - parameter.offset)]);
      near(grad, c[prefix + name], tolerance, 1e-3 * steepest, c.name + " " + prefix + name);
    });
}

TEST(Golden, TimeganStep) {
  each_case("timegan_step", [](const golden::Case& c, bool optimized) {
    for (const auto& [phase, what] : c.config["phases"].items()) {
      SCOPED_TRACE(phase);
      check<double>(c, phase, optimized, 1e-10);
      check<float>(c, phase, optimized, 5e-5);
    }
  });
}

}  // namespace
}  // namespace tessera
