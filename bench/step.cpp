// The training steps of CTGAN and TVAE and sampling to CSV, preset paper (and TVAE's best), on Adult (or on generated
// people where the file is absent), 1 and 2 threads.
//   bench_step                         TESSERA_DATA=folder of adult_train.csv, TESSERA_PASSES_OFF=fuse: what a pass is
//                                      worth
//   bench_step --benchmark_filter=bf16   a step in bf16 beside one in fp32, block by block in turn
//   bench_step --benchmark_filter=private   a step of DP-SGD beside a plain one, in turn
// Times and the CPU column (all threads) are of a block of three steps, or of 100,000 rows; best_ms and best_cpu_ms are
// of one step. Beside each figure stands its floor, from peaks measured in the same run: matrix products at the
// multiply-add peak + bytes of all other ops at the copy rate of blocks that lie in the cache, as the whole step does.
// `share` is floor / figure; figures are the best block of steps, because other work only adds time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "data.h"
#include "engine/passes/passes.h"
#include "engine/run/program.h"
#include "engine/run/roofline.h"
#include "floor.h"
#include "in_turn.h"
#include "models/method/method.h"
#include "models/method/private_rows.h"
#include "models/model/model_state.h"
#include "tables/arrow/export.h"
#include "tables/csv/writer.h"

namespace bench {
namespace {

using namespace tessera;

constexpr int64_t kBlock = 3;             // steps timed together, per iteration
constexpr int64_t kCacheBlock = 1 << 20;  // bytes: about a layer's activations
constexpr int64_t kSampledRows = 100000;

// TESSERA_PASSES_OFF=fuse,gather: measures the effect of a pass.
std::set<std::string> passes_off() {
  std::set<std::string> off;
  const char* given = std::getenv("TESSERA_PASSES_OFF");
  std::istringstream names(given == nullptr ? "" : given);
  for (std::string name; std::getline(names, name, ',');) off.insert(name);
  return off;
}

FitOptions paper(const std::string& method) {
  FitOptions o;
  o.method = method;
  o.preset = "paper";
  apply_preset(o);
  return o;
}

// The step as in the trainer: recorded, optimised, placed, its leaves bound, its weights initialised.
class Training {
 public:
  Training(const FitOptions& options, Table&& table, Team& team, Precision precision = Precision::fp32,
           PrivateSteps* privately = nullptr) {
    encoder_ = Encoder::fit(table, options.encoder, team, {});
    encoded_ = encoder_.encode(std::move(table), team, {});
    method_ = options.config.method().make_rows(encoder_.layout(), options.config);
    method_->prepare(encoded_, team);
    if (privately != nullptr) {
      privately->rate = std::round(privately->expected / static_cast<double>(encoded_.rows) / PrivateSteps::kRateUnit) *
                        PrivateSteps::kRateUnit;
      private_.emplace(encoded_, *privately);
      (void)method_->train_privately(*private_, nullptr);
    }
    Plan plan;
    Recorder r(plan);
    method_->record_training(r, 0, std::numeric_limits<int32_t>::max());
    plan.precision = precision;
    optimize(plan, passes_off());
    work_ = work_of(plan);
    program_ = std::make_unique<Program>(std::move(plan), cpu_kernels(), team, 1);
    method_->bind(*program_);
    load_states(*program_, method_->start(1));
  }

  // False: a loss is not finite, so the step would be timed on NaN.
  bool run(int64_t steps) { return program_->run(steps) == steps && program_->step().bad < 0; }
  const Work& work() const { return work_; }

 private:
  Encoder encoder_;
  EncodedTable encoded_;
  std::optional<PrivateRows> private_;
  std::unique_ptr<RowMethod> method_;
  std::unique_ptr<Program> program_;
  Work work_;
};

FitOptions best(const std::string& method) {
  FitOptions o;
  o.method = method;
  apply_preset(o);
  return o;
}

void step(benchmark::State& state, const FitOptions& options) {
  Team team(static_cast<int>(state.range(0)));
  Training training(options, adult(team), team);
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

void step_in_bf16(benchmark::State& state, const FitOptions& options) {
  Team team(static_cast<int>(state.range(0)));
  Training exact(options, adult(team), team), rounded(options, adult(team), team, Precision::bf16);
  in_turn(state, kBlock, {"fp32", [&] { return exact.run(kBlock); }}, {"bf16", [&] { return rounded.run(kBlock); }});
}

// A step of DP-SGD beside a plain one of as many rows as it expects. Their places are those of ε = 3 and 30 epochs.
void private_step(benchmark::State& state, const std::string& method) {
  FitOptions options = best(method);
  PrivateSteps steps;
  steps.steps = std::numeric_limits<int32_t>::max();
  steps.expected = 1024, steps.capacity = 1280, steps.noise = 1;
  for (const Option& o : options.config->options()) {
    if (std::string_view(o.key) == "dropout") o.set("0");
    if (std::string_view(o.key) == "batch_size") o.set("1024");
  }
  Team team(static_cast<int>(state.range(0)));
  Training plain(options, adult(team), team), clipped(options, adult(team), team, Precision::fp32, &steps);
  in_turn(state, kBlock, {"private", [&] { return clipped.run(kBlock); }},
          {"plain", [&] { return plain.run(kBlock); }});
}

void ctgan_step(benchmark::State& state) { step(state, paper("ctgan")); }
void tvae_step(benchmark::State& state) { step(state, paper("tvae")); }
// With levels for integers: the row is about three times as wide.
void tvae_best_step(benchmark::State& state) { step(state, best("tvae")); }
void made_best_step(benchmark::State& state) { step(state, best("made")); }
void ctgan_bf16(benchmark::State& state) { step_in_bf16(state, paper("ctgan")); }
void ctgan_best_bf16(benchmark::State& state) { step_in_bf16(state, best("ctgan")); }
void tvae_bf16(benchmark::State& state) { step_in_bf16(state, paper("tvae")); }
void tvae_best_bf16(benchmark::State& state) { step_in_bf16(state, best("tvae")); }
void made_best_bf16(benchmark::State& state) { step_in_bf16(state, best("made")); }

// Per row, as the sampler generates them 4,096 at a time.
Work sampling_work(const Model& model, Team& team) {
  constexpr int64_t kBatch = 4096;
  const std::unique_ptr<RowMethod> method = model.shared_rows()->method();
  Plan plan;
  Recorder r(plan);
  method->row_generator(model.shared_rows()->kept, {}, 0, team)->record(r, kBatch);
  optimize(plan);
  Work w = work_of(plan);
  for (double* x : {&w.matrix_flops, &w.flops, &w.other_bytes}) *x /= static_cast<double>(kBatch);
  return w;
}

// An untrained model samples as fast as a trained one. Floor: the generator's matrix products and, once, the bytes of
// its other ops and of the text.
void sample_to_csv(benchmark::State& state, const std::string& method) {
  Team team(static_cast<int>(state.range(0)));
  FitOptions options = paper(method);
  for (const Option& o : options.config->options())
    if (std::string_view(o.key) == "epochs") o.set("0");
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
    table_stream(
        model.schema(), [rows](Table& batch) { return rows->next(batch); }, &stream);
    bytes = csv_write(&stream, to, monitor).bytes;
    const double took = seconds_now() - start;
    state.SetIterationTime(took);
    best = std::min(best, took);
  }
  const double floor = sampling_work(model, team).floor_seconds(ceilings) * static_cast<double>(kSampledRows) +
                       static_cast<double>(bytes) / ceilings.bytes_per_second;
  state.counters["best_rows/s"] = static_cast<double>(kSampledRows) / best;
  state.counters["floor_rows/s"] = static_cast<double>(kSampledRows) / floor;
  state.counters["share"] = floor / best;
  state.counters["MB"] = 1e-6 * static_cast<double>(bytes);
}

void made_private(benchmark::State& state) { private_step(state, "made"); }
void tvae_private(benchmark::State& state) { private_step(state, "tvae"); }

void ctgan_sample_to_csv(benchmark::State& state) { sample_to_csv(state, "ctgan"); }
void tvae_sample_to_csv(benchmark::State& state) { sample_to_csv(state, "tvae"); }

// With one thread and with two.
template <int kRuns>
void on_threads(benchmark::internal::Benchmark* b) {
  b->Arg(1)->Arg(2)->UseManualTime()->Iterations(kRuns)->Unit(benchmark::kMillisecond);
}

BENCHMARK(ctgan_step)->Apply(on_threads<60>)->MeasureProcessCPUTime();
BENCHMARK(tvae_step)->Apply(on_threads<200>)->MeasureProcessCPUTime();
BENCHMARK(tvae_best_step)->Apply(on_threads<100>)->MeasureProcessCPUTime();
BENCHMARK(made_best_step)->Apply(on_threads<60>)->MeasureProcessCPUTime();
BENCHMARK(ctgan_bf16)->Apply(on_threads<60>);
BENCHMARK(ctgan_best_bf16)->Apply(on_threads<60>);
BENCHMARK(tvae_bf16)->Apply(on_threads<200>);
BENCHMARK(tvae_best_bf16)->Apply(on_threads<100>);
BENCHMARK(made_best_bf16)->Apply(on_threads<60>);
BENCHMARK(made_private)->Apply(on_threads<20>);
BENCHMARK(tvae_private)->Apply(on_threads<20>);
BENCHMARK(ctgan_sample_to_csv)->Apply(on_threads<5>)->MeasureProcessCPUTime();
BENCHMARK(tvae_sample_to_csv)->Apply(on_threads<5>)->MeasureProcessCPUTime();

}  // namespace
}  // namespace bench

BENCHMARK_MAIN();
