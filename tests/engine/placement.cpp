// Order and memory: readers of an old state precede its update, concatenations are computed in place, and only free
// memory is reused.
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/placement_check.h"
#include "support/sandbox.h"
#include "support/thrown.h"

namespace tessera::sandbox {
namespace {

int position(const Plan& plan, Id value) { return plan[value].node; }

TEST(Schedule, PutsReadersOfOldStateBeforeItsUpdate) {
  Sandbox s;
  const Var w = s.state("w", {1, 6}), x = s.real("x", {1, 6});
  const Var next = s.r.emit1(Average{0.5}, {w, x});
  s.r.advance(w, next);
  const Var before = exp(slice_cols(w, 1, 3));  // recorded after the change, but reads the old version through a view
  const Var after = tanh(slice_cols(next, 1, 3));
  s.see(before, "before");
  s.see(after, "after");
  Plan plan = s.plan;
  schedule(plan);
  EXPECT_LT(position(plan, before.id), position(plan, next.id));
  EXPECT_LT(position(plan, next.id), position(plan, after.id));
  const Values v = s.run({cpu_kernels("double"), {"all"}});
  for (size_t i = 0; i < 3; ++i) {
    const double old = s.values["w"][i + 1], d = 1 / 10.0;  // the first step's weight
    EXPECT_NEAR(v.at("before")[i], std::exp(old), 1e-14);
    EXPECT_NEAR(v.at("after")[i], std::tanh(d * old + (1 - d) * s.values["x"][i + 1]), 1e-14);
  }
  EXPECT_EQ(misplaced(plan), "");
}

TEST(Schedule, IsStableAndIdempotent) {
  Sandbox s;
  const Var x = s.real("x", {2, 2});
  for (int i = 0; i < 5; ++i) s.see(tanh(x) + static_cast<double>(i), "y" + std::to_string(i));
  Plan plan = s.plan;
  schedule(plan);
  for (size_t n = 0; n < plan.nodes.size(); ++n) EXPECT_EQ(plan.nodes[n].out, s.plan.nodes[n].out);
}

TEST(Schedule, RejectsCycles) {
  // An op reads both the old state and a value computed from the new one: a cycle.
  Sandbox s;
  const Var w = s.state("w", {1, 4}), next = s.r.emit1(Average{0.5}, {w, s.real("x", {1, 4})});
  s.see(w + exp(next), "both");
  Plan plan = s.plan;
  test::expect_error(ErrorCode::internal, {}, [&] { schedule(plan); });
}

TEST(Placement, ComputesConcatenatedPartsInPlace) {
  Sandbox s;
  const Var a = tanh(s.real("a", {6, 3})), b = exp(s.real("b", {6, 5})), c = sigmoid(s.real("c", {2, 8}));
  const Var wide = concat_cols({a, b}), tall = concat_rows({wide, c});
  s.see(1.0 * tall, "y");
  const Placement p = place(s.plan, 4);
  const auto slot = [&](Var v) { return p.slots[static_cast<size_t>(v.id)]; };
  EXPECT_EQ(slot(a).offset, slot(tall).offset);
  EXPECT_EQ(slot(a).ld, 8);
  EXPECT_EQ(slot(b).offset, slot(tall).offset + 4 * 3);
  EXPECT_EQ(slot(c).offset, slot(tall).offset + 4 * 6 * 8);
  for (size_t n = 0; n < s.plan.nodes.size(); ++n) {
    const bool move = std::holds_alternative<ConcatCols>(s.plan.nodes[n].op) ||
                      std::holds_alternative<ConcatRows>(s.plan.nodes[n].op);
    EXPECT_EQ(p.runs[n], !move) << op_name(s.plan.nodes[n].op);
  }
  EXPECT_EQ(misplaced(s.plan), "");
}

TEST(Placement, CopiesPartsOfTwoConcatenationsOnce) {
  Sandbox s;
  const Var a = tanh(s.real("a", {6, 3})), b = exp(s.real("b", {6, 3})), one = concat_cols({a, b}),
            two = concat_cols({b, a});
  s.see(1.0 * one, "one");
  s.see(1.0 * two, "two");
  EXPECT_EQ(misplaced(s.plan), "");
  const Values v = s.run({cpu_kernels("double"), {"all"}});
  for (size_t r = 0; r < 6; ++r)
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(v.at("one")[6 * r + c], v.at("two")[6 * r + 3 + c]);
      EXPECT_EQ(v.at("one")[6 * r + 3 + c], v.at("two")[6 * r + c]);
    }
}

TEST(Placement, KeepsTwoValuesOfAChainLive) {
  Sandbox s;
  Var x = s.real("x", {64, 64});
  for (int i = 0; i < 10; ++i) x = tanh(x);
  s.see(x, "y");
  const Placement p = place(s.plan, 4), apart = place(s.plan, 4, false);
  EXPECT_EQ(p.activation_bytes, 2 * 64 * 64 * 4);
  EXPECT_EQ(apart.activation_bytes, 10 * 64 * 64 * 4);
  EXPECT_EQ(p.unplaced_bytes, apart.activation_bytes);
}

TEST(Placement, KeepsOutputsToTheEnd) {
  Sandbox s;
  Var x = s.real("x", {16, 16});
  for (int i = 0; i < 6; ++i) {
    x = tanh(x);
    s.see(x, "y" + std::to_string(i));
  }
  EXPECT_EQ(misplaced(s.plan), "");
  EXPECT_EQ(place(s.plan, 8).activation_bytes, 6 * 16 * 16 * 8);
}

TEST(Placement, WritesSumsOverDeadAddends) {
  for (const bool read : {false, true}) {
    SCOPED_TRACE(read);
    Sandbox s;
    const auto rows = [&](const char* name, int64_t cols) { return tanh(s.real(name, {70, cols})); };
    const Var first = matmul(rows("a", 6), rows("b", 40), true);
    const Var d = s.r.emit1(Matmul{true, false, 1, true}, {rows("c", 6), rows("d", 40), first});
    s.see(d, "d");
    if (read) s.see(exp(first), "e");
    const auto slot = [](const Placement& p, Var v) { return p.slots[static_cast<size_t>(v.id)]; };
    const Placement p = lay_out(s.plan, 4).placement, apart = place(s.plan, 4);
    EXPECT_EQ(slot(p, first).offset == slot(p, d).offset, !read);
    EXPECT_NE(slot(apart, first).offset, slot(apart, d).offset) << "on a device";
    EXPECT_EQ(s.run({cpu_kernels("plain"), {"liveness"}, 2}), s.run({cpu_kernels("plain"), {}, 2}));
  }
}

TEST(Placement, UpdatesStatesInPlace) {
  Sandbox s;
  const Var w = s.state("w", {1, 40}), m = s.state("m", {1, 40}), v = s.state("v", {1, 40});
  const auto next = s.r.emit(Adam{Adam::torch, 0.1, 0.9, 0.99, 1e-8, 0, 1, 0, 0, 0}, {w, m, v, s.real("g", {1, 40})});
  const Placement p = place(s.plan, 4);
  for (size_t k = 0; k < 3; ++k) {
    const Slot before = p.slots[static_cast<size_t>((k == 0   ? w
                                                     : k == 1 ? m
                                                              : v)
                                                        .id)],
               after = p.slots[static_cast<size_t>(next[k].id)];
    EXPECT_EQ(before.where, Slot::state);
    EXPECT_EQ(after.where, Slot::state);
    EXPECT_EQ(after.offset, before.offset);
  }
  EXPECT_EQ(p.activation_bytes, 0);
  EXPECT_EQ(misplaced(s.plan), "");
}

TEST(Placement, CheckDetectsPlantedErrors) {
  Sandbox s;
  const Var a = tanh(s.real("x", {8, 8})), b = exp(a), w = s.state("w", {1, 4});
  s.see(a + b, "y");
  s.r.advance(w, s.r.emit1(Average{0.5}, {w, slice_cols(reshape(b, {1, 64}), 0, 4)}));
  const Placement right = place(s.plan, 4);
  EXPECT_EQ(PlacementCheck(s.plan, right, 4).wrong(), "");
  Placement overlap = right, outside = right, early = right;
  overlap.slots[static_cast<size_t>(b.id)].offset = overlap.slots[static_cast<size_t>(a.id)].offset + 64;
  EXPECT_NE(PlacementCheck(s.plan, overlap, 4).wrong().find("was overwritten"), std::string::npos);
  outside.slots[static_cast<size_t>(b.id)].offset = right.activation_bytes - 64;
  EXPECT_NE(PlacementCheck(s.plan, outside, 4).wrong().find("outside"), std::string::npos);
  std::swap(early.phases[0], early.phases[1]);
  EXPECT_NE(PlacementCheck(s.plan, early, 4).wrong(), "");
}

}  // namespace
}  // namespace tessera::sandbox
