// The training run as a caller sees it: losses, progress, cancellation, non-finite values, invalid options, presets.
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "models/tables.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

TEST(Training, ReportsLossesOncePerEpoch) {
  FitOptions o = quick(6, 50);
  std::vector<LossRow> rows;
  o.on_losses = [&](const LossRow& r) { rows.push_back(r); };
  fit(example_people(520, 1), o);
  ASSERT_EQ(rows.size(), 6u);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].step, static_cast<int64_t>(10 * (i + 1))) << "10 steps of 50 rows an epoch";
    EXPECT_DOUBLE_EQ(rows[i].epoch, static_cast<double>(i + 1));
    EXPECT_TRUE(std::isfinite(rows[i]["critic"]) && std::isfinite(rows[i]["generator"]));
    EXPECT_GT(rows[i]["penalty"], 0);
    EXPECT_GE(rows[i].seconds, i == 0 ? 0 : rows[i - 1].seconds);
  }
  EXPECT_NE(rows[0]["critic"], rows[5]["critic"]);
}

TEST(Training, TakesOneStepPerEpochForSmallTables) {
  FitOptions o = quick(3, 500);
  std::vector<int64_t> steps;
  o.on_losses = [&](const LossRow& r) { steps.push_back(r.step); };
  fit(example_people(20, 1), o);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3}));
}

TEST(Training, WritesAnUntrainedModelForZeroEpochs) {
  for (const char* preset : {"best", "paper"}) {
    FitOptions o = quick(0, 50, preset);
    int losses = 0;
    o.on_losses = [&](const LossRow&) { ++losses; };
    const Model m = fit(example_people(300, 1), o);
    EXPECT_EQ(losses, 0);
    EXPECT_EQ(m.describe()["provenance"]["steps"], 0);
    EXPECT_EQ(sample(m, 100).rows, 100);
    EXPECT_EQ(sample(m, 10, where("gender = 'male'")).rows, 10);
  }
}

// Every phase reports its progress, ends at its announced total, and follows the order.
TEST(Training, ReportsEveryPhaseToItsEnd) {
  struct Phase {
    std::string name;
    double done = 0, total = 0;
    int finished = 0;
  };
  std::vector<Phase> phases;
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) {
    if (std::string(p.phase) == "notice") return;
    if (phases.empty() || phases.back().name != p.phase) phases.push_back({p.phase});
    Phase& now = phases.back();
    EXPECT_EQ(now.finished, 0) << p.phase << " goes on after its end";
    EXPECT_GE(p.done, now.done) << p.phase;
    EXPECT_TRUE(p.total == 0 || p.done <= p.total) << p.phase;  // 0: not known before the end
    EXPECT_NE(std::string(p.unit), "") << p.phase;
    now.done = p.done;
    now.total = p.total;
    now.finished += p.finished;
  };
  Team team(2);
  const Model m = Model::fit(example_people(600, 1), quick(4, 100), team, monitor);
  std::vector<std::string> order;
  for (const Phase& p : phases) {
    order.push_back(p.name);
    EXPECT_EQ(p.finished, 1) << p.name;
    EXPECT_EQ(p.done, p.total) << p.name;
  }
  EXPECT_EQ(order, (std::vector<std::string>{"rules", "mixtures", "encode", "train"}));

  for (const char* condition : {"", "age > 30"}) {
    phases.clear();
    const auto stream = m.sample(0, 2500, where(condition), team, monitor);
    drain(*stream, m.schema());
    ASSERT_EQ(phases.size(), 1u);
    EXPECT_EQ(phases[0].name, "sample");
    EXPECT_EQ(phases[0].finished, 1);
    EXPECT_EQ(phases[0].done, 2500);
  }
}

// Lines of orders, and a text that ten rows have: the others need none.
TEST(Training, NoticesNameTheKeyOfLinesAndCountWhatIsThere) {
  constexpr int64_t kRows = 900;
  std::vector<std::string> notices;
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) {
    if (std::string(p.phase) == "notice") notices.push_back(p.note);
  };
  FitOptions options = quick_made(0);
  options.rules.find = true;
  Team team(2);
  Model::fit(
      table({whole_by("order", kRows, [](int64_t i) { return 500.0 + static_cast<double>(i / 3); }),
             whole_by("line", kRows, [](int64_t i) { return 1.0 + static_cast<double>(i % 3); }),
             texts_by("region", kRows,
                      [](int64_t i) { return i % 90 == 0 ? "Region " + std::to_string(i / 90) : std::string(); }),
             whole_by("sales", kRows, [](int64_t i) { return std::floor(100 * uniform(i, 1)); })}),
      options, team, monitor);
  const auto says = [&](const std::string& part) {
    return std::ranges::any_of(notices, [&](const std::string& n) { return n.find(part) != n.npos; });
  };
  EXPECT_TRUE(says("one \"order\" are learned as independent; `sequence_key=order`"))
      << testing::PrintToString(notices);
  EXPECT_FALSE(says("900 rows have 900")) << testing::PrintToString(notices);
}

TEST(Training, CancelsFromACallback) {
  for (const std::string phase : {"mixtures", "encode", "train"}) {
    std::atomic<bool> cancel{false};
    int after = 0;
    Monitor monitor;
    monitor.cancel = &cancel;
    monitor.on_progress = [&](const Progress& p) {
      after += cancel;
      if (p.phase == phase) cancel = true;
    };
    Team team(2);
    const Thrown t = thrown([&] { Model::fit(example_people(2000, 1), quick(1000000, 100), team, monitor); });
    EXPECT_EQ(t.code, ErrorCode::cancelled) << phase;
    EXPECT_EQ(after, 0) << phase << ": reports go on after it was cancelled";
  }
}

// Years of training, cancelled from another thread: it ends within a tenth of a second.
TEST(Training, CancelsFromAnotherThread) {
  std::atomic<bool> cancel{false}, training{false};
  Monitor monitor;
  monitor.cancel = &cancel;
  monitor.on_progress = [&](const Progress& p) {
    if (std::string(p.phase) == "train") training = true;
  };
  std::thread other([&] {
    while (!training) std::this_thread::yield();
    cancel = true;
  });
  Team team(2);
  const Thrown t = thrown([&] { Model::fit(example_people(2000, 1), quick(100000000, 100), team, monitor); });
  other.join();
  EXPECT_EQ(t.code, ErrorCode::cancelled);
  EXPECT_TRUE(t.says("train")) << t.message;
}

TEST(Training, CancelsSampling) {
  const Model m = fit(example_people(300, 1), quick(1, 100));
  for (const char* condition : {"", "age > 40"}) {
    std::atomic<bool> cancel{true};
    Monitor monitor;
    monitor.cancel = &cancel;
    Team team(2);
    const auto stream = m.sample(0, 1000, where(condition, 1000000000), team, monitor);
    Table batch;
    EXPECT_EQ(thrown([&] {
                while (stream->next(batch)) {}
              }).code,
              ErrorCode::cancelled)
        << condition;
  }
}

struct Own {};  // not an exception of ours

// A callback's exception is rethrown unchanged, and the thread team stays usable.
TEST(Training, RethrowsExceptionsOfCallbacks) {
  Team team(3);
  for (const std::string phase : {"mixtures", "encode", "train"}) {
    Monitor monitor;
    monitor.on_progress = [&](const Progress& p) {
      if (p.phase == phase) throw Own{};
    };
    EXPECT_THROW(Model::fit(example_people(400, 1), quick(2, 100), team, monitor), Own) << phase;
  }
  FitOptions o = quick(2, 100);
  o.on_losses = [](const LossRow&) { throw Own{}; };
  EXPECT_THROW(Model::fit(example_people(400, 1), o, team, Monitor{}), Own);
  const Monitor quiet;
  const Model m = Model::fit(example_people(400, 1), quick(2, 100), team, quiet);
  Monitor monitor;
  monitor.on_progress = [](const Progress&) { throw Own{}; };
  Table batch;
  EXPECT_THROW(m.sample(0, 10, {}, team, monitor)->next(batch), Own);
  EXPECT_TRUE(m.sample(0, 10, {}, team, quiet)->next(batch));
}

// An overflow at the first step: the penalty's weight is too large for a float.
TEST(Training, NamesOverflowAtTheFirstStep) {
  FitOptions o = quick(50, 50);
  o.as<CtganConfig>().penalty_weight = 1e39;
  int losses = 0;
  o.on_losses = [&](const LossRow&) { ++losses; };
  const Thrown t = thrown([&] { fit(example_people(500, 1), o); });
  EXPECT_EQ(t.code, ErrorCode::numeric);
  EXPECT_TRUE(t.says("step 0")) << t.message;
  EXPECT_TRUE(t.says("made by")) << t.message;
  EXPECT_TRUE(t.says("`learning_rate`")) << t.message;
  EXPECT_TRUE(t.says("`seed`")) << t.message;
  EXPECT_EQ(losses, 0);
}

// A learning rate of 1 makes the weights of a deep critic grow until their product leaves the floats: not at the first
// step, and the same step for any number of threads.
TEST(Training, NamesDivergingWeights) {
  FitOptions o = quick(4, 50);
  o.as<CtganConfig>().learning_rate = 1;
  o.as<CtganConfig>().decay_from = 1;
  o.as<CtganConfig>().discriminator_dim = std::vector<int>(30, 64);
  const Thrown one = thrown([&] { fit(example_people(500, 1), o, 1); }),
               three = thrown([&] { fit(example_people(500, 1), o, 3); });
  EXPECT_EQ(one.code, ErrorCode::numeric);
  EXPECT_FALSE(one.says("step 0 ")) << one.message;
  EXPECT_TRUE(one.says("made by")) << one.message;
  EXPECT_TRUE(one.says("now 1")) << one.message;
  EXPECT_EQ(one.message, three.message);
}

TEST(Training, PresetsDifferAsDocumented) {
  FitOptions best, paper;
  best.method = paper.method = "ctgan";
  paper.preset = "paper";
  apply_preset(best);
  apply_preset(paper);
  EXPECT_GT(best.as<CtganConfig>().average_decay, 0.9);
  EXPECT_TRUE(best.as<CtganConfig>().population_norm);
  EXPECT_LT(best.as<CtganConfig>().decay_from, 1);
  EXPECT_GT(best.encoder.spike_share, 0);
  EXPECT_EQ(paper.as<CtganConfig>().average_decay, 0);
  EXPECT_FALSE(paper.as<CtganConfig>().population_norm);
  EXPECT_EQ(paper.as<CtganConfig>().decay_from, 1);
  EXPECT_EQ(paper.encoder.spike_share, 0);
  for (FitOptions* o : {&best, &paper}) {  // networks and steps are the paper's in both
    EXPECT_EQ(o->as<CtganConfig>().epochs, 300);
    EXPECT_EQ(o->as<CtganConfig>().batch, 500);
    EXPECT_EQ(o->as<CtganConfig>().pac, 10);
    EXPECT_EQ(o->as<CtganConfig>().generator_dim, (std::vector<int>{256, 256}));
    EXPECT_EQ(o->as<CtganConfig>().discriminator_dim, (std::vector<int>{256, 256}));
    EXPECT_EQ(o->as<CtganConfig>().learning_rate, 2e-4);
  }
  const Table people = example_people(600, 1);
  const Model a = fit(people, quick(1, 100, "best")), b = fit(people, quick(1, 100, "paper"));
  EXPECT_EQ(a.describe()["preset"], "best");
  EXPECT_EQ(b.describe()["preset"], "paper");
  EXPECT_GT(a.describe()["condition_width"], b.describe()["condition_width"]) << "small integers are levels in best";
}

TEST(Training, RejectsUnknownPresetsAndMethods) {
  FitOptions o;
  o.preset = "fast";
  const Thrown preset = thrown([&] { apply_preset(o); });
  EXPECT_EQ(preset.code, ErrorCode::usage);
  EXPECT_TRUE(preset.says("fast") && preset.says("best") && preset.says("paper")) << preset.message;
  o = {};
  o.method = "diffusion";
  const Thrown method = thrown([&] { apply_preset(o); });
  EXPECT_EQ(method.code, ErrorCode::usage);
  EXPECT_TRUE(method.says("diffusion") && method.says("ctgan")) << method.message;
}

template <class Config>
struct Mistake {
  const char* option;
  void (*make)(Config&);
};
template <class Config>
void expect_named(const FitOptions& options, const std::vector<Mistake<Config>>& mistakes) {
  for (const auto& m : mistakes) {
    FitOptions o = options;
    m.make(o.as<Config>());
    const Thrown t = thrown([&] { fit(example_people(50, 1), o); });
    EXPECT_EQ(t.code, ErrorCode::usage) << m.option;
    EXPECT_TRUE(t.says(m.option)) << m.option << ": " << t.message;
  }
}
TEST(Training, RejectsInvalidOptions) {
  expect_named<CtganConfig>(
      quick(1),
      {
          {"`epochs=-1`", [](CtganConfig& c) { c.epochs = -1; }},
          {"`pac=0`", [](CtganConfig& c) { c.pac = 0; }},
          {"`batch_size=1`", [](CtganConfig& c) { c.batch = 1, c.pac = 1; }},
          {"`batch_size=5` is not a multiple of `pac=10`. 10 is.", [](CtganConfig& c) { c.batch = 5, c.pac = 10; }},
          {"`batch_size=500` is not a multiple of `pac=7`. 497 or 504 is.",
           [](CtganConfig& c) { c.batch = 500, c.pac = 7; }},
          {"`embedding_dim=0`", [](CtganConfig& c) { c.embedding_dim = 0; }},
          {"`discriminator_steps=0`", [](CtganConfig& c) { c.discriminator_steps = 0; }},
          {"`learning_rate=0`", [](CtganConfig& c) { c.learning_rate = 0; }},
          {"`learning_rate=1.5`", [](CtganConfig& c) { c.learning_rate = 1.5; }},
          {"`learning_rate=nan`", [](CtganConfig& c) { c.learning_rate = NAN; }},
          {"`generator_dim", [](CtganConfig& c) { c.generator_dim = {}; }},
          {"`generator_dim",
           [](CtganConfig& c) {
             c.generator_dim = {64, 0};
           }},
          {"`discriminator_dim", [](CtganConfig& c) { c.discriminator_dim = {}; }},
          {"`discriminator_dim", [](CtganConfig& c) { c.discriminator_dim = {-3}; }},
      });
  expect_named<TvaeConfig>(quick_tvae(1), {
                                              {"`epochs=-1`", [](TvaeConfig& c) { c.epochs = -1; }},
                                              {"`batch_size=1`", [](TvaeConfig& c) { c.batch = 1; }},
                                              {"`embedding_dim=0`", [](TvaeConfig& c) { c.embedding_dim = 0; }},
                                              {"`loss_factor=0`", [](TvaeConfig& c) { c.loss_factor = 0; }},
                                              {"`encoder_dim", [](TvaeConfig& c) { c.encoder_dim = {}; }},
                                              {"`decoder_dim", [](TvaeConfig& c) { c.decoder_dim = {0}; }},
                                              {"`learning_rate=2`", [](TvaeConfig& c) { c.learning_rate = 2; }},
                                          });
}

// A fitted model is read-only: concurrent streams give the same rows as a single one, and outlive the model.
TEST(Training, SamplesOneModelFromManyThreads) {
  auto m = std::make_unique<Model>(fit(example_people(400, 1), quick(2, 100)));
  const auto want = lines(sample(*m, 3000));
  std::vector<std::vector<std::string>> got(3);
  std::vector<std::thread> threads;
  for (size_t k = 0; k < got.size(); ++k)
    threads.emplace_back([&, k] { got[k] = lines(sample(*m, 3000, {}, {0, 2})); });
  for (std::thread& t : threads) t.join();
  for (const auto& g : got) EXPECT_EQ(g, want);

  Team team(1);
  const Monitor monitor;
  const Table schema = m->schema();
  const auto stream = m->sample(0, 3000, {}, team, monitor);
  m.reset();
  EXPECT_EQ(lines(drain(*stream, schema)), want);
}

}  // namespace
}  // namespace tessera::whole
