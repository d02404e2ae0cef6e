// Each op alone in a fused launch, partitioned in every possible way: the bits of its own launch. And what no launch
// can hold is refused.
#include <algorithm>
#include <vector>

#include "gpu/buffer.h"
#include "gpu/watched.h"
#include "kernels/fused.h"
#include "kernels/gpu/dialect/table.h"
#include "ops/op_check.h"
#include "support/rounded_cases.h"

namespace tessera::oracle {
namespace {

// How the launches of the test at hand are cut.
struct Way {
  FusedChain::Cut cut;
  int64_t run;                // rows: of a unit
  bool sliced;                // a product: its slices first, then their sum
  int64_t apart = 0;          // rows: of stacked parts
  bool sum_by_tiles = false;  // sliced: the sum is by tiles, not by rows
};
Way way_now;
OpKind kind_now;
Traits traits_now = traits(Fill{}, 0);
bool fitted;
// The output whose rows a chain cuts: not one that holds sequences as lanes.
size_t rows_output(const Traits& t) { return t.tiles.tiled_out.has(0) ? 1 : 0; }
void set_now(const Case& c) {
  kind_now = static_cast<OpKind>(c.op.index() - 1);
  traits_now = traits(c.op, c.in.size());
}

bool is_product(OpKind kind) { return kind == OpKind::matmul; }

void launch_chains(const std::vector<FusedChain>& chains, StepState* state, GpuContext& context) {
  const FusedLaunchOp op{chains.data(), static_cast<int>(chains.size())};
  fitted = fused_kernels_cuda().fits(op);
  const Call call{nullptr, nullptr, 0, 0, &op, state};
  if (fitted) fused_kernels_cuda().kernel.run(call, 0, &context);
}

void enqueue_fused(const Kernel&, const Call& call, int64_t, void*) {
  const Watched watched(call);
  const Buffer<float> workspace(
      is_product(kind_now) ? static_cast<size_t>(fused_kernels_cuda().slices_bytes(call)) / 4 + 16 : 16);
  GpuContext context{nullptr, workspace.data()};
  const View& out = call.out[rows_output(traits_now)];
  const auto [cut, run, sliced, apart, sum_by_tiles] = way_now;
  FusedStep step{kind_now, call, run, apart, FusedStep::all, 64};  // the sums of slices lie behind something else's
  FusedChain chain{cut, 0, &step, 1};
  if (cut == FusedChain::rows) chain.units = (apart > 0 ? apart : out.rows) / run;
  if (cut == FusedChain::cols) chain.units = traits_now.scalars ? 1 : out.cols;
  if (cut == FusedChain::flat) chain.units = out.rows * out.cols;
  if (sliced) {
    FusedStep sum = step;
    step.part = FusedStep::slices, sum.part = FusedStep::sum;
    launch_chains({chain}, call.state, context);
    const FusedChain rows{sum_by_tiles ? FusedChain::tiles : FusedChain::rows, out.rows, &sum, 1};
    if (fitted) launch_chains({rows}, call.state, context);
    return;
  }
  launch_chains({chain}, call.state, context);
}

void enqueue_alone(const Kernel& kernel, const Call& call, int64_t tile, void* scratch) {
  const Watched watched(kernel, call, scratch);
  GpuContext context{nullptr, scratch};
  kernel.run(call, tile, &context);
}

// The partitions possible for an op's case: those listed for its kernels (Parts) and allowed by its traits.
std::vector<Way> ways_of(const Case& c, int64_t rows) {
  const Traits t = traits(c.op, c.in.size());
  const int parts = parts_of(c.op);
  std::vector<Way> all;
  if ((parts & Parts::rows) != 0 && (t.rows || t.move.view())) {
    all.push_back({FusedChain::rows, 1, false});
    for (const int64_t stacked : {2, 3})
      if (rows % stacked == 0 && rows > stacked) {
        all.push_back({FusedChain::rows, 1, false, rows / stacked});
        break;
      }
    for (const int64_t run : {3, 2})
      if (rows % run == 0 && rows > run) {
        all.push_back({FusedChain::rows, run, false});
        break;
      }
  }
  if ((parts & Parts::cols) != 0 && t.cols) all.push_back({FusedChain::cols, 0, false});
  // of one row: others are elements of tiles, which steps of models have (fused.cpp)
  if ((parts & Parts::elements) != 0 && t.elements && (t.in_place > 0 || rows == 1))
    all.push_back({FusedChain::flat, 0, false});
  if ((parts & Parts::tiles) == 0) return all;
  all.push_back({FusedChain::tiles, 1, false});
  if (is_product(kind_now)) all.push_back({FusedChain::tiles, 1, true, 0, true});
  if (is_product(kind_now) && t.rows) all.push_back({FusedChain::tiles, 1, true});
  return all;
}

class FusedOps : public OpTest {
 protected:
  void TearDown() override { emulation::set_schedule({}); }
};

void has_the_bits_of_a_launch_of_its_own(const Case& c) {
  set_now(c);
  const Grids in = draw_inputs(c, true);
  for (const Layout& l : {Layout{}, Layout{3, 1}}) {
    const Ran alone = run_kernel(kernels_cuda(), c, in, l, enqueue_alone);
    const int64_t rows = c.reference(in)[rows_output(traits_now)].rows;
    if (alone.out[0].empty()) continue;
    for (const Way& s : ways_of(c, rows)) {
      const auto* product = std::get_if<Matmul>(&c.op);
      if (product != nullptr && s.sliced && (product->trans_a ? in[0].rows : in[0].cols) == 0) continue;
      way_now = s;
      emulation::set_schedule(emulation::parse_schedule(l.pad > 0 ? "random:3" : "sequential"));
      const Ran fused = run_kernel(kernels_cuda(), c, in, l, enqueue_fused);
      if (!fitted) {
        EXPECT_TRUE((product != nullptr && product->pairs > 6) || c.in.size() > 8 ||
                    (s.cut == FusedChain::flat && l.pad > 0))
            << "a launch can hold it";
        continue;
      }
      same_bits(alone, fused,
                "cut " + std::to_string(s.cut) + ", units of " + std::to_string(s.run) +
                    (s.sliced ? " rows, sliced" : " rows"));
      EXPECT_EQ(fused.damage, "") << "cut " << s.cut;
    }
  }
}

TEST_P(FusedOps, HaveTheBitsOfALaunchOfTheirOwn) { each_case(has_the_bits_of_a_launch_of_its_own); }

// On tensor cores.
class FusedProducts : public OfPrecision {};
TESSERA_OF_EACH_PRECISION(FusedProducts);

TEST_P(FusedProducts, HaveTheBitsOfALaunchOfTheirOwn) {
  each_rounded_case(GetParam(), [](const Case& c, const Grids&, const Grids&) {
    if (!has_kernel(kernels_cuda(), c.op)) return;
    has_the_bits_of_a_launch_of_its_own(c);
    emulation::set_schedule({});
  });
}

INSTANTIATE_TEST_SUITE_P(Each, FusedOps, testing::ValuesIn(op_names(kernels_cuda())),
                         [](const auto& test) { return test.param; });

// A fused launch cut this way has the bits of the op's own.
void has_bits(const Ran& alone, const Case& c, const Grids& in, const Way& way, const char* schedule = "sequential") {
  way_now = way;
  emulation::set_schedule(emulation::parse_schedule(schedule));
  const Ran fused = run_kernel(kernels_cuda(), c, in, {}, enqueue_fused);
  emulation::set_schedule({});
  ASSERT_TRUE(fitted) << op_name(c.op);
  same_bits(alone, fused, op_name(c.op));
  EXPECT_EQ(fused.damage, "");
}

// Layers so wide that a block's room holds the state of only some of its sequences, some of them in two stacked parts:
// they are taken through the layer in groups.
TEST(FusedLaunches, TakeSequencesInGroupsWhereTheRoomIsSmall) {
  constexpr int64_t kSteps = 2, kIn = 3, kHidden = 131;
  for (const auto& [cell, sequences] : {std::pair{Cell::gru, kSequenceTile},
                                        {Cell::gru_reset_before, kSequenceTile},
                                        {Cell::lstm, kSequenceTile},
                                        {Cell::gru, kSequenceTile + 3},
                                        {Cell::lstm, kSequenceTile - 1},
                                        {Cell::gru, 2 * kSequenceTile},
                                        {Cell::lstm, 2 * kSequenceTile}}) {
    const int64_t gates = gates_of(cell) * kHidden;
    const bool lstm = cell == Cell::lstm;
    const auto state = [&, count = sequences](bool there) { return there ? real(count, kHidden) : none(); };
    const Input length = real(sequences, 1).range(0, 3), w_h = real(kHidden, gates).range(-0.1, 0.1),
                bias = real(1, gates);
    Case forwards{"",
                  Recurrent{cell, kSteps, 1},
                  {real(sequences, kSteps * kIn), length, state(true), state(lstm), real(kIn, gates), w_h, bias,
                   cell == Cell::gru_reset_before ? none() : bias},
                  nullptr};
    Case backwards{
        "",
        RecurrentGrad{cell, kSteps, sequences},
        {length, real(sequence_tiles(sequences) * kSteps * saved_of(cell) * kHidden, kSequenceTile).range(0.1, 0.9),
         w_h, real(sequences, kSteps * kHidden), state(true), state(lstm)},
        nullptr};
    for (const Case* c : {&forwards, &backwards}) {
      set_now(*c);
      const Grids in = draw_inputs(*c, true);
      const Ran alone = run_kernel(kernels_cuda(), *c, in, {}, enqueue_alone);
      const bool stacked = sequences == 2 * kSequenceTile;
      const Way way{FusedChain::rows, stacked ? kSequenceTile : sequences, false, stacked ? kSequenceTile : 0};
      for (const char* schedule : {"sequential", "random:7"}) has_bits(alone, *c, in, way, schedule);
    }
  }
}

void has_the_bits_of_its_own_launch(const Case& c, const Way& way) {
  set_now(c);
  const Grids in = draw_inputs(c, true);
  has_bits(run_kernel(kernels_cuda(), c, in, {}, enqueue_alone), c, in, way);
}

// Layers so wide that one step's inputs fill the room, and that a tile's gradients do not fit shared memory.
TEST(FusedLaunches, TakeLayersThatHardlyFit) {
  constexpr int64_t kIn = 100, kHidden = 500, kGates = 4 * kHidden;
  const Input bias = real(1, kGates), state = real(1, kHidden);
  has_the_bits_of_its_own_launch(
      {"",
       Recurrent{Cell::lstm, 1, 1},
       {real(1, kIn), none(), state, state, real(kIn, kGates), real(kHidden, kGates).range(-0.1, 0.1), bias, bias},
       nullptr},
      {FusedChain::rows, 1, false});
  has_the_bits_of_its_own_launch(
      {"",
       RecurrentInputGrad{Cell::gru, 1, 1},
       {real(sequence_tiles(1) * slopes_of(Cell::gru) * kHidden, kSequenceTile), real(2, 3 * kHidden)},
       nullptr},
      {FusedChain::rows, 1, false});
}

// Inputs so wide that those of all steps do not fit.
TEST(FusedLaunches, TakeInputsOfSomeStepsAtATime) {
  constexpr int64_t kSteps = 19, kIn = 500, kHidden = 3, kSequences = 3;
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm}) {
    const int64_t gates = gates_of(cell) * kHidden;
    const Input bias = real(1, gates), c0 = cell == Cell::lstm ? real(kSequences, kHidden) : none();
    const Case c{
        "",
        Recurrent{cell, kSteps, 1},
        {real(kSequences, kSteps * kIn), real(kSequences, 1).range(0, kSteps + 1), none(), c0,
         real(kIn, gates).range(-0.1, 0.1), real(kHidden, gates), bias, cell == Cell::gru_reset_before ? none() : bias},
        nullptr};
    for (const int64_t run : {int64_t{1}, kSequences})
      has_the_bits_of_its_own_launch(c, {FusedChain::rows, run, false});
  }
}

// Products with enough tiles for sides of 64, and of 32.
TEST(FusedLaunches, MakeManyTiles) {
  constexpr int64_t kDepth = 5;
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{770, 700}, {420, 380}})
    for (const bool trans_a : {false, true})
      for (const bool trans_b : {false, true})
        has_the_bits_of_its_own_launch(
            {"",
             Matmul{trans_a, trans_b, 1, false},
             {trans_a ? real(kDepth, rows) : real(rows, kDepth), trans_b ? real(cols, kDepth) : real(kDepth, cols)},
             nullptr},
            {FusedChain::tiles, 1, false});
}

// A launch that holds `chains` chains of `steps` steps each.
bool holds(int chains, int steps, const FusedStep& step, FusedChain::Cut cut = FusedChain::rows) {
  const std::vector<FusedStep> all(static_cast<size_t>(steps), step);
  const std::vector<FusedChain> many(static_cast<size_t>(chains), FusedChain{cut, 4, all.data(), steps});
  return fused_kernels_cuda().fits({many.data(), chains});
}

TEST(FusedLaunches, RefuseWhatTheyCannotHold) {
  float x[8 * 40] = {};
  StepState state{1, 0, -1};
  std::vector<View> in(40, View{x, 4, 2, 2, 4}), out(3, View{x, 4, 2, 2, 4});
  const auto step = [&](OpKind kind, const void* op, int inputs) {
    return FusedStep{kind, {in.data(), out.data(), inputs, 1, op, &state}, 1, 0, FusedStep::all, 0};
  };
  const Fill fill{4, 2, 0};
  const FusedStep filled = step(OpKind::fill, &fill, 0);
  EXPECT_TRUE(holds(32, 3, filled));
  EXPECT_FALSE(holds(33, 1, filled)) << "chains";
  EXPECT_FALSE(holds(1, 97, filled)) << "steps";
  const Matmul six{false, false, 6, false}, seven{false, false, 7, false};
  EXPECT_TRUE(holds(1, 1, step(OpKind::matmul, &six, 12)));
  EXPECT_FALSE(holds(1, 1, step(OpKind::matmul, &seven, 14))) << "pairs";
  EXPECT_FALSE(holds(1, 96, step(OpKind::matmul, &six, 12))) << "what steps are told";
  const ConcatCols concat{};
  EXPECT_TRUE(holds(1, 1, step(OpKind::concat_cols, &concat, 8)));
  EXPECT_FALSE(holds(1, 1, step(OpKind::concat_cols, &concat, 9))) << "pieces";
  const Report report{4};
  EXPECT_TRUE(holds(1, 1, step(OpKind::report, &report, 33), FusedChain::cols));
  EXPECT_FALSE(holds(1, 1, step(OpKind::report, &report, 34), FusedChain::cols)) << "numbers";
  const Average average{0.9};
  EXPECT_TRUE(holds(1, 1, step(OpKind::average, &average, 2), FusedChain::flat));
  const Adam adam{};
  EXPECT_TRUE(holds(1, 1, step(OpKind::adam, &adam, 4), FusedChain::flat));
  for (const bool of_input : {false, true}) {  // rows with something between them are no row of elements
    View& v = of_input ? in[1] : out[0];
    v.ld = 3;
    EXPECT_FALSE(holds(1, 1, step(OpKind::average, &average, 2), FusedChain::flat));
    v.ld = 2;
  }
  for (int k = 0; k < 4; ++k) {
    View& v = k < 3 ? out[static_cast<size_t>(k)] : in[3];
    v.ld = 3;
    EXPECT_FALSE(holds(1, 1, step(OpKind::adam, &adam, 4), FusedChain::flat)) << k;
    v.ld = 2;
  }
  const Unary twice{Unary::affine, 2, 0};
  out[0].rows = 1;
  EXPECT_TRUE(holds(1, 1, step(OpKind::unary, &twice, 1), FusedChain::flat));
  out[0].rows = 2;
  EXPECT_FALSE(holds(1, 1, step(OpKind::unary, &twice, 1), FusedChain::flat)) << "rows of elements";
  for (const FusedChain::Cut cut : {FusedChain::flat, FusedChain::tiles})
    EXPECT_FALSE(holds(1, 1, filled, cut)) << "a cut that the op has no device code for";
  const SliceRows slice{0, 1};
  EXPECT_FALSE(holds(1, 1, step(OpKind::slice_rows, &slice, 1))) << "an op without a place in a chain";
}

}  // namespace
}  // namespace tessera::oracle
