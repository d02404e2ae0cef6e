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

}  // namespace tessera
