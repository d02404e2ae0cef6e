// The CTGAN training step and sampling to CSV, preset paper, on Adult (or on generated people where the file is absent), 1 and 2 threads.
//   bench_step                         TESSERA_DATA=folder of adult_train.csv
// Times and the CPU column (all threads) are of a block of three steps, or of 100,000 rows; best_ms and best_cpu_ms are of one step. Beside each figure stands its
// floor, from peaks measured in the same run: matrix products at the multiply-add peak + bytes of all other ops at the copy rate of blocks that lie in the cache,
// as the whole step does. `share` is floor / figure; figures are the best block of steps, since other work only ever adds.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <limits>

#include "data.h"
#include "engine/ceilings.h"
#include "engine/passes.h"
#include "engine/program.h"
#include "floor.h"
#include "kernels/philox.h"
#include "models/ctgan.h"
#include "models/encoding/conditions.h"
#include "models/table/arrow_export.h"
#include "models/table/csv_writer.h"

namespace bench {
namespace {

using namespace tessera;

constexpr int64_t kBlock = 3;                // steps timed together, an iteration
constexpr int64_t kCacheBlock = 1 << 20;     // bytes: about a layer's activations
constexpr int64_t kSampledRows = 100000;

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

FitOptions paper() {
  FitOptions o;
  o.preset = "paper";
  apply_preset(o);
  return o;
}

// The step as the trainer runs it: recorded, optimised, placed, its leaves bound.
class Training {
 public:
  Training(Table&& table, Team& team) {
    const FitOptions options = paper();
    encoder_ = Encoder::fit(table, options.encoder, team, {});
    encoded_ = encoder_.encode(std::move(table), team, {});
    conditions_ = build_conditions(encoded_, encoder_.layout(), true, team);
    start_ = conditions_.cond_start;
    start_.push_back(conditions_.cond_width);
    offset_.assign(conditions_.row_offset.begin(), conditions_.row_offset.end());
    network_ = std::make_unique<Ctgan>(encoder_.layout(), options.ctgan);
    Plan plan;
    Recorder r(plan);
    record_training(r, *network_, encoded_.rows, conditions_.columns(), std::numeric_limits<int32_t>::max());
    optimise(plan);
    work_ = work_of(plan);
    program_ = std::make_unique<Program>(std::move(plan), cpu_kernels(), team, 1);
    bind("cumulative", conditions_.train_cumulative_f32.data());
    bind("start", start_.data());
    bind("row_offset", offset_.data());
    bind("row_index", conditions_.row_index.data());
    bind("codes", encoded_.codes.data());
    bind("alphas", encoded_.alphas.data());
    fill(network_->generator, 0);
    fill(network_->discriminator, 1);
  }

  // False: a loss is not finite, and the figure would be of a step over NaN.
  bool run(int64_t steps) { return program_->run(steps) == steps && program_->step().bad < 0; }
  const Work& work() const { return work_; }

 private:
  void bind(const char* leaf, const void* data) {
    if (program_->plan().find_leaf(leaf) != kNone) program_->bind(leaf, data);
  }
  // Small weights; what they are does not matter to the time as long as nothing overflows or is denormal.
  void fill(const ParameterSet& set, uint32_t stream) {
    float* flat = program_->state<float>(stream == 0 ? "generator" : "discriminator");
    for (int64_t k = 0; k < set.size; ++k) flat[k] = 0.05f * (2 * open_uniform(philox(static_cast<uint32_t>(k), 0, stream, 0, 1, 2).word[0]) - 1);
  }

  Encoder encoder_;
  EncodedTable encoded_;
  ConditionTable conditions_;
  std::vector<int32_t> start_, offset_;
  std::unique_ptr<Ctgan> network_;
  std::unique_ptr<Program> program_;
  Work work_;
};

void ctgan_step(benchmark::State& state) {
  Team team(static_cast<int>(state.range(0)));
  Training training(adult(team), team);
  const Ceilings ceilings = measure_ceilings(team, 2 * kCacheBlock * team.size());
  if (!training.run(kBlock)) return state.SkipWithError("a loss is not finite");
  double best = std::numeric_limits<double>::infinity(), best_processor = best;
  for (auto _ : state) {
    const double start = seconds_now();
    const std::clock_t processor = std::clock();
    if (!training.run(kBlock)) return state.SkipWithError("a loss is not finite");
    const double block = seconds_now() - start;
    state.SetIterationTime(block);
    best = std::min(best, block / kBlock);
    best_processor = std::min(best_processor, static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC / kBlock);
  }
  const Work& work = training.work();
  const double floor = work.floor_seconds(ceilings);
  state.counters["best_ms"] = 1e3 * best;
  state.counters["best_cpu_ms"] = 1e3 * best_processor;
  state.counters["floor_ms"] = 1e3 * floor;
  state.counters["share"] = floor / best;
  state.counters["GFLOP"] = 1e-9 * work.flops;
  state.counters["GFLOP/s"] = 1e-9 * work.flops / best;
  state.counters["peak_GFLOP/s"] = 1e-9 * ceilings.flops_per_second;
  state.counters["copy_GB/s"] = 1e-9 * ceilings.bytes_per_second;
}

// Of one row, as the sampler makes them 4,096 at a time.
Work sampling_work(const Table& table, Team& team) {
  constexpr int64_t kBatch = 4096;
  const FitOptions options = paper();
  const Encoder encoder = Encoder::fit(table, options.encoder, team, {});
  const Ctgan network(encoder.layout(), options.ctgan);
  Plan plan;
  Recorder r(plan);
  record_sampling(r, network, kBatch, static_cast<int64_t>(encoder.discrete_columns().size()), false);
  optimise(plan);
  Work w = work_of(plan);
  for (double* x : {&w.matrix_flops, &w.flops, &w.other_bytes}) *x /= static_cast<double>(kBatch);
  return w;
}

// An untrained model draws rows as fast as a trained one. Floor: the generator's matrix products and, once, the bytes of its other ops and of the text.
void sample_to_csv(benchmark::State& state) {
  Team team(static_cast<int>(state.range(0)));
  FitOptions options = paper();
  options.ctgan.epochs = 0;
  const Model model = Model::fit(adult(team), options, team, {});
  const Ceilings ceilings = measure_ceilings(team, 2 * kCacheBlock * team.size());
  const TemporaryFile file("sampled.csv");
  CsvWriteOptions to;
  to.path = file.path();
  to.overwrite = true;
  to.fsync = false;
  double best = std::numeric_limits<double>::infinity();
  int64_t bytes = 0;
  const Monitor monitor;
  for (auto _ : state) {
    const double start = seconds_now();
    const std::shared_ptr<RowStream> rows = model.sample(0, kSampledRows, {}, team, monitor);
    ArrowArrayStream stream;
    table_stream(model.schema(), [rows](Table& batch) { return rows->next(batch); }, &stream);
    bytes = csv_write(&stream, to, monitor).bytes;
    const double took = seconds_now() - start;
    state.SetIterationTime(took);
    best = std::min(best, took);
  }
  const double floor = sampling_work(adult(team), team).floor_seconds(ceilings) * static_cast<double>(kSampledRows) + static_cast<double>(bytes) / ceilings.bytes_per_second;
  state.counters["best_rows/s"] = static_cast<double>(kSampledRows) / best;
  state.counters["floor_rows/s"] = static_cast<double>(kSampledRows) / floor;
  state.counters["share"] = floor / best;
  state.counters["MB"] = 1e-6 * static_cast<double>(bytes);
}

BENCHMARK(ctgan_step)->Arg(1)->Arg(2)->UseManualTime()->MeasureProcessCPUTime()->Iterations(60)->Unit(benchmark::kMillisecond);
BENCHMARK(sample_to_csv)->Arg(1)->Arg(2)->UseManualTime()->MeasureProcessCPUTime()->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace bench

BENCHMARK_MAIN();
