// Takes one launch out of a training step: its memory before and after, its parameters and its source, in one
// safetensors file that machine.cpp runs again. The step runs on the emulated GPU, by the interpreter of launches.
//   lab_capsule data.csv capsule.safetensors METHOD PRESET LAUNCH STEPS [option=value…]
#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "base/error.h"
#include "base/storage/safetensors.h"
#include "emulation/gpu.h"
#include "emulation/memory.h"
#include "engine/device/device_api.h"
#include "engine/emit/emit.h"
#include "engine/emit/op_text.h"
#include "engine/run/plan_launches.h"
#include "engine/run/program.h"
#include "engine/run/roofline.h"
#include "engine/schedule/gpu_fusion.h"
#include "engine/schedule/placement.h"
#include "kernels/gpu/dialect/table.h"
#include "lab/capsule/layers.h"
#include "lab/phases.h"
#include "lab/step.h"
#include "models/plans/describe_launches.h"
#include "support/other_launches.h"

namespace {

using namespace tessera;
using nlohmann::json;

constexpr size_t kMaxBytes = 4 << 20;

// Memory that a launch touches: views that overlap are one piece.
struct Piece {
  const char *begin, *end;
  int64_t rows, cols, ld;  // of its only view; several: one row
  bool in, out;            // whether the launch reads it, and writes to it
  std::vector<char> before, after;

  int64_t row_bytes() const { return 4 * cols; }
  // Its elements without what lies between its rows.
  std::vector<char> read() const {
    const emulation::DeviceAccess access;
    std::vector<char> all;
    for (int64_t r = 0; r < rows; ++r) all.insert(all.end(), begin + 4 * r * ld, begin + 4 * r * ld + row_bytes());
    return all;
  }
};

class Pieces {
 public:
  void add(const void* data, int64_t rows, int64_t cols, int64_t ld, bool out) {
    if (data == nullptr || rows * cols == 0) return;
    const char* begin = static_cast<const char*>(data);
    all_.push_back({begin, begin + 4 * ((rows - 1) * ld + cols), rows, cols, rows > 1 ? ld : cols, !out, out, {}, {}});
  }
  void add(const View& v, bool out) {
    if (v.data == nullptr) return;
    if (v.item_bytes != 4 || v.lanes || v.narrow()) throw Error(ErrorCode::unsupported, "A value of 16 bits.");
    add(v.data, v.rows, v.cols, v.ld, out);
  }
  std::vector<Piece> merged() {
    std::sort(all_.begin(), all_.end(), [](const Piece& a, const Piece& b) {
      return std::pair(a.begin, b.end) < std::pair(b.begin, a.end);  // of two that begin together, the larger first
    });
    std::vector<Piece> merged;
    for (const Piece& p : all_) {
      if (merged.empty() || p.begin >= merged.back().end) {
        merged.push_back(p);
        continue;
      }
      Piece& whole = merged.back();
      whole.in |= p.in, whole.out |= p.out;
      if (p.begin == whole.begin && p.end == whole.end && p.rows == whole.rows && p.ld == whole.ld) continue;
      whole.end = std::max(whole.end, p.end);
      whole.rows = 1, whole.cols = whole.ld = (whole.end - whole.begin) / 4;
    }
    return merged;
  }

 private:
  std::vector<Piece> all_;
};

// What the interpreter is asked for, and what is noted of the launch that is wanted.
struct Capture {
  int wanted = 0, launches = 0;
  int64_t slices = -1;  // where the slices of the step's products begin in the workspace; -1: there are none so far
  std::vector<Piece> pieces;
  EmittedLaunch emitted;
} capture;

std::vector<Piece> pieces_of(const FusedLaunchOp& op, const char* workspace) {
  Pieces pieces;
  int64_t begin = INT64_MAX, end = 0;  // of the workspace: slices of all products, as their distances must stay
  bool read = false, written = false;
  for (const FusedChain& chain : op)
    for (const FusedStep& s : chain) {
      // Slices of a product are written by one launch, and added by a later one, with the addend.
      for (int i = s.part == FusedStep::sum ? s.call.inputs / 2 * 2 : 0; i < s.call.inputs; ++i)
        pieces.add(s.call.in[i], false);
      for (int i = 0; i < s.call.outputs && s.part != FusedStep::slices; ++i) pieces.add(s.call.out[i], true);
      if (s.part != FusedStep::all) {
        begin = std::min(begin, s.workspace), end = std::max(end, s.workspace + emitted_slices_bytes(s.call));
        (s.part == FusedStep::slices ? written : read) = true;
      }
      const OpText text = op_text(s);
      const auto table = [&](const auto* items, int count) {
        const int64_t words = static_cast<int64_t>(sizeof *items / 4) * count;
        pieces.add(items, 1, words, words, false);
      };
      if (text.spans != nullptr)
        table(text.spans->items, text.spans->count), table(text.spans->cond_span, text.spans->cond_width);
      if (text.blocks != nullptr)
        table(text.blocks->items, text.blocks->count), table(text.blocks->holes, text.blocks->hole_count);
    }
  const int64_t floats = (end - begin) / 4;
  if (read) pieces.add(workspace + begin, 1, floats, floats, false);
  if (written) pieces.add(workspace + begin, 1, floats, floats, true);
  return pieces.merged();
}

void note_launch(const Call& call, int64_t tile, void* context) {
  if (++capture.launches > capture.wanted) return;  // the rest of the step is not needed
  const auto& op = *static_cast<const FusedLaunchOp*>(call.op);
  for (const FusedChain& chain : op)
    for (const FusedStep& s : chain)
      if (s.part == FusedStep::slices && capture.slices < 0) capture.slices = s.workspace;
  if (capture.launches < capture.wanted) return fused_kernels_cuda().kernel.run(call, tile, context);
  void* workspace = gpu_context(context).workspace;
  capture.emitted = emit_launch(op, workspace, "launch");
  if (lab::only_layers(op))
    capture.emitted = lab::LayersText(op, workspace, emitted_name(static_cast<size_t>(capture.wanted - 1))).run();
  capture.pieces = pieces_of(op, static_cast<const char*>(workspace));
  if (capture.emitted.source.empty()) return;
  const auto state = std::make_shared<StepState*>();
  std::memcpy(state.get(), capture.emitted.parameters.data() + 8, 8);
  capture.pieces.push_back({reinterpret_cast<const char*>(*state),
                            reinterpret_cast<const char*>(*state + 1),
                            1,
                            sizeof(StepState) / 4,
                            sizeof(StepState) / 4,
                            true,
                            op.first || op.last,
                            {},
                            {}});
  const auto read = [](auto member) {
    return [member] {
      for (Piece& p : capture.pieces) p.*member = p.read();
    };
  };
  emulation::enqueue(gpu_context(context).stream, "before", read(&Piece::before));
  fused_kernels_cuda().kernel.run(call, tile, context);
  emulation::enqueue(gpu_context(context).stream, "after", read(&Piece::after));
}

const DeviceApi& noting() {
  FusedKernels noted = fused_kernels_cuda();
  noted.kernel.run = note_launch;
  static const OtherLaunches backend(noted);
  return backend.api;
}

// ---- the step -------------------------------------------------------------------------------------------------------

struct Arguments {
  std::string data, capsule, method, preset;
  int launch, steps;
  lab::MethodOptions options;
};

// The launch in the step after `steps` steps, which the processor computes, as it does so faster.
void run(const lab::Step& s, int steps, Team& team) {
  Program trained(s.plan, cpu_kernels(), team, s.seed);
  s.start(trained);
  trained.run(steps);
  Device device(noting(), 0);
  Program p(s.plan, device, team, s.seed);
  s.start(p);
  for (const Leaf& leaf : s.plan.leaves) {
    if (leaf.kind != Leaf::state) continue;
    if (s.plan[leaf.value].dtype == DType::index) p.put(leaf.name, trained.get<int32_t>(leaf.name).data());
    else p.put(leaf.name, trained.get<float>(leaf.name).data());
  }
  p.step() = trained.step();
  p.run(1);
}

// ---- the file -------------------------------------------------------------------------------------------------------

// The members of `Parameters` in a source: addresses, then sizes.
std::array<std::vector<std::string>, 2> members_of(const std::string& source) {
  const size_t begin = source.find("struct Parameters"), end = source.find("};", begin);
  const std::string body = source.substr(begin, end - begin);
  std::array<std::vector<std::string>, 2> members;
  for (const auto& [type, to] : {std::pair{"uint32_t", 0}, {"int", 1}}) {
    const size_t at = body.find(std::string("\n  ") + type + " ");
    if (at == std::string::npos) continue;
    std::string list = body.substr(at + 3 + std::strlen(type), body.find(';', at) - at - 3 - std::strlen(type));
    std::replace(list.begin(), list.end(), ',', ' ');
    std::istringstream names(list);
    for (std::string name; names >> name;) members[static_cast<size_t>(to)].push_back(name);
  }
  return members;
}

// Integers are stored as such: no float of a step is that close to zero.
bool holds_integers(const std::vector<char>& bytes) {
  bool any = false;
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    int32_t x;
    std::memcpy(&x, bytes.data() + i, 4);
    if (x < -(1 << 23) || x >= 1 << 23) return false;
    any |= x != 0;
  }
  return any;
}

SafeTensor tensor(const Piece& p, const std::vector<char>& bytes) {
  const auto* raw = reinterpret_cast<const std::byte*>(bytes.data());
  return {holds_integers(bytes) ? "I32" : "F32", {p.rows, p.cols}, {raw, raw + bytes.size()}};
}

template <class T>
T number_at(const std::vector<char>& bytes, size_t at) {
  T x;
  std::memcpy(&x, bytes.data() + at, sizeof x);
  return x;
}

// Where a parameter points: a piece, and bytes from its beginning; nowhere, if the launch does not use the value.
json place(const std::vector<Piece>& pieces, const std::vector<std::string>& names, uint64_t address) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto begin = reinterpret_cast<uintptr_t>(pieces[i].begin), end = reinterpret_cast<uintptr_t>(pieces[i].end);
    if (address >= begin && address < end) return {{"piece", names[i]}, {"offset", address - begin}};
  }
  return json::object();
}

// `planned`: as `tessera plan` writes it; in the workspace it counts bytes from the first slices.
void write(const Arguments& a, const EmittedLaunch& planned, json about) {
  const std::vector<char>& bytes = capture.emitted.parameters;
  const auto [addresses, sizes] = members_of(planned.source);
  if (members_of(capture.emitted.source)[0].size() != addresses.size())
    throw Error(ErrorCode::unsupported, "Launch " + std::to_string(a.launch) + " did not run in one piece.");
  const uint64_t base = number_at<uint64_t>(bytes, 0),
                 workspace =
                     number_at<uint64_t>(bytes, 16) + static_cast<uint64_t>(std::max<int64_t>(capture.slices, 0));
  std::vector<uint64_t> at;
  for (size_t i = 0; i < addresses.size(); ++i) at.push_back(base + 4ull * number_at<uint32_t>(bytes, 24 + 4 * i));
  std::vector<std::string> names;  // of pieces: that of the first parameter which lies in each
  for (const Piece& p : capture.pieces) {
    std::string name = &p == &capture.pieces.back() ? "step_state" : "";
    for (size_t i = 0; i < addresses.size() && name.empty(); ++i)
      if (at[i] >= reinterpret_cast<uintptr_t>(p.begin) && at[i] < reinterpret_cast<uintptr_t>(p.end))
        name = addresses[i];
    names.push_back(name.empty() ? "workspace" : name);
  }
  SafeTensors file;
  json pieces = json::array();
  for (size_t i = 0; i < capture.pieces.size(); ++i) {
    const Piece& p = capture.pieces[i];
    if (p.in) file.tensors["before." + names[i]] = tensor(p, p.before);
    if (p.after != p.before || p.out) file.tensors["after." + names[i]] = tensor(p, p.after);
    pieces.push_back({{"name", names[i]}, {"rows", p.rows}, {"cols", p.cols}, {"ld", p.ld}});
  }
  json parameters{{"addresses", json::array()}, {"sizes", json::array()}};
  for (size_t i = 0; i < addresses.size(); ++i) {
    json where = place(capture.pieces, names, at[i]);
    where["name"] = addresses[i];
    parameters["addresses"].push_back(where);
  }
  for (size_t i = 0; i < sizes.size(); ++i)
    parameters["sizes"].push_back(
        {{"name", sizes[i]}, {"value", number_at<int32_t>(planned.parameters, 24 + 4 * (addresses.size() + i))}});
  for (size_t i = 0; i < capture.pieces.size(); ++i) {
    if (names[i] != "workspace") continue;
    const auto begin = reinterpret_cast<uintptr_t>(capture.pieces[i].begin);
    parameters["workspace"] = {{"piece", names[i]}, {"before", begin - workspace}};
  }
  about["pieces"] = pieces, about["parameters"] = parameters;
  about["blocks"] = capture.emitted.blocks, about["threads"] = kEmittedThreads;
  file.metadata = {{"capsule", about.dump()}, {"source", planned.legend + planned.source}};
  const size_t total = format_safetensors(file).size();
  if (total > kMaxBytes) {
    std::ostringstream text;
    text.precision(3);
    text << "Launch " << a.launch << " takes " << static_cast<double>(total) / 1048576 << " MB; a capsule holds 4 MB. "
         << "Take a smaller batch (batch_size=" << about["batch"].get<int64_t>() / 2
         << "), narrower networks, or another launch.";
    throw Error(ErrorCode::usage, text.str());
  }
  write_safetensors(a.capsule, file, true);
  std::cout << json{{"bytes", total}, {"launch", a.launch}}.dump() << "\n";
}

// ---- the same ops on the processor ----------------------------------------------------------------------------------

// The ops of a launch as a plan of their own, over numbers between .1 and .9.
struct Alone {
  Plan plan;
  Cost cost{};
};
Alone ops_of(const Plan& from, const FusedLaunch& launch) {
  Alone alone;
  alone.plan.tables = from.tables;
  std::map<Id, Id> known;
  const auto value = [&](Id v) {
    if (v == kNone || known.count(v) != 0) return v == kNone ? kNone : known[v];
    return known[v] = alone.plan.leaf(Leaf::state, "x" + std::to_string(v), from.shape(v), from[v].dtype);
  };
  for (const FusedGroup& g : launch.chains)
    for (const FusedNode& n : g.nodes) {
      if (n.part == FusedStep::sum) continue;  // the product was counted where its slices are made
      const Node& node = from.nodes[static_cast<size_t>(n.node)];
      std::vector<Id> in;
      for (const Id v : node.in) in.push_back(value(v));
      if (std::holds_alternative<Recurrent>(node.op)) in[1] = kNone;  // no length: all steps
      const std::vector<Id> out = alone.plan.emit(node.op, in);
      for (size_t i = 0; i < out.size(); ++i) known[node.out[i]] = out[i], alone.plan.outputs.push_back(out[i]);
      const Cost c = cost(node.op, from, node.in, node.out);
      alone.cost.flops += c.flops, alone.cost.bytes += c.bytes;
    }
  return alone;
}

// Microseconds of a launch's ops by the processor's kernels on one thread, the best of several runs, and the floor: its
// bytes or its FLOPs at the rates of a copy and of multiply-adds, measured here too.
json on_processor(const Plan& from, const FusedLaunch& launch) {
  Team one(1);
  Alone alone = ops_of(from, launch);
  const Cost total = alone.cost;
  Program p(std::move(alone.plan), cpu_kernels(), one, 1);
  std::mt19937 random(1);
  for (const Leaf& leaf : p.plan().leaves) {
    if (p.plan()[leaf.value].dtype != DType::real) continue;
    std::vector<float> numbers(static_cast<size_t>(p.plan().shape(leaf.value).count()));
    for (float& x : numbers) x = 0.1f + 0.8f * static_cast<float>(random() % 1024) / 1024.0f;
    p.put(leaf.name, numbers.data());
  }
  const auto seconds = [&](int64_t steps) {
    const auto begin = std::chrono::steady_clock::now();
    p.run(steps);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / static_cast<double>(steps);
  };
  double best = seconds(4);
  const auto steps = static_cast<int64_t>(std::clamp(0.001 / best, 1.0, 10000.0));  // short: other work runs between
  for (int i = 0; i < 100; ++i) best = std::min(best, seconds(steps));
  const Ceilings ceilings = measure_ceilings(one, static_cast<int64_t>(total.bytes));
  return {{"microseconds", 1e6 * best},
          {"floor", 1e6 * ceilings.floor(total)},
          {"kernels", cpu_kernels().name},
          {"phases", lab::describe(p, p.time_phases(1))}};  // what processor.py predicts it from
}

// A launch of recurrent layers alone: its source is written here.
bool only_layers(const json& group) {
  const json& chains = group["chains"];
  return chains.size() == 1 && std::all_of(chains[0]["ops"].begin(), chains[0]["ops"].end(),
                                           [](const json& op) { return op == "recurrent"; });
}
// Of the first groups.
int launches_of_chains(const json& groups, int count) {
  return static_cast<int>(std::count_if(groups.begin(), groups.begin() + count,
                                        [](const json& g) { return g["chains"][0]["cut"] != "whole"; }));
}

int make(const Arguments& a) {
  Team team;
  const lab::Step s = lab::step_of(a.data, a.method, a.preset, a.options, team);
  const json step = describe_launches(s.plan), &groups = step["groups"];
  if (a.launch < 1 || a.launch > static_cast<int>(groups.size()))
    throw Error(ErrorCode::usage, "The step has launches 1 to " + std::to_string(groups.size()) + ".");
  json group = groups[static_cast<size_t>(a.launch - 1)];
  const bool layers = only_layers(group);
  if (!group.contains("source") && !layers)
    throw Error(ErrorCode::usage, "Launch " + std::to_string(a.launch) + " has no source: " +
                                      group.value("not_emitted", "its ops are launched one by one") + ".");
  Plan plan = s.plan;
  const Fusion fusion = fuse(plan);
  const auto phases = phases_of(fusion);
  const Placement placed = place(plan, 4, true, &phases);
  const auto launches = emit_launches(plan, fusion, placed);
  const auto planned = layers ? launches.begin() + launches_of_chains(groups, a.launch - 1)
                              : std::find_if(launches.begin(), launches.end(), [&](const EmittedLaunch& l) {
                                  return l.legend + l.source == group["source"];
                                });
  if (planned == launches.end()) throw Error(ErrorCode::internal, "a launch of the plan was not found again");
  group.erase("source");
  capture.wanted = static_cast<int>(planned - launches.begin()) + 1;
  json processor;
  int number = 0;
  for (const FusedLaunch& l : fusion) {
    const bool works = std::any_of(l.chains.begin(), l.chains.end(), [&](const FusedGroup& g) {
      return std::any_of(g.nodes.begin(), g.nodes.end(),
                         [&](const FusedNode& n) { return placed.runs[static_cast<size_t>(n.node)]; });
    });
    if (works && ++number == capture.wanted) processor = on_processor(plan, l);
  }
  run(s, a.steps, team);
  if (capture.emitted.source.empty() || capture.pieces.empty() || capture.pieces.back().after.empty())
    throw Error(ErrorCode::unsupported,
                "Launch " + std::to_string(a.launch) + " did not run: " + capture.emitted.reason);
  write(a, layers ? capture.emitted : *planned,
        {{"kernel", emitted_name(static_cast<size_t>(capture.wanted - 1))},
         {"method", a.method},
         {"preset", a.preset},
         {"batch", s.batch},
         {"launch", a.launch},
         {"steps", a.steps},
         {"what", group},
         {"processor", processor}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return std::cerr << "lab_capsule data.csv capsule METHOD PRESET LAUNCH STEPS [option=value…]\n", 2;
  const Arguments a{argv[1],
                    argv[2],
                    argv[3],
                    argv[4],
                    std::atoi(argv[5]),
                    std::atoi(argv[6]),
                    lab::options_of(argv + 7, argv + argc)};
  ::mallopt(M_MMAP_MAX, 0);  // a launch addresses 16 GB: its memory is all of the heap
  try {
    return make(a);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
