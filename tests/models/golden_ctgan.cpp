// One step of CTGAN against the golden vectors: the production recording, in double and float, with all passes and with none. Float runs on float_device(): the
// processor here, the CUDA backend on the emulated machine where tests/gpu compiles this file.
#include "engine/passes.h"
#include "engine/program.h"
#include "models/ctgan.h"
#include "models/weights.h"
#include "support/float_device.h"
#include "support/golden.h"

namespace tessera {
namespace {

struct Setting {
  const char* name;
  bool optimised;
};
const Setting kSettings[] = {{"all passes", true}, {"no pass", false}};

Ctgan network(const golden::Case& c) {
  const auto& j = c.config;
  RowLayout layout;
  for (const auto& s : j["spans"]) {
    const std::string part = s["part"];
    layout.spans.push_back({s["column"], part == "alpha" ? Span::Part::alpha : part == "mode" ? Span::Part::mode : Span::Part::category, s["start"], s["width"],
                            s["cond_start"].is_null() ? -1 : s["cond_start"].get<int>()});
    layout.data_width += s["width"].get<int>();
  }
  layout.cond_width = j.value("cond_width", 0);
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
  return Ctgan(layout, config);
}

// Bound memory in the program's scalar.
template <class T>
struct Feeds {
  std::map<std::string, std::vector<T>> reals;
  const T* real(const std::string& name, const std::vector<double>& v) { return (reals[name] = std::vector<T>(v.begin(), v.end())).data(); }
};

// Rows of [data ‖ condition]: the data part as sparse entries (exact one-hot blocks and positions) and dense, the condition as an index.
struct Rows {
  std::vector<int32_t> index, condition;
  std::vector<double> value, data;
};
Rows split(const Ctgan& m, const golden::Tensor& t) {
  Rows r;
  const int64_t width = m.data + m.cond;
  const SpanTable& spans = *m.spans->table();
  for (int64_t b = 0; b < t.rows(); ++b) {
    const double* row = t.values.data() + b * width;
    for (int s = 0; s < spans.count; ++s) {
      const auto& span = spans.items[s];
      int hot = 0;
      for (int k = 0; k < span.width && span.softmax; ++k)
        if (row[span.start + k] == 1) hot = k;
      r.index.push_back(span.start + hot);
      r.value.push_back(row[span.start + hot]);
    }
    r.data.insert(r.data.end(), row, row + m.data);
    int32_t c = -1;
    for (int64_t k = 0; k < m.cond; ++k)
      if (row[m.data + k] == 1) c = static_cast<int32_t>(k);
    r.condition.push_back(c);
  }
  return r;
}

template <class T>
void load(const Ctgan& m, Program& p, const ParameterSet& set, const golden::Case& c) {
  std::vector<T> flat = p.get<T>(set.name);
  visit_weights(m, set, [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
    const auto& t = c[name];
    ASSERT_EQ(t.shape, shape) << name;
    for (size_t i = 0; i < t.values.size(); ++i) flat[static_cast<size_t>(element(static_cast<int64_t>(i)))] = static_cast<T>(t.values[i]);
  });
  p.put(set.name, flat.data());
}

double largest(const std::vector<double>& v) {
  double m = 0;
  for (const double x : v) m = std::max(m, std::fabs(x));
  return m;
}

template <class V>
void near(const std::vector<V>& got, const golden::Tensor& want, double tolerance, double floor, const std::string& what) {
  ASSERT_EQ(got.size(), want.values.size()) << what;
  const double scale = std::max({largest(want.values), floor, 1e-300});
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(std::isfinite(static_cast<double>(got[i]))) << what << "[" << i << "]";
    worst = std::max(worst, std::fabs(static_cast<double>(got[i]) - want.values[i]));
  }
  EXPECT_LE(worst / scale, tolerance) << what;
}

template <class T>
void scalars(const Program& p, const golden::Case& c, double tolerance) {
  for (const auto& [name, value] : c.config["expected"].items()) {
    if (!value.is_number() || p.find(name) == kNone) continue;
    const double want = value, got = static_cast<double>(p.read<T>(p.find(name))[0]);
    EXPECT_LE(std::fabs(got - want) / std::max(std::fabs(want), 1.0), tolerance) << c.name << " " << name;
  }
}

// Gradients and values after the update, for every weight of a set.
template <class T>
void updates(const Ctgan& m, Program& p, const ParameterSet& set, const golden::Case& c, double tolerance) {
  const bool exact = sizeof(T) == 8;
  const double lr = c.config["adam"]["lr"], decay = c.config["adam"]["weight_decay"], eps = c.config["adam"]["eps"];
  double gradient = 0;
  for (const auto& [name, t] : c.tensors)
    if (name.rfind("grad.", 0) == 0) gradient = std::max(gradient, largest(t.values));
  const std::vector<T> after = p.get<T>(set.name);
  visit_weights(m, set, [&](const std::string& name, const std::vector<int64_t>&, const auto& element) {
    const Parameter& parameter = set.find(name.substr(set.name.size() + 1));
    const Id id = p.find("grad." + name);
    ASSERT_NE(id, kNone) << name;
    const std::vector<T> memory = p.read<T>(id);
    const golden::Tensor &want = c["grad." + name], &then = c["after." + name];
    std::vector<T> grad, now;
    for (size_t i = 0; i < want.values.size(); ++i) {
      grad.push_back(memory[static_cast<size_t>(element(static_cast<int64_t>(i)) - parameter.offset)]);
      now.push_back(after[static_cast<size_t>(element(static_cast<int64_t>(i)))]);
    }
    near(grad, want, tolerance, 1e-3 * gradient, c.name + " grad." + name);
    const double steep = largest(want.values), large = std::max(largest(then.values), 1e-3);
    const bool behind_norm = name.find("linear.bias") != std::string::npos;
    for (size_t i = 0; i < now.size(); ++i) {
      const double difference = std::fabs(static_cast<double>(now[i]) - then.values[i]);
      if (behind_norm) {
        // Its gradient is rounding, so its direction is arbitrary: only the length of Adam's first step can be said.
        EXPECT_LE(std::fabs(static_cast<double>(now[i]) - c[name].values[i]), 1.01 * lr + decay * lr + eps) << name;
      } else if (exact) {
        EXPECT_LE(difference, 1e-10 * large) << c.name << " after." << name << "[" << i << "]";
      } else {
        const bool sure = std::fabs(want.values[i]) >= 1e-3 * steep;
        EXPECT_LE(difference, (sure ? 0.01 : 2.0) * lr + 6e-8 * std::fabs(then.values[i])) << c.name << " after." << name << "[" << i << "]";
      }
    }
  });
}

// Gradients are read after the step, so they are made outputs.
template <class T>
std::unique_ptr<Program> program(Plan plan, bool optimised, Team& team) {
  for (const auto& [id, name] : plan.names)
    if (name.rfind("grad.", 0) == 0) plan.outputs.push_back(id);
  optimise(plan, optimised ? std::set<std::string>{} : std::set<std::string>{"all"});
  if (sizeof(T) == 8) return std::make_unique<Program>(std::move(plan), isa_plain::kernels_f64(), team, 1);
  return std::make_unique<Program>(std::move(plan), float_device(), team, 1);
}

void bind(Program& p, const std::string& name, const void* data) {
  if (p.plan().find_leaf(name) != kNone) p.bind(name, data);
}

// Everything the vectors hold under the leaf's own name.
template <class T>
void bind_named(Program& p, Feeds<T>& feeds, const golden::Case& c) {
  for (const Leaf& leaf : p.plan().leaves)
    if (leaf.kind == Leaf::bound && c.has(leaf.name)) p.bind(leaf.name, feeds.real(leaf.name, c[leaf.name].values));
}

template <class T>
void discriminator_step(const golden::Case& c, bool optimised, double tolerance) {
  const Ctgan m = network(c);
  const Rows real = split(m, c["real"]), fake = split(m, c["fake"]);
  const int64_t batch = m.config.batch;
  std::set<std::string> bound{"alpha"};
  for (const char* use : {"real", "fake", "interpolate"})
    for (size_t i = 0; i < m.config.discriminator_dim.size(); ++i) bound.insert("mask." + std::string(use) + "." + std::to_string(i));
  Plan plan;
  Recorder r(plan, bound);
  plan.spans.push_back(m.spans);
  r.own(m.discriminator);
  auto condition = [&](const char* name) {
    const Var index = r.input(name, {batch, 1}, DType::index);
    return Condition{index, m.cond > 0 ? sparse_dense(index, Var{}, m.cond, 1) : Var{}};
  };
  const Shape entries{batch, m.spans->table()->count};
  const Var rows = sparse_dense(r.input("real.index", entries, DType::index), r.input("real.value", entries), m.data, entries.cols);
  const CriticLoss l = critic_loss(r, m, pack(m, rows, condition("real.condition")), pack(m, r.input("fake.data", {batch, m.data}), condition("fake.condition")));
  r.minimise(l.loss, m.discriminator, critic_adam(m, 0, 1));
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
  const auto p = program<T>(std::move(plan), optimised, team);
  Feeds<T> feeds;
  bind_named(*p, feeds, c);
  bind(*p, "real.index", real.index.data());
  bind(*p, "real.value", feeds.real("real.value", real.value));
  bind(*p, "real.condition", real.condition.data());
  bind(*p, "fake.data", feeds.real("fake.data", fake.data));
  bind(*p, "fake.condition", fake.condition.data());
  load<T>(m, *p, m.discriminator, c);
  ASSERT_EQ(p->run(1), 1);
  for (const char* name : {"y_real", "y_fake", "y_interpolate", "gradient_norm"}) near(p->template read<T>(p->find(name)), c[name], tolerance, 0, c.name + " " + name);
  scalars<T>(*p, c, tolerance);
  updates<T>(m, *p, m.discriminator, c, tolerance);
}

std::string running(int64_t block, const char* what) { return "generator.residual." + std::to_string(block) + ".norm.running_" + what; }

template <class T>
void load_running(const Ctgan& m, Program& p, const golden::Case& c) {
  for (int64_t i = 0; i < m.generator_norms(); ++i)
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
void generator_step(const golden::Case& c, bool optimised, double tolerance) {
  const Ctgan m = network(c);
  const int64_t batch = m.config.batch;
  std::set<std::string> bound{"z", "u"};
  for (size_t i = 0; i < m.config.discriminator_dim.size(); ++i) bound.insert("mask.fake." + std::to_string(i));
  Plan plan;
  Recorder r(plan, bound);
  plan.spans.push_back(m.spans);
  r.own(m.generator);
  r.own(m.discriminator);
  const Var index = r.input("condition", {batch, 1}, DType::index);
  const Condition condition{index, m.cond > 0 ? sparse_dense(index, Var{}, m.cond, 1) : Var{}};
  const Var logits = generate(r, m, r.normal("z", {batch, m.config.embedding_dim}), condition, Norm::batch, m.generator);
  const Var fake = activate(r, m, logits, "u");
  const GeneratorLoss l = generator_loss(r, m, logits, fake, condition, "fake");
  // Gradients at the logits, of the whole loss, and at the fake rows, through the critic alone.
  r.output(pullback(r, {l.loss}, {fill(r, {1, 1}, 1)}, {logits})[0], "grad.logits");
  r.output(pullback(r, {mean(l.scores)}, {fill(r, {1, 1}, -1)}, {fake})[0], "grad.fake");
  r.minimise(l.loss, m.generator, generator_adam(m, 1));
  r.output(logits, "logits");
  r.output(fake, "fake");
  r.output(l.scores, "y_fake");
  r.output(mean(l.scores), "y_fake_mean");
  r.output(l.cross_entropy ? l.cross_entropy : fill(r, {1, 1}, 0), "cross_entropy");
  r.output(l.loss, "loss_g");

  Team team(2);
  const auto p = program<T>(std::move(plan), optimised, team);
  Feeds<T> feeds;
  const auto chosen = conditions(c, batch);
  bind_named(*p, feeds, c);
  bind(*p, "condition", chosen.data());
  load<T>(m, *p, m.generator, c);
  load<T>(m, *p, m.discriminator, c);
  load_running<T>(m, *p, c);
  ASSERT_EQ(p->run(1), 1);
  for (const char* name : {"logits", "fake", "y_fake", "grad.logits", "grad.fake"}) near(p->template read<T>(p->find(name)), c[name], tolerance, 0, c.name + " " + name);
  scalars<T>(*p, c, tolerance);
  updates<T>(m, *p, m.generator, c, tolerance);
  for (int64_t i = 0; i < m.generator_norms(); ++i)
    for (const char* what : {"mean", "var"}) {
      const auto& want = c["after." + running(i, what)];
      near(p->template get<T>(running(i, what)), want, tolerance, 0, c.name + " " + running(i, what));
    }
}

template <class T>
void generator_eval(const golden::Case& c, bool optimised, double tolerance) {
  const Ctgan m = network(c);
  const int64_t batch = m.config.batch;
  Plan plan;
  Recorder r(plan, {"z", "u", "u.soft"});
  plan.spans.push_back(m.spans);
  r.own(m.generator);
  const Var index = r.input("condition", {batch, 1}, DType::index);
  const Condition condition{index, m.cond > 0 ? sparse_dense(index, Var{}, m.cond, 1) : Var{}};
  const Var logits = generate(r, m, r.normal("z", {batch, m.config.embedding_dim}), condition, Norm::running, m.generator);
  r.output(logits, "logits");
  r.output(activate(r, m, logits, "u.soft"), "fake");
  const auto drawn = r.emit(SpanSample{m.spans->table(), c.config["u_low"], c.config["u_high"]}, {logits, r.uniform("u", logits.shape())});
  r.output(drawn[0], "code");
  r.output(drawn[1], "alpha");
  Team team(2);
  const auto p = program<T>(std::move(plan), optimised, team);
  Feeds<T> feeds;
  const auto chosen = conditions(c, batch);
  bind_named(*p, feeds, c);
  bind(*p, "u.soft", feeds.real("u.soft", c["u"].values));
  bind(*p, "condition", chosen.data());
  load<T>(m, *p, m.generator, c);
  load_running<T>(m, *p, c);
  ASSERT_EQ(p->run(1), 1);
  for (const char* name : {"logits", "fake"}) near(p->template read<T>(p->find(name)), c[name], tolerance, 0, c.name + " " + name);
  const auto codes = p->template read<int32_t>(p->find("code"));
  const auto& want = c["code"];
  ASSERT_EQ(codes.size(), want.values.size());
  for (size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes[i], static_cast<int32_t>(want.values[i])) << c.name << " code " << i;
}

template <class F>
void each_case(const char* kind, F&& body) {
  GOLDEN_CASES_OR_SKIP(cases, kind);
  for (const auto& path : cases) {
    const golden::Case c = golden::read(path);
    for (const Setting& s : kSettings) {
      SCOPED_TRACE(c.name + ", " + s.name);
      body(c, s.optimised);
    }
  }
}

TEST(Golden, CtganDiscriminatorStep) {
  each_case("ctgan_discriminator_step", [](const golden::Case& c, bool optimised) {
    discriminator_step<double>(c, optimised, 1e-10);
    discriminator_step<float>(c, optimised, 1e-5);
  });
}
TEST(Golden, CtganGeneratorStep) {
  each_case("ctgan_generator_step", [](const golden::Case& c, bool optimised) {
    generator_step<double>(c, optimised, 1e-10);
    generator_step<float>(c, optimised, 5e-5);
  });
}
TEST(Golden, CtganGeneratorEval) {
  each_case("ctgan_generator_eval", [](const golden::Case& c, bool optimised) {
    generator_eval<double>(c, optimised, 1e-10);
    generator_eval<float>(c, optimised, 5e-5);
  });
}

}  // namespace
}  // namespace tessera
