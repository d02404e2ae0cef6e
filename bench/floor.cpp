#include "floor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "engine/placement.h"
#include "engine/rules.h"

namespace bench {
namespace {

constexpr int kTries = 40, kChains = 12;  // tries short enough that one falls between what else the machine does; twelve independent chains hide the latency of a multiply-add
constexpr int64_t kRounds = 200'000;

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

typedef float Four __attribute__((vector_size(16)));
typedef float Eight __attribute__((vector_size(32)));
typedef float Sixteen __attribute__((vector_size(64)));

template <class V>
[[gnu::always_inline]] inline float chains(int64_t rounds) {
  V x[kChains];
  for (int i = 0; i < kChains; ++i) x[i] = V{} + static_cast<float>(i);
  V a = V{} + 0.999f, b = V{} + 1e-3f;
  asm volatile("" : "+m"(a), "+m"(b));  // values the compiler cannot know
  for (int64_t r = 0; r < rounds; ++r)
    for (int i = 0; i < kChains; ++i) x[i] = x[i] * a + b;
  for (int i = 1; i < kChains; ++i) x[0] += x[i];
  return x[0][0];
}

struct Loop {
  float (*run)(int64_t rounds);
  int lanes;
};

float plain(int64_t rounds) { return chains<Four>(rounds); }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) float avx2(int64_t rounds) { return chains<Eight>(rounds); }
__attribute__((target("avx512f"))) float avx512(int64_t rounds) { return chains<Sixteen>(rounds); }

Loop widest() {
  if (__builtin_cpu_supports("avx512f")) return {avx512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {avx2, 8};
  return {plain, 4};
}
#else
Loop widest() { return {plain, 4}; }
#endif

// Units of `work(thread)` a second, the best of some tries.
template <class F>
double best_rate(tessera::Team& team, double units_a_thread, const F& work) {
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const double start = seconds_now();
    team.run(work);
    best = std::max(best, units_a_thread * team.size() / (seconds_now() - start));
  }
  return best;
}

}  // namespace

double peak_flops(tessera::Team& team) {
  const Loop loop = widest();
  return best_rate(team, 2.0 * kChains * loop.lanes * static_cast<double>(kRounds), [&](int) {
    const float x = loop.run(kRounds);
    asm volatile("" : : "m"(x));
  });
}

double copy_rate(tessera::Team& team, int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  const int64_t repeats = std::max<int64_t>((int64_t{16} << 20) / bytes, 1);
  std::vector<std::vector<char>> from(static_cast<size_t>(team.size()), std::vector<char>(size, 1)), to = from;
  return best_rate(team, 2.0 * static_cast<double>(bytes * repeats), [&](int thread) {
    char* out = to[static_cast<size_t>(thread)].data();
    const char* in = from[static_cast<size_t>(thread)].data();
    for (int64_t i = 0; i < repeats; ++i) {
      std::memcpy(out, in, size);
      asm volatile("" : : "r"(out) : "memory");
    }
  });
}

Work work_of(const tessera::Plan& plan) {
  const tessera::Placement placed = tessera::place(plan, 4);
  Work w;
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    if (!placed.runs[n]) continue;
    const tessera::Node& node = plan.nodes[n];
    const tessera::Cost c = tessera::cost(node.op, plan, node.in, node.out);
    w.flops += c.flops;
    if (std::holds_alternative<tessera::Matmul>(node.op)) w.matrix_flops += c.flops;
    else w.other_bytes += c.bytes;
  }
  return w;
}

}  // namespace bench
