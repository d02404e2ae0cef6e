// Ranks with a GPU each, over NCCL: any number of them trains the model that one trains.
#include <algorithm>

#include "device.h"
#include "engine/comm/nccl.h"
#include "models/tables.h"
#include "ranks/options.h"
#include "ranks/world.h"
#include "support/sandbox.h"
#include "support/thrown.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

#define TESSERA_NEEDS_DEVICES(n) \
  if (device_library().devices < (n)) GTEST_SKIP() << "There are fewer than " << (n) << " GPUs."

FitOptions on_gpus(FitOptions o, int ranks) {
  o.device = std::make_shared<Device>("cuda");
  o.ranks.threads = ranks;
  for (int r = 0; r < ranks; ++r) o.ranks.gpus.push_back(r);
  return o;
}
Model trained(const FitOptions& o) { return fit(example_people(100, 3), o, 1); }
// One epoch, or one step of each phase: an emulated GPU is slow.
FitOptions shortest(const std::string& method) {
  FitOptions o = rank_options(method);
  if (method == "timegan") {
    TimeganConfig& c = o.as<TimeganConfig>();
    c.embedding_iterations = c.supervised_iterations = c.joint_iterations = 1;
  } else {
    set(o, "epochs", "1");
  }
  return o;
}

class GpuRanks : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Methods, GpuRanks, testing::Values("tvae", "ctgan", "timegan"),
                         [](const auto& m) { return std::string(m.param); });

TEST_P(GpuRanks, EveryNumberOfThemTrainsTheSameModel) {
  TESSERA_NEEDS_DEVICES(4);
  const FitOptions o = shortest(GetParam());
  const std::string one = file_of(trained(on_gpus(o, 1)));
  for (const int ranks : {2, 4}) EXPECT_TRUE(file_of(trained(on_gpus(o, ranks))) == one) << ranks << " ranks";
}

// A GPU that is not there ends the job of the others, with its rank.
TEST(GpuRanks, ARankThatFailsEndsTheJob) {
  TESSERA_NEEDS_DEVICES(2);
  FitOptions o = on_gpus(shortest("tvae"), 2);
  o.ranks.gpus[1] = 99;
  try {
    trained(o);
    FAIL() << "there are no hundred GPUs";
  } catch (const Error& e) { EXPECT_NE(std::string(e.what()).find("rank 1 of 2"), std::string::npos) << e.what(); }
}

TEST(GpuRanks, AValueThatIsNotFiniteNamesItsRank) {
  TESSERA_NEEDS_DEVICES(2);
  FitOptions o = on_gpus(shortest("ctgan"), 2);
  o.as<CtganConfig>().penalty_weight = 1e39;
  test::expect_error(ErrorCode::numeric, {"the part of rank"}, [&] { trained(o); });
}

// A program of one exchange, on the rank's GPU: the parts of all ranks, or what failed.
std::vector<double> exchanged(Communicator& c, int64_t width) {
  Device device("cuda:" + std::to_string(c.rank()));
  link_devices(c, device);
  sandbox::Sandbox s;
  const Var order = s.state("order", {1, 1}, 0, 0), mine = s.state("mine", {1, width}, c.rank() + 1, c.rank() + 1);
  s.see(s.r.emit(AllGather{c.wires(), c.size()}, {order, mine})[1], "all");
  sandbox::Setting setting;
  setting.device = &device;
  const sandbox::Values got = s.run(setting);
  const auto unlinked = [&] { c.link(nullptr); };
  try {
    c.check();
  } catch (...) {
    unlinked();
    throw;
  }
  unlinked();
  return got.at("all");
}

TEST(NcclLinks, PartsArriveInTheOrderOfRanks) {
  TESSERA_NEEDS_DEVICES(3);
  for (const int64_t width : {1, 7, 64, 100000})  // rows with gaps between them, rows without, more than a message
    as_ranks(3, [&](Communicator& c) {
      std::vector<double> want;
      for (int r = 0; r < c.size(); ++r) want.insert(want.end(), static_cast<size_t>(width), r + 1);
      EXPECT_EQ(exchanged(c, width), want) << width;
    });
}

// Of parts that ranks share out, the last one less: the sum of this rank's, and then each rank's in all of them.
TEST(NcclLinks, SharesOutASumAndGathersIt) {
  TESSERA_NEEDS_DEVICES(3);
  for (const int64_t width : {5, 64, 100000})
    as_ranks(3, [&](Communicator& c) {
      Device device("cuda:" + std::to_string(c.rank()));
      link_devices(c, device);
      const int64_t part = (width + 2) / 3, own = std::min(part, width - c.rank() * part);
      sandbox::Sandbox s;
      const Var order = s.state("order", {1, 1}, 0, 0), mine = s.state("mine", {1, width}, c.rank() + 1, c.rank() + 1),
                all = s.state("all", {1, width}, 0, 0);
      const std::vector<Var> sum = s.r.emit(ReduceParts{c.wires(), 3, c.rank(), part}, {order, mine});
      std::vector<Var> parts{sum[0]};
      for (int r = 0; r < 3; ++r) parts.push_back(slice_cols(all, r * part, std::min(part, width - r * part)));
      Var& updated = parts[static_cast<size_t>(c.rank()) + 1];
      updated = s.r.emit1(Average{0}, {updated, static_cast<double>(c.rank() + 1) * sum[1]});
      const std::vector<Var> gathered = s.r.emit(GatherParts{c.wires(), 3, c.rank()}, parts);
      s.see(sum[1], "sum"), s.see(concat_cols({gathered.begin() + 1, gathered.end()}), "all");
      sandbox::Setting setting;
      setting.device = &device;
      const sandbox::Values got = s.run(setting);
      c.check();
      c.link(nullptr);
      EXPECT_EQ(got.at("sum"), std::vector<double>(static_cast<size_t>(own), 6)) << width;
      for (int64_t i = 0; i < width; ++i)
        ASSERT_EQ(got.at("all")[static_cast<size_t>(i)], 6 * static_cast<double>(i / part + 1)) << i << " of " << width;
    });
}

TEST(NcclLinks, ARankThatExchangesOtherwiseIsAnError) {
  TESSERA_NEEDS_DEVICES(2);
  as_ranks(2, [&](Communicator& c) {
    test::expect_error(ErrorCode::io, {name_of_rank(c.rank(), 2) + ": NCCL failed"},
                       [&] { exchanged(c, c.rank() == 0 ? 64 : 128); });
  });
}

// A rank that ends the job: what the others' GPUs wait for ends too.
TEST(NcclLinks, AnAbortEndsWhatGpusWaitFor) {
  TESSERA_NEEDS_DEVICES(2);
  as_ranks(2, [&](Communicator& c) {
    if (c.rank() == 1) {
      Device device("cuda:1");
      link_devices(c, device);
      c.abort(Error(ErrorCode::memory, "rank 1 of 2: no memory"));
      return c.link(nullptr);
    }
    try {
      exchanged(c, 64);
      ADD_FAILURE() << "rank 1 gave nothing";
    } catch (const Error& e) { EXPECT_STREQ(e.what(), "rank 1 of 2: no memory"); }
  });
}

}  // namespace
}  // namespace tessera::whole
