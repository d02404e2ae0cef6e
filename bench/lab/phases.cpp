// Times each phase of a training step on the processor and prints, as JSON, what the phases run: measurements from
// which processor.py gets the constants of a card, and with which it compares what they predict.
//   lab_phases DATA.csv METHOD PRESET THREADS SECONDS PASSES_OFF|- [option=value…]     PASSES_OFF: fuse,gather
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/plan/op_rules.h"
#include "engine/run/roofline.h"
#include "lab/step.h"

namespace {

using namespace tessera;
using nlohmann::json;

constexpr int kEmptyPhases = 256;

// The op's name, with that of its function: they take different times.
std::string name_of(const Op& op) {
  std::string name = op_name(op);
  static constexpr const char* kUnary[] = {"affine",   "exp",  "log",   "tanh",  "sigmoid", "silu",
                                           "softplus", "sqrt", "rsqrt", "leaky", "step",    "clamp"};
  static constexpr const char* kRandom[] = {"uniform", "normal", "bernoulli"};
  if (const auto* u = std::get_if<Unary>(&op)) name += std::string(".") + kUnary[u->fn];
  if (const auto* b = std::get_if<Binary>(&op))
    name += b->fn == Binary::div ? ".div" : b->fn <= Binary::gate ? "" : ".slope";
  if (const auto* r = std::get_if<Random>(&op)) name += std::string(".") + kRandom[r->kind];
  return name;
}

// [rows, columns, depth] of the dense products of an op, and whether their factors are transposed.
void describe_products(json& to, const Plan& plan, const Node& x) {
  const auto shape = [&](size_t i) { return plan.shape(x.in[i]); };
  if (const auto* m = std::get_if<Matmul>(&x.op)) {
    const Shape out = plan.shape(x.out[0]);
    for (size_t i = 0; i < static_cast<size_t>(m->pairs); ++i)
      to["products"].push_back({out.rows, out.cols, m->trans_a ? shape(2 * i).rows : shape(2 * i).cols});
    to["order"] = std::string(m->trans_a ? "t" : "n") + (m->trans_b ? "t" : "n");
  }
  if (const auto* b = std::get_if<BlockMatmul>(&x.op)) {
    for (int k = 0; k < b->blocks->count; ++k) {
      const BlockTable::Item& item = b->blocks->items[k];
      if (b->form == BlockMatmul::forward) to["products"].push_back({shape(0).rows, item.cols, item.rows});
      else if (b->form == BlockMatmul::weight) to["products"].push_back({item.rows, item.cols, shape(0).rows});
      else to["products"].push_back({shape(0).rows, item.rows, item.cols});
    }
    to["order"] = b->form == BlockMatmul::forward ? "nn" : b->form == BlockMatmul::weight ? "tn" : "nt";
  }
}

json describe(const Plan& plan, const Node& x) {
  const Cost c = cost(x.op, plan, x.in, x.out);
  const Shape out = plan.shape(x.out[0]);
  json op{{"op", name_of(x.op)}, {"rows", out.rows}, {"cols", out.cols}, {"flops", c.flops}, {"bytes", c.bytes}};
  describe_products(op, plan, x);
  return op;
}

json describe(const Plan& plan, const std::vector<TimedPhase>& timed) {
  json phases = json::array();
  for (const TimedPhase& phase : timed) {
    json calls = json::array();
    for (const TimedPhase::Call& call : phase.calls) {
      json ops = json::array();
      for (const int n : call.nodes) ops.push_back(describe(plan, plan.nodes[static_cast<size_t>(n)]));
      calls.push_back({{"tiles", call.tiles}, {"block_rows", call.block_rows}, {"ops", ops}});
    }
    phases.push_back({{"us", 1e6 * phase.seconds}, {"calls", calls}});
  }
  return phases;
}

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
                    {"phases", describe(p.plan(), timed)}}
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
