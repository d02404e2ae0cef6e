// A model trained by ranks is one file, whatever their number; a run that was stopped goes on with any other number.
#include <atomic>

#include "models/tables.h"
#include "models/training/checkpoint.h"
#include "ranks/options.h"
#include "support/thrown.h"

namespace tessera::whole {
namespace {

Model trained(FitOptions o, int ranks, int threads = 2) {
  o.ranks.threads = ranks;
  return fit(rank_rows(), o, threads);
}

// A run of some ranks that is stopped and continued by others ends as one that was not.
void expect_resumed_by_any_ranks(FitOptions o) {
  const Folder folder;
  const std::string whole = file_of(trained(o, 1));
  o.checkpoint.path = folder / "m.checkpoint";
  o.checkpoint.every_epochs = 1;
  for (const auto& [before, after] : {std::pair{4, 1}, std::pair{1, 2}, std::pair{2, 4}}) {
    std::atomic<bool> cancel{false};
    FitOptions stopped = o;
    stopped.ranks.threads = before;
    int lines = 0;
    stopped.on_losses = [&](const LossRow&) { cancel = ++lines == 2; };
    Monitor monitor;
    monitor.cancel = &cancel;
    Team team(2);
    EXPECT_THROW(Model::fit(rank_rows(), stopped, team, monitor), Error);
    FitOptions resumed = o;
    resumed.checkpoint.resume = true;
    EXPECT_TRUE(file_of(trained(resumed, after)) == whole) << o.method << ": " << before << " ranks, then " << after;
    Checkpoints::remove(o.checkpoint.path);
  }
}

class RankTraining : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Methods, RankTraining, testing::Values("tvae", "ctgan", "timegan", "made"),
                         [](const auto& m) { return std::string(m.param); });

TEST_P(RankTraining, EveryNumberOfRanksTrainsTheSameModel) {
  const FitOptions o = rank_options(GetParam());
  const std::string one = file_of(trained(o, 1));
  for (const int ranks : {2, 4}) EXPECT_TRUE(file_of(trained(o, ranks)) == one) << ranks << " ranks";
  EXPECT_TRUE(file_of(trained(o, 2, 1)) == one) << "2 ranks, a thread each";
  FitOptions uncut = o;
  uncut.ranks.shards = 0;
  EXPECT_FALSE(file_of(trained(uncut, 1)) == one) << "a batch summed as one has other bits";
}

TEST_P(RankTraining, AStoppedRunGoesOnWithAnyNumberOfRanks) { expect_resumed_by_any_ranks(rank_options(GetParam())); }

// Networks that are large enough for ranks to share their updates: the same model, also where another number of ranks
// goes on, and where the averages of the best step are kept.
TEST(RankTraining, SharedUpdatesTrainTheSameModel) {
  FitOptions o = rank_options("ctgan");
  o.as<CtganConfig>().generator_dim = o.as<CtganConfig>().discriminator_dim = {160, 160};
  const std::string one = file_of(trained(o, 1));
  for (const int ranks : {2, 4}) EXPECT_TRUE(file_of(trained(o, ranks)) == one) << ranks << " ranks";
  expect_resumed_by_any_ranks(o);
  FitOptions best = rank_options("tvae");
  best.as<TvaeConfig>().encoder_dim = best.as<TvaeConfig>().decoder_dim = {256, 160};
  best.patience = 1, best.keep_best = true;
  EXPECT_TRUE(file_of(trained(best, 4)) == file_of(trained(best, 1)));
  expect_resumed_by_any_ranks(best);
}

// After training, ranks share the sums of the prior's fit. A run that is cancelled there goes on.
TEST(RankTraining, ThePriorIsThatOfOneRank) {
  const Folder folder;
  FitOptions o = rank_options("tvae");
  o.as<TvaeConfig>().epochs = 1, o.as<TvaeConfig>().active_kl = 1e-9;  // few steps carry little
  const auto by = [&](int ranks, const Monitor& monitor) {
    Team team(2);
    o.ranks.threads = ranks;
    return file_of(Model::fit(example_people(3000, 3), o, team, monitor));
  };
  const std::string one = by(1, {});
  EXPECT_NE(one.find("prior.share"), std::string::npos);
  for (const int ranks : {2, 4}) EXPECT_TRUE(by(ranks, {}) == one) << ranks << " ranks";
  o.checkpoint.path = folder / "m.checkpoint";
  std::atomic<bool> cancel{false};
  Monitor monitor;
  monitor.cancel = &cancel;
  monitor.on_progress = [&](const Progress& p) { cancel = std::string(p.phase) == "prior" && p.done == 2; };
  test::expect_error(ErrorCode::cancelled, {}, [&] { by(4, monitor); });
  o.checkpoint.resume = true;
  EXPECT_TRUE(by(2, {}) == one) << "resumed";
}

// The gradients that the ranks exchange are scaled, and each of them comes to the same verdict.
TEST(RankTraining, RanksScaleLossesOfFp16Alike) {
  for (const char* method : {"tvae", "timegan"}) {
    FitOptions o = rank_options(method);
    o.precision = "fp16";
    const std::string one = file_of(trained(o, 1));
    for (const int ranks : {2, 4})
      EXPECT_TRUE(file_of(trained(o, ranks)) == one) << method << ", " << ranks << " ranks";
  }
}

TEST(RankTraining, AValueThatIsNotFiniteNamesItsRank) {
  FitOptions o = rank_options("ctgan");
  o.as<CtganConfig>().penalty_weight = 1e39;
  o.ranks.threads = 2;
  Team team(2);
  test::expect_error(ErrorCode::numeric, {"the part of rank"}, [&] { Model::fit(rank_rows(), o, team, Monitor{}); });
}

TEST(RankTraining, EarlyStoppingEndsAtTheSameStep) {
  FitOptions o = rank_options("tvae");
  set(o, "epochs", "12");
  o.patience = 1, o.keep_best = true;
  EXPECT_TRUE(file_of(trained(o, 4)) == file_of(trained(o, 1)));
}

// Ranks that share the columns of the table.
FitOptions column_options(const std::string& method) {
  FitOptions o = rank_options(method);
  o.ranks.parallel = Parallel::model;
  return o;
}

TEST(ColumnTraining, EveryNumberOfRanksTrainsTheSameModel) {
  for (const char* method : {"tvae", "ctgan"}) {
    const FitOptions o = column_options(method);
    const std::string one = file_of(trained(o, 1));
    for (const int ranks : {2, 4})
      EXPECT_TRUE(file_of(trained(o, ranks)) == one) << method << ", " << ranks << " ranks";
    EXPECT_TRUE(file_of(trained(o, 2, 1)) == one) << method << ", 2 ranks, a thread each";
  }
}

TEST(ColumnTraining, AStoppedRunGoesOnWithAnyNumberOfRanks) {
  for (const char* method : {"tvae", "ctgan"}) expect_resumed_by_any_ranks(column_options(method));
}

TEST(ColumnTraining, EarlyStoppingEndsAtTheSameStep) {
  FitOptions o = column_options("tvae");
  set(o, "epochs", "12");
  o.patience = 1, o.keep_best = true;
  EXPECT_TRUE(file_of(trained(o, 4)) == file_of(trained(o, 1)));
}

TEST(ColumnTraining, MethodsWithoutColumnsAreRefused) {
  for (const char* method : {"timegan", "made"}) {
    test::expect_error(ErrorCode::unsupported, {"`parallel=data`"}, [&] { trained(column_options(method), 2); });
  }
}

}  // namespace
}  // namespace tessera::whole
