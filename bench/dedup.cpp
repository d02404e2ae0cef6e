// Copies in a table of 15 columns (tests/dedup/tables.h) with 1 % planted near copies, all threads. Floors: exact, each
// cell read once; fuzzy, 64 keys of 16 bytes written, scattered and read for each row; nearest, the lower bounds of
// every leaf of 64 rows for every row, 2 bytes a column in the cache of the core at 32 bytes a cycle of 2 GHz.
#include "models/dedup/dedup.h"

#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>

#include "dedup/tables.h"
#include "engine/run/roofline.h"

namespace tessera {
namespace {

void dedup(benchmark::State& state, const char* mode) {
  const int64_t rows = state.range(0);
  Table table = dedup_test::mixed(rows - rows / 100, 1);
  dedup_test::plant(table, static_cast<int>(rows / 100), 0.01, 1);
  Team team(0);
  nlohmann::json report;
  for (auto _ : state) benchmark::DoNotOptimize(find_copies(table, nullptr, {mode, 0.9, {}}, team, Monitor{}, report));
  const double bandwidth = measure_ceilings(team, int64_t{256} << 20).bytes_per_second, n = static_cast<double>(rows);
  const std::string m = mode;
  const double floor = m == "exact"   ? n * 15 * 8 / bandwidth
                       : m == "fuzzy" ? n * 64 * 16 * 4 / bandwidth
                                      : n * (n / 64) * 15 * 4 / (64e9 * team.size());
  state.SetItemsProcessed(state.iterations() * rows);
  state.counters["floor_s"] = floor;
  state.counters["near"] = report["near"].get<double>();
}
BENCHMARK_CAPTURE(dedup, exact, "exact")->Arg(1000000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(dedup, fuzzy, "fuzzy")->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(dedup, nearest, "nearest")->Arg(100000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace tessera

BENCHMARK_MAIN();
