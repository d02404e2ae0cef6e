// Whole programs on the device: a step of CTGAN for several iterations beside the processor, fused and op by op, cut
// into replays in any way; models fitted and sampled.
#include <atomic>

#include "device.h"
#include "models/tables.h"
#include "support/ctgan_training.h"
#include "tables/csv/example.h"

namespace tessera {
namespace {

sandbox::Setting on_device(std::set<std::string> off, int64_t steps) {
  sandbox::Setting s;
  s.device = &float_device();
  s.off = std::move(off);
  s.steps = steps;
  return s;
}
double largest_difference(const sandbox::Values& a, const sandbox::Values& b) { return sandbox::difference(a, b); }

TEST(DeviceTraining, StepsOfCtganAreTheProcessors) {
  TESSERA_NEEDS_DEVICE();
  for (const int critic_steps : {1, 2}) {
    const sandbox::Training t(critic_steps);
    const sandbox::Values there = t.run(on_device({}, 4));
    EXPECT_LE(largest_difference(t.run({cpu_kernels("double"), {}, 1, 4}), there), 2e-3)
        << critic_steps << " critic steps, beside the processor in double";
    EXPECT_EQ(largest_difference(t.run(on_device({}, 4)), there), 0) << "the same bits again";
    EXPECT_EQ(largest_difference(t.run(on_device({"fuse"}, 4)), there), 0) << "op by op";
  }
}

TEST(DeviceTraining, ReplaysAreTheStepsOneByOne) {
  TESSERA_NEEDS_DEVICE();
  const sandbox::Training t(1);
  const auto after = [&](const std::vector<int64_t>& cuts) {
    Team team(1);
    Program p(t.with(), float_device(), team, 3);
    std::vector<std::vector<int32_t>> indices;
    std::vector<std::vector<float>> reals;
    for (const Leaf& leaf : p.plan().leaves) {
      const auto at = t.values.find(leaf.name);
      if (at == t.values.end()) continue;
      reals.emplace_back(at->second.begin(), at->second.end());
      indices.emplace_back(at->second.begin(), at->second.end());
      const bool index = p.plan()[leaf.value].dtype == DType::index;
      if (leaf.kind == Leaf::state) p.put(leaf.name, reals.back().data());
      else p.bind(leaf.name, index ? static_cast<const void*>(indices.back().data()) : reals.back().data());
    }
    for (const int64_t n : cuts) EXPECT_EQ(p.run(n), n);
    std::vector<float> all = p.get<float>("generator");
    const std::vector<float> losses = p.get<float>("losses");
    all.insert(all.end(), losses.begin(), losses.end());
    return all;
  };
  const std::vector<float> whole = after({18});
  EXPECT_EQ(after({1, 1, 16}), whole);
  EXPECT_EQ(after({16, 2}), whole);
}

TEST(DeviceTraining, ModelsAreFittedAndSampled) {
  TESSERA_NEEDS_DEVICE();
  FitOptions o = whole::quick(2, 20, "paper");
  o.as<CtganConfig>().embedding_dim = 6;
  o.as<CtganConfig>().generator_dim = {12, 9};
  o.as<CtganConfig>().discriminator_dim = {10};
  const auto losses_on = [&](bool device) {
    std::vector<double> losses;
    o.on_losses = [&](const LossRow& row) { losses.insert(losses.end(), {row["critic"], row["generator"]}); };
    o.device = device ? std::shared_ptr<Device>(&float_device(), [](Device*) {}) : nullptr;
    return std::pair{whole::fit(example_people(60, 1), o), losses};
  };
  const auto [here, losses_here] = losses_on(false);
  const auto [there, losses_there] = losses_on(true);
  ASSERT_EQ(losses_there.size(), losses_here.size());
  for (size_t i = 0; i < losses_here.size(); ++i) EXPECT_NEAR(losses_there[i], losses_here[i], 1e-3) << "loss " << i;

  SampleOptions s;
  s.device = std::shared_ptr<Device>(&float_device(), [](Device*) {});
  const auto rows = [&](int64_t offset, int64_t count, int batch, const std::string& where) {
    s.batch = batch;
    s.where = where;
    Team team(2);
    const Monitor quiet;
    const auto stream = there.sample(offset, count, s, team, quiet);
    return whole::lines(whole::drain(*stream, there.schema()));
  };
  const std::vector<std::string> all = rows(0, 30, 0, "");
  EXPECT_EQ(rows(0, 30, 7, ""), all) << "whatever the batch";
  EXPECT_EQ(rows(12, 18, 0, ""), std::vector<std::string>(all.begin() + 12, all.end())) << "row by row";
  EXPECT_EQ(rows(0, 5, 0, "gender = 'male'").size(), 5u);
}

// The plan of calibrated sampling: what it keeps on the device are rows that the processor keeps of the same model, but
// for those at the very edge of a cut.
TEST(DeviceTraining, CalibratedRowsAreTheProcessors) {
  TESSERA_NEEDS_DEVICE();
  FitOptions o = whole::quick(2, 50);
  o.as<CtganConfig>().embedding_dim = 6;
  o.as<CtganConfig>().generator_dim = {12, 9};
  o.as<CtganConfig>().discriminator_dim = {10};
  o.calibrate = Tier::marginals;
  const Model model = whole::fit(example_people(300, 1), o);
  const auto rows = [&](bool device, int64_t count, int batch, const std::string& where) {
    SampleOptions s;
    s.calibrate = Tier::marginals;
    s.batch = batch;
    s.where = where;
    if (device) s.device = std::shared_ptr<Device>(&float_device(), [](Device*) {});
    SampleReport report;
    Team team(2);
    const Monitor quiet;
    const auto stream = model.sample(0, count, s, team, quiet);
    const std::vector<std::string> lines = whole::lines(whole::drain(*stream, model.schema()));
    EXPECT_GT(stream->report().candidates, count) << "no candidate was rejected: the test would prove nothing";
    return lines;
  };
  const std::vector<std::string> there = rows(true, 60, 0, "");
  EXPECT_EQ(rows(true, 60, 13, ""), there) << "whatever the batch";
  const std::vector<std::string> here = rows(false, 60, 0, "");
  int same = 0;
  for (size_t i = 0; i < here.size(); ++i) same += here[i] == there[i] ? 1 : 0;
  EXPECT_GE(same, 50) << "of 60 rows";
  EXPECT_EQ(rows(true, 5, 0, "gender = 'male'").size(), 5u);
}

FitOptions on_device(int epochs, int batch) {
  FitOptions o = whole::quick(epochs, batch);
  o.as<CtganConfig>().embedding_dim = 6;
  o.as<CtganConfig>().generator_dim = {12};
  o.as<CtganConfig>().discriminator_dim = {10};
  o.device = std::shared_ptr<Device>(&float_device(), [](Device*) {});
  return o;
}
void checkpoint_every_epoch(FitOptions& o, const std::string& path) {
  o.checkpoint.path = path;
  o.checkpoint.every_seconds = 0, o.checkpoint.every_epochs = 1;
}

// A checkpoint waits for all steps under way, which may be those up to the end.
TEST(DeviceTraining, ACheckpointBeforeTheLastStepChangesNothing) {
  TESSERA_NEEDS_DEVICE();
  const whole::Folder folder;
  FitOptions o = on_device(2, 60);
  const std::string bytes = whole::fit(example_people(60, 1), o).bytes();
  checkpoint_every_epoch(o, folder / "m.checkpoint");
  EXPECT_TRUE(whole::fit(example_people(60, 1), o).bytes() == bytes);
}

// Cancelled at every event of training, cancelled again, then let go to its end: the bytes of the run that nobody
// stopped.
TEST(DeviceTraining, ARunThatWasStoppedEndsAsOneThatWasNot) {
  TESSERA_NEEDS_DEVICE();
  const whole::Folder folder;
  FitOptions o = on_device(4, 20);
  const std::string bytes = whole::fit(example_people(60, 1), o).bytes();
  checkpoint_every_epoch(o, folder / "m.checkpoint");
  for (int event = 0; event < 4; ++event) {
    o.checkpoint.resume = false;
    for (int stops = 0; stops < 3; ++stops) {
      int seen = 0;
      std::atomic<bool> cancel{false};
      Monitor monitor;
      monitor.cancel = &cancel;
      monitor.on_progress = [&](const Progress& p) {
        if (std::string(p.phase) == "train" && seen++ == event) cancel = true;
      };
      Team team(1);
      try {
        Model::fit(example_people(60, 1), o, team, monitor);
      } catch (const Error& e) { EXPECT_EQ(e.code(), ErrorCode::cancelled) << e.what(); }
      o.checkpoint.resume = true;
    }
    EXPECT_TRUE(whole::fit(example_people(60, 1), o).bytes() == bytes) << "stopped at event " << event;
  }
}

}  // namespace
}  // namespace tessera
