// One step of TVAE against the golden vectors: the production recording, in double and float, with all passes and with
// none.
#include "methods/golden_step.h"
#include "models/tvae/network.h"

namespace tessera {
namespace {

using namespace golden_step;

Tvae tvae_network(const golden::Case& c) {
  const auto& j = c.config;
  TvaeConfig config;
  config.batch = j["batch"];
  config.embedding_dim = j["latent"];
  config.encoder_dim = j["encoder"].get<std::vector<int>>();
  config.decoder_dim = j["decoder"].get<std::vector<int>>();
  config.loss_factor = j["loss_factor"];
  config.sigma_low = j["sigma_low"];
  config.sigma_high = j["sigma_high"];
  config.learning_rate = j["adam"]["lr"];
  config.beta1 = j["adam"]["beta1"];
  config.beta2 = j["adam"]["beta2"];
  config.adam_eps = j["adam"]["eps"];
  config.weight_decay = j["adam"]["weight_decay"];
  return Tvae(layout_of(j), config);
}

template <class T>
void tvae_step(const golden::Case& c, bool optimized, double tolerance) {
  const Tvae m = tvae_network(c);
  const int64_t batch = m.config.batch;
  const Entries rows = entries_of(*m.spans->table(), c["x"]);
  Plan plan;
  Recorder r(plan, {"noise"});
  plan.tables.push_back(m.spans);
  r.own(m.encoder);
  r.own(m.decoder);
  const Shape entries{batch, m.spans->table()->count};
  const SparseRows x{r.input("x.index", entries, DType::index), r.input("x.value", entries)};
  const Posterior q = m.encoder(sparse_dense(x.index, x.value, m.data, entries.cols));
  const Var z = q.mean + q.stddev * r.normal("noise", q.mean.shape());
  const Var logits = m.decoder(z);
  const ElboLoss l = elbo_loss(r, m, x, logits, q);
  update(r, m, l.loss, 1);
  r.output(q.mean, "mu");
  r.output(q.log_variance, "logvar");
  r.output(logits, "logits");
  r.output(sum_rows(l.spans), "span_loss");
  r.output(l.reconstruction, "reconstruction");
  r.output(l.kl, "kl");
  r.output(l.loss, "loss");

  Team team(2);
  const auto p = program<T>(std::move(plan), optimized, team);
  Feeds<T> feeds;
  bind_named(*p, feeds, c);
  bind(*p, "x.index", rows.index.data());
  bind(*p, "x.value", feeds.real("x.value", rows.value));
  const Visit visit = [](const ParameterSet& set, const WeightVisitor& visitor) { visit_weights(set, visitor); };
  for (const ParameterSet* set : m.weights()) load<T>(visit, *p, *set, c);
  ASSERT_EQ(p->run(1), 1);
  for (const char* name : {"mu", "logvar", "logits", "span_loss"})
    near(p->template read<T>(p->find(name)), c[name], tolerance, 0, c.name + " " + name);
  scalars<T>(*p, c, tolerance);
  for (const ParameterSet* set : m.weights()) updates<T>(visit, *p, *set, c, tolerance);
  if (m.numbers == 0) return;
  const std::vector<T> decoder = p->template get<T>("decoder");
  const T* sigma = decoder.data() + m.decoder.sigma.parameter.offset;
  int64_t clamped = 0;
  for (int64_t i = 0; i < m.numbers; ++i)
    clamped += sigma[i] == static_cast<T>(m.config.sigma_low) || sigma[i] == static_cast<T>(m.config.sigma_high);
  EXPECT_EQ(clamped, c.config["expected"]["sigmas_clamped"].get<int64_t>());
}

TEST(Golden, TvaeStep) {
  each_case("tvae_step", [](const golden::Case& c, bool optimized) {
    tvae_step<double>(c, optimized, 1e-10);
    tvae_step<float>(c, optimized, 2e-4);
  });
}

}  // namespace
}  // namespace tessera
