// A set's update split into the updates of its parameters: the same numbers, at the same places.
#include <gtest/gtest.h>

#include "engine/schedule/placement.h"
#include "engine/schedule/split_optimizer.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

// Two updates of three parameters, the second starting from the result of the first; an average and a clamp.
struct Updates : Sandbox {
  Updates() {
    set.name = "net";
    set.add("w", {3, 4});
    set.add("b", {1, 4});
    set.add("v", {4, 2});
    own(set);
    for (int64_t update = 0; update < 2; ++update) {
      const Var y =
          matmul(tanh(matmul(real("x" + std::to_string(update), {6, 3}), r(set, "w")) + r(set, "b")), r(set, "v"));
      r.minimize(sum(square(y)), set, {Adam::torch, 0.1, 0.5, 0.9, 1.0, 1e-3, 2, update, 0, 0});
    }
    // the end of b and the beginning of v
    r.advance(r.flat(set), r.emit1(ClampRange{14, 4, -0.1, 0.1}, {r.flat(set)}));
    const Var average = state("average", {1, set.size});
    r.advance(average, r.emit1(Average{0.5}, {average, r.flat(set)}));
    see(1.0 * r(set, "w"), "w");
    see(1.0 * r(set, "b"), "b");
  }
  ParameterSet set;
};

TEST(SplitUpdates, MatchTheUpdateOfTheWholeSet) {
  const Updates s;
  Plan whole = s.plan;
  optimize(whole, {"all"});
  Plan split = whole;
  split_updates(split);
  EXPECT_EQ(count<Adam>(whole), 2);
  EXPECT_EQ(count<Adam>(split), 6);
  EXPECT_EQ(count<Average>(split), 3);
  EXPECT_EQ(count<ClampRange>(split), 2);
  for (const Setting& where :
       {Setting{}, Setting{&cpu_kernels()}, Setting{.table = cpu_kernels("double"), .threads = 3, .steps = 4}})
    EXPECT_EQ(difference(s.run(whole, where), s.run(split, where)), 0) << "element by element the same numbers";
}

TEST(SplitUpdates, KeepPlacesOfParameters) {
  const Updates s;
  Plan plan = s.plan;
  optimize(plan, {"all"});
  split_updates(plan);
  const Placement placed = place(plan, 4);
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    EXPECT_FALSE(std::holds_alternative<ConcatCols>(plan.nodes[n].op) && placed.runs[n])
        << "a state is not copied to be put together again";
}

TEST(SplitUpdates, SkipSetsOfOneParameter) {
  Sandbox s;
  ParameterSet set;
  set.name = "net";
  set.add("w", {3, 4});
  s.own(set);
  s.r.minimize(sum(square(matmul(s.real("x", {6, 3}), s.r(set, "w")))), set,
               {Adam::torch, 0.1, 0.5, 0.9, 1.0, 1e-3, 1, 0, 0, 0});
  Plan plan = s.plan;
  std::set<std::string> off;
  for (const PassInfo& pass : passes())
    if (std::string("dead") != pass.name) off.insert(pass.name);
  optimize(plan, off);
  const size_t nodes = plan.nodes.size();
  split_updates(plan);
  EXPECT_EQ(plan.nodes.size(), nodes);
}

}  // namespace
}  // namespace tessera::sandbox
