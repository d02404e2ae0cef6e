// The training run: initial weights, the closed step replayed, losses out, what is kept.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "engine/passes.h"
#include "engine/program.h"
#include "kernels/philox.h"
#include "models/model_state.h"
#include "models/recording.h"

namespace tessera {
namespace {

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Means of the ring's columns over the steps since they were last cleared.
class LossMeans {
 public:
  LossMeans(const Program& p) : width_(p.plan().shape(p.plan().find_leaf("losses")).cols), sums_(static_cast<size_t>(width_)) {}
  void add(const float* ring, int64_t first, int64_t last) {  // steps [first, last)
    for (int64_t step = first; step < last; ++step)
      for (size_t k = 0; k < sums_.size(); ++k) sums_[k] += static_cast<double>(ring[static_cast<size_t>(step % kLossSlots * width_) + k]);
    steps_ += last - first;
  }
  std::vector<double> means() const {
    std::vector<double> m = sums_;
    for (double& x : m) x /= static_cast<double>(steps_);
    return m;
  }
  void clear() {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    steps_ = 0;
  }

 private:
  int64_t width_, steps_ = 0;
  std::vector<double> sums_;
};

}  // namespace

std::vector<float> initial_weights(const ParameterSet& set, uint64_t seed, uint32_t stream) {
  std::vector<float> flat(static_cast<size_t>(set.size));
  int64_t fan_in = 1;
  for (const Parameter& p : set.parameters) {
    if (p.start) {
      std::fill_n(flat.begin() + p.offset, p.shape.count(), static_cast<float>(*p.start));
      continue;
    }
    if (p.name.ends_with("weight")) fan_in = p.shape.rows;  // a layer's bias follows its weight
    const float bound = static_cast<float>(1 / std::sqrt(static_cast<double>(fan_in)));
    for (int64_t i = 0; i < p.shape.count(); ++i) {
      const int64_t k = p.offset + i;
      const Philox w = philox(static_cast<uint32_t>(k / 4), static_cast<uint32_t>(k / 4 >> 32), stream, static_cast<uint32_t>(Purpose::init) << 16,
                              static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
      flat[static_cast<size_t>(k)] = bound * (2 * open_uniform(w.word[k % 4]) - 1);
    }
  }
  return flat;
}

void load_states(Program& p, const States& states) {
  for (const auto& [leaf, values] : states) {
    const Id id = p.plan().find_leaf(leaf);
    // A method that samples under conditions may have a state of another size in the place of a kept one, and loads it itself.
    if (id != kNone && p.plan().shape(id).count() == static_cast<int64_t>(values.size())) p.put(leaf, values.data());
  }
}

double train(Model::State& state, const EncodedTable& table, const FitOptions& options, Team& team, const Monitor& monitor) {
  const std::unique_ptr<Method> method = state.method();
  const std::set<std::string> off(options.passes_off.begin(), options.passes_off.end());
  const Surroundings around{options.seed, off, team, monitor};
  method->prepare(table, team);
  States weights = method->start(options.seed);

  const Method::Schedule schedule = method->schedule();
  const int64_t per_epoch = std::max<int64_t>(table.rows / schedule.batch, 1), steps = per_epoch * schedule.epochs;
  state.provenance["steps"] = steps;
  if (steps == 0) {
    state.kept = method->keep(std::move(weights), around);
    return 0;
  }

  Plan plan;
  Recorder r(plan);
  method->record_training(r, table.rows, steps);
  const auto reports = optimise(plan, off);
  const double step_flops = reports.empty() ? 0 : reports.back().flops_after;
  Program p(std::move(plan), options.device ? *options.device : Device::processor(), team, options.seed, wanted(off, "liveness"));
  static const int32_t none = 0;
  bind_if(p, "codes", table.codes.empty() ? &none : table.codes.data());
  bind_if(p, "alphas", table.alphas.empty() ? static_cast<const void*>(&none) : table.alphas.data());
  method->bind(p);
  load_states(p, weights);

  LossMeans losses(p);
  p.watch({p.plan().find_leaf("losses")});
  const double start = seconds_now();
  const auto end_of_row = [&](int64_t step) { return std::min((step / per_epoch + 1) * per_epoch, steps); };
  double looked = start;
  int64_t chunk = 1, queued = 0;  // steps started
  for (int flying = 0; p.step().step < steps;) {
    for (; flying < p.flights() && queued < steps; ++flying) {
      const int64_t n = std::min({chunk, end_of_row(queued) - queued, kLossSlots});
      p.start(n, true);
      queued += n;
    }
    const int64_t done = p.step().step, row_end = end_of_row(done), ran = p.finish();
    --flying;
    if (p.step().bad >= 0) {
      const int64_t bad = p.step().bad;
      const std::string culprit = p.diagnose();
      throw Error(ErrorCode::numeric,
                  fmt::format("training met a value that is not finite at step {} (epoch {:.1f}): {}.\n  A lower --learning-rate (now {}) or another --seed usually helps; "
                              "nothing was written.",
                              bad, static_cast<double>(bad) / static_cast<double>(per_epoch), culprit.empty() ? "a loss" : culprit, schedule.learning_rate));
    }
    losses.add(p.watched<float>(0), done, done + ran);
    const int64_t now = done + ran;
    LossRow row{};
    row.step = now, row.epoch = static_cast<double>(now) / static_cast<double>(per_epoch), row.seconds = seconds_now() - start;
    method->describe_losses(losses.means(), row);
    if (now == row_end) {
      if (options.on_losses) options.on_losses(row);
      losses.clear();
    }
    monitor.report({"train", row.epoch, static_cast<double>(schedule.epochs), "epochs", row.note, now == steps});
    // Runs of about a tenth of a second: short enough to be stopped at once, long enough that looking costs nothing. The result does not depend on it.
    const double took = std::max(seconds_now() - std::exchange(looked, seconds_now()), 1e-6);
    chunk = std::clamp<int64_t>(static_cast<int64_t>(0.1 / took * static_cast<double>(ran)), 1, kLossSlots);
  }
  for (auto& [leaf, values] : weights) values = p.get<float>(leaf);
  state.kept = method->keep(std::move(weights), around);
  state.provenance["train_seconds"] = seconds_now() - start;
  return step_flops * static_cast<double>(steps);
}

}  // namespace tessera
