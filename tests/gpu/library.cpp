// Opening the plugin: what is there is used, and the library and the program say which part is missing.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "emulation/device.h"
#include "engine/device/device.h"
#include "engine/device/device_api.h"

namespace tessera {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Library, IsNotThere) {
  const DeviceLibrary l = open_device_library("/nowhere/libtessera_cuda.so");
  EXPECT_EQ(l.api, nullptr);
  EXPECT_TRUE(has(l.reason, "/nowhere/libtessera_cuda.so does not exist")) << l.reason;
  EXPECT_TRUE(has(l.reason, "TESSERA_CUDA_PLUGIN")) << l.reason;
}

TEST(Library, IsNoLibraryOrNoPlugin) {
  EXPECT_TRUE(has(open_device_library("/proc/self/status").reason, "cannot be opened"))
      << open_device_library("/proc/self/status").reason;
  EXPECT_TRUE(has(open_device_library("libm.so.6").reason, "is not a plugin of Tessera"))
      << open_device_library("libm.so.6").reason;
}

TEST(Library, IsOfAnotherRelease) {
  const DeviceLibrary l = open_device_library(TESSERA_FOREIGN_PLUGIN);
  EXPECT_EQ(l.api, nullptr);
  EXPECT_TRUE(has(l.reason, "has version " + std::to_string(kDeviceAbi + 6) +
                                " of the device interface, this library version " + std::to_string(kDeviceAbi)))
      << l.reason;
  EXPECT_EQ(misfit(nullptr), "it returns no table");
  DeviceApi table{};
  table.abi = kDeviceAbi;
  table.table_bytes = sizeof(KernelTable) - 24;
  EXPECT_TRUE(has(misfit(&table), "list of kernels"));
}

TEST(Library, NamesOfDevices) {
  for (const char* name : {"cpu", "auto", "cuda", "cuda:0", "cuda:12"})
    EXPECT_NO_THROW(Device::check_name(name)) << name;
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1234", "CUDA", "cpu:0"})
    EXPECT_THROW(Device::check_name(name), Error) << name;
}

// The program with the plugin on the emulated machine.
struct Ran {
  int code;
  std::string out;
};
Ran shell(const std::string& environment, const std::string& arguments) {
  const std::string line =
      environment + " TESSERA_CUDA_PLUGIN=${TESSERA_CUDA_PLUGIN-" TESSERA_EMULATED_PLUGIN "} " TESSERA_PROGRAM " " +
      arguments + " 2>&1";
  Ran r{-1, ""};
  FILE* p = popen(line.c_str(), "r");
  if (p == nullptr) return r;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, p)) > 0;) r.out.append(buffer, n);
  const int status = pclose(p);
  r.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return r;
}

class Cli : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tessera-gpu-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    ASSERT_EQ(shell("", "example " + folder_ + "/d.csv --rows 60 --quiet").code, 0);
  }
  void TearDown() override {
    for (const char* f : {"/d.csv", "/m", "/s.csv"}) std::remove((folder_ + f).c_str());
    std::remove(folder_.c_str());
  }
  std::string fit(const std::string& device) const {
    return "fit " + folder_ + "/d.csv --model " + folder_ +
           "/m --force --preset paper --epochs 1 --batch-size 20 --embedding-dim 4 --generator-dim 8 "
           "--discriminator-dim 8 --quiet --device " +
           device;
  }
  std::string folder_;
};

TEST_F(Cli, ADeviceThatIsNotThere) {
  const auto refused = [&](const std::string& environment, const std::string& device, int code,
                           const std::string& what) {
    const Ran r = shell(environment, fit(device));
    EXPECT_EQ(r.code, code) << r.out;
    EXPECT_TRUE(has(r.out, what)) << r.out;
    EXPECT_FALSE(has(r.out, "Please report")) << r.out;
  };
  refused("TESSERA_EMULATED_GPUS=no-driver", "cuda", 9, "CUDA driver version is insufficient");
  refused("TESSERA_EMULATED_GPUS=0", "cuda", 9, "no CUDA-capable device");
  refused("TESSERA_EMULATED_GPUS=1", "cuda:1", 9, "this machine has 1 GPU, numbered from 0");
  refused("", "gpu", 2, "known are auto, cpu, cuda and cuda:N");
  EXPECT_EQ(shell("TESSERA_EMULATED_GPUS=0", fit("auto")).code, 0) << "auto goes on without";
}

TEST_F(Cli, InfoSaysWhatThereIsAndWhatIsMissing) {
  EXPECT_TRUE(has(shell("TESSERA_EMULATED_GPUS=2", "info").out, "cuda:1"));
  EXPECT_TRUE(has(shell("TESSERA_EMULATED_GPUS=no-driver", "info").out, "Install an NVIDIA driver"));
}

// A training that is long enough for its launches to be compiled, though its time is over soon.
TEST_F(Cli, SaysHowManyLaunchesWereCompiled) {
  const std::string none = "TESSERA_NVRTC=/nowhere/libnvrtc.so TESSERA_CUDA_CACHE=" + folder_ + "/launches",
                    long_fit =
                        "fit " + folder_ + "/d.csv --model " + folder_ +
                        "/m --force --preset paper --epochs 20000 --max-time 1s --batch-size 20 --embedding-dim 4 "
                        "--generator-dim 8 --discriminator-dim 8 --device cuda ";
  const Ran fitted = shell(none, long_fit);
  EXPECT_EQ(fitted.code, 0) << fitted.out;
  EXPECT_TRUE(has(fitted.out, "0 of ")) << fitted.out;
  EXPECT_TRUE(has(fitted.out,
                  " launches compiled for this table; the others are interpreted: there is no "
                  "libnvrtc.so"))
      << fitted.out;
  EXPECT_FALSE(has(shell(none, long_fit + "--passes-off compile").out, "compiled")) << "it is off";
  EXPECT_FALSE(has(shell(none, fit("cuda")).out, "compiled")) << "a short one";
  EXPECT_TRUE(has(shell(none, "info").out, "interpreted: there is no libnvrtc.so"));
  std::filesystem::remove_all(folder_ + "/launches");
}

TEST_F(Cli, ComparesRowsOnTheGpuWithTheSameResult) {
  std::vector<std::string> files;
  for (const char* seed : {"1", "2", "3"}) {
    files.push_back(folder_ + "/rows" + seed + ".csv");
    ASSERT_EQ(shell("", "example " + files.back() + " --rows 150 --quiet --seed " + seed).code, 0);
  }
  const std::string columns = " --columns age,education,income,city,children --json --quiet --mode nearest --device ";
  for (const std::string& command :
       {"dedup " + files[0] + columns, "dedup " + files[0] + " --against " + files[1] + columns,
        "dedup " + files[0] + " --mode documents --threshold 0.4 --columns city,country,plan --json --quiet --device ",
        "evaluate " + files[0] + " " + files[1] + " --holdout " + files[2] +
            " --without-c2st --json --quiet --device "}) {
    const Ran here = shell("", command + "cpu"), there = shell("", command + "cuda");
    EXPECT_EQ(here.code, 0) << here.out;
    EXPECT_EQ(there.out, here.out);
    EXPECT_EQ(shell("TESSERA_EMULATED_GPUS=0", command + "cuda").code, 9);
  }
  for (const std::string& file : files) std::remove(file.c_str());
}

TEST_F(Cli, DrawsTheSameRandomTablesOnTheGpu) {
  const std::string folder = folder_ + "/tables";
  const auto draw = [&](const std::string& environment, const std::string& device) {
    std::filesystem::remove_all(folder);
    const Ran r = shell(environment,
                        "prior --tables 4 --rows 30 --features 1..4 --kind mlp --seed 1 --format csv --quiet "
                        "--output " +
                            folder + " --device " + device);
    std::string files;
    for (int i = 1; i <= 4 && r.code == 0; ++i) {
      std::ifstream in(folder + "/episode_00000" + std::to_string(i) + ".csv");
      files.append(std::istreambuf_iterator<char>(in), {});
    }
    std::filesystem::remove_all(folder);
    return Ran{r.code, r.code == 0 ? files : r.out};
  };
  const Ran here = draw("", "cpu"), there = draw("", "cuda"), missing = draw("TESSERA_EMULATED_GPUS=0", "cuda");
  EXPECT_EQ(here.code, 0) << here.out;
  EXPECT_GT(here.out.size(), 500u);
  EXPECT_EQ(there.out, here.out);
  EXPECT_EQ(missing.code, 9);
  EXPECT_TRUE(has(missing.out, "no CUDA-capable device")) << missing.out;
}

TEST_F(Cli, FitsAndSamplesOnTheGpu) {
  const Ran fitted = shell("", fit("cuda"));
  EXPECT_EQ(fitted.code, 0) << fitted.out;
  const std::string sample = "sample " + folder_ + "/m --rows 25 --output - --quiet --seed 3 --device ";
  const Ran here = shell("", sample + "cpu"), there = shell("", sample + "cuda");
  EXPECT_EQ(there.code, 0) << there.out;
  EXPECT_EQ(std::count(there.out.begin(), there.out.end(), '\n'), 26);
  EXPECT_EQ(here.out.substr(0, here.out.find('\n')), there.out.substr(0, there.out.find('\n')));
}

TEST_F(Cli, FitsAndSamplesWithRoundedFactorsOnTheGpu) {
  const auto model = [&](const std::string& precision) {
    const Ran fitted = shell("", fit("cuda") + " --precision " + precision);
    EXPECT_EQ(fitted.code, 0) << fitted.out;
    std::ifstream file(folder_ + "/m", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string exact = model("fp32"), rounded = model("bf16");
  EXPECT_EQ(model("auto").size(), exact.size());
  EXPECT_NE(rounded, exact);
  EXPECT_EQ(model("bf16"), rounded) << "the same bits again";
  const std::string tf32 = model("tf32"), fp16 = model("fp16");
  EXPECT_TRUE(tf32 != exact && tf32 != rounded && fp16 != exact && fp16 != tf32);
  const std::string sample =
      "sample " + folder_ + "/m --rows 25 --output - --quiet --seed 3 --device cuda --precision ";
  const Ran once = shell("", sample + "bf16");
  EXPECT_EQ(once.code, 0) << once.out;
  EXPECT_EQ(shell("", sample + "bf16 --batch-size 7").out, once.out) << "whatever the batch";
}

// Where the step has no room on the GPU, that is found before the first one.
TEST_F(Cli, ABatchWithoutRoomOnTheGpuGoesInPartsOrIsRefusedBeforeItsFirstStep) {
  const auto fitted = [&](const std::string& method, const std::string& sizes, int kilobytes) {
    const std::string model = folder_ + "/m";
    std::remove(model.c_str());
    const Ran r = shell("TESSERA_EMULATED_MEMORY=" + std::to_string(kilobytes) + "000",
                        "fit " + folder_ + "/d.csv --model " + model + " --method " + method + sizes +
                            " --embedding-dim 4 --batch-size 500 --calibrate off --epochs 1 --device cuda");
    EXPECT_EQ(std::ifstream(model).good(), r.code == 0) << r.out;
    EXPECT_FALSE(has(r.out, "cudaMalloc")) << kilobytes << r.out;
    return r;
  };
  const std::string tvae = " --encoder-dim 16 --decoder-dim 16", ctgan = " --generator-dim 16 --discriminator-dim 16";
  for (const int kilobytes : {4000, 600, 400}) {
    const Ran r = fitted("tvae", tvae, kilobytes);
    EXPECT_EQ(r.code, 0) << kilobytes << r.out;
    EXPECT_EQ(has(r.out, "as with --micro-batch"), kilobytes < 4000) << r.out;
  }
  EXPECT_EQ(fitted("ctgan", ctgan, 4000).code, 0);
  const Ran refused = fitted("ctgan", ctgan, 1800);  // batch norm sees the whole batch
  EXPECT_EQ(refused.code, 5) << refused.out;
  EXPECT_TRUE(has(refused.out, "--micro-batch 250 fits") && has(refused.out, "--device cpu")) << refused.out;
}

}  // namespace
}  // namespace tessera
