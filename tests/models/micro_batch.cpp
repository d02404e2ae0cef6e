// A step in micro-batches takes less memory and learns the same, up to rounding.
#include <atomic>
#include <cmath>

#include "engine/run/footprint.h"
#include "models/model/model_state.h"
#include "models/model/prepared.h"
#include "models/tables.h"
#include "models/training/fit_to_memory.h"

namespace tessera::whole {
namespace {

Table dependent_rows(int64_t rows) {
  std::vector<Column> all;
  all.push_back(decimals_by("n", rows, 2, [](int64_t i) { return normal(i, 1); }));
  all.push_back(
      texts_by("t", rows, [](int64_t i) { return "v" + std::to_string(static_cast<int>(4 * uniform(i, 2))); }));
  all.push_back(decimals_by("m", rows, 2, [](int64_t i) { return 3 * normal(i, 3) + 4 * normal(i, 1); }));
  return table(std::move(all));
}

// A few steps of a method, in micro-batches.
FitOptions options_of(const std::string& method, int64_t micro_batch) {
  FitOptions o = quick_of(method, {10, "2", "8", "64"});
  o.patience = 0, o.keep_best = false;
  o.micro_batch = micro_batch;
  return o;
}

const States& weights_of(const Model& model) {
  const auto rows = model.shared_rows();
  return rows ? rows->kept.states : model.state().sequences()->steps.states;
}

Model trained(const FitOptions& o, int threads) {
  Team team(threads);
  return Model::fit(dependent_rows(300), o, team, Monitor{});
}

TEST(MicroBatch, LearnsTheSameUpToRounding) {
  for (const std::string method : {"tvae", "made", "timegan"}) {
    const Model whole = trained(options_of(method, 0), 2), parts = trained(options_of(method, 20), 2);
    const States &a = weights_of(whole), &b = weights_of(parts);
    ASSERT_EQ(a.size(), b.size()) << method;
    double most = 0, square = 0, difference = 0;
    for (const auto& [leaf, values] : a)
      for (size_t i = 0; i < values.size(); ++i) {
        const auto x = static_cast<double>(values[i]), d = static_cast<double>(b.at(leaf)[i]) - x;
        most = std::max(most, std::abs(d)), square += x * x, difference += d * d;
      }
    EXPECT_GT(difference, 0) << method << ": it was not cut";
    EXPECT_LT(std::sqrt(difference / square), 1e-4) << method << ", at most " << most;
  }
}

TEST(MicroBatch, EqualsTheBatchAtFullSize) {
  for (const std::string method : {"tvae", "ctgan"})
    EXPECT_EQ(weights_of(trained(options_of(method, 0), 1)), weights_of(trained(options_of(method, 100), 1))) << method;
}

TEST(MicroBatch, ScalesLossesOfFp16Once) {
  FitOptions o = options_of("tvae", 20);
  o.precision = "fp16";
  const Model parts = trained(o, 1);
  EXPECT_EQ(weights_of(parts), weights_of(trained(o, 2)));
  EXPECT_EQ(parts.state().provenance.at("loss_scaling").size(), 1u);
}

TEST(MicroBatch, HasTheSameBitsForAnyNumberOfThreads) {
  for (const std::string method : {"ctgan", "tvae", "made", "timegan"})
    EXPECT_EQ(weights_of(trained(options_of(method, 30), 1)), weights_of(trained(options_of(method, 30), 2))) << method;
}

// The step of the first phase, placed.
Footprint step(const std::string& method, int64_t micro_batch) {
  FitOptions o = options_of(method, micro_batch);
  set(o, "batch_size", "1000");
  Team team(1);
  const auto prepared = prepare(dependent_rows(2000), o, team, Monitor{});
  const Plan plan = step_plan(prepared->method(), 0, 1, o, {});
  return footprint(plan, Device::processor(), 1);
}

TEST(MicroBatch, TakesLessMemory) {
  for (const std::string method : {"ctgan", "tvae"}) {
    const Footprint whole = step(method, 0), parts = step(method, 100);
    EXPECT_LT(parts.activations, whole.activations * 6 / 10)
        << method << ": " << parts.activations << " of " << whole.activations;
    EXPECT_EQ(parts.state, whole.state) << method;
  }
}

TEST(MicroBatch, RejectsSizesBelowAPack) {
  for (const auto& [method, least] : {std::pair{"ctgan", "10"}, {"timegan", "16"}}) try {
      FitOptions o = options_of(method, 3);
      if (method == std::string("ctgan")) set(o, "pac", "10");
      (void)trained(o, 1);
      ADD_FAILURE() << method;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::usage);
      EXPECT_NE(std::string(e.what()).find(std::string("Ask for ") + least + " or more"), std::string::npos)
          << e.what();
    }
}

// If rows are independent, the limit chooses micro-batches, as if they had been requested; a run that is resumed
// without the limit keeps them.
TEST(MicroBatch, IsChosenByTheMemoryLimit) {
  const Folder folder;
  FitOptions o = options_of("tvae", 0);
  o.recompute = Recompute::off;
  set(o, "batch_size", "1000");
  std::string said;
  const auto fit = [&](const FitOptions& options, int64_t limit, const std::atomic<bool>* cancel = nullptr) {
    Monitor monitor;
    monitor.cancel = cancel;
    monitor.on_progress = [&](const Progress& p) { said += std::string(p.phase) == "notice" ? p.note + "\n" : ""; };
    Team team(1, limit > 0 ? std::make_shared<MemoryLimit>(limit) : nullptr);
    return Model::fit(dependent_rows(2000), options, team, monitor);
  };
  const int64_t limit = step("tvae", 0).total() * 9 / 10;
  const Model chosen = fit(o, limit);
  const size_t at = said.find("`micro_batch=");
  ASSERT_NE(at, std::string::npos) << said;
  FitOptions asked = o;
  asked.micro_batch = std::stoll(said.substr(at + 13));
  EXPECT_EQ(weights_of(chosen), weights_of(fit(asked, 0)));
  EXPECT_NE(weights_of(chosen), weights_of(fit(o, 0))) << "sums in another order";

  o.checkpoint.path = folder / "m.checkpoint";
  o.checkpoint.every_epochs = 1;
  std::atomic<bool> cancel{false};
  FitOptions stopped = o;
  stopped.on_losses = [&](const LossRow&) { cancel = true; };
  EXPECT_THROW((void)fit(stopped, limit, &cancel), Error);
  FitOptions resumed = o;
  resumed.checkpoint.resume = true;
  EXPECT_TRUE(file_of(fit(resumed, 0)) == file_of(chosen));
}

TEST(MicroBatch, IsNamedWhenTheLimitIsTooSmall) {
  FitOptions o = options_of("ctgan", 0);
  set(o, "batch_size", "1000");
  o.recompute = Recompute::off;
  const auto fit = [&](int64_t limit) {
    Team team(1, std::make_shared<MemoryLimit>(limit));
    (void)Model::fit(dependent_rows(2000), o, team, Monitor{});
  };
  const int64_t limit = step("ctgan", 0).total() * 9 / 10;
  try {
    fit(limit);
    FAIL() << "a step that does not fit " << limit << " bytes";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::memory);
    const std::string said = e.what();
    const size_t at = said.find("`micro_batch=");
    ASSERT_NE(at, std::string::npos) << said;
    o.micro_batch = std::stoll(said.substr(at + 13));
  }
  EXPECT_NO_THROW(fit(limit)) << o.micro_batch;
}

// If no micro-batch fits either, the error names the limit under which the smallest one fits.
TEST(MicroBatch, NamesTheLimitItNeeds) {
  for (const char* method : {"ctgan", "tvae"}) {
    FitOptions o = options_of(method, 0);
    set(o, "batch_size", "4000");
    const auto fit = [&](int64_t limit) {
      Team team(1, std::make_shared<MemoryLimit>(limit));
      (void)Model::fit(dependent_rows(8000), o, team, Monitor{});
    };
    std::string said;
    try {
      fit(1'500'000);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::memory);
      said = e.what();
    }
    const size_t least = said.find("` is enough with `micro_batch=");
    ASSERT_NE(least, std::string::npos) << method << ": " << said;
    const int64_t limit = std::stoll(said.substr(said.rfind('=', least) + 1));
    o.micro_batch = std::stoll(said.substr(said.find("`micro_batch=") + 13));
    EXPECT_NO_THROW(fit(limit)) << method << ": " << said;
    o.recompute = Recompute::off;
    EXPECT_THROW(fit(limit - 1'000'000), Error) << method << ": " << said;
  }
}

}  // namespace
}  // namespace tessera::whole
