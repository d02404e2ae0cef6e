// Launches that are compiled while a training runs: what is kept of them and whom the folder is taken from, what the
// program does when one is not compiled or not loaded, and that those that are loaded run. That the bits stay is tested
// with what NVRTC makes (tests/ptx/emitted.cpp).
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <vector>

#include "emulated_device.h"
#include "emulation/gpu.h"
#include "engine/emit/launch_compiler.h"
#include "engine/run/compiled_launches.h"
#include "support/folder.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

// ---- the folder ---------------------------------------------------------------------------------------------------

std::vector<std::filesystem::path> files_of(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST(LaunchCache, GivesAnImageToItsKeyAlone) {
  const test::Folder folder;
  const LaunchCache cache(folder / "new/one");
  EXPECT_EQ(cache.reason(), "");
  EXPECT_EQ(cache.find("NVRTC 13.0 -arch=sm_90\nsource"), "");
  const std::string image(
      "\x7f"
      "ELF\0of\n90",
      11);
  cache.keep("NVRTC 13.0 -arch=sm_90\nsource", image);
  cache.keep("NVRTC 13.0 -arch=sm_80\nsource", "of 80");
  EXPECT_EQ(LaunchCache(cache.folder()).find("NVRTC 13.0 -arch=sm_90\nsource"), image);
  EXPECT_EQ(cache.find("NVRTC 13.0 -arch=sm_80\nsource"), "of 80");
  EXPECT_EQ(cache.find("NVRTC 13.1 -arch=sm_90\nsource"), "") << "another version";
  EXPECT_EQ(cache.find("NVRTC 13.0 -arch=sm_90\nsource "), "") << "another source";
  cache.keep("NVRTC 13.0 -arch=sm_90\nsource", "newer");
  EXPECT_EQ(cache.find("NVRTC 13.0 -arch=sm_90\nsource"), "newer");
  EXPECT_EQ(files_of(cache.folder()).size(), 2u) << "nothing else is left";
}

TEST(LaunchCache, IgnoresDamagedImagesAndReplacesThem) {
  const test::Folder folder;
  const LaunchCache cache(folder.path().string());
  const std::string key = "a key", image = "an image of some bytes";
  cache.keep(key, image);
  const auto file = files_of(folder.path().string()).at(0);
  std::ifstream in(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const auto put = [&](const std::string& text) { std::ofstream(file, std::ios::binary) << text; };
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    put(damaged);
    EXPECT_EQ(cache.find(key), "") << "byte " << i;
    put(whole.substr(0, i));
    EXPECT_EQ(cache.find(key), "") << i << " bytes";
  }
  put(whole + "x");
  EXPECT_EQ(cache.find(key), "");
  cache.keep(key, image);
  EXPECT_EQ(cache.find(key), image);
  // the file of another key under this one's name: fingerprints may collide
  cache.keep("another", image);
  for (const auto& f : files_of(folder.path().string()))
    if (f != file) std::filesystem::rename(f, file);
  EXPECT_EQ(cache.find(key), "");
}

TEST(LaunchCache, TrustsNoFolderThatOthersCanEnter) {
  const test::Folder folder;
  const std::string path = folder / "launches";
  LaunchCache(path).keep("key", "image");
  for (const mode_t mode : {0777, 0755, 0770, 0701}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const LaunchCache open(path);
    EXPECT_NE(open.reason().find("chmod 700"), std::string::npos) << open.reason();
    EXPECT_EQ(open.find("key"), "");
    open.keep("other", "image");
    EXPECT_EQ(files_of(path).size(), 1u) << "nothing is written";
  }
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  EXPECT_EQ(LaunchCache(path).find("key"), "image");
  std::filesystem::create_symlink(path, folder / "link");
  EXPECT_NE(LaunchCache(folder / "link").reason(), "") << "a link may lead elsewhere tomorrow";
  const auto file = files_of(path).at(0);
  std::filesystem::rename(file, folder / "moved");
  std::filesystem::create_symlink(folder / "moved", file);
  EXPECT_EQ(LaunchCache(path).find("key"), "") << "a link instead of a file";
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_NE(LaunchCache(path).reason().find("another user"), std::string::npos);
}

TEST(LaunchCache, IsTheFolderThatWasCheckedWhateverHasItsNameLater) {
  const test::Folder folder;
  const std::string path = folder / "launches";
  const LaunchCache cache(path);
  cache.keep("key", "image");
  std::filesystem::rename(path, path + "-old");
  LaunchCache(path).keep("key", "another's");
  EXPECT_EQ(cache.find("key"), "image");
  cache.keep("second", "image");
  EXPECT_EQ(files_of(path).size(), 1u);
  EXPECT_EQ(files_of(path + "-old").size(), 2u);
}

TEST(LaunchCache, DoesWithoutAFolder) {
  const test::Folder folder;
  std::ofstream(folder / "file") << "x";
  const LaunchCache no_folder(folder / "file/launches"), off("off"), looked_at(folder / "absent", true);
  EXPECT_NE(no_folder.reason().find("/file/launches: "), std::string::npos) << no_folder.reason();
  EXPECT_EQ(off.reason(), "it is off");
  EXPECT_EQ(looked_at.reason(), "");
  for (const LaunchCache* cache : {&no_folder, &off, &looked_at}) {
    cache->keep("key", "image");
    EXPECT_EQ(cache->find("key"), "");
  }
  EXPECT_EQ(files_of(folder.path().string()).size(), 1u) << "looking creates nothing";
  if (::geteuid() == 0) return;  // who may write everywhere
  LaunchCache(folder.path().string()).keep("key", "image");
  ASSERT_EQ(::chmod(folder.path().string().c_str(), 0500), 0);
  const LaunchCache unwritable(folder.path().string());
  unwritable.keep("other", "image");
  EXPECT_EQ(unwritable.find("key"), "image");
  EXPECT_EQ(unwritable.find("other"), "");
  ASSERT_EQ(::chmod(folder.path().string().c_str(), 0700), 0);
}

TEST(LaunchCache, KeepsTheNewestImagesAndTheFilesOfOthers) {
  const test::Folder folder;
  const auto put = [&](const std::string& name) { std::ofstream(folder / "" + name) << "x"; };
  const LaunchCache cache(folder.path().string());
  cache.keep("key", "image");
  for (size_t i = 0; i < LaunchCache::kMaxImages + 5; ++i) put(std::to_string(10000 + i) + std::string(27, '0'));
  put("a file of the user's that has a long name");
  for (const auto& f : files_of(folder.path().string()))
    std::filesystem::last_write_time(f, std::filesystem::file_time_type::clock::now() - std::chrono::hours(24));
  EXPECT_EQ(cache.find("key"), "image") << "and is the newest now";
  cache.keep("second", "image");
  EXPECT_EQ(files_of(folder.path().string()).size(), LaunchCache::kMaxImages + 1);
  EXPECT_EQ(cache.find("key"), "image");
  EXPECT_EQ(cache.find("second"), "image");
}

TEST(LaunchCache, LiesWhereTheEnvironmentSays) {
  const auto set = [](const char* name, const char* value) {
    if (value == nullptr) ::unsetenv(name);
    else ::setenv(name, value, 1);
  };
  struct Case {
    const char *given, *caches, *home, *folder;
  };
  const char* names[] = {"TESSERA_CUDA_CACHE", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::pair<const char*, std::string>> before;
  for (const char* name : names)
    if (const char* value = std::getenv(name)) before.emplace_back(name, value);
  for (const Case& c :
       {Case{"/given", "/x", "/h", "/given"}, Case{"off", "/x", "/h", "off"},
        Case{nullptr, "/x", "/h", "/x/tessera/launches"}, Case{"", "relative", "/h", "/h/.cache/tessera/launches"},
        Case{nullptr, nullptr, nullptr, "off"}}) {
    set(names[0], c.given), set(names[1], c.caches), set(names[2], c.home);
    EXPECT_EQ(LaunchCache::default_folder(), c.folder);
  }
  for (const char* name : names) ::unsetenv(name);
  for (const auto& [name, value] : before) ::setenv(name, value.c_str(), 1);
}

// ---- in the background ----------------------------------------------------------------------------------------------

std::vector<LaunchCompiler::Result> all_of(LaunchCompiler& compiler, size_t count) {
  std::vector<LaunchCompiler::Result> all;
  while (all.size() < count) {
    for (auto& r : compiler.take()) all.push_back(std::move(r));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.launch < b.launch; });
  return all;
}

TEST(LaunchCompiler, CompilesEachSourceOnceForACard) {
  const test::Folder folder;
  std::atomic<int> calls{0};
  Compilation how;
  how.cache = folder.path().string();
  how.threads = 2;
  how.compile = [&](const std::string& source, const std::string& architecture) -> CompiledSource {
    ++calls;
    if (source == "throws") throw std::runtime_error("no memory");
    if (source == "wrong") return {"", "launch.cu(1): error"};
    return {source + " for " + architecture, ""};
  };
  const std::vector<std::string> sources{"one", "", "wrong", "throws", "two"};
  LaunchCompiler compiler(sources, "sm_90", how);
  const auto made = all_of(compiler, 4);
  EXPECT_EQ(made[0].made.image, "one for sm_90");
  EXPECT_EQ(made[1].launch, 2u);
  EXPECT_EQ(made[1].made.log, "launch.cu(1): error");
  EXPECT_EQ(made[2].made.log, "no memory");
  EXPECT_EQ(made[3].made.image, "two for sm_90");
  EXPECT_EQ(calls, 4);
  LaunchCompiler again({"two", "one", "new"}, "sm_90", how);
  EXPECT_EQ(all_of(again, 3)[1].made.image, "one for sm_90");
  EXPECT_EQ(calls, 5) << "the new one";
  LaunchCompiler elsewhere({"one"}, "sm_80", how);
  EXPECT_EQ(all_of(elsewhere, 1)[0].made.image, "one for sm_80");
  EXPECT_EQ(calls, 6);
}

TEST(LaunchCompiler, EndsAfterTheSourceAtHand) {
  std::atomic<int> calls{0};
  Compilation how;
  how.cache = "off";
  how.compile = [&](const std::string&, const std::string&) -> CompiledSource {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return {"image", ""};
  };
  {
    LaunchCompiler compiler(std::vector<std::string>(1000, "source"), "sm_90", how);
    while (calls == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LT(calls, 1000);
}

// ---- a program --------------------------------------------------------------------------------------------------

// Two launches at least: a batch norm, and an update of what it needed.
class Step : public Sandbox {
 public:
  Step() {
    ParameterSet set;
    set.name = "net";
    set.add("w", {8, 20});
    set.add("gamma", {1, 20});
    own(set);
    const Var h = batch_norm(tanh(matmul(real("x", {24, 8}), r(set, "w"))), r(set, "gamma"), r(set, "gamma"), 0.1).y;
    const Var loss = mean(square(h));
    see(1.0 * loss, "loss");
    r.minimize(loss, set, {Adam::torch, 0.1, 0.5, 0.9, 1e-3, 1e-3, 1, 0, 0, 0});
    const Var ring = r.state("ring", {4, 1});
    r.advance(ring, r.emit1(Report{4}, {ring, 1.0 * loss}));
  }
};

struct Outcome {
  Values values;
  LaunchReport report;
};
Outcome run(const std::function<CompiledSource(const std::string&)>& compile, bool early = true,
            Device& device = emulated_device()) {
  Outcome out;
  Compilation how;
  how.cache = "off";
  how.early = early;
  std::atomic<int64_t> calls{0};
  how.compile = [&](const std::string& source, const std::string&) {
    const CompiledSource made = compile(source);
    ++calls;
    return made;
  };
  Setting s = on_device(device, {}, 0);
  s.training = [&](Program& p) {
    EXPECT_EQ(p.launches().launches, 0) << "before it was asked for";
    p.compile_launches(how);
    for (int step = 0; step < 20; ++step) {
      p.run(1);
      for (int i = 0; step == 0 && i < 1000 && calls < p.launches().launches; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    out.report = p.launches();
  };
  out.values = Step().run(s);
  return out;
}

std::atomic<int> blocks_run{0}, without_memory{0};
void counting_kernel(void* parameter) {
  wait_for_launch_before();
  if (threadIdx.x != 0) return;
  ++blocks_run;
  if (*static_cast<void* const*>(parameter) == nullptr) ++without_memory;
}

TEST(CompiledLaunches, OnesThatFailStayWithTheInterpreter) {
  const Values expected = Step().run(on_device(emulated_device(), {}, 20));
  emulation::images()["without kernels"] = {};
  struct Case {
    CompiledSource made;
    const char* reason;
  };
  for (const Case& c : {Case{{"", "there is no libnvrtc.so\nat all"}, "launch_1: there is no libnvrtc.so"},
                        Case{{"no image", ""}, "CUDA: cudaLibraryLoadData failed while loading launch_1: "},
                        Case{{"without kernels", ""}, "CUDA: cudaLibraryGetKernel failed while loading launch_1: "}}) {
    const Outcome r = run([&](const std::string&) { return c.made; });
    EXPECT_GT(r.report.launches, 1);
    EXPECT_EQ(r.report.compiled, 0);
    EXPECT_EQ(r.report.waiting, 0);
    EXPECT_EQ(r.report.reason.rfind(c.reason, 0), 0u) << r.report.reason;
    EXPECT_EQ(difference(expected, r.values), 0);
  }
}

TEST(CompiledLaunches, OnesThatAreLoadedRunInsteadOfTheInterpreter) {
  emulation::images()["counts"] = {{"launch_1", {counting_kernel, 8}}};
  const Outcome r = run([&](const std::string& source) -> CompiledSource {
    if (source.find("launch_1(") != std::string::npos) return {"counts", ""};
    return {"", "no"};
  });
  EXPECT_EQ(r.report.compiled, 1);
  EXPECT_EQ(r.report.reason, "launch_2: no");
  EXPECT_GT(blocks_run, 0);
  EXPECT_EQ(without_memory, 0) << "the parameters begin with an address";
}

// A kernel that does not wait is a fault of an early launch, and of no other. `only`: of launches that are compiled.
std::string error_without_wait(Device& device, bool early = true, const std::string& only = "launch_") {
  auto& image = emulation::images()["does not wait"];
  for (size_t launch = 0; launch < 9; ++launch) image[emitted_name(launch)] = {[](void*) {}, 8};
  try {
    run(
        [&](const std::string& source) -> CompiledSource {
          return {source.find("__global__") != std::string::npos && source.find(only) != std::string::npos
                      ? "does not wait"
                      : "",
                  "no"};
        },
        early, device);
  } catch (const std::exception& e) { return e.what(); }
  return "";
}

TEST(CompiledLaunches, BeginEarlyWhereTheGpuCanAndTheyMay) {
  EXPECT_NE(error_without_wait(emulated_device()).find("ended without wait_for_launch_before()"), std::string::npos);
  EXPECT_EQ(error_without_wait(emulated_device(), false), "");
  EXPECT_EQ(error_without_wait(emulated_device(), true, "launch_1("), "") << "the one before is interpreted";
  emulation::device().major = 8;
  EXPECT_EQ(error_without_wait(emulated_device()), "");
  emulation::device().major = 9;
}

// Before CUDA 12.3 what begins early could not be recorded; and what cannot be recorded is recorded in order.
TEST(CompiledLaunches, BeginInOrderWhereCudaCannotRecordThem) {
  DeviceApi old = *tessera_device_backend(), fails = old;
  old.versions = [](int* driver, int* runtime) {
    *driver = 12020, *runtime = 13000;
    return DeviceStatus::ok;
  };
  static int refused = 0;
  fails.record = [](DeviceSession* session, const DeviceCall* calls, int64_t n, StepState* state, void* workspace,
                    int steps, DeviceRecording** recording) {
    for (int64_t i = 0; i < n; ++i)
      if (calls[i].kernel.run == fused_kernels_cuda().compiled.run &&
          static_cast<const CompiledLaunchOp*>(calls[i].call.op)->early)
        return ++refused, DeviceStatus::failed;
    return tessera_device_backend()->record(session, calls, n, state, workspace, steps, recording);
  };
  for (const DeviceApi* api : {&old, &fails}) {
    Device device(*api, 0);
    EXPECT_EQ(error_without_wait(device), "");
  }
  EXPECT_EQ(refused, 1) << "not tried again";
}

}  // namespace
}  // namespace tessera::sandbox
