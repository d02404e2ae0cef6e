// Training in fp16: batches that overflow, runs that are stopped, and runs that diverge.
#include <atomic>

#include "models/model/model_state.h"
#include "models/tables.h"
#include "models/training/checkpoint.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

// Batches so small that a row's scaled share of the loss exceeds fp16 at first; with modes, because positions in them
// are divided by small standard deviations.
FitOptions overflowing() {
  FitOptions o = quick_tvae(4, 10);
  o.encoder.numbers = EncoderOptions::Numbers::modes;
  o.precision = "fp16";
  return o;
}

int64_t skipped(const Model& m) {
  int64_t all = 0;
  for (const auto& scale : m.state().provenance.at("loss_scaling")) all += scale.at("skipped").get<int64_t>();
  return all;
}

TEST(Fp16, SkipsBatchesThatOverflow) {
  FitOptions o = overflowing();
  std::vector<std::string> said;
  double last = 0, exact = 0;
  o.on_losses = [&](const LossRow& row) { last = row.losses[0].value; };
  Team team(1);
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) {
    if (std::string(p.phase) == "notice") said.push_back(p.note);
  };
  const Model m = Model::fit(example_people(500, 3), o, team, monitor);
  EXPECT_GT(skipped(m), 0);
  EXPECT_LT(skipped(m), 20);
  EXPECT_LT(m.state().provenance.at("loss_scaling")[0].at("scale"), 65536);
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const std::string& line) {
    return line.find("left out because gradients overflowed") != std::string::npos;
  }));
  o.precision = "fp32";
  o.on_losses = [&](const LossRow& row) { exact = row.losses[0].value; };
  EXPECT_FALSE(fit(example_people(500, 3), o).state().provenance.contains("loss_scaling"));
  EXPECT_NEAR(last, exact, 0.1 * std::abs(exact)) << "as good as in fp32";
}

TEST(Fp16, ResumesWithItsScale) {
  const Folder folder;
  FitOptions o = overflowing();
  const std::string whole = file_of(fit(example_people(500, 3), o));
  o.checkpoint.path = folder / "m.checkpoint";
  o.checkpoint.every_epochs = 1;
  for (int after = 1; after <= 3; ++after) {
    std::atomic<bool> cancel{false};
    FitOptions stopped = o;
    int lines = 0;
    stopped.on_losses = [&](const LossRow&) { cancel = ++lines == after; };
    Monitor monitor;
    monitor.cancel = &cancel;
    Team team(2);
    EXPECT_THROW(Model::fit(example_people(500, 3), stopped, team, monitor), Error);
    FitOptions resumed = o;
    resumed.checkpoint.resume = true;
    EXPECT_TRUE(file_of(fit(example_people(500, 3), resumed)) == whole) << "stopped after " << after << " epochs";
    Checkpoints::remove(o.checkpoint.path);
  }
}

TEST(Fp16, ReportsDivergence) {
  FitOptions o = quick(4, 50);
  o.precision = "fp16";
  o.as<CtganConfig>().learning_rate = 1;
  o.as<CtganConfig>().decay_from = 1;
  o.as<CtganConfig>().discriminator_dim = std::vector<int>(30, 64);
  const Thrown t = thrown([&] { fit(example_people(500, 1), o); });
  EXPECT_EQ(t.code, ErrorCode::numeric) << t.message;
  EXPECT_TRUE(t.says("not finite")) << t.message;
}

}  // namespace
}  // namespace tessera::whole
