// Quality metrics on Adult (or on generated rows of its shape where the file is absent), 2 threads: bench_quality
// --benchmark_filter=… Floors: shapes and pairs read 2 × 32,561 × 15 values once a column and twice a pair, 105 pairs:
// ~14 M counted rows, at one per cycle 5 ms on one core.
// Nearest rows: "pairs/s" counts every (query, reference) pair decided, most of them by the bound of a leaf of 64.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "models/quality/evaluate.h"
#include "models/quality/metrics/column_shapes.h"
#include "models/quality/metrics/distances.h"
#include "models/quality/metrics/new_rows.h"
#include "models/quality/metrics/pair_trends.h"
#include "models/quality/metrics/two_sample.h"
#include "quality/tables.h"

namespace tq = tessera::quality;
using tessera::Table;

namespace {

Table adult(const std::string& file) {
  const auto rows = quality_test::read_csv(file);
  Table t;
  t.rows = static_cast<int64_t>(rows.size()) - 1;
  for (size_t k = 0; k < rows[0].size(); ++k) {
    bool number = true;
    for (size_t i = 1; i < rows.size() && number; ++i)
      number = !rows[i][k].empty() && rows[i][k].find_first_not_of("0123456789") == std::string::npos;
    if (number) {
      std::vector<double> values;
      for (size_t i = 1; i < rows.size(); ++i) values.push_back(std::stod(rows[i][k]));
      t.columns.push_back(quality_test::numbers(rows[0][k], tessera::ColumnType::integer, values));
    } else {
      std::vector<std::string> texts;
      for (size_t i = 1; i < rows.size(); ++i) texts.push_back(rows[i][k]);
      t.columns.push_back(quality_test::texts(rows[0][k], tessera::ColumnType::category, texts));
    }
  }
  return t;
}

// The real table; and a synthetic one with the same number of rows, every column shuffled within blocks of similar
// rows: near, but no equal row.
struct Data {
  Table real, synthetic;
  Data() {
    const char* folder = std::getenv("TESSERA_DATA");
    const auto file =
        std::filesystem::path(folder != nullptr ? folder : TESSERA_SOURCE_DIR "/../shared/data") / "adult_train.csv";
    real = std::filesystem::exists(file) ? adult(file.string()) : quality_test::random_table(32561, 1);
    synthetic = real;
    for (size_t k = 0; k < synthetic.columns.size(); ++k) {
      auto& c = synthetic.columns[k];
      const size_t n = static_cast<size_t>(synthetic.rows), shift = k % 3;
      std::rotate(c.numbers.begin(), c.numbers.begin() + static_cast<std::ptrdiff_t>(c.numbers.empty() ? 0 : shift % n),
                  c.numbers.end());
      std::rotate(c.codes.begin(), c.codes.begin() + static_cast<std::ptrdiff_t>(c.codes.empty() ? 0 : shift % n),
                  c.codes.end());
    }
  }
};

const Data& data() {
  static const Data d;
  return d;
}

template <class Body>
void with_comparison(benchmark::State& state, double work, const char* unit, Body&& body) {
  quality_test::Bench bench(2);
  const tq::Comparison c = tq::compare_tables({{"real", &data().real}, {"synthetic", &data().synthetic}});
  for (auto _ : state) body(c, bench.workers);
  if (work > 0)
    state.counters[unit] =
        benchmark::Counter(work * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

double pairs() { return static_cast<double>(data().real.rows) * static_cast<double>(data().synthetic.rows); }

void BM_shapes_and_pairs(benchmark::State& state) {
  quality_test::Bench bench(2);
  tessera::EvaluateOptions options;
  options.new_rows = options.distances = options.c2st = false;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        tessera::evaluate(data().real, data().synthetic, nullptr, options, bench.team, bench.monitor));
}
void BM_column_shapes(benchmark::State& state) {
  with_comparison(state, 0, "",
                  [](const auto& c, const auto& w) { benchmark::DoNotOptimize(tq::column_shapes(c, w)); });
}
void BM_pair_trends(benchmark::State& state) {
  with_comparison(state, 0, "",
                  [](const auto& c, const auto& w) { benchmark::DoNotOptimize(tq::pair_trends(c, {}, w)); });
}
void BM_new_rows(benchmark::State& state) {
  with_comparison(state, 0, "",
                  [](const auto& c, const auto& w) { benchmark::DoNotOptimize(tq::match_rows(c, 1, 0, 0.01, w)); });
}
void BM_gower_dcr(benchmark::State& state) {
  with_comparison(state, pairs(), "pairs/s",
                  [](const auto& c, const auto& w) { benchmark::DoNotOptimize(tq::gower_nearest(c, 1, 0, w)); });
}
// The hardest rows: drawn uniformly over the whole table, far from all real rows.
void BM_gower_dcr_random(benchmark::State& state) {
  quality_test::Bench bench(2);
  tq::Comparison c = tq::compare_tables({{"real", &data().real}, {"synthetic", &data().synthetic}});
  const size_t random = tq::append_random_baseline(c, c.tables[1].rows, 1);
  for (auto _ : state) benchmark::DoNotOptimize(tq::gower_nearest(c, random, 0, bench.workers));
  state.counters["pairs/s"] =
      benchmark::Counter(pairs() * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
void BM_l1_dcr(benchmark::State& state) {
  with_comparison(state, pairs(), "pairs/s",
                  [](const auto& c, const auto& w) { benchmark::DoNotOptimize(tq::l1_nearest(c, 1, 0, w)); });
}
// One fit of a hundred trees on the whole table: the cost of a fold of the two-sample test, or of a utility model.
void BM_boosted_trees(benchmark::State& state) {
  with_comparison(state, 0, "", [](const auto& c, const auto&) {
    const tq::TwoSamples samples = tq::two_halves(c, 0, 1, INT64_MAX);
    const tq::BinnedRows x(tq::FeatureBins(samples.x), samples.x);
    std::vector<double> target(static_cast<size_t>(x.rows()));
    for (int64_t i = 0; i < x.rows(); ++i) target[static_cast<size_t>(i)] = samples.second(i);
    benchmark::DoNotOptimize(tq::BoostedTrees::fit(x, tq::every_row(x.rows()), target, tq::TreeLoss::logistic, {}));
  });
}
void BM_c2st_trees(benchmark::State& state) {
  with_comparison(state, 0, "", [](const auto& c, const auto& w) {
    benchmark::DoNotOptimize(tq::c2st_trees(tq::two_samples(c, 0, 1, 1, INT64_MAX), {}, w, ""));
  });
}
void BM_c2st_logistic(benchmark::State& state) {
  with_comparison(state, 0, "", [](const auto& c, const auto& w) {
    benchmark::DoNotOptimize(tq::c2st_logistic(tq::two_samples(c, 0, 1, 1, INT64_MAX), w, ""));
  });
}

BENCHMARK(BM_shapes_and_pairs)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_column_shapes)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_pair_trends)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_new_rows)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_gower_dcr)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_gower_dcr_random)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_l1_dcr)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_boosted_trees)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_c2st_trees)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_c2st_logistic)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
