// Steps of DP-SGD of Made and TVAE: rows, norms, sums and noise against their definitions, in double.
#include <gtest/gtest.h>

#include <numeric>

#include "engine/passes/batch/micro_batches.h"
#include "engine/run/live_rows.h"
#include "models/made/network.h"
#include "models/tvae/network.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

constexpr int64_t kTableRows = 40;

RowLayout layout_of(bool numbers) {
  RowLayout l;
  const auto add = [&](Span::Part part, int width) {
    l.spans.push_back({static_cast<int>(l.spans.size()), part, l.data_width, width, -1});
    l.data_width += width;
  };
  if (numbers) add(Span::Part::alpha, 1), add(Span::Part::mode, 3);
  for (const int width : {3, 2, 40, 5}) add(Span::Part::category, width);
  return l;
}

PrivateSteps steps_of(double clip, double noise) {
  PrivateSteps s;
  s.steps = 10, s.capacity = 32, s.rate = .25, s.expected = 10, s.clip = clip, s.noise = noise;
  return s;
}

// A method's private step on forty rows, with all data to run it.
class PrivateTraining : public Sandbox {
 public:
  PrivateTraining(const std::string& method, const PrivateSteps& steps) : layout_(layout_of(method != "made")) {
    table_.rows = kTableRows;
    for (int64_t i = 0; i < kTableRows; ++i)
      for (const Span& s : layout_.spans)
        if (s.part != Span::Part::alpha)
          table_.codes.push_back(static_cast<int32_t>((7 * i + i / 3 + s.start) % s.width));
    values["codes"].assign(table_.codes.begin(), table_.codes.end());
    values["alphas"] = draw({kTableRows, layout_.alphas()}, -0.9, 0.9);
    const PrivateRows rows(table_, steps);
    values["sampled.rows"].resize(kTableRows), values["sampled.weights"].assign(kTableRows, 1);
    std::iota(values["sampled.rows"].begin(), values["sampled.rows"].end(), 0);
    r.start_purposes(Purpose::step);
    if (method == "made") {
      MadeConfig c;
      c.hidden = 20, c.embedding_dim = 3, c.context_dim = 5, c.average_decay = 0;
      made_.emplace(layout_, c);
      record_training(r, *made_, rows, steps.steps);
      sets_ = {&made_->network};
    } else {
      TvaeConfig c;
      c.embedding_dim = 5, c.encoder_dim = {9, 6}, c.decoder_dim = {6, method == "tvae" ? 9 : 1300},
      c.average_decay = 0;
      tvae_.emplace(layout_, c);
      record_training(r, *tvae_, rows, steps.steps);
      sets_ = tvae_->weights();
    }
    for (const ParameterSet* set : sets_) values[set->name] = draw({1, set->size}, -0.5, 0.5);
  }
  // The gradient of the first update of each set: Adam's first moment is a tenth of it.
  std::vector<double> gradient(const Setting& setting = {}) const { return gradient_of(run(setting)); }
  std::vector<double> gradient_of(const Values& v) const {
    std::vector<double> out;
    for (const ParameterSet* set : sets_)
      for (const double m : v.at("state " + set->name + ".m")) out.push_back(10 * m);
    return out;
  }

 private:
  RowLayout layout_;
  EncodedTable table_;
  std::optional<Made> made_;
  std::optional<Tvae> tvae_;
  std::vector<const ParameterSet*> sets_;
};

double norm(const std::vector<double>& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }
std::vector<double> minus(std::vector<double> x, const std::vector<double>& y) {
  for (size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return x;
}

// A row changes the sum by at most the bound: the sum without one of its rows.
TEST(PrivateSteps, ARowChangesTheSumByNoMoreThanTheBound) {
  for (const char* method : {"made", "tvae"})
    for (const double clip : {.01, 1e6}) {
      PrivateTraining t(method, steps_of(clip, 0));
      const std::vector<double> all = t.gradient();
      int changed = 0;
      double sum = 0;
      for (size_t row = 0; row < static_cast<size_t>(kTableRows); row += 2) {
        t.values["sampled.weights"][row] = 0;
        const double change = norm(minus(all, t.gradient())) * 10;  // rows expected in a batch
        t.values["sampled.weights"][row] = 1;
        EXPECT_LE(change, clip) << method;
        changed += change > 0 ? 1 : 0, sum += change;
      }
      EXPECT_NEAR(changed, 5, 4.5) << "a quarter of the rows are in the batch";
      if (clip < 1) {
        EXPECT_NEAR(sum, changed * clip, changed * clip * 1.1e-3) << "gradients are longer than the bound";
      }
    }
}

TEST(PrivateSteps, NoiseIsAddedOnce) {
  for (const char* method : {"made", "tvae"}) {
    const std::vector<double> exact = PrivateTraining(method, steps_of(2, 0)).gradient();
    PrivateTraining noisy(method, steps_of(2, 3));
    const std::vector<double> noise = minus(noisy.gradient(), exact);
    // a standard deviation of 3·2, over 10 rows
    EXPECT_NEAR(norm(noise) / std::sqrt(static_cast<double>(noise.size())), .6, .06) << method;
    Plan cut = noisy.plan;
    optimize(cut);
    micro_batches(cut, 4);
    const std::vector<double> parts = noisy.gradient_of(noisy.run(std::move(cut), {}));
    EXPECT_LT(norm(minus(parts, noisy.gradient())), 1e-9) << method;
    Setting threads;
    threads.threads = 3;
    EXPECT_EQ(noisy.gradient(), noisy.gradient(threads)) << method;
    threads.seed = 43;
    EXPECT_GT(norm(minus(noisy.gradient(threads), exact)), .1) << method;
  }
}

// Chains of blocks of rows end at the last row of a batch, whose number changes from step to step; so do products with
// weights that are too large for a chain.
TEST(PrivateSteps, EmptyPlacesAreSkipped) {
  for (const char* method : {"made", "tvae", "tvae with a wide layer"}) {
    const PrivateTraining t(method, steps_of(2, 1));
    Setting all, cut;
    all.steps = cut.steps = 3;
    cut.chains = true;
    cut.row_cut.min_rows = 16, cut.row_cut.gain = 1, cut.row_cut.block_rows = 5;
    Plan plan = t.plan;
    optimize(plan);
    plan.row_cut = cut.row_cut;
    const auto live = live_rows(plan, row_chains(plan, 8));
    ASSERT_TRUE(live) << method;
    EXPECT_EQ(live->places, 32);
    EXPECT_GT(std::count(live->of_chain.begin(), live->of_chain.end(), 1), 0) << method;
    const Values skipped = t.run(cut);
    EXPECT_LT(difference(t.run(all), skipped), 1e-9) << method;
    cut.threads = 3;
    EXPECT_EQ(t.run(cut), skipped) << method;
  }
}

}  // namespace
}  // namespace tessera::sandbox
