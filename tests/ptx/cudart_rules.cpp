// The emulated libcudart: what nvcc's host code does before main(), and errors that stay.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "emulation/device.h"
#include "emulation/runtime.h"
#include "ptx/cudart/cudart.h"
#include "ptx/cudart/fat_binary.h"

extern "C" int last_error() asm("cudaGetLastError");
extern "C" const char* error_text(int error) asm("cudaGetErrorString");
extern "C" int wait_for_all(void* stream) asm("cudaStreamSynchronize");

namespace tessera::ptx {
namespace {

const char* const kTwoKernels =
    ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 room[];\n"
    ".visible .entry good(\n.param .u64 good_param_0\n)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd1, [good_param_0];\nmov.u32 %r1, %ctaid.x;\nst.shared.u32 [room+4], %r1;\n"
    "ld.shared.u32 %r2, [room+4];\nst.global.u32 [%rd1], %r2;\nret;\n}\n"
    ".visible .entry wrong(\n.param .u64 wrong_param_0\n)\n{\n.reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd1, [wrong_param_0];\nld.global.u64 %rd2, [%rd1+4];\nret;\n}\n";

using Texts = std::vector<std::pair<uint32_t, std::string>>;  // each for an architecture: 90 of sm_90

// A fat binary of them, as nvcc lays it out.
struct FatBinary {
  std::string bytes;
  struct {
    uint32_t magic = 0x466243B1u, version = 1;
    const char* images = nullptr;
  } wrapper;
  explicit FatBinary(const Texts& texts) {
    const auto room = [](const std::string& text) { return uint64_t{(text.size() + 8) / 8 * 8}; };
    const auto put = [&](auto x) { bytes.append(reinterpret_cast<const char*>(&x), sizeof x); };
    uint64_t all = 0;
    for (const auto& [architecture, text] : texts) all += 64 + room(text);
    put(uint32_t{0xBA55ED50u}), put(uint16_t{1}), put(uint16_t{16}), put(all);
    for (const auto& [architecture, text] : texts) {
      const size_t at = bytes.size();
      put(uint16_t{1}), put(uint16_t{0x101}), put(uint32_t{64}), put(room(text)), put(uint32_t{0}), put(uint32_t{0});
      put(uint32_t{0}), put(architecture);
      bytes.resize(at + 64);
      bytes += text;
      bytes.resize(at + 64 + room(text));
    }
    wrapper.images = bytes.data();
  }
};

struct Loaded {
  FatBinary fat{Texts{{90, kTwoKernels}}};
  char good = 0, wrong = 0;  // their addresses stand for host functions
  void* memory = nullptr;
  Loaded() {
    void** binary = register_binary(&fat.wrapper);
    register_kernel(binary, &good, "good");
    register_kernel(binary, &wrong, "wrong");
    cudaMalloc(&memory, 8);
  }
  int run(const char* kernel, size_t shared = 16, bool early = false) {
    void* arguments[] = {&memory};
    return launch({{3, 1, 1}, {1, 1, 1}, shared, nullptr, kernel, arguments, early});
  }
};

TEST(Cudart, TextForTheGpuIsTakenFromTheFatBinary) {
  const FatBinary fat(Texts{{90, kTwoKernels}});
  EXPECT_EQ(ptx_of(&fat.wrapper, 90), kTwoKernels);
  EXPECT_EQ(ptx_of(&fat.wrapper, 100), kTwoKernels);
  EXPECT_EQ(ptx_of(&fat.wrapper, 80), "") << "made for newer ones";
  for (const Texts& texts : {Texts{{80, "of 80"}, {90, "of 90"}}, Texts{{90, "of 90"}, {80, "of 80"}}}) {
    const FatBinary both(texts);
    EXPECT_EQ(ptx_of(&both.wrapper, 75), "");
    EXPECT_EQ(ptx_of(&both.wrapper, 80), "of 80");
    EXPECT_EQ(ptx_of(&both.wrapper, 89), "of 80");
    EXPECT_EQ(ptx_of(&both.wrapper, 90), "of 90");
    EXPECT_EQ(ptx_of(&both.wrapper, 100), "of 90");
  }
}

TEST(Cudart, KernelsRunAndSharedMemoryBeyond48KiBIsAskedFor) {
  Loaded l;
  EXPECT_EQ(l.run(&l.good), cudaSuccess);
  uint32_t last_block = 0;
  cudaMemcpy(&last_block, l.memory, 4, cudaMemcpyDeviceToHost);
  EXPECT_EQ(last_block, 2u);
  EXPECT_EQ(l.run(&l.good, 64 * 1024), cudaErrorInvalidValue);
  EXPECT_EQ(last_error(), cudaErrorInvalidValue);
  EXPECT_EQ(last_error(), cudaSuccess) << "it was not the context that broke";
  EXPECT_EQ(allow_shared(&l.good, 64 * 1024), cudaSuccess);
  EXPECT_EQ(l.run(&l.good, 64 * 1024), cudaSuccess);
  EXPECT_EQ(allow_shared(&l.good, 228 * 1024), cudaErrorInvalidValue);
  EXPECT_EQ(l.run("no kernel"), cudaErrorInvalidValue);
  last_error();
}

TEST(Cudart, AnEarlyLaunchNeedsCapability9AndAKernelThatWaits) {
  emulation::device().major = 8;
  Loaded on_80;
  EXPECT_EQ(on_80.run(&on_80.good, 16, true), cudaErrorInvalidValue);
  last_error();
  emulation::device().major = 9;
  const auto fails = [] {
    Loaded l;
    const int error = l.run(&l.good, 16, true);
    const bool named = std::strstr(error_text(error), "before griddepcontrol.wait in an early launch") != nullptr;
    _exit(error == cudaErrorLaunchFailure && named ? 0 : 1);
  };
  EXPECT_EXIT(fails(), testing::ExitedWithCode(0), "");
}

// The second kernel keeps what it reads before its wait: what the first one wrote, or what was there before.
TEST(Cudart, AnEarlyLaunchBeginsBeforeTheOneBeforeOnItsStreamAndInItsGraph) {
  const FatBinary fat(Texts{{90,
                             ".version 8.0\n.target sm_90\n.address_size 64\n"
                             ".visible .entry first(\n.param .u64 p\n)\n{\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n"
                             "ld.param.u64 %rd1, [p];\nmov.u32 %r1, 7;\nst.global.u32 [%rd1], %r1;\nret;\n}\n"
                             ".visible .entry second(\n.param .u64 p\n)\n{\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n"
                             "ld.param.u64 %rd1, [p];\nld.volatile.global.u32 %r1, [%rd1];\ngriddepcontrol.wait;\n"
                             "st.global.u32 [%rd1+4], %r1;\nret;\n}\n"}});
  char first = 0, second = 0;  // host functions
  void** binary = register_binary(&fat.wrapper);
  register_kernel(binary, &first, "first");
  register_kernel(binary, &second, "second");
  for (const bool recorded : {false, true})
    for (const bool early : {false, true}) {
      uint32_t words[2] = {3, 3};
      void* memory = nullptr;
      cudaStream_t stream = nullptr;
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t exec = nullptr;
      cudaMalloc(&memory, sizeof words);
      cudaMemcpy(memory, words, sizeof words, cudaMemcpyHostToDevice);
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      if (recorded) cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
      void* arguments[] = {&memory};
      for (const char* kernel : {&first, &second})
        EXPECT_EQ(launch({{1, 1, 1}, {1, 1, 1}, 0, stream, kernel, arguments, early && kernel == &second}),
                  cudaSuccess);
      if (recorded) {
        cudaStreamEndCapture(stream, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        cudaGraphLaunch(exec, stream);
      }
      cudaStreamSynchronize(stream);
      cudaMemcpy(words, memory, sizeof words, cudaMemcpyDeviceToHost);
      EXPECT_EQ(words[0], 7u);
      EXPECT_EQ(words[1], early ? 3u : 7u) << recorded;
      cudaGraphExecDestroy(exec);
      cudaGraphDestroy(graph);
      cudaStreamDestroy(stream);
      cudaFree(memory);
    }
}

TEST(Cudart, AnErrorInsideAKernelStays) {
  const auto stays = [] {
    Loaded l;
    const int error = l.run(&l.wrong);
    const bool named = std::strstr(error_text(error),
                                   "kernel wrong, block (0, 0, 0), thread 0, PTX line 24: an "
                                   "access of 8 bytes") != nullptr;
    const bool all = error == cudaErrorLaunchFailure && named && last_error() == error && last_error() == error &&
                     wait_for_all(nullptr) == error && l.run(&l.good) == error;
    _exit(all ? 0 : 1);
  };
  EXPECT_EXIT(stays(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera::ptx
