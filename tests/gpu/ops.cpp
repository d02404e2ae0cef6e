// What is true of every op's CUDA kernel, checked from the description that serves the CPU (tests/ops/op_case.h), on
// the emulated machine.
#include <cfloat>
#include <limits>

#include "gpu/watched.h"
#include "kernels/gpu/dialect/table.h"
#include "ops/op_check.h"

namespace tessera::oracle {
namespace {

void enqueue(const Kernel& kernel, const Call& call, int64_t tile, void* scratch) {
  const Watched watched(kernel, call, scratch);
  GpuContext context{nullptr, scratch};
  kernel.run(call, tile, &context);
}
Ran run_gpu(const Case& c, const Grids& in, Layout layout) {
  return run_kernel(kernels_cuda(), c, in, layout, enqueue);
}

// Tight rows; misaligned ones; rows of whole 16-byte words with something between them.
const Layout kLayouts[] = {{0, 0}, {3, 1}, {5, 4, 0, 4}};

class GpuOps : public OpTest {
 protected:
  void TearDown() override { emulation::set_schedule({}); }
};

TEST_P(GpuOps, Value) {
  each_case([](const Case& c) {
    const Grids in = draw_inputs(c, true), want = c.reference(in);
    for (const Layout& l : kLayouts) {
      SCOPED_TRACE("rows " + std::to_string(l.pad) + " apart");
      compare(want, run_gpu(c, in, l), FLT_EPSILON, 2 * FLT_MIN);
    }
  });
}

TEST_P(GpuOps, LawsHold) {
  each_case([](const Case& c) {
    if (c.laws.empty()) return;
    const Grids in = draw_inputs(c, true);
    const Ran ran = run_gpu(c, in, {});
    Grids out = c.reference(in);
    for (size_t k = 0; k < out.size(); ++k)
      for (size_t i = 0; i < out[k].cells.size(); ++i) out[k].cells[i] = ran.out[k][i];
    for (const Law& law : c.laws) EXPECT_LE(law.distance(in, out), 500 * FLT_EPSILON) << law.sentence;
  });
}

TEST_P(GpuOps, NanAndInfinityReachWhatDependsOnThem) {
  each_case([](const Case& c) {
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
      for (size_t i = 0; i < c.in.size(); ++i) {
        if (c.in[i].absent || c.in[i].dtype == DType::index || c.in[i].shape.count() == 0) continue;
        Grids in = draw_inputs(c, true);
        in[i].cells[in[i].cells.size() / 2] = bad;
        const Grids want = c.reference(in);
        const Ran got = run_gpu(c, in, kLayouts[1]);
        for (size_t k = 0; k < want.size(); ++k)
          for (size_t e = 0; e < want[k].cells.size(); ++e)
            ASSERT_EQ(std::isfinite(got.out[k][e]), std::isfinite(want[k].cells[e].v))
                << "input " << i << " holds " << bad << ", output " << k << " element " << e << " is " << got.out[k][e];
      }
  });
}

TEST_P(GpuOps, BitsAreTheSameForAnyScheduleLayoutAndBatch) {
  each_case([](const Case& c) {
    const Grids in = draw_inputs(c, true);
    const Ran whole = run_gpu(c, in, {});
    for (const char* schedule : {"reverse", "random:1", "random:2"}) {
      emulation::set_schedule(emulation::parse_schedule(schedule));
      same_bits(whole, run_gpu(c, in, {}), schedule);
    }
    emulation::set_schedule({});
    for (const Layout& l : {kLayouts[1], kLayouts[2]})
      same_bits(whole, run_gpu(c, in, l), "rows " + std::to_string(l.pad) + " apart");
    rows_have_their_bits_anywhere(
        c, in, {2, 15, 16, 17, 33, 65},
        [](const Case& batch, const Grids& values, const Layout& l) { return run_gpu(batch, values, l); },
        "on the device");
  });
}

INSTANTIATE_TEST_SUITE_P(Each, GpuOps, testing::ValuesIn(op_names(kernels_cuda())),
                         [](const auto& test) { return test.param; });

// What a block keeps of a layer does not fit into shared memory and lies in the workspace: because of its inputs on
// the way forward, of its units on the way back.
TEST(GpuRecurrent, LayersBeyondSharedMemoryAreThoseOfTheProcessor) {
  const auto agrees = [](const Case& c) {
    const Grids in = draw_inputs(c, true);
    const Ran want = run_kernel(*float_tables().back(), c, in, {}), got = run_gpu(c, in, {});
    EXPECT_EQ(got.damage, "");
    ASSERT_EQ(got.out.size(), want.out.size());
    for (size_t k = 0; k < want.out.size(); ++k)
      for (size_t i = 0; i < want.out[k].size(); ++i)
        ASSERT_NEAR(got.out[k][i], want.out[k][i], 2e-5) << "output " << k << ", element " << i;
  };
  constexpr int64_t kIn = 25'000, kSome = 33, kMany = 1'900;
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm}) {
    SCOPED_TRACE(static_cast<int>(cell));
    const int64_t gates = gates_of(cell);
    const bool lstm = cell == Cell::lstm;
    const Input bias = real(1, gates * kSome), state = real(1, kSome), last = real(1, kMany);
    agrees({"",
            Recurrent{cell, 1, 0},
            {real(1, kIn), none(), state, lstm ? state : none(), real(kIn, gates * kSome).range(-0.01, 0.01),
             real(kSome, gates * kSome), bias, cell == Cell::gru_reset_before ? none() : bias},
            nullptr});
    agrees({"",
            RecurrentGrad{cell, 1, 1},
            {none(), real(sequence_tiles(1) * saved_of(cell) * kMany, kSequenceTile).range(0.1, 0.9),
             real(kMany, gates * kMany).range(-0.01, 0.01), last, last, lstm ? last : none()},
            nullptr});
  }
}

}  // namespace
}  // namespace tessera::oracle
