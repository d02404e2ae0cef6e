// What a device does, behind the plugin: ceilings first (copies, the gap between launches, products), then the training step of CTGAN at Adult's size, op by op and fused,
// launch by launch and replayed, and each op of it by itself beside its floor. Prints a table, and JSON to the file it is given.
//   bench_device [file.json]           the device is "cuda", or TESSERA_TEST_DEVICE
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/device.h"
#include "engine/device_api.h"
#include "engine/error.h"
#include "engine/passes.h"
#include "engine/program.h"
#include "engine/rules.h"
#include "models/method.h"
#include "models/model_state.h"
#include "models/table/example.h"

namespace {

using namespace tessera;

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Seconds a step of a program, the best of a few runs; a run is long enough that its start and end do not count.
double step_seconds(Program& p, int64_t steps) {
  p.run(16);
  double best = 1e30;
  for (int i = 0; i < 3; ++i) {
    const double start = seconds_now();
    const int64_t ran = p.run(steps);
    best = std::min(best, (seconds_now() - start) / static_cast<double>(std::max<int64_t>(ran, 1)));
  }
  return best;
}

// Bytes read and written in a second by copies of `bytes` on the device.
double copy_rate(Device& device, int64_t bytes, int times) {
  const DeviceApi& api = device.api();
  void *a = nullptr, *b = nullptr;
  char end = 0;
  device.check(api.allocate(device.session(), bytes, "a bench", &a));
  device.check(api.allocate(device.session(), bytes, "a bench", &b));
  double best = 1e30;
  for (int run = 0; run < 3; ++run) {
    device.check(api.download(device.session(), &end, a, 1));
    const double start = seconds_now();
    for (int i = 0; i < times; ++i) device.check(api.copy(device.session(), b, a, bytes));
    device.check(api.download(device.session(), &end, b, 1));
    best = std::min(best, seconds_now() - start);
  }
  api.free(device.session(), a);
  api.free(device.session(), b);
  return 2.0 * static_cast<double>(bytes) * times / best;
}

// A plan's op by itself, over zeros (ones would do as well: no kernel's time depends on values but for conditions and samples, of which zeros are one).
double op_seconds(Device& device, Team& team, const Plan& from, const Node& node) {
  Plan plan;
  plan.tables = from.tables;
  std::vector<Id> in;
  for (size_t i = 0; i < node.in.size(); ++i)
    in.push_back(node.in[i] == kNone ? kNone : plan.leaf(Leaf::state, "x" + std::to_string(i), from.shape(node.in[i]), from[node.in[i]].dtype));
  plan.outputs = plan.emit(node.op, in);
  Program p(std::move(plan), device, team, 1);
  return step_seconds(p, 320);
}

double gap_seconds(Device& device, Team& team) {
  Plan plan;
  Recorder r(plan);
  Var x = r.input("x", {1, 32});
  for (int i = 0; i < 64; ++i) x = tanh(x);
  r.output(x, "y");
  plan.fuse = false;
  std::vector<float> zero(32, 0.0f);
  Program p(std::move(plan), device, team, 1);
  p.bind("x", zero.data());
  return step_seconds(p, 160) / 65;  // and the advance of the step
}

double matmul_rate(Device& device, Team& team, int64_t n) {
  Plan plan;
  const Id a = plan.leaf(Leaf::state, "a", {n, n}), b = plan.leaf(Leaf::state, "b", {n, n});
  plan.outputs = plan.emit(Matmul{false, false, 1, false}, {a, b});
  Program p(std::move(plan), device, team, 1);
  return 2.0 * static_cast<double>(n * n * n) / step_seconds(p, 32);
}

struct Step {
  Encoder encoder;
  EncodedTable encoded;
  std::unique_ptr<Method> method;
  Plan plan;  // optimised

  Step(Team& team, int64_t rows) {
    FitOptions o;
    o.preset = "paper";
    apply_preset(o);
    Table table = example_people(rows, 1);
    encoder = Encoder::fit(table, o.encoder, team, {});
    encoded = encoder.encode(std::move(table), team, {});
    method = make_method(encoder.layout(), method_config(o));
    method->prepare(encoded, team);
    Recorder r(plan);
    method->record_training(r, encoded.rows, 1 << 30);
    optimise(plan);
  }
  double seconds(Device& device, Team& team, bool fuse, bool recorded, int64_t steps) {
    Plan copy = plan;
    copy.fuse = fuse;
    Program p(std::move(copy), device, team, 1);
    bind_if(p, "codes", encoded.codes.data());
    bind_if(p, "alphas", encoded.alphas.data());
    method->bind(p);
    load_states(p, method->start(1));
    if (recorded) return step_seconds(p, steps);
    p.run_unrecorded(4);
    const double start = seconds_now();
    p.run_unrecorded(steps);
    return (seconds_now() - start) / static_cast<double>(steps);
  }
};

int run(const char* path) {
  const char* name = std::getenv("TESSERA_TEST_DEVICE");
  Device device(name != nullptr ? name : "cuda");
  Team team;
  nlohmann::json out;
  out["device"] = device.describe();
  const bool small = std::getenv("TESSERA_SMALL") != nullptr;  // on the emulated machine: does it run at all
  const double copy = copy_rate(device, small ? 1 << 16 : 1 << 29, small ? 2 : 20), cached = copy_rate(device, small ? 1 << 12 : 8 << 20, small ? 2 : 200), gap = gap_seconds(device, team),
               products = matmul_rate(device, team, small ? 64 : 4096);
  out["copy_bytes_per_second"] = copy;
  out["cached_copy_bytes_per_second"] = cached;
  out["launch_gap_seconds"] = gap;
  out["matmul_flops_per_second"] = products;
  fmt::print("{}\ncopy {:.0f} GB/s, in the cache {:.0f} GB/s; a launch in a graph {:.2f} us; products {:.1f} TFLOP/s\n", out["device"].get<std::string>(), 1e-9 * copy, 1e-9 * cached, 1e6 * gap,
             1e-12 * products);

  Step step(team, small ? 600 : 30000);
  const int64_t steps = small ? 1 : 1600;
  for (const bool recorded : {false, true})
    for (const bool fuse : {false, true}) {
      const double s = step.seconds(device, team, fuse, recorded, recorded ? steps : steps / 8 + 1);
      out[fmt::format("step_{}{}_seconds", recorded ? "" : "eager_", fuse ? "fused" : "composed")] = s;
      fmt::print("CTGAN step, {}, {}: {:.1f} us\n", recorded ? "replayed" : "eager", fuse ? "fused" : "op by op", 1e6 * s);
    }

  struct Row {
    int times = 0;
    double seconds = 0, floor = 0;
  };
  std::map<std::string, Row> rows;
  for (const Node& n : step.plan.nodes) {
    if (is_view(n.op) || small) continue;
    const Cost c = cost(n.op, step.plan, n.in, n.out);
    Row& row = rows[op_name(n.op)];
    ++row.times;
    row.seconds += std::max(op_seconds(device, team, step.plan, n) - gap, 0.0);  // without the advance of the step
    row.floor += std::max(c.bytes / cached, c.flops / products);
  }
  fmt::print("{:<26}{:>6}{:>12}{:>12}{:>8}\n", "op", "times", "us", "floor us", "share");
  for (const auto& [op, row] : rows) {
    fmt::print("{:<26}{:>6}{:>12.2f}{:>12.2f}{:>8.2f}\n", op, row.times, 1e6 * row.seconds, 1e6 * row.floor, row.floor / std::max(row.seconds, 1e-12));
    out["ops"][op] = {{"times", row.times}, {"seconds", row.seconds}, {"floor_seconds", row.floor}};
  }
  if (path != nullptr) std::ofstream(path) << out.dump(2) << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : nullptr);
  } catch (const tessera::Error& e) {
    fmt::print(stderr, "bench_device: {}\n", e.what());
    return 1;
  }
}
