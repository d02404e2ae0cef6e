// Times each phase of a training step on the processor and prints, as JSON, what the phases run: measurements from
// which processor.py gets the constants of a card, and with which it compares what they predict.
//   lab_phases DATA.csv METHOD PRESET THREADS SECONDS PASSES_OFF|- [option=value…]     PASSES_OFF: fuse,gather
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/run/roofline.h"
#include "lab/phases.h"
#include "lab/step.h"

namespace {

using namespace tessera;
using nlohmann::json;

constexpr int kEmptyPhases = 256;

// Microseconds of a phase that does next to nothing: one number, from one phase to the next.
double empty_phase(Team& team) {
  Plan plan;
  Id x = plan.leaf(Leaf::state, "x", {1, 1}, DType::real);
  for (int i = 0; i < kEmptyPhases; ++i) x = plan.emit(Unary{Unary::affine, 1, 1}, {x})[0];
  plan.outputs.push_back(x);
  plan.fuse = false;
  Program p(std::move(plan), cpu_kernels(), team, 1);
  double sum = 0;
  for (const TimedPhase& phase : p.time_phases(200)) sum += phase.seconds;
  return 1e6 * sum / kEmptyPhases;
}

double seconds_of(Program& p, int64_t steps) {
  const auto begin = std::chrono::steady_clock::now();
  if (p.run(steps) != steps) throw Error(ErrorCode::internal, "a loss is not finite");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / static_cast<double>(steps);
}

int measure(char** argv, int argc) {
  const int threads = std::atoi(argv[4]);
  const double seconds = std::atof(argv[5]);
  std::set<std::string> off;
  std::istringstream names(argv[6]);
  for (std::string name; std::getline(names, name, ',');)
    if (name != "-") off.insert(name);
  Team team(threads);
  const lab::Step step = lab::step_of(argv[1], argv[2], argv[3], lab::options_of(argv + 7, argv + argc), team, off);
  Program p(step.plan, cpu_kernels(), team, step.seed);
  step.start(p);
  double best = seconds_of(p, 2);
  const auto steps = static_cast<int64_t>(std::clamp(seconds / best, 10.0, 5000.0));
  const std::vector<TimedPhase> timed = p.time_phases(steps);
  for (int64_t i = 0; i < steps / 4 + 4; ++i) best = std::min(best, seconds_of(p, 1));
  const Placement& placed = p.placement();
  const Ceilings ceilings = measure_ceilings(team, 1 << 20), memory = measure_ceilings(team, int64_t{1} << 27);
  std::cout << json{{"method", argv[2]},
                    {"preset", argv[3]},
                    {"batch", step.batch},
                    {"passes_off", argv[6]},
                    {"threads", threads},
                    {"kernels", cpu_kernels().name},
                    {"steps", steps},
                    {"step_us", 1e6 * best},
                    {"activation_bytes", placed.activation_bytes},
                    {"state_bytes", placed.state_bytes},
                    {"empty_phase_us", empty_phase(team)},
                    {"flops_per_second", ceilings.flops_per_second},
                    {"cached_bytes_per_second", ceilings.bytes_per_second},
                    {"memory_bytes_per_second", memory.bytes_per_second},
                    {"phases", lab::describe(p, timed)}}
            << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7)
    return std::cerr << "lab_phases DATA.csv METHOD PRESET THREADS SECONDS PASSES_OFF|- [option=value…]\n", 2;
  try {
    return measure(argv, argc);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
