// Replaying a plan: a step allocates nothing, a resumed run equals an uninterrupted one, and errors of binding.
#include "engine/run/program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "base/error.h"
#include "engine/run/compile.h"
#include "support/random_plan.h"
#include "support/thrown.h"

namespace {
std::atomic<int64_t> allocations{0};

void* counted(size_t bytes, size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* p = alignment == 0 ? std::malloc(bytes == 0 ? 1 : bytes)
                           : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
}  // namespace

// Every new of this program is counted.
[[gnu::noinline]] void* operator new(size_t n) { return counted(n, 0); }
[[gnu::noinline]] void* operator new(size_t n, std::align_val_t a) { return counted(n, static_cast<size_t>(a)); }
[[gnu::noinline]] void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  try {
    return counted(n, static_cast<size_t>(a));
  } catch (const std::bad_alloc&) { return nullptr; }
}
[[gnu::noinline]] void* operator new(size_t n, const std::nothrow_t&) noexcept {
  try {
    return counted(n, 0);
  } catch (const std::bad_alloc&) { return nullptr; }
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace tessera::sandbox {
namespace {

// A closed training step: random rows, a layer, a loss, Adam.
Plan closed(int64_t updates = 1) {
  Plan plan;
  Recorder r(plan);
  ParameterSet set{"net", {}, 0};
  set.add("w", {12, 9});
  set.add("b", {1, 9});
  r.own(set);
  for (int64_t k = 0; k < updates; ++k) {
    const Var x = r.normal("x" + std::to_string(k), {33, 12}), y = tanh(matmul(x, r(set, "w")) + r(set, "b")),
              loss = mean(square(y + -0.5));
    r.minimize(loss, set, {Adam::torch, 0.01, 0.5, 0.9, 1e-8, 1e-6, updates, k, 3, 20});
    const Var ring = r.state("ring" + std::to_string(k), {8, 1});
    r.advance(ring, r.emit1(Report{8}, {ring, loss}));
  }
  optimize(plan);
  return plan;
}

TEST(Program, AllocatesNothingInAStep) {
  Team team(3);
  Program p(closed(), cpu_kernels(), team, 1);
  p.run(2);
  auto made = [&](int64_t steps) {
    const int64_t before = allocations.load();
    p.run(steps);
    return allocations.load() - before;
  };
  const int64_t one = made(1);
  EXPECT_EQ(made(50), one) << "whatever a call of run() needs, its steps need nothing";
}

TEST(Program, TimesEachPhaseOfTheStepsItRuns) {
  Team team(2);
  Program timed(closed(), cpu_kernels(), team, 1), plain(closed(), cpu_kernels(), team, 1);
  std::vector<int> ran;
  for (const TimedPhase& phase : timed.time_phases(3)) {
    EXPECT_GT(phase.seconds, 0);
    EXPECT_TRUE(std::isfinite(phase.seconds));
    for (const TimedPhase::Call& call : phase.calls) {
      EXPECT_EQ(call.block_rows > 0, call.nodes.size() > 1) << "one op alone, or the rows of a chain's blocks";
      ran.insert(ran.end(), call.nodes.begin(), call.nodes.end());
    }
  }
  std::vector<int> expected;
  for (size_t n = 0; n < timed.plan().nodes.size(); ++n)
    if (timed.placement().runs[n]) expected.push_back(static_cast<int>(n));
  std::sort(ran.begin(), ran.end());
  EXPECT_EQ(ran, expected) << "each op that runs is in one phase";
  plain.run(3);
  EXPECT_EQ(timed.step().step, 3);
  EXPECT_EQ(timed.get<float>("net"), plain.get<float>("net")) << "the clock changes nothing";
}

TEST(Program, ResumesToTheSameBits) {
  Team team(2);
  Program whole(closed(2), cpu_kernels(), team, 5), first(closed(2), cpu_kernels(), team, 5),
      second(closed(2), cpu_kernels(), team, 5);
  EXPECT_EQ(whole.run(11), 11);
  EXPECT_EQ(first.run(4), 4);
  second.step() = first.step();
  for (const Leaf& leaf : first.plan().leaves)
    if (leaf.kind == Leaf::state)
      std::copy_n(first.state<float>(leaf.name), first.plan().shape(leaf.value).count(),
                  second.state<float>(leaf.name));
  EXPECT_EQ(second.run(7), 7);
  for (const Leaf& leaf : whole.plan().leaves) {
    if (leaf.kind != Leaf::state) continue;
    const float *a = whole.state<float>(leaf.name), *b = second.state<float>(leaf.name);
    EXPECT_TRUE(std::equal(a, a + whole.plan().shape(leaf.value).count(), b)) << leaf.name;
  }
  EXPECT_EQ(second.step().step, 11);
}

TEST(Program, DependsOnTheSeed) {
  Team team(1);
  Program a(closed(), cpu_kernels(), team, 5), b(closed(), cpu_kernels(), team, 6);
  a.run(2);
  b.run(2);
  EXPECT_NE(a.state<float>("net")[0], b.state<float>("net")[0]);
}

TEST(Program, AgreesInFloatAndDouble) {
  Team team(1);
  Program a(closed(), cpu_kernels(), team, 5), b(closed(), *cpu_kernels("double"), team, 5);
  a.run(3);
  b.run(3);
  for (int i = 0; i < 12 * 9; ++i) EXPECT_NEAR(a.state<float>("net")[i], b.state<double>("net")[i], 2e-5);
}

TEST(Program, RunsZeroStepsOfEmptyPlans) {
  Team team(1);
  Program p(closed(), cpu_kernels(), team, 5);
  EXPECT_EQ(p.run(0), 0);
  EXPECT_EQ(p.run(-1), 0);
  EXPECT_EQ(p.step().step, 0);
}

using test::expect_error;

TEST(Program, ErrorsNameTheLeaf) {
  Sandbox s;
  const Var x = s.real("x", {2, 3}), w = s.state("w", {1, 3});
  s.see(x * w, "y");
  Team team(1);
  Program p(s.plan, cpu_kernels(), team, 0);
  const float data[6] = {};
  expect_error(ErrorCode::internal, {"no memory is bound to x"}, [&] { p.run(1); });
  expect_error(ErrorCode::internal, {"no bound leaf z"}, [&] { p.bind("z", data); });
  expect_error(ErrorCode::internal, {"no bound leaf w"}, [&] { p.bind("w", data); });
  expect_error(ErrorCode::internal, {"no state x"}, [&] { p.state<float>("x"); });
  expect_error(ErrorCode::internal, {"w has another scalar"}, [&] { p.state<double>("w"); });
  p.bind("x", data);
  EXPECT_EQ(p.run(1), 1);
  expect_error(ErrorCode::internal, {"another scalar"}, [&] { p.read<double>(p.find("y")); });
  EXPECT_EQ(p.find("nobody"), kNone);
}

TEST(Program, NeedsNoMemoryForMissingOrEmptyLeaves) {
  Team team(1);
  const auto p = compile({team, 1}, Purpose::step, [](Recorder& r) {
    const Var none = r.input("none", {2, 0}), x = r.input("x", {2, 3});
    r.output(concat_cols({none, x}), "y");
  });
  const float x[6] = {1, 2, 3, 4, 5, 6};
  p->bind("none", nullptr);
  p->bind_if("x", x);
  p->bind_if("another", x);
  EXPECT_EQ(p->run(1), 1);
  EXPECT_EQ(p->read<float>(p->find("y")), std::vector<float>(x, x + 6));
}

TEST(Program, ReportsFailedAllocationsInMegabytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer ends the program at such a request";
#endif
  expect_error(ErrorCode::memory, {"no memory for 1152921504607 MB of weights"},
               [] { Arena(int64_t{1} << 60, "weights", Team(1)); });
}

TEST(Program, NamesInstructionSets) {
  EXPECT_EQ(cpu_kernels("plain")->scalar_bytes, 4);
  EXPECT_EQ(cpu_kernels("double")->scalar_bytes, 8);
  EXPECT_EQ(cpu_kernels("sse9"), nullptr);
  ASSERT_EQ(setenv("TESSERA_CPU", "plain", 1), 0);
  EXPECT_STREQ(cpu_kernels().name, "plain");
  ASSERT_EQ(setenv("TESSERA_CPU", "sse9", 1), 0);
  expect_error(ErrorCode::unsupported, {"TESSERA_CPU=sse9"}, [] { cpu_kernels(); });
  ASSERT_EQ(unsetenv("TESSERA_CPU"), 0);
}

TEST(Recorder, RejectsMismatchedShapes) {
  Sandbox s;
  const Var x = s.real("x", {2, 3}), y = s.real("y", {4, 5});
  expect_error(ErrorCode::internal, {"matmul"}, [&] { matmul(x, y); });
  expect_error(ErrorCode::internal, {"reshape"}, [&] { reshape(x, {4, 2}); });
  expect_error(ErrorCode::internal, {"slice_rows"}, [&] { slice_rows(x, 1, 2); });
  expect_error(ErrorCode::internal, {"concat_cols"}, [&] { concat_cols({x, y}); });
  expect_error(ErrorCode::internal, {"row_dot"}, [&] { row_dot(x, y); });
}

TEST(Recorder, BindsNamedRandomTensors) {
  Plan plan;
  Recorder r(plan, {"z"});
  r.output(1.0 * r.normal("z", {2, 2}), "y");
  r.output(1.0 * r.normal("other", {2, 2}), "free");
  Team team(1);
  Program p(plan, *cpu_kernels("double"), team, 0);
  const double z[] = {1, 2, 3, 4};
  p.bind("z", z);
  p.run(1);
  EXPECT_EQ(p.read<double>(p.find("y")), std::vector<double>(z, z + 4));
  // A bound tensor still takes its number, so that the others draw as without it.
  Plan unbound;
  Recorder u(unbound);
  u.output(1.0 * u.normal("z", {2, 2}), "y");
  u.output(1.0 * u.normal("other", {2, 2}), "free");
  Program q(unbound, *cpu_kernels("double"), team, 0);
  q.run(1);
  EXPECT_EQ(p.read<double>(p.find("free")), q.read<double>(q.find("free")));
}

}  // namespace
}  // namespace tessera::sandbox
