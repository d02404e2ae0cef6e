// The performance of a device, through the plugin: ceilings first (copies, the gap between launches, products), then
// the work: a training step of CTGAN, of TVAE and of Made at Adult's size, TimeGAN's joint iteration at the published
// one, a recurrent layer forward and backward, 4,096 candidates of calibrated sampling; op by op and fused, launch by
// launch and replayed, compiled by NVRTC with launches in order and begun early, training in each precision too, each
// op alone beside its floor, and products of many shapes.
// Prints tables, and JSON to the given file.
//   bench_device [file.json [ctgan] [tvae] [made] [timegan] [gru_24] [gru_112] [sampling] [ops] [products]]     all by
//       default; ops: each op alone; products: shapes of steps in every way to multiply, with errors · the device is
//       "cuda", or TESSERA_TEST_DEVICE
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "base/error.h"
#include "engine/device/device.h"
#include "engine/device/device_api.h"
#include "engine/emit/launch_compiler.h"
#include "engine/passes/passes.h"
#include "engine/plan/op_rules.h"
#include "engine/run/compiled_launches.h"
#include "engine/run/precision.h"
#include "engine/run/program.h"
#include "floor.h"
#include "models/method/method.h"
#include "models/model/model_state.h"
#include "models/timegan/network.h"
#include "models/tvae/options.h"
#include "tables/csv/example.h"

namespace {

using namespace tessera;
using bench::seconds_now;

double seconds_of(Program& p, int64_t steps) {
  const double start = seconds_now();
  const int64_t ran = p.run(steps);
  return (seconds_now() - start) / static_cast<double>(std::max<int64_t>(ran, 1));
}
// Seconds per step of a program, the best of a few runs; a run is long enough that its start and end do not matter: at
// most `steps`, or about a twentieth of a second.
double step_seconds(Program& p, int64_t steps) {
  p.run(16);
  const auto enough = static_cast<int64_t>(0.05 / seconds_of(p, 16));
  steps = std::min(steps, std::max<int64_t>(16, enough / 16 * 16));
  double best = 1e30;
  for (int i = 0; i < 3; ++i) best = std::min(best, seconds_of(p, steps));
  return best;
}

// Bytes read and written per second by copies of `bytes` on the device.
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

// A plan's op alone, over numbers between .1 and .9. Entries of sparse rows are spread over their columns; other
// indices are 0, which is valid everywhere.
double op_seconds(Device& device, Team& team, const Plan& from, const Node& node) {
  Plan plan;
  plan.tables = from.tables;
  std::vector<Id> in;
  for (size_t i = 0; i < node.in.size(); ++i)
    in.push_back(node.in[i] == kNone
                     ? kNone
                     : plan.leaf(Leaf::state, "x" + std::to_string(i), from.shape(node.in[i]), from[node.in[i]].dtype));
  plan.outputs = plan.emit(node.op, in);
  std::mt19937 random(1);
  std::vector<std::vector<float>> numbers(in.size());
  std::vector<int32_t> entries;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == kNone) continue;
    const auto count = static_cast<size_t>(plan.shape(in[i]).count());
    if (plan[in[i]].dtype == DType::real) {
      for (size_t k = 0; k < count; ++k)
        numbers[i].push_back(0.1f + 0.8f * static_cast<float>(random() % 1024) / 1024.0f);
    } else if (i == 0) {
      const int64_t width = std::visit(
          [](const auto& op) -> int64_t {
            if constexpr (requires { op.width, op.per; }) return op.width;
            else return 1;
          },
          node.op);
      for (size_t k = 0; k < count; ++k)
        entries.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(width)));
    }
  }
  Program p(std::move(plan), device, team, 1);
  for (size_t i = 0; i < in.size(); ++i)
    if (!numbers[i].empty()) p.put("x" + std::to_string(i), numbers[i].data());
  if (!entries.empty()) p.put("x0", entries.data());
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

// The shapes of CTGAN's products, and two of wide networks: out [rows, columns], depth, which factors are transposed.
struct Shaped {
  int64_t rows, cols, depth;
  bool trans_a, trans_b;
};
constexpr Shaped kShapes[] = {
    {500, 256, 128, false, false}, {500, 256, 384, false, false},    {500, 156, 640, false, false},
    {50, 256, 1560, false, false}, {150, 256, 256, false, false},    {150, 256, 256, false, true},
    {50, 2600, 256, false, true},  {50, 256, 2600, false, false},    {1560, 256, 100, true, false},
    {256, 256, 150, true, false},  {50, 256, 256, false, false},     {50, 1560, 256, false, true},
    {500, 256, 156, false, true},  {256, 156, 500, true, false},     {128, 156, 500, true, false},
    {256, 256, 500, true, false},  {4096, 1024, 1024, false, false}, {1024, 1024, 4096, true, false}};

// Each shape in each way to multiply: seconds, and the largest error against double beside Σ|a·b|. In fp32 twice: by
// the FMA units, and in parts of tf32.
nlohmann::json bench_products(Device& device, Team& team, bool small) {
  nlohmann::json out;
  fmt::print("{:<24}{:>12}{:>12}{:>12}{:>12}  us, error\n", "product", "fp32", "3xtf32", "tf32", "bf16");
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (Shaped s : kShapes) {
    if (small) s.rows = std::min<int64_t>(s.rows, 70), s.cols = std::min<int64_t>(s.cols, 40), s.depth = 65;
    std::vector<float> a(static_cast<size_t>(s.rows * s.depth)), b(static_cast<size_t>(s.depth * s.cols));
    for (auto* v : {&a, &b})
      for (float& x : *v) x = normal(random);
    const std::string name =
        fmt::format("{}x{}x{} {}{}", s.rows, s.cols, s.depth, s.trans_a ? "T" : "N", s.trans_b ? "T" : "N");
    fmt::print("{:<24}", name);
    std::string errors;
    for (const auto& [way, factors] : {std::pair{"fp32", Precision::fp32},
                                       {"3xtf32", Precision::fp32},
                                       {"tf32", Precision::tf32},
                                       {"bf16", Precision::bf16}}) {
      if (way == std::string("3xtf32")) setenv("TESSERA_CUDA_FP32", "tf32x3", 1);
      Plan plan;
      const Id x = plan.leaf(Leaf::state, "a", s.trans_a ? Shape{s.depth, s.rows} : Shape{s.rows, s.depth}),
               y = plan.leaf(Leaf::state, "b", s.trans_b ? Shape{s.cols, s.depth} : Shape{s.depth, s.cols});
      plan.outputs = plan.emit(Matmul{s.trans_a, s.trans_b, 1, false, 0, factors}, {x, y});
      const Id product = plan.outputs[0];
      Program p(std::move(plan), device, team, 1);
      p.put("a", a.data());
      p.put("b", b.data());
      const double time = step_seconds(p, small ? 1 : 320);
      const std::vector<float> c = p.read<float>(product);
      unsetenv("TESSERA_CUDA_FP32");
      double worst = 0;
      for (int64_t n = 0; n < 400; ++n) {  // of some elements
        const int64_t i = n * 37 % s.rows, j = n * 53 % s.cols;
        double want = 0, size = 0;
        for (int64_t k = 0; k < s.depth; ++k) {
          const double z = static_cast<double>(a[static_cast<size_t>(s.trans_a ? k * s.rows + i : i * s.depth + k)]) *
                           static_cast<double>(b[static_cast<size_t>(s.trans_b ? j * s.depth + k : k * s.cols + j)]);
          want += z, size += std::fabs(z);
        }
        worst = std::max(worst, std::fabs(static_cast<double>(c[static_cast<size_t>(i * s.cols + j)]) - want) / size);
      }
      out[name][way] = {{"seconds", time}, {"error", worst}};
      fmt::print("{:>12.2f}", 1e6 * time);
      errors += fmt::format(" {:.1e}", worst);
    }
    fmt::print(" {}\n", errors);
  }
  return out;
}

// A timed step: its plan as it was recorded, and what a program of it needs before it runs.
struct Workload {
  Plan plan;
  std::function<void(Program&)> start;

  Plan optimised(Precision precision = Precision::fp32) const {
    Plan copy = plan;
    copy.precision = precision;
    optimize(copy);
    return copy;
  }
  double seconds(Device& device, Team& team, bool fuse, bool recorded, int64_t steps,
                 Precision precision = Precision::fp32) const {
    Plan copy = optimised(precision);
    copy.fuse = fuse;
    Program p(std::move(copy), device, team, 1);
    start(p);
    if (recorded) return step_seconds(p, steps);
    p.run_unrecorded(4);
    const double begin = seconds_now();
    p.run_unrecorded(steps);
    return (seconds_now() - begin) / static_cast<double>(steps);
  }
  // Of launches as compiled source, where they have one.
  double compiled_seconds(Device& device, Team& team, bool early, int64_t steps, LaunchReport& launches) const {
    Program p(optimised(), device, team, 1);
    start(p);
    Compilation how;
    how.threads = team.size();
    how.early = early;
    p.compile_launches(how);
    for (p.run(1); p.launches().waiting > 0; p.run(1)) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    launches = p.launches();
    return step_seconds(p, steps);
  }
};

// The same training with launches in order and begun early (--passes-off early_launch), in turns, the best of two each.
void bench_compiled(const std::string& workload, const Workload& w, Device& device, Team& team, int64_t steps,
                    nlohmann::json& figures) {
  double best[2] = {1e30, 1e30};
  LaunchReport launches;
  for (const bool early : {false, true, false, true})
    best[early] = std::min(best[early], w.compiled_seconds(device, team, early, steps, launches));
  figures["compiled_in_order_seconds"] = best[0];
  figures["compiled_early_seconds"] = best[1];
  figures["compiled_launches"] = {launches.compiled, launches.launches};
  fmt::print("{}, replayed, {} of {} launches compiled: in order {:.1f} us, begun early {:.1f} us\n", workload,
             launches.compiled, launches.launches, 1e6 * best[0], 1e6 * best[1]);
}

// Adult's columns: five numbers by the modes that fit, or as 128 bins (made), ten categories by their values.
RowLayout adult(bool bins) {
  RowLayout l;
  int column = 0;
  for (const int modes : {10, 9, 10, 5, 8}) {
    if (!bins) l.spans.push_back({column, Span::Part::alpha, l.data_width++, 1, -1});
    const int width = bins ? 128 : modes;
    l.spans.push_back({column++, bins ? Span::Part::category : Span::Part::mode, l.data_width, width, -1});
    l.data_width += width;
  }
  for (const int values : {9, 16, 7, 15, 6, 5, 2, 42, 2, 16}) {
    l.spans.push_back({column++, Span::Part::category, l.data_width, values, bins ? -1 : l.cond_width});
    l.data_width += values;
    if (!bins) l.cond_width += values;
  }
  return l;
}

struct Table {
  RowLayout layout;
  EncodedTable rows;
  std::unique_ptr<RowMethod> method;
};

Workload tabular(const std::string& name, int64_t rows, Team& team) {
  const auto t = std::make_shared<Table>();
  std::mt19937 random(1);
  t->layout = adult(name == "made");
  t->rows.rows = rows;
  for (int64_t r = 0; r < rows; ++r)
    for (const Span& s : t->layout.spans) {
      if (s.part == Span::Part::alpha)
        t->rows.alphas.push_back(std::uniform_real_distribution<float>(-0.9f, 0.9f)(random));
      else t->rows.codes.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(s.width)));
    }
  FitOptions o;
  o.method = name;
  o.preset = name == "made" ? "best" : "paper";
  apply_preset(o);
  t->method = o.config.method().make_rows(t->layout, o.config);
  t->method->prepare(t->rows, team);
  Workload w{{}, [t](Program& p) {
               t->method->bind(p);
               load_states(p, t->method->start(1));
             }};
  Recorder r(w.plan);
  t->method->record_training(r, 0, std::numeric_limits<int32_t>::max());
  return w;
}

Workload timegan(int64_t sequences, int64_t steps) {
  constexpr int64_t kFeatures = 6;
  struct Sequences {
    std::unique_ptr<Timegan> model;
    std::vector<float> x;
    std::vector<int32_t> first, length;
  };
  const auto s = std::make_shared<Sequences>();
  s->model = std::make_unique<Timegan>(kFeatures, 0, steps, TimeganConfig{});
  for (int64_t i = 0; i < sequences * steps * kFeatures; ++i)
    s->x.push_back(0.5f + 0.4f * static_cast<float>(std::sin(0.37 * static_cast<double>(i))));
  for (int64_t i = 0; i < sequences; ++i)
    s->first.push_back(static_cast<int32_t>(i * steps)), s->length.push_back(static_cast<int32_t>(steps));
  Workload w{{}, [s](Program& p) {
               p.bind_if("features", s->x.data());
               p.bind_if("first", s->first.data());
               p.bind_if("length", s->length.data());
               for (const SequenceNetwork* n : s->model->all)
                 p.put(n->weights.name, initial_weights(n->weights, 1, 0).data());
             }};
  Recorder r(w.plan);
  record_training(r, *s->model, TimeganPhase::joint, sequences * steps, sequences, std::numeric_limits<int32_t>::max());
  return w;
}

// One recurrent layer forward and backward over 128 sequences of 24 steps, as peers/gru_layer.py has cuDNN do it.
Workload gru_layer(int64_t batch, int64_t steps, int64_t units) {
  struct Layer {
    ParameterSet set;
    std::vector<float> x, weights;
  };
  const auto l = std::make_shared<Layer>();
  l->set.name = "layer";
  const layers::Recurrent rnn(l->set, "", {Cell::gru, units, units, 1, 0});
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  l->x.resize(static_cast<size_t>(batch * steps * units));
  for (float& v : l->x) v = normal(random);
  l->weights = initial_weights(l->set, 1, 0);
  Workload w{{}, [l](Program& p) {
               p.bind_if("x", l->x.data());
               p.put("layer", l->weights.data());
             }};
  Recorder r(w.plan);
  r.own(l->set);
  const Var x = r.input("x", {batch, steps * units}), y = rnn(x).y;
  r.output(y, "y");
  std::vector<Var> wrt{x};
  for (const Parameter& p : l->set.parameters) wrt.push_back(r(l->set, p.name));
  for (const Var d : pullback(r, {y}, {x}, wrt)) w.plan.outputs.push_back(d.id);
  return w;
}

// As in the sampler: TVAE's rows, the density ratio, compaction of accepted rows.
Workload sampling(int64_t rows, int64_t batch, Team& team) {
  struct Sampling {
    Model model;
    std::unique_ptr<RowMethod> method;
    std::unique_ptr<RowGenerator> generator;
    std::unique_ptr<Acceptance> acceptance;
    std::vector<int32_t> identity;
  };
  FitOptions o;
  o.method = "tvae";
  apply_preset(o);
  o.as<TvaeConfig>().epochs = 1;
  const auto s = std::make_shared<Sampling>(
      Sampling{Model::fit(example_people(rows, 1), o, team, {}), nullptr, nullptr, nullptr, {}});
  const RowModel& state = *s->model.shared_rows();
  const Tier tier = state.calibration.holds(Tier::full) ? Tier::full : Tier::marginals;
  s->method = state.method();
  s->generator = s->method->row_generator(state.kept, {}, 1, team);
  s->acceptance = std::make_unique<Acceptance>(state.encoder, state.calibration, tier, kMinYield);
  for (int64_t i = 0; i < batch; ++i) s->identity.insert(s->identity.end(), {static_cast<int32_t>(i), 0, 0});
  Workload w{{}, [s](Program& p) {
               load_states(p, s->model.shared_rows()->kept.states);
               p.bind_if("rows", s->identity.data());
               s->generator->bind(p);
               s->acceptance->bind(p);
             }};
  Recorder r(w.plan);
  s->generator->record(r, batch);
  const Var codes = r.var(w.plan.find("codes")), alphas = r.var(w.plan.find("alphas"));
  const auto closed = r.emit(CompactRows{}, {s->acceptance->record(r, codes, alphas), codes, alphas});
  for (size_t i = 0; i < closed.size(); ++i) r.output(closed[i], "closed." + std::to_string(i));
  return w;
}

// Each op alone; those of one kind and size are timed once.
nlohmann::json bench_ops(Device& device, Team& team, const Plan& plan, double gap, double bytes_per_second,
                         double flops_per_second) {
  struct Row {
    int times = 0;
    double seconds = 0, floor = 0;
  };
  std::map<std::string, Row> rows;
  std::map<std::string, double> known;
  for (const Node& n : plan.nodes) {
    if (is_view(n.op)) continue;
    std::string size = op_name(n.op);
    for (const auto* ids : {&n.in, &n.out})
      for (const Id id : *ids)
        size += id == kNone ? " -" : fmt::format(" {}x{}", plan.shape(id).rows, plan.shape(id).cols);
    const auto [at, fresh] = known.try_emplace(size);
    if (fresh) at->second = std::max(op_seconds(device, team, plan, n) - gap, 0.0);  // without the advance of the step
    const Cost c = cost(n.op, plan, n.in, n.out);
    Row& row = rows[op_name(n.op)];
    ++row.times;
    row.seconds += at->second;
    row.floor += std::max(c.bytes / bytes_per_second, c.flops / flops_per_second);
  }
  nlohmann::json out;
  fmt::print("  {:<26}{:>6}{:>12}{:>12}{:>8}\n", "op", "times", "us", "floor us", "share");
  for (const auto& [op, row] : rows) {
    fmt::print("  {:<26}{:>6}{:>12.2f}{:>12.2f}{:>8.2f}\n", op, row.times, 1e6 * row.seconds, 1e6 * row.floor,
               row.floor / std::max(row.seconds, 1e-12));
    out[op] = {{"times", row.times}, {"seconds", row.seconds}, {"floor_seconds", row.floor}};
  }
  return out;
}

int run(const char* path, const std::set<std::string>& wanted) {
  const char* name = std::getenv("TESSERA_TEST_DEVICE");
  Device device(name != nullptr ? name : "cuda");
  Team team;
  nlohmann::json out;
  out["device"] = device.describe();
  const bool small = std::getenv("TESSERA_SMALL") != nullptr;  // on the emulated device: only checks that it runs
  const double copy = copy_rate(device, small ? 1 << 16 : 1 << 29, small ? 2 : 20),
               cached = copy_rate(device, small ? 1 << 12 : 8 << 20, small ? 2 : 200), gap = gap_seconds(device, team),
               products = matmul_rate(device, team, small ? 64 : 4096);
  out["copy_bytes_per_second"] = copy;
  out["cached_copy_bytes_per_second"] = cached;
  out["launch_gap_seconds"] = gap;
  out["matmul_flops_per_second"] = products;
  fmt::print("{}\ncopy {:.0f} GB/s, in the cache {:.0f} GB/s; a launch in a graph {:.2f} us; products {:.1f} TFLOP/s\n",
             out["device"].get<std::string>(), 1e-9 * copy, 1e-9 * cached, 1e6 * gap, 1e-12 * products);

  const int64_t rows = small ? 600 : 32561;
  const std::pair<const char*, std::function<Workload()>> workloads[] = {
      {"ctgan", [&] { return tabular("ctgan", rows, team); }},
      {"tvae", [&] { return tabular("tvae", rows, team); }},
      {"made", [&] { return tabular("made", rows, team); }},
      {"timegan", [&] { return timegan(small ? 130 : 3662, small ? 4 : 24); }},
      {"gru_24", [&] { return gru_layer(128, small ? 3 : 24, 24); }},
      {"gru_112", [&] { return gru_layer(128, small ? 3 : 24, 112); }},
      {"sampling", [&] { return sampling(small ? 600 : 3000, small ? 64 : 4096, team); }}};
  for (const auto& [workload, make] : workloads) {
    if (!wanted.empty() && !wanted.contains(workload)) continue;
    const Workload w = make();
    const int64_t steps = small ? 1 : 800;
    nlohmann::json& figures = out["steps"][workload];
    for (const bool recorded : {false, true})
      for (const bool fuse : {false, true}) {
        const double s = w.seconds(device, team, fuse, recorded, recorded ? steps : steps / 32 + 1);
        figures[fmt::format("{}{}_seconds", recorded ? "" : "eager_", fuse ? "fused" : "composed")] = s;
        fmt::print("{}, {}, {}: {:.1f} us\n", workload, recorded ? "replayed" : "eager", fuse ? "fused" : "op by op",
                   1e6 * s);
      }
    if (!small && !nvrtc().version.empty()) bench_compiled(workload, w, device, team, steps, figures);
    for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::fp16}) {
      if (std::string(workload) == "sampling") break;  // candidates are drawn in the model's precision, fp32 here
      const std::string of(name_of(precision));
      const double s = w.seconds(device, team, true, true, steps, precision);
      figures[of + "_fused_seconds"] = s;
      fmt::print("{}, replayed, fused, {}: {:.1f} us\n", workload, of, 1e6 * s);
    }
    if (!small && (wanted.empty() || wanted.contains("ops")))
      figures["ops"] = bench_ops(device, team, w.optimised(), gap, cached, products);
  }
  if (wanted.empty() || wanted.contains("products")) out["products"] = bench_products(device, team, small);
  if (path != nullptr) std::ofstream(path) << out.dump(2) << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was measured is seen though the rest takes too long
  try {
    return run(argc > 1 ? argv[1] : nullptr, {argv + std::min(argc, 2), argv + argc});
  } catch (const tessera::Error& e) {
    fmt::print(stderr, "bench_device: {}\n", e.what());
    return 1;
  }
}
