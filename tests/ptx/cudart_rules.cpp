// The emulated libcudart: what nvcc's host code does before main(), and errors that stay.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>

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

// A fat binary of one image of text, for sm_90, as nvcc lays it out.
struct FatBinary {
  std::string bytes;
  struct {
    uint32_t magic = 0x466243B1u, version = 1;
    const char* images = nullptr;
  } wrapper;
  explicit FatBinary(const std::string& text) {
    const auto put = [&](auto x) { bytes.append(reinterpret_cast<const char*>(&x), sizeof x); };
    const uint64_t room = (text.size() + 8) / 8 * 8;
    put(uint32_t{0xBA55ED50u}), put(uint16_t{1}), put(uint16_t{16}), put(uint64_t{64 + room});
    put(uint16_t{1}), put(uint16_t{0x101}), put(uint32_t{64}), put(room), put(uint32_t{0}), put(uint32_t{0});
    put(uint32_t{0}), put(uint32_t{90});
    bytes.resize(16 + 64);
    bytes += text;
    bytes.resize(16 + 64 + room);
    wrapper.images = bytes.data();
  }
};

struct Loaded {
  FatBinary fat{kTwoKernels};
  char good = 0, wrong = 0;  // their addresses stand for host functions
  void* memory = nullptr;
  Loaded() {
    void** binary = register_binary(&fat.wrapper);
    register_kernel(binary, &good, "good");
    register_kernel(binary, &wrong, "wrong");
    cudaMalloc(&memory, 8);
  }
  int run(const char* kernel, size_t shared = 16) {
    void* arguments[] = {&memory};
    return launch({{3, 1, 1}, {1, 1, 1}, shared, nullptr, kernel, arguments});
  }
};

TEST(Cudart, TextForTheGpuIsTakenFromTheFatBinary) {
  const FatBinary fat(kTwoKernels);
  EXPECT_EQ(ptx_of(&fat.wrapper, 90), kTwoKernels);
  EXPECT_EQ(ptx_of(&fat.wrapper, 100), kTwoKernels);
  EXPECT_EQ(ptx_of(&fat.wrapper, 80), "") << "made for newer ones";
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
