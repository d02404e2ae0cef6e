// Two programs timed in turn, block by block, so that other work on the machine meets both alike.
#pragma once
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "floor.h"

namespace bench {

// What the precision bf16 is worth: `exact` and `rounded` run a block of `steps` steps, false: a loss is not finite.
// The counters are of one step; the processor's time is that of all threads.
inline void bf16_in_turn(benchmark::State& state, int64_t steps, const std::function<bool()>& exact,
                         const std::function<bool()>& rounded) {
  const std::function<bool()>* const both[] = {&exact, &rounded};
  std::vector<double> seconds[2], processor[2];
  const auto failed = [&] { state.SkipWithError("a loss is not finite"); };
  for (const auto* run : both)
    if (!(*run)()) return failed();
  for (auto _ : state) {
    const double begun = seconds_now();
    for (int i : {0, 1}) {
      const double start = seconds_now();
      const std::clock_t used = std::clock();
      if (!(*both[i])()) return failed();
      seconds[i].push_back((seconds_now() - start) / static_cast<double>(steps));
      processor[i].push_back(static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC / static_cast<double>(steps));
    }
    state.SetIterationTime(seconds_now() - begun);
  }
  for (auto* times : {seconds, processor})
    for (int i : {0, 1}) std::sort(times[i].begin(), times[i].end());
  const size_t middle = seconds[0].size() / 2;
  state.counters["fp32_best_ms"] = 1e3 * seconds[0].front();
  state.counters["bf16_best_ms"] = 1e3 * seconds[1].front();
  state.counters["ratio_of_best"] = seconds[0].front() / seconds[1].front();
  state.counters["ratio_of_medians"] = seconds[0][middle] / seconds[1][middle];
  state.counters["fp32_cpu_ms"] = 1e3 * processor[0][middle];
  state.counters["bf16_cpu_ms"] = 1e3 * processor[1][middle];
  state.counters["ratio_of_cpu"] = processor[0][middle] / processor[1][middle];
}

}  // namespace bench
