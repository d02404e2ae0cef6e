// One step of CTGAN against the golden vectors: the production recording, in double and float, with all passes and with
// none.
#include "methods/golden_step.h"
#include "models/ctgan/network.h"

namespace tessera {
namespace {

using namespace golden_step;

Ctgan ctgan_network(const golden::Case& c) {
  const auto& j = c.config;
  CtganConfig config;
  config.batch = j["batch"];
  config.pac = j.value("pac", 1);
  config.embedding_dim = j.value("z_width", 1);
  config.leaky_slope = j.value("leaky_slope", 0.2);
  config.dropout = j.value("dropout", 0.0);
  config.penalty_weight = j.value("penalty_weight", 10.0);
  config.tau = j.value("tau", 0.2);
  config.bn_eps = j.value("bn_eps", 1e-5);
  config.bn_momentum = j.value("bn_momentum", 0.1);
  if (j.contains("adam")) {
    config.learning_rate = j["adam"]["lr"];
    config.beta1 = j["adam"]["beta1"];
    config.beta2 = j["adam"]["beta2"];
    config.adam_eps = j["adam"]["eps"];
    config.weight_decay = j["adam"]["weight_decay"];
  }
  config.generator_dim.clear();
  config.discriminator_dim.clear();
  const bool generator = c.name.find("generator") != std::string::npos;
  for (const auto& h : j["hidden"]) (generator ? config.generator_dim : config.discriminator_dim).push_back(h);
  if (j.contains("discriminator_hidden"))
    for (const auto& h : j["discriminator_hidden"]) config.discriminator_dim.push_back(h);
  return Ctgan(layout_of(j), config);
}

// Rows of [data ‖ condition]: the data part as sparse entries (exact one-hot blocks and positions) and dense, the
// condition as an index.
struct Rows {
  Entries entries;
  std::vector<int32_t> condition;
  std::vector<double> data;
};
Rows split(const Ctgan& m, const golden::Tensor& t) {
  Rows r{entries_of(*m.spans->table(), t), {}, {}};
  const int64_t width = m.data + m.cond;
  for (int64_t b = 0; b < t.rows(); ++b) {
    const double* row = t.values.data() + b * width;
    r.data.insert(r.data.end(), row, row + m.data);
    int32_t c = -1;
    for (int64_t k = 0; k < m.cond; ++k)
      if (row[m.data + k] == 1) c = static_cast<int32_t>(k);
    r.condition.push_back(c);
  }
  return r;
}
Visit visit_of(const Ctgan& m) {
  return [&m](const ParameterSet& set, const WeightVisitor& visitor) { visit_weights(m, set, visitor); };
}

template <class T>
void discriminator_step(const golden::Case& c, bool optimized, double tolerance) {
  const Ctgan m = ctgan_network(c);
  const Rows real = split(m, c["real"]), fake = split(m, c["fake"]);
  const int64_t batch = m.config.batch;
  std::set<std::string> bound{"alpha"};
  for (const char* use : {"real", "fake", "interpolate"})
    for (size_t i = 0; i < m.config.discriminator_dim.size(); ++i)
      bound.insert("mask." + std::string(use) + "." + std::to_string(i));
  Plan plan;
  Recorder r(plan, bound);
  plan.tables.push_back(m.spans);
  r.own(m.discriminator);
  auto condition = [&](const char* name) {
    const Var index = r.input(name, {batch, 1}, DType::index);
    return Condition{index, m.cond > 0 ? sparse_dense(index, Var{}, m.cond, 1) : Var{}};
  };
  const Shape entries{batch, m.spans->table()->count};
  const Var rows =
      sparse_dense(r.input("real.index", entries, DType::index), r.input("real.value", entries), m.data, entries.cols);
  const CriticLoss l = critic_loss(r, m, pack(m, rows, condition("real.condition")),
                                   pack(m, r.input("fake.data", {batch, m.data}), condition("fake.condition")));
  r.minimize(l.loss, m.discriminator, critic_adam(m, 0, 1));
  r.output(l.real, "y_real");
  r.output(l.fake, "y_fake");
  r.output(l.interpolate, "y_interpolate");
  r.output(l.norm, "gradient_norm");
  r.output(mean(l.real), "y_real_mean");
  r.output(mean(l.fake), "y_fake_mean");
  r.output(l.wasserstein, "wasserstein");
  r.output(l.penalty, "gradient_penalty");
  r.output(l.loss, "loss_d");

  Team team(2);
  const auto p = program<T>(std::move(plan), optimized, team);
  Feeds<T> feeds;
  bind_named(*p, feeds, c);
  bind(*p, "real.index", real.entries.index.data());
  bind(*p, "real.value", feeds.real("real.value", real.entries.value));
  bind(*p, "real.condition", real.condition.data());
  bind(*p, "fake.data", feeds.real("fake.data", fake.data));
  bind(*p, "fake.condition", fake.condition.data());
  load<T>(visit_of(m), *p, m.discriminator, c);
  ASSERT_EQ(p->run(1), 1);
  for (const char* name : {"y_real", "y_fake", "y_interpolate", "gradient_norm"})
    near(p->template read<T>(p->find(name)), c[name], tolerance, 0, c.name + " " + name);
  scalars<T>(*p, c, tolerance);
  updates<T>(visit_of(m), *p, m.discriminator, c, tolerance);
}

std::string running(int64_t block, const char* what) {
  return "generator.residual." + std::to_string(block) + ".norm.running_" + what;
}

template <class T>
void load_running(const Ctgan& m, Program& p, const golden::Case& c) {
  for (int64_t i = 0; i < static_cast<int64_t>(m.generator.blocks.size()); ++i)
    for (const char* what : {"mean", "var"}) {
      const auto& v = c[running(i, what)].values;
      p.put(running(i, what), std::vector<T>(v.begin(), v.end()).data());
    }
}

std::vector<int32_t> conditions(const golden::Case& c, int64_t batch) {
  std::vector<int32_t> index(static_cast<size_t>(batch), -1);
  if (!c.has("cond")) return index;
  const auto& t = c["cond"];
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t k = 0; k < t.cols(); ++k)
      if (t.values[static_cast<size_t>(b * t.cols() + k)] == 1) index[static_cast<size_t>(b)] = static_cast<int32_t>(k);
  return index;
}

template <class T>
void generator_step(const golden::Case& c, bool optimized, double tolerance) {
  const Ctgan m = ctgan_network(c);
  const int64_t batch = m.config.batch;
  std::set<std::string> bound{"z", "u"};
  for (size_t i = 0; i < m.config.discriminator_dim.size(); ++i) bound.insert("mask.fake." + std::to_string(i));
  Plan plan;
  Recorder r(plan, bound);
  plan.tables.push_back(m.spans);
  r.own(m.generator);
  r.own(m.discriminator);
  const Var index = r.input("condition", {batch, 1}, DType::index);
  const Condition condition{index, m.cond > 0 ? sparse_dense(index, Var{}, m.cond, 1) : Var{}};
  const Var logits = generate(m, r.normal("z", {batch, m.config.embedding_dim}), condition, Norm::training);
  const Var fake = activate(r, m, logits, "u");
  const GeneratorLoss l = generator_loss(r, m, logits, fake, condition, "fake");
  // Gradients at the logits, of the whole loss, and at the fake rows, through the critic alone.
  r.output(pullback(r, {l.loss}, {fill(r, {1, 1}, 1)}, {logits})[0], "grad.logits");
  r.output(pullback(r, {mean(l.scores)}, {fill(r, {1, 1}, -1)}, {fake})[0], "grad.fake");
  r.minimize(l.loss, m.generator, generator_adam(m, 1));
  r.output(logits, "logits");
  r.output(fake, "fake");
  r.output(l.scores, "y_fake");
  r.output(mean(l.scores), "y_fake_mean");
  r.output(l.cross_entropy ? l.cross_entropy : fill(r, {1, 1}, 0), "cross_entropy");
  r.output(l.loss, "loss_g");

  Team team(2);
  const auto p = program<T>(std::move(plan), optimized, team);
  Feeds<T> feeds;
  const auto chosen = conditions(c, batch);
  bind_named(*p, feeds, c);
  bind(*p, "condition", chosen.data());
  load<T>(visit_of(m), *p, m.generator, c);
  load<T>(visit_of(m), *p, m.discriminator, c);
  load_running<T>(m, *p, c);
  ASSERT_EQ(p->run(1), 1);
  for (const char* name : {"logits", "fake", "y_fake", "grad.logits", "grad.fake"})
    near(p->template read<T>(p->find(name)), c[name], tolerance, 0, c.name + " " + name);
  scalars<T>(*p, c, tolerance);
  updates<T>(visit_of(m), *p, m.generator, c, tolerance);
  for (int64_t i = 0; i < static_cast<int64_t>(m.generator.blocks.size()); ++i)
    for (const char* what : {"mean", "var"}) {
      const auto& want = c["after." + running(i, what)];
      near(p->template get<T>(running(i, what)), want, tolerance, 0, c.name + " " + running(i, what));
    }
}

template <class T>
void generator_eval(const golden::Case& c, bool optimized, double tolerance) {
  const Ctgan m = ctgan_network(c);
  const int64_t batch = m.config.batch;
  Plan plan;
  Recorder r(plan, {"z", "u", "u.soft"});
  plan.tables.push_back(m.spans);
  r.own(m.generator);
  const Var index = r.input("condition", {batch, 1}, DType::index);
  const Condition condition{index, m.cond > 0 ? sparse_dense(index, Var{}, m.cond, 1) : Var{}};
  const Var logits = generate(m, r.normal("z", {batch, m.config.embedding_dim}), condition, Norm::inference);
  r.output(logits, "logits");
  r.output(activate(r, m, logits, "u.soft"), "fake");
  const auto drawn = r.emit(SpanSample{m.spans->table(), c.config["u_low"], c.config["u_high"]},
                            {logits, r.uniform("u", logits.shape())});
  r.output(drawn[0], "code");
  r.output(drawn[1], "alpha");
  Team team(2);
  const auto p = program<T>(std::move(plan), optimized, team);
  Feeds<T> feeds;
  const auto chosen = conditions(c, batch);
  bind_named(*p, feeds, c);
  bind(*p, "u.soft", feeds.real("u.soft", c["u"].values));
  bind(*p, "condition", chosen.data());
  load<T>(visit_of(m), *p, m.generator, c);
  load_running<T>(m, *p, c);
  ASSERT_EQ(p->run(1), 1);
  for (const char* name : {"logits", "fake"})
    near(p->template read<T>(p->find(name)), c[name], tolerance, 0, c.name + " " + name);
  const auto codes = p->template read<int32_t>(p->find("code"));
  const auto& want = c["code"];
  ASSERT_EQ(codes.size(), want.values.size());
  for (size_t i = 0; i < codes.size(); ++i)
    EXPECT_EQ(codes[i], static_cast<int32_t>(want.values[i])) << c.name << " code " << i;
}

TEST(Golden, CtganDiscriminatorStep) {
  each_case("ctgan_discriminator_step", [](const golden::Case& c, bool optimized) {
    discriminator_step<double>(c, optimized, 1e-10);
    discriminator_step<float>(c, optimized, 1e-5);
  });
}
TEST(Golden, CtganGeneratorStep) {
  each_case("ctgan_generator_step", [](const golden::Case& c, bool optimized) {
    generator_step<double>(c, optimized, 1e-10);
    generator_step<float>(c, optimized, 5e-5);
  });
}
TEST(Golden, CtganGeneratorEval) {
  each_case("ctgan_generator_eval", [](const golden::Case& c, bool optimized) {
    generator_eval<double>(c, optimized, 1e-10);
    generator_eval<float>(c, optimized, 5e-5);
  });
}

}  // namespace
}  // namespace tessera
