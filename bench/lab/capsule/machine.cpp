// Runs the kernel of a capsule (capture.cpp) on the memory that the capsule holds, under three schedules, and compares
// the bits that it leaves. Prints JSON.
//   lab_machine capsule.safetensors library mine.so BLOCKS THREADS CLUSTER   on the emulated GPU, with the race checker
//   lab_machine capsule.safetensors ptx mine.cu BLOCKS THREADS CLUSTER       what NVRTC makes of it, on the PTX machine
//   lab_machine capsule.safetensors processor mine.so 1 1 1                  a function of this processor, timed
//   lab_machine capsule.safetensors cuda mine.cu BLOCKS THREADS CLUSTER      … on a GPU, timed
// A library is compiled with -fsanitize=thread and linked without (capsule.py does both); it exports
// capsule_kernel(parameters) and capsule_parameter_bytes.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/storage/safetensors.h"
#include "emulation/machine.h"
#include "emulation/memory.h"
#include "engine/device/device.h"
#include "engine/device/device_api.h"
#include "engine/emit/nvrtc.h"
#include "kernels/fused.h"
#include "ptx/machine/launch.h"

namespace {

using namespace tessera;
using nlohmann::json;

constexpr size_t kApart = 256;  // bytes between two pieces: what is written there is found

struct Piece {
  std::string name;
  size_t rows, cols, ld, at;  // at: bytes from the beginning of the memory
  const SafeTensor *before, *after;

  size_t bytes() const { return 4 * ((rows - 1) * ld + cols); }
};

class Capsule {
 public:
  explicit Capsule(const std::string& path) : file_(read_safetensors(path)) {
    if (file_.metadata.count("capsule") == 0) throw Error(ErrorCode::format, path + " is not a capsule.");
    about = json::parse(file_.metadata.at("capsule"));
    const auto find = [&](const std::string& name) {
      const auto at = file_.tensors.find(name);
      return at == file_.tensors.end() ? nullptr : &at->second;
    };
    for (const json& p : about["pieces"]) {
      const std::string name = p["name"];
      pieces.push_back({name, p["rows"], p["cols"], p["ld"], bytes, find("before." + name), find("after." + name)});
      bytes += (pieces.back().bytes() + kApart + 255) / 256 * 256;
    }
  }
  std::string kernel() const { return about["kernel"]; }
  std::string source() const { return file_.metadata.at("source"); }

  // Fills memory as it is before the launch: NaN where nothing is read.
  void fill(char* memory) const {
    std::memset(memory, 0xFF, bytes);
    for (const Piece& p : pieces)
      for (size_t r = 0; r < p.rows && p.before != nullptr; ++r)
        std::memcpy(memory + p.at + 4 * r * p.ld, p.before->bytes.data() + 4 * r * p.cols, 4 * p.cols);
  }
  // The kernel's parameters, for memory at an address.
  std::vector<char> parameters(uint64_t base) const {
    std::vector<char> all;
    const auto put = [&](auto value) {
      all.insert(all.end(), reinterpret_cast<char*>(&value), reinterpret_cast<char*>(&value) + sizeof value);
    };
    const json& p = about["parameters"];
    put(base);
    put(base + piece("step_state").at);
    put(p.contains("workspace") ? base + piece(p["workspace"]["piece"]).at - p["workspace"]["before"].get<uint64_t>()
                                : base);
    for (const json& a : p["addresses"])
      put(static_cast<uint32_t>(
          (a.contains("piece") ? piece(a["piece"]).at + a["offset"].get<size_t>() : pieces[0].bytes() + 16) / 4));
    for (const json& s : p["sizes"]) put(s["value"].get<int32_t>());
    all.resize((all.size() + 7) / 8 * 8);
    return all;
  }
  // The values that differ from `expected` (memory as an earlier run left it; null: as the capsule says).
  json differences(const char* memory, const char* expected) const {
    json all = json::array();
    for (const Piece& p : pieces) {
      const SafeTensor* want = p.after != nullptr ? p.after : p.before;
      if (want == nullptr) continue;
      int64_t count = 0;
      double largest = 0, error = 0;
      json first;
      for (size_t r = 0; r < p.rows; ++r)
        for (size_t c = 0; c < p.cols; ++c) {
          char got[4], wanted[4];
          const size_t at = p.at + 4 * (r * p.ld + c);
          std::memcpy(got, memory + at, 4);
          std::memcpy(wanted,
                      expected != nullptr ? expected + at
                                          : reinterpret_cast<const char*>(want->bytes.data()) + 4 * (r * p.cols + c),
                      4);
          const double x = number(got, *want), y = number(wanted, *want);
          if (std::isfinite(y)) largest = std::max(largest, std::fabs(y));
          if (std::memcmp(got, wanted, 4) == 0) continue;
          error = std::isnan(x - y) ? INFINITY : std::max(error, std::fabs(x - y));
          if (count++ == 0)
            first = {{"row", r}, {"column", c}, {"got", text(got, *want)}, {"expected", text(wanted, *want)}};
        }
      if (count == 0) continue;
      first["value"] = p.name, first["count"] = count, first["of"] = p.rows * p.cols;
      first["error"] = std::isfinite(error) && largest > 0 ? json(error / largest) : json(nullptr);
      all.push_back(first);
    }
    return all;
  }

  json about;
  std::vector<Piece> pieces;
  size_t bytes = kApart;

 private:
  const Piece& piece(const std::string& name) const {
    for (const Piece& p : pieces)
      if (p.name == name) return p;
    throw Error(ErrorCode::format, "The capsule has no piece " + name + ".");
  }
  static double number(const char* bytes, const SafeTensor& of) {
    if (of.dtype == "I32") {
      int32_t x;
      std::memcpy(&x, bytes, 4);
      return x;
    }
    float x;
    std::memcpy(&x, bytes, 4);
    return static_cast<double>(x);
  }
  static std::string text(const char* bytes, const SafeTensor& of) {
    char out[32];
    std::snprintf(out, sizeof out, of.dtype == "I32" ? "%.0f" : "%.9g", number(bytes, of));
    return out;
  }

  SafeTensors file_;
};

// The memory of a capsule on the emulated machine: each piece is an allocation of its own to the checkers.
class Memory {
 public:
  explicit Memory(const Capsule& c) : capsule_(c), bytes_(c.bytes + 512) {
    data_ = bytes_.data() + (256 - reinterpret_cast<uintptr_t>(bytes_.data()) % 256) % 256;
    for (const Piece& p : c.pieces) pieces_.emplace_back(data_ + p.at, p.bytes(), 4 * p.cols, 4 * p.ld);
    capsule_.fill(data_);
  }
  char* data() { return data_; }
  std::vector<char> parameters() const { return capsule_.parameters(reinterpret_cast<uintptr_t>(data_)); }

 private:
  const Capsule& capsule_;
  std::vector<char> bytes_;
  char* data_;
  std::deque<emulation::Borrowed> pieces_;
};

struct Grid {
  unsigned blocks, threads, cluster = 1;  // blocks that run together
};

// ---- where a kernel runs --------------------------------------------------------------------------------------------

class Library {
 public:
  Library(const Capsule& c, const std::string& path) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw Error(ErrorCode::io, dlerror());
    kernel_ = reinterpret_cast<void (*)(void*)>(dlsym(handle, "capsule_kernel"));
    const auto* bytes = static_cast<const size_t*>(dlsym(handle, "capsule_parameter_bytes"));
    if (kernel_ == nullptr || bytes == nullptr) throw Error(ErrorCode::usage, path + " exports no capsule_kernel.");
    if (const size_t wanted = c.parameters(0).size(); *bytes != wanted)
      throw Error(ErrorCode::usage, "`Parameters` has " + std::to_string(*bytes) + " bytes, and the launch passes " +
                                        std::to_string(wanted) + ": leave it as the capsule has it.");
  }
  void call(std::vector<char>& parameters) const { kernel_(parameters.data()); }
  int64_t run(const Capsule& c, Grid grid, std::vector<char> parameters) const {
    const std::string name = c.kernel();
    emulation::run_grid({name.c_str(), {grid.blocks}, {grid.threads}, 0, false, false, grid.cluster}, kernel_,
                        parameters.data());
    return 0;  // it counts none
  }

 private:
  void (*kernel_)(void*);
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorCode::io, path + ": there is no such file.");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string compiled(const std::string& source, const std::string& architecture) {
  if (nvrtc().version.empty()) throw Error(ErrorCode::unsupported, nvrtc().reason);
  CompiledSource made = compile_source(source, architecture);
  if (made.image.empty()) throw Error(ErrorCode::usage, made.log);
  return made.image;
}

class Ptx {
 public:
  Ptx(const Capsule& c, const std::string& source) : module_(ptx::read_module(compiled(source, "compute_90"))) {
    const auto at = module_.functions.find(c.kernel());
    if (at == module_.functions.end()) throw Error(ErrorCode::usage, "The source has no kernel " + c.kernel() + ".");
    kernel_ = &at->second;
  }
  int64_t run(const Capsule&, Grid grid, std::vector<char> parameters) const {
    parameters.resize(std::max<size_t>(parameters.size(), kernel_->parameters_total) + 16);
    return ptx::run(module_, *kernel_,
                    {{grid.blocks}, {grid.threads}, 0, parameters.data(), true, false, grid.cluster});
  }

 private:
  const ptx::Module module_;
  const ptx::Function* kernel_;
};

// ---- what a run says ------------------------------------------------------------------------------------------------

template <class Kernel>
json under_all_schedules(const Capsule& c, const Kernel& kernel, Grid grid, const char* expected) {
  json all = json::array();
  for (const char* order : {"sequential", "reverse", "random:1"}) {
    emulation::set_schedule(emulation::parse_schedule(order));
    Memory memory(c);
    json one{{"schedule", order}};
    try {
      one["instructions"] = kernel.run(c, grid, memory.parameters());
      one["differences"] = c.differences(memory.data(), expected);
    } catch (const emulation::Fault& e) { one["fault"] = e.what(); }
    all.push_back(one);
  }
  return all;
}

Grid own_grid(const Capsule& c) { return {c.about["blocks"], c.about["threads"]}; }

json run_ptx(const Capsule& c, const std::string& source, Grid grid) {
  // Functions such as exp have other bits there than on the processor: what is expected is what the original leaves.
  Memory expected(c);
  const Ptx original(c, c.source()), own(c, source);
  const int64_t before = original.run(c, own_grid(c), expected.parameters());
  json runs = under_all_schedules(c, own, grid, expected.data());
  runs[0]["original_instructions"] = before;
  return runs;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

json run_processor(const Capsule& c, const std::string& file) {
  const Library library(c, file);
  Memory memory(c);
  std::vector<char> parameters = memory.parameters();
  library.call(parameters);
  const json differences = c.differences(memory.data(), nullptr);
  double best = 1e30;
  for (int run = 0; run < 200; ++run) {
    const double begin = seconds_now();
    library.call(parameters);
    best = std::min(best, seconds_now() - begin);
  }
  return {{{"schedule", "this processor, one thread"}, {"differences", differences}, {"microseconds", 1e6 * best}}};
}

// The launch of a source on a GPU: what it leaves, and the microseconds of one of 200 in a graph, with a warm
// second-level cache.
struct OnGpu {
  std::vector<char> memory;
  double microseconds = 1e30;
};
OnGpu on_gpu(Device& device, const Capsule& c, const std::string& source, Grid grid) {
  const int times = std::getenv("TESSERA_SMALL") != nullptr ? 1 : 200;  // on an emulated GPU: only that it runs
  const DeviceApi& api = device.api();
  DeviceInfo info{};
  device.check(api.describe(device.number(), &info));
  const char* forced = std::getenv("TESSERA_LAB_ARCHITECTURE");  // of a plugin that executes PTX
  const std::string image =
      compiled(source, forced != nullptr ? forced : "sm_" + std::to_string(info.major) + std::to_string(info.minor));
  DeviceKernel kernel;
  device.check(api.load(device.session(), image.c_str(), c.kernel().c_str(), &kernel));
  void* memory = nullptr;
  const auto bytes = static_cast<int64_t>(c.bytes);
  device.check(api.allocate(device.session(), bytes, "a capsule", &memory));
  OnGpu out{std::vector<char>(c.bytes)};
  c.fill(out.memory.data());
  device.check(api.upload(device.session(), memory, out.memory.data(), bytes));
  const std::vector<char> parameters = c.parameters(reinterpret_cast<uintptr_t>(memory));
  const CompiledLaunchOp op{kernel.function, parameters.data(), grid.blocks, false, grid.cluster};
  const DeviceCall call{api.kernels->fused->compiled, {nullptr, nullptr, 0, 0, &op, nullptr}, "capsule"};
  device.check(api.run(device.session(), &call, 1, nullptr));
  device.check(api.download(device.session(), out.memory.data(), memory, bytes));
  DeviceRecording* recording = nullptr;
  device.check(api.record(device.session(), &call, 1, nullptr, nullptr, times, &recording));
  for (int i = 0; i < 5; ++i) {
    char end;
    const double begin = seconds_now();
    device.check(api.replay(device.session(), recording, 1));
    device.check(api.download(device.session(), &end, memory, 1));
    out.microseconds = std::min(out.microseconds, 1e6 * (seconds_now() - begin) / times);
  }
  api.forget(device.session(), recording);
  api.free(device.session(), memory);
  api.unload(device.session(), &kernel);
  return out;
}

json run_cuda(const Capsule& c, const std::string& source, Grid grid) {
  if (grid.threads != own_grid(c).threads)
    throw Error(ErrorCode::usage,
                "On a GPU a launch has blocks of " + std::to_string(own_grid(c).threads) + " threads.");
  Device device("cuda");
  const OnGpu original = on_gpu(device, c, c.source(), own_grid(c)), own = on_gpu(device, c, source, grid);
  return {{{"schedule", device.describe()},
           {"differences", c.differences(own.memory.data(), original.memory.data())},
           {"microseconds", own.microseconds},
           {"original_microseconds", original.microseconds}}};
}

json run(const std::string& where, const Capsule& c, const std::string& file, Grid grid) {
  if (where == "library") return under_all_schedules(c, Library(c, file), grid, nullptr);
  if (where == "processor") return run_processor(c, file);
  if (where == "ptx") return run_ptx(c, read_file(file), grid);
  if (where == "cuda") return run_cuda(c, read_file(file), grid);
  throw Error(ErrorCode::usage, "A kernel runs as library, ptx, processor or cuda.");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return std::cerr << "lab_machine capsule library|ptx|processor|cuda file BLOCKS THREADS CLUSTER\n", 2;
  try {
    const Capsule c(argv[1]);
    const auto number = [](const char* text) { return static_cast<unsigned>(std::atoi(text)); };
    std::cout << run(argv[2], c, argv[3], {number(argv[4]), number(argv[5]), number(argv[6])}).dump() << std::endl;
    // A plugin on an emulated GPU shares the globals of that GPU with this program, and both would destroy them.
    std::quick_exit(0);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
