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

// `run` runs a block of `steps` steps, false: a loss is not finite. The counters are of one step, and ratios those of
// the first program to the second; the processor's time is that of all threads.
struct InTurn {
  std::string name;
  std::function<bool()> run;
};
inline void in_turn(benchmark::State& state, int64_t steps, const InTurn& first, const InTurn& second) {
  const InTurn* const both[] = {&first, &second};
  std::vector<double> seconds[2], processor[2];
  const auto failed = [&] { state.SkipWithError("a loss is not finite"); };
  for (const InTurn* program : both)
    if (!program->run()) return failed();
  for (auto _ : state) {
    const double begun = seconds_now();
    for (int i : {0, 1}) {
      const double start = seconds_now();
      const std::clock_t used = std::clock();
      if (!both[i]->run()) return failed();
      seconds[i].push_back((seconds_now() - start) / static_cast<double>(steps));
      processor[i].push_back(static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC / static_cast<double>(steps));
    }
    state.SetIterationTime(seconds_now() - begun);
  }
  for (auto* times : {seconds, processor})
    for (int i : {0, 1}) std::sort(times[i].begin(), times[i].end());
  const size_t middle = seconds[0].size() / 2;
  for (int i : {0, 1}) {
    state.counters[both[i]->name + "_best_ms"] = 1e3 * seconds[i].front();
    state.counters[both[i]->name + "_cpu_ms"] = 1e3 * processor[i][middle];
  }
  state.counters["ratio_of_best"] = seconds[0].front() / seconds[1].front();
  state.counters["ratio_of_medians"] = seconds[0][middle] / seconds[1][middle];
  state.counters["ratio_of_cpu"] = processor[0][middle] / processor[1][middle];
}

}  // namespace bench
