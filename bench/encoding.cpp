// The cost of preparing a table, one thread. Floors (AVX2): mixture 1 ns per value, component and
// iteration in float, so 8 ms for 8,192 groups, 10 components, 100 iterations; sort 16 ns per value; encode: one read
// and one write of 8 bytes per value.
#include <benchmark/benchmark.h>

#include <cmath>
#include <numeric>

#include "kernels/math/philox.h"
#include "tables/encoding/encoder.h"
#include "tables/mixture/mixture.h"
#include "tables/protection/sort_numbers.h"

namespace tessera {
namespace {

// Two log-normals: heavy-tailed, no value twice.
std::vector<double> skewed(uint32_t rows) {
  std::vector<double> x(rows);
  for (uint32_t i = 0; i < rows; ++i) {
    const Philox p = philox(i, 0, 0, 0, 1, 2);
    const double normal = std::sqrt(-2 * std::log(open_uniform(p.word[0], p.word[1]))) *
                          std::cos(6.283185307179586 * open_uniform(p.word[2], p.word[3]));
    x[i] = std::exp(normal) * (i % 3 == 0 ? 5 : 1);
  }
  return x;
}

// Columns in turn: skewed decimals, a category of 20 values.
Table mixed(uint32_t rows, int columns) {
  const std::vector<double> x = skewed(rows);
  Table t;
  t.rows = rows;
  for (int j = 0; j < columns; ++j) {
    Column c;
    c.name = std::to_string(j);
    if (j % 2 == 0) {
      c.type = ColumnType::decimal, c.decimals = 15, c.numbers = x;
    } else {
      c.type = ColumnType::category;
      for (int v = 0; v < 20; ++v) c.values.push_back(std::to_string(v));
      for (uint32_t i = 0; i < rows; ++i)
        c.codes.push_back(static_cast<int32_t>(philox(i, 1, 0, 0, 1, 2).word[0] % 20));
    }
    t.columns.push_back(std::move(c));
  }
  return t;
}

void sort_column(benchmark::State& state) {
  const auto x = skewed(static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) {
    auto copy = x;
    sort_numbers(copy);
    benchmark::DoNotOptimize(copy.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void fit_groups(benchmark::State& state) {
  auto x = skewed(1000000);
  sort_numbers(x);
  const Groups groups = group_sorted(x, static_cast<int>(state.range(0)));
  const auto label = kmeans_labels(groups, 10, 0, 0, 0);
  const MixturePrecision precision = state.range(1) == 32 ? MixturePrecision::fp32 : MixturePrecision::fp64;
  double updates = 0;
  for (auto _ : state)
    updates += fit_mixture(groups, label, MixtureOptions{}, precision).iterations() * 10.0 *
               static_cast<double>(groups.size());
  state.counters["per_update"] = benchmark::Counter(updates, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void fit_table(benchmark::State& state) {
  const Table t = mixed(static_cast<uint32_t>(state.range(0)), static_cast<int>(state.range(1)));
  Team team(1);
  for (auto _ : state) benchmark::DoNotOptimize(Encoder::fit(t, {}, team, {}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void encode_table(benchmark::State& state) {
  const Table t = mixed(static_cast<uint32_t>(state.range(0)), static_cast<int>(state.range(1)));
  Team team(1);
  const Encoder e = Encoder::fit(t, {}, team, {});
  for (auto _ : state) {
    state.PauseTiming();
    Table copy = t;
    state.ResumeTiming();
    benchmark::DoNotOptimize(e.encode(std::move(copy), team, {}));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void decode_rows(benchmark::State& state) {
  const Table t = mixed(static_cast<uint32_t>(state.range(0)), static_cast<int>(state.range(1)));
  Team team(1);
  const Encoder e = Encoder::fit(t, {}, team, {});
  const EncodedTable codes = e.encode(Table(t), team, {});
  std::vector<int64_t> ids(static_cast<size_t>(t.rows));
  std::iota(ids.begin(), ids.end(), 0);
  for (auto _ : state)
    benchmark::DoNotOptimize(e.decode(codes.alphas.data(), codes.codes.data(), ids.data(), t.rows, 0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(sort_column)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(fit_groups)->ArgsProduct({{4096, 8192, 16384}, {32, 64}})->Unit(benchmark::kMillisecond);
BENCHMARK(fit_table)->Args({32561, 15})->Unit(benchmark::kMillisecond);
BENCHMARK(encode_table)->Args({32561, 15})->Unit(benchmark::kMillisecond);
BENCHMARK(decode_rows)->Args({8192, 15})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera

BENCHMARK_MAIN();
