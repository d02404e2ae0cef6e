// From CSV to the input of training, and back to CSV: Adult (or the same number of generated people) and a generated
// table of a million rows, 1 and 2 threads.
//   bench_prepare                      TESSERA_DATA=folder of adult_train.csv
//   bench_prepare --benchmark_filter=prepare_million/2    in its own process, because peak_MiB is that of the process
// The floor is memory's: the text read (or written) once and every cell written once as 8 bytes, at the copy rate of
// blocks larger than the cache.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "data.h"
#include "engine/run/roofline.h"
#include "floor.h"
#include "tables/csv/reader.h"
#include "tables/encoding/encoder.h"

namespace bench {
namespace {

using namespace tessera;

constexpr int64_t kMemoryBlock = 64 << 20;
constexpr int64_t kMillion = 1'000'000;
constexpr int kColumns = 50;

CsvOptions reading(const std::string& path) {
  CsvOptions options;
  options.path = path;
  return options;
}

// Runs work() once per iteration: the best time, in seconds.
template <class F>
double best_of(benchmark::State& state, const F& work) {
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const double start = seconds_now();
    work();
    const double took = seconds_now() - start;
    state.SetIterationTime(took);
    best = std::min(best, took);
  }
  return best;
}

void report(benchmark::State& state, double best, double bytes, Team& team) {
  const double floor = bytes / measure_ceilings(team, 2 * kMemoryBlock * team.size()).bytes_per_second;
  state.counters["best_ms"] = 1e3 * best;
  state.counters["floor_ms"] = 1e3 * floor;
  state.counters["share"] = floor / best;
}

void read_adult(benchmark::State& state) {
  Team team(static_cast<int>(state.range(0)));
  const TemporaryFile file("adult.csv");
  write_csv(adult(team), file.path());
  const auto bytes = static_cast<double>(std::filesystem::file_size(file.path()));
  Table table;
  const double best = best_of(state, [&] { table = csv_read(reading(file.path()), team, {}); });
  state.counters["MB/s"] = 1e-6 * bytes / best;
  report(state, best, bytes + 8.0 * static_cast<double>(table.rows) * static_cast<double>(table.columns.size()), team);
}

// One thread writes.
void write_adult(benchmark::State& state) {
  Team team(1);
  const TemporaryFile file("adult.csv");
  const Table table = adult(team);
  double bytes = 0, best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    Table copy = table;
    const double start = seconds_now();
    write_csv(std::move(copy), file.path());
    const double took = seconds_now() - start;
    state.SetIterationTime(took);
    best = std::min(best, took);
    bytes = static_cast<double>(std::filesystem::file_size(file.path()));
  }
  state.counters["MB/s"] = 1e-6 * bytes / best;
  report(state, best, bytes + 8.0 * static_cast<double>(table.rows) * static_cast<double>(table.columns.size()), team);
}

// Read, types, mixtures, encode, with the default options.
void prepare(benchmark::State& state, const std::string& path, Team& team) {
  double cells = 0, encoded_bytes = 0;
  const double best = best_of(state, [&] {
    Table table = csv_read(reading(path), team, {});
    cells = static_cast<double>(table.rows) * static_cast<double>(table.columns.size());
    const Encoder encoder = Encoder::fit(table, {}, team, {});
    const EncodedTable encoded = encoder.encode(std::move(table), team, {});
    encoded_bytes = 4.0 * static_cast<double>(encoded.alphas.size() + encoded.codes.size());
  });
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["bytes_a_cell"] = encoded_bytes / cells;
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
  report(state, best, static_cast<double>(std::filesystem::file_size(path)) + 8 * cells, team);
}

void prepare_adult(benchmark::State& state) {
  Team team(static_cast<int>(state.range(0)));
  const TemporaryFile file("adult.csv");
  write_csv(adult(team), file.path());
  prepare(state, file.path(), team);
}

void prepare_million(benchmark::State& state) {
  Team team(static_cast<int>(state.range(0)));
  const TemporaryFile file("million.csv");
  write_csv(mixed(kMillion, kColumns), file.path());
  prepare(state, file.path(), team);
}

BENCHMARK(read_adult)
    ->Arg(1)
    ->Arg(2)
    ->UseManualTime()
    ->MeasureProcessCPUTime()
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(write_adult)->UseManualTime()->MeasureProcessCPUTime()->Iterations(20)->Unit(benchmark::kMillisecond);
BENCHMARK(prepare_adult)
    ->Arg(1)
    ->Arg(2)
    ->UseManualTime()
    ->MeasureProcessCPUTime()
    ->Iterations(10)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(prepare_million)
    ->Arg(2)
    ->UseManualTime()
    ->MeasureProcessCPUTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace bench

BENCHMARK_MAIN();
