// Random tables per minute of processor time, one thread. Floor of a perceptron: its products and its normal numbers,
// at what each costs alone on this machine: H·H·T products of layers, T·H numbers of noise a layer. Trees: none given.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "engine/run/program.h"
#include "models/prior/table.h"

namespace {

namespace tp = tessera::prior;

double processor_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
template <class F>
double seconds_of(F&& body) {
  const double before = processor_seconds();
  body();
  return processor_seconds() - before;
}

double seconds_per_normal() {
  constexpr int64_t kUnits = 128, kRows = 1024, kTimes = 40;
  std::vector<float> x(kUnits * kRows);
  const double all = seconds_of([&] {
    for (uint32_t i = 0; i < kTimes; ++i)
      tp::draw_matrix(tessera::Random::normal, tp::purpose_of(tp::Use::noise), {0, i, 0}, 0, 0, kUnits, kRows, kRows,
                      x.data());
  });
  return all / static_cast<double>(kUnits * kRows * kTimes);
}

double seconds_per_product() {  // of two numbers and an addition
  constexpr int64_t kUnits = 112, kRows = 1024, kTimes = 40, kItem = sizeof(float);
  std::vector<float> w(kUnits * kUnits, 0.1f), x(kUnits * kRows, 1), y(kUnits * kRows);
  const tessera::Matmul op{false, false, 1, false};
  const tessera::View in[] = {{w.data(), kUnits, kUnits, kUnits, kItem}, {x.data(), kUnits, kRows, kRows, kItem}};
  const tessera::View out{y.data(), kUnits, kRows, kRows, kItem};
  const tessera::Call call{in, &out, 2, 1, &op, nullptr};
  const tessera::Kernel& kernel = tessera::cpu_kernels().matmul;
  std::vector<char> scratch(static_cast<size_t>(kernel.scratch_bytes(call)) + 64);
  char* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
  const double all = seconds_of([&] {
    for (int i = 0; i < kTimes; ++i)
      for (int64_t tile = 0, tiles = kernel.tiles(call); tile < tiles; ++tile) kernel.run(call, tile, aligned);
  });
  return all / static_cast<double>(kUnits * kUnits * kRows * kTimes);
}

void measure(const char* what, const tp::Options& o, int64_t tables) {
  tp::Work work;
  double products = 0, normals = 0;
  int64_t attempts = 0;
  tp::draw_table(o, tables, work);  // allocates
  const double seconds = seconds_of([&] {
    for (int64_t i = 0; i < tables; ++i) attempts += tp::draw_table(o, i, work).attempts;
  });
  for (int64_t i = 0; i < tables; ++i) {
    const tp::Settings s = tp::draw_settings(o, {o.seed, static_cast<uint32_t>(i), 0});
    if (s.kind == tp::Kind::tree) continue;
    const auto rows = static_cast<double>(s.rows), units = static_cast<double>(s.hidden), layers = s.layers - 1.0;
    products += rows * units * (units * layers + s.causes + (s.causal ? 0 : 1));
    normals += rows * (units * layers + s.causes);
  }
  const double floor = products * seconds_per_product() + normals * seconds_per_normal(),
               per_minute = 60 * static_cast<double>(tables) / seconds;
  std::printf("%-34s %8.0f tables/min  %6.2f ms a table  floor %6.2f ms, %3.0f %%  %lld attempts for %lld\n", what,
              per_minute, 1e3 * seconds / static_cast<double>(tables), 1e3 * floor / static_cast<double>(tables),
              100 * floor / seconds, static_cast<long long>(attempts), static_cast<long long>(tables));
}

// What the host does of a table whose perceptron a GPU computes.
void measure_host(const char* what, const tp::Options& o, int64_t tables) {
  tp::Work work, drawn;
  double seconds = 0;
  for (int64_t i = 0; i < tables; ++i) {
    const tp::TableKey key{o.seed, static_cast<uint32_t>(i), 0};
    const tp::Settings s = tp::draw_settings(o, key);
    tp::draw_perceptron(s, key, drawn);
    seconds += seconds_of([&] {
      tp::draw_causes(s, key, work);
      tp::draw_structure(s, key);
      tp::draw_table(o, i, work, [&](tp::Work& to) { to.x = drawn.x, to.y = drawn.y; });
    });
  }
  std::printf("%-34s %8.0f tables/min  %6.2f ms a table by the host, with a GPU\n", what,
              60 * static_cast<double>(tables) / seconds, 1e3 * seconds / static_cast<double>(tables));
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t times = argc > 1 ? std::atoll(argv[1]) : 1;
  tp::Options o;
  measure("mix, 1,024 rows, 2-100 features", o, 600 * times);
  o.kind = tp::Kind::mlp;
  measure("mlp, 1,024 rows, 2-100 features", o, 600 * times);
  measure_host("mlp, 1,024 rows, 2-100 features", o, 600 * times);
  o.kind = tp::Kind::tree;
  measure("tree, 1,024 rows, 2-100 features", o, 300 * times);
  o.kind = tp::Kind::mlp, o.rows = {10000, 10000}, o.features = {5, 120};
  measure("mlp, 10,000 rows, 5-120 features", o, 60 * times);
  o.rows = {60000, 60000};
  measure("mlp, 60,000 rows, 5-120 features", o, 12 * times);
}
