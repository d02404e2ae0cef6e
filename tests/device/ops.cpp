// Every op through a program on the device, from the description that serves the processor: values in the bound of the
// arithmetic, in every precision of factors, and the same bits again.
#include <cfloat>

#include "device.h"
#include "engine/run/program.h"
#include "ops/op_check.h"
#include "support/rounded_cases.h"

namespace tessera::oracle {
namespace {

// The op alone in a plan: what it changes in place is state, all else is bound.
Ran run_program(Device& device, const Case& c, const Grids& in) {
  Plan plan;
  std::vector<Id> ids;
  for (size_t i = 0; i < c.in.size(); ++i) {
    const Leaf::Kind kind = static_cast<int>(i) < in_place(c.op) ? Leaf::state : Leaf::bound;
    ids.push_back(c.in[i].absent ? kNone : plan.leaf(kind, "x" + std::to_string(i), c.in[i].shape, c.in[i].dtype));
  }
  const std::vector<Id> out = plan.emit(c.op, ids);
  plan.outputs = out;
  Team team(1);
  Program p(std::move(plan), device, team, c.state.seed);
  std::vector<std::vector<float>> reals(c.in.size());
  std::vector<std::vector<int32_t>> indices(c.in.size());
  for (size_t i = 0; i < c.in.size(); ++i) {
    if (c.in[i].absent) continue;
    for (const Number& n : in[i].cells) {
      reals[i].push_back(static_cast<float>(n.v));
      indices[i].push_back(std::isfinite(n.v) ? static_cast<int32_t>(n.v) : 0);
    }
    reals[i].push_back(0), indices[i].push_back(0);  // an empty leaf wants an address too
    const bool index = c.in[i].dtype == DType::index;
    if (static_cast<int>(i) >= in_place(c.op))
      p.bind("x" + std::to_string(i), index ? static_cast<const void*>(indices[i].data()) : reals[i].data());
    else if (index) p.put("x" + std::to_string(i), indices[i].data());
    else p.put("x" + std::to_string(i), reals[i].data());
  }
  p.step() = c.state;
  p.run(1);
  Ran ran;
  for (const Id id : out) {
    if (p.plan()[id].dtype == DType::index) {
      const std::vector<int32_t> v = p.read<int32_t>(id);
      ran.out.emplace_back(v.begin(), v.end());
    } else if (const DType type = p.plan()[id].dtype; type != DType::real) {
      ran.out.emplace_back();
      for (const uint16_t bits : p.read<uint16_t>(id)) ran.out.back().push_back(narrow_value(bits, type));
    } else {
      const std::vector<float> v = p.read<float>(id);
      ran.out.emplace_back(v.begin(), v.end());
    }
  }
  return ran;
}

class DeviceOps : public OpTest {};

TEST_P(DeviceOps, ValueAndTheSameBitsAgain) {
  TESSERA_NEEDS_DEVICE();
  if (const std::string op = GetParam(); op == "all_gather" || op == "reduce_parts" || op == "gather_parts")
    GTEST_SKIP() << "It needs ranks: NcclLinks runs it.";
  each_case([](const Case& c) {
    if (!has_kernel(*float_device().api().kernels, c.op)) return;  // only a processor's step has it
    const Grids in = draw_inputs(c, true);
    const Ran first = run_program(float_device(), c, in);
    compare(c.reference(in), first, FLT_EPSILON, 2 * FLT_MIN, 16);
    same_bits(first, run_program(float_device(), c, in), "again");
  });
}

class DeviceProducts : public OfPrecision {};
TESSERA_OF_EACH_PRECISION(DeviceProducts);

TEST_P(DeviceProducts, AreThoseOfRoundedFactors) {
  TESSERA_NEEDS_A_REAL_GPU();
  each_rounded_case(GetParam(), [](const Case& c, const Grids& in, const Grids& want) {
    if (!has_kernel(*float_device().api().kernels, c.op)) return;
    const Ran first = run_program(float_device(), c, in);
    compare(want, first, FLT_EPSILON, 2 * FLT_MIN, 8);
    same_bits(first, run_program(float_device(), c, in), "again");
  });
}

INSTANTIATE_TEST_SUITE_P(Each, DeviceOps, testing::ValuesIn(op_names()), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tessera::oracle
