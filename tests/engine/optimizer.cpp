// The end of a step over many steps: Adam against the golden vectors, the report that finds the first bad step, the
// average of the weights.
#include "support/golden.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

template <class T>
void adam_case(const golden::Case& c, const KernelTable& table, double tolerance) {
  const auto& j = c.config;
  const auto& start = c["param"];
  const Shape shape{1, static_cast<int64_t>(start.values.size())};
  const size_t n = start.values.size();
  Plan plan;
  Recorder r(plan);
  const Var grad = r.input("grad", shape);
  const std::vector<Var> old{r.state("param", shape), r.state("m", shape), r.state("v", shape)};
  const auto next = r.emit(Adam{j["form"] == "torch" ? Adam::torch : Adam::tf1, j["lr"], j["beta1"], j["beta2"],
                                j["eps"], j["weight_decay"], 1, 0, 0, 0},
                           {old[0], old[1], old[2], grad});
  for (size_t k = 0; k < 3; ++k) r.advance(old[k], next[k]);
  Team team(1);
  Program p(plan, table, team, 0);
  std::vector<T> g(n);
  p.bind("grad", g.data());
  for (const char* state : {"param", "m", "v"})
    for (size_t i = 0; i < n; ++i) p.state<T>(state)[i] = static_cast<T>(c[state].values[i]);
  p.step().step = j["first_step"].get<int64_t>() - 1;
  for (int64_t s = 0; s < c["grad"].rows(); ++s) {
    for (size_t i = 0; i < n; ++i) g[i] = static_cast<T>(c["grad"].values[static_cast<size_t>(s) * n + i]);
    p.run(1);
    for (const char* state : {"param", "m", "v"}) {
      const auto& want = c[std::string("after.") + state].values;
      double scale = 1e-300;
      for (size_t i = 0; i < n; ++i) scale = std::max(scale, std::fabs(want[static_cast<size_t>(s) * n + i]));
      for (size_t i = 0; i < n; ++i)
        ASSERT_NEAR(static_cast<double>(p.state<T>(state)[i]), want[static_cast<size_t>(s) * n + i], tolerance * scale)
            << c.name << " " << state << "[" << i << "] after step " << s;
    }
  }
}

TEST(Adam, MatchesGoldenVectors) {
  GOLDEN_CASES_OR_SKIP(cases, "adam");
  for (const auto& path : cases) {
    const golden::Case c = golden::read(path);
    adam_case<double>(c, *cpu_kernels("double"), 1e-12);
    for (const char* name : {"plain", "avx2", "avx512"})
      if (const KernelTable* t = cpu_kernels(name)) adam_case<float>(c, *t, 2e-6);
  }
}

// A loss that follows a bound number, reported into a ring of four.
struct Reported {
  Plan plan;
  std::vector<float> loss{1};
  Team team{1};
  std::unique_ptr<Program> program;
  Reported() {
    Recorder r(plan);
    const Var count = r.state("count", {1, 1}), ring = r.state("ring", {4, 2}), x = r.input("loss", {1, 1});
    r.advance(count, r.emit1(Average{0}, {count, x}));
    r.advance(ring, r.emit1(Report{4}, {ring, x, r.name(log(x), "logarithm")}));
    program = std::make_unique<Program>(plan, cpu_kernels(), team, 0);
    program->bind("loss", loss.data());
  }
};

TEST(Report, KeepsLastLossesInRing) {
  Reported t;
  for (int s = 0; s < 6; ++s) {
    t.loss[0] = static_cast<float>(s + 1);
    EXPECT_EQ(t.program->run(1), 1);
  }
  const float* ring = t.program->state<float>("ring");
  const float want[] = {5, 6, 3, 4};
  for (int slot = 0; slot < 4; ++slot) {
    EXPECT_EQ(ring[2 * slot], want[slot]);
    EXPECT_NEAR(ring[2 * slot + 1], std::log(want[slot]), 1e-6);
  }
  EXPECT_EQ(t.program->step().bad, -1);
}

TEST(Report, StopsAtFirstNonFiniteStepAndNamesCause) {
  for (const float bad : {-1.0f, 0.0f, INFINITY, NAN}) {  // logarithms NaN, −∞, ∞, NaN
    Reported t;
    EXPECT_EQ(t.program->run(3), 3);
    t.program->snapshot();
    t.loss[0] = bad;
    EXPECT_EQ(t.program->run(5), 1) << "stops after the bad step";
    EXPECT_EQ(t.program->step().bad, 3);
    EXPECT_EQ(t.program->run(5), 0) << "and stays there";
    EXPECT_NE(t.program->diagnose().find(std::isfinite(bad) ? "logarithm" : ""), std::string::npos);
    EXPECT_FALSE(t.program->diagnose().empty());
  }
}

// Only some starts have a snapshot: the search for the cause begins at the last one.
TEST(Report, NamesCauseAfterManyStarts) {
  for (const float steps : {0.5f, 1.5f, 14.5f, 41.5f}) {
    Plan plan;
    Recorder r(plan);
    const Var left = r.state("left", {1, 1}), ring = r.state("ring", {4, 1});
    r.advance(ring, r.emit1(Report{4}, {ring, r.name(log(left), "logarithm")}));
    r.advance(left, r.emit1(Average{0}, {left, left + -1.0}));
    Team team(1);
    Program p(plan, cpu_kernels(), team, 0);
    const float zeros[4] = {};
    p.put("left", &steps), p.put("ring", zeros);
    int64_t ran = 0;
    for (int64_t n = 1; n > 0 && ran < 100; ran += n) p.start(2, true), n = p.finish();
    EXPECT_EQ(ran, static_cast<int64_t>(steps) + 2);
    EXPECT_EQ(p.step().bad, static_cast<int64_t>(steps) + 1);
    EXPECT_NE(p.diagnose().find("logarithm"), std::string::npos) << p.diagnose();
  }
}

TEST(Average, TracksWeightsAndForgetsInitialValue) {
  Sandbox s;
  const Var average = s.state("average", {1, 3}), param = s.real("param", {1, 3});
  s.r.advance(average, s.r.emit1(Average{0.95}, {average, param}));
  std::vector<double> want = s.values["average"];
  for (int step = 0; step < 300; ++step) {
    const double d = std::min(0.95, (step + 1.0) / (step + 10.0));
    for (size_t i = 0; i < 3; ++i) want[i] = d * want[i] + (1 - d) * s.values["param"][i];
  }
  const Values got = s.run({cpu_kernels("double"), {}, 1, 300});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(got.at("state average")[i], want[i], 1e-12);
    EXPECT_NEAR(got.at("state average")[i], s.values["param"][i], 1e-4);
  }
}

}  // namespace
}  // namespace tessera::sandbox
