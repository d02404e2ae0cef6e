// The device these tests are about: TESSERA_TEST_DEVICE, or "cuda", behind the plugin that the library finds
// (TESSERA_CUDA_PLUGIN, or the one beside it).
#pragma once
#include <gtest/gtest.h>

#include "support/float_device.h"

namespace tessera {

// Why there is none; empty: there is.
std::string no_device();

#define TESSERA_NEEDS_DEVICE() \
  if (!no_device().empty()) GTEST_SKIP() << no_device()

// Whether it is the machine of tests/emulation, on which tests/gpu runs the same at length.
bool is_emulated();

#define TESSERA_NEEDS_A_REAL_GPU() \
  TESSERA_NEEDS_DEVICE(); \
  if (is_emulated()) GTEST_SKIP() << "On the emulated device test_gpu runs this."

}  // namespace tessera
