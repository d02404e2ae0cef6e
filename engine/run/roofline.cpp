#include "engine/run/roofline.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "base/cpu/cpu_features.h"

// Vectors are passed between functions that are always inlined, so the calling convention the warning is about is never
// used.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tessera {
namespace {

constexpr double kSeconds = 0.05;  // of each of the two measurements
constexpr int kMinCalls = 3;
constexpr int kChains = 12;                 // independent sums: enough to hide the latency of a multiply-add
constexpr int64_t kMultiplyAdds = 1 << 14;  // of each chain, between two reads of the clock
constexpr int64_t kMinCopy = 1 << 14, kMaxCopy = int64_t{1} << 26;

template <int W>
struct Lanes {
  typedef float Vector __attribute__((vector_size(W * sizeof(float))));
};

// The chains are spelled out by an index sequence: a loop over them would keep the sums in memory instead of in
// registers.
template <int W, int... Chain>
[[gnu::always_inline]] inline float multiply_add(std::integer_sequence<int, Chain...>) {
  using Vector = typename Lanes<W>::Vector;
  const Vector factor = Vector{} + 0.999f, term = Vector{} + 0.001f;
  Vector sum[] = {term * static_cast<float>(Chain)...};
  for (int64_t i = 0; i < kMultiplyAdds; ++i) ((sum[Chain] = sum[Chain] * factor + term), ...);
  return (sum[Chain] + ...)[0];
}

using Chains = std::make_integer_sequence<int, kChains>;

struct Burst {
  int lanes;
  float (*run)();
};

float burst_plain() { return multiply_add<4>(Chains()); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] float burst_avx2() { return multiply_add<8>(Chains()); }
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]] float burst_avx512() {
  return multiply_add<16>(Chains());
}
#endif

Burst best_burst() {
#if defined(__x86_64__)
  if (best_isa() >= Isa::avx512) return {16, burst_avx512};
  if (best_isa() == Isa::avx2) return {8, burst_avx2};
#endif
  return {4, burst_plain};
}

// The team's rate of `work(thread)`, `amount` per call and thread: the fastest call of each thread, because the machine
// may be loaded; with all threads working, because they share caches and memory.
double best_rate(Team& team, double amount, const std::function<void(int)>& work) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  std::vector<double> rate(static_cast<size_t>(team.size()));
  team.run([&](int thread) {
    const auto start = Clock::now();
    double best = HUGE_VAL;
    for (int call = 0; call < kMinCalls || since(start) < kSeconds; ++call) {
      const auto begun = Clock::now();
      work(thread);
      best = std::min(best, since(begun));
    }
    rate[static_cast<size_t>(thread)] = amount / best;
  });
  return std::accumulate(rate.begin(), rate.end(), 0.0);
}

}  // namespace

Ceilings measure_ceilings(Team& team, int64_t working_set_bytes) {
  Ceilings ceilings;
  const Burst burst = best_burst();
  volatile float sink = 0;  // one for all threads: only the write matters, not the value
  ceilings.flops_per_second = best_rate(team, 2.0 * burst.lanes * kChains * kMultiplyAdds, [&](int) {
    if (burst.run() < 0) sink = 1;
  });

  // Half of each thread's share is read, the other half written.
  const auto bytes = static_cast<size_t>(std::clamp(working_set_bytes / (2 * team.size()), kMinCopy, kMaxCopy));
  std::vector<std::vector<char>> from(static_cast<size_t>(team.size())), to(from);
  team.run([&](int thread) {
    from[static_cast<size_t>(thread)].assign(bytes, 1);
    to[static_cast<size_t>(thread)].assign(bytes, 0);
  });
  ceilings.bytes_per_second = best_rate(team, 2.0 * static_cast<double>(bytes), [&](int thread) {
    char* target = to[static_cast<size_t>(thread)].data();
    std::memcpy(target, from[static_cast<size_t>(thread)].data(), bytes);
    __asm__ volatile("" : : "r"(target) : "memory");
  });
  return ceilings;
}

}  // namespace tessera
