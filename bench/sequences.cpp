// TimeGAN's iterations, phase by phase, at the published size (128 sequences of 24 steps, 24 units, 3 layers), with 6
// features and with 28; and one recurrent layer alone.
//   bench_sequences --benchmark_filter=joint/      peers/timegan_step.py is the same iteration in PyTorch; joint_best
//                                                  is what `fit` runs by default
//   bench_sequences --benchmark_filter=bf16        the default's joint iteration in bf16 beside fp32, in turn
// Beside each figure stands its floor: arithmetic of products and recurrent layers at the multiply-add peak, and bytes
// of all other ops at the copy rate of the cache, measured in the same run. `share` is floor / figure; figures are the
// best block of iterations, because other work only adds time. No floor counts the gates: a sigmoid or tanh of 20 to 30
// instructions for every 2·(in + H) multiply-adds.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "engine/passes/passes.h"
#include "engine/run/program.h"
#include "engine/run/roofline.h"
#include "floor.h"
#include "in_turn.h"
#include "models/method/method.h"
#include "models/model/model_state.h"
#include "models/timegan/network.h"

namespace bench {
namespace {

using namespace tessera;

constexpr int64_t kSteps = 24, kSequences = 1024, kBlock = 4;
constexpr int64_t kCacheBlock = 1 << 20;

// Waves of different length, concatenated: the learned model does not matter, but nothing must overflow.
std::vector<float> waves(int64_t features) {
  std::vector<float> x(static_cast<size_t>(kSequences * kSteps * features));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 0.5f + 0.4f * static_cast<float>(std::sin(0.37 * static_cast<double>(i / static_cast<size_t>(features)) +
                                                     static_cast<double>(i % static_cast<size_t>(features))));
  return x;
}

void report(benchmark::State& state, const Work& work, const Ceilings& ceilings, double best) {
  const double floor = work.floor_seconds(ceilings);
  state.counters["best_ms"] = 1e3 * best;
  state.counters["floor_ms"] = 1e3 * floor;
  state.counters["share"] = floor / best;
  state.counters["GFLOP"] = 1e-9 * work.flops;
  state.counters["GFLOP/s"] = 1e-9 * work.flops / best;
  state.counters["peak_GFLOP/s"] = 1e-9 * ceilings.flops_per_second;
}

// The authors' networks with different cells; and the networks that `fit` trains by default.
TimeganConfig authors(Cell cell) {
  TimeganConfig config;
  config.cell = cell;
  return config;
}
TimeganConfig best() {
  FitOptions options;
  options.method = "timegan";
  apply_preset(options);
  return options.as<TimeganConfig>();
}

// A phase's step, ready to run.
class Iteration {
 public:
  Iteration(TimeganPhase phase, const TimeganConfig& config, int64_t features, Team& team,
            Precision precision = Precision::fp32)
      : x_(waves(features)), first_(kSequences), length_(kSequences, kSteps) {
    const Timegan m(features, 0, kSteps, config);
    Plan plan;
    Recorder r(plan);
    record_training(r, m, phase, kSequences * kSteps, kSequences, std::numeric_limits<int32_t>::max());
    plan.precision = precision;
    optimize(plan);
    work_ = work_of(plan);
    program_ = std::make_unique<Program>(std::move(plan), cpu_kernels(), team, 1);
    for (int32_t i = 0; i < kSequences; ++i) first_[static_cast<size_t>(i)] = i * static_cast<int32_t>(kSteps);
    program_->bind_if("features", x_.data());
    program_->bind_if("first", first_.data());
    program_->bind_if("length", length_.data());
    for (const SequenceNetwork* n : m.all) program_->put(n->weights.name, initial_weights(n->weights, 1, 0).data());
  }
  // A block of iterations; false: a loss is not finite.
  bool run() { return program_->run(kBlock) == kBlock && program_->step().bad < 0; }
  const Work& work() const { return work_; }

 private:
  std::vector<float> x_;
  std::vector<int32_t> first_, length_;
  Work work_;
  std::unique_ptr<Program> program_;
};

void iteration(benchmark::State& state, TimeganPhase phase, const TimeganConfig& config) {
  Team team(static_cast<int>(state.range(0)));
  Iteration step(phase, config, state.range(1), team);
  const Ceilings ceilings = measure_ceilings(team, 2 * kCacheBlock * team.size());
  step.run();
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const double start = seconds_now();
    if (!step.run()) return state.SkipWithError("a loss is not finite");
    const double block = seconds_now() - start;
    state.SetIterationTime(block);
    best = std::min(best, block / kBlock);
  }
  report(state, step.work(), ceilings, best);
}

void joint_bf16(benchmark::State& state) {
  Team team(static_cast<int>(state.range(0)));
  Iteration exact(TimeganPhase::joint, best(), state.range(1), team),
      rounded(TimeganPhase::joint, best(), state.range(1), team, Precision::bf16);
  in_turn(state, kBlock, {"fp32", [&] { return exact.run(); }}, {"bf16", [&] { return rounded.run(); }});
}

// A layer forward, and forward and backward, at the published size.
void layer(benchmark::State& state, Cell cell, bool backward) {
  Team team(static_cast<int>(state.range(0)));
  const int64_t units = state.range(1), batch = 128;
  ParameterSet set{"layer", {}, 0};
  const layers::Recurrent rnn(set, "", {cell, units, units, 1, 0});
  Plan plan;
  Recorder r(plan);
  r.own(set);
  const Var x = r.input("x", {batch, kSteps * units}), y = rnn(x).y;
  r.output(y, "y");
  if (backward) {
    std::vector<Var> wrt{x};
    for (const Parameter& p : set.parameters) wrt.push_back(r(set, p.name));
    for (const Var d : pullback(r, {y}, {x}, wrt)) plan.outputs.push_back(d.id);
  }
  optimize(plan);
  const Work work = work_of(plan);
  Program p(std::move(plan), cpu_kernels(), team, 1);
  std::vector<float> values(static_cast<size_t>(batch * kSteps * units), 0.25f);
  p.bind("x", values.data());
  std::vector<float> weights(static_cast<size_t>(set.size), 0.05f);
  p.put("layer", weights.data());
  const Ceilings ceilings = measure_ceilings(team, 2 * kCacheBlock * team.size());
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const double start = seconds_now();
    p.run(8);
    const double block = seconds_now() - start;
    state.SetIterationTime(block);
    best = std::min(best, block / 8);
  }
  report(state, work, ceilings, best);
}

const auto kSizes = [](benchmark::internal::Benchmark* b) {
  b->Args({1, 6})->Args({2, 6})->Args({2, 28})->UseManualTime()->Unit(benchmark::kMillisecond);
};
const auto kLayers = [](benchmark::internal::Benchmark* b) {
  b->Args({1, 24})->Args({1, 112})->UseManualTime()->Unit(benchmark::kMillisecond);
};
BENCHMARK_CAPTURE(iteration, joint, TimeganPhase::joint, authors(Cell::gru))->Apply(kSizes);
BENCHMARK_CAPTURE(iteration, joint_best, TimeganPhase::joint, best())->Apply(kSizes);
BENCHMARK(joint_bf16)->Apply(kSizes)->Iterations(60);
BENCHMARK_CAPTURE(iteration, joint_reset_before, TimeganPhase::joint, authors(Cell::gru_reset_before))->Apply(kSizes);
BENCHMARK_CAPTURE(iteration, joint_lstm, TimeganPhase::joint, authors(Cell::lstm))->Apply(kSizes);
BENCHMARK_CAPTURE(iteration, embedding, TimeganPhase::embedding, authors(Cell::gru))->Apply(kSizes);
BENCHMARK_CAPTURE(iteration, supervised, TimeganPhase::supervised, authors(Cell::gru))->Apply(kSizes);
BENCHMARK_CAPTURE(layer, gru_forward, Cell::gru, false)->Apply(kLayers);
BENCHMARK_CAPTURE(layer, gru_both, Cell::gru, true)->Apply(kLayers);

}  // namespace
}  // namespace bench

BENCHMARK_MAIN();
