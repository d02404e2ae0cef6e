// Tests of each precision that rounds.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "engine/run/precision.h"

namespace tessera {

class OfPrecision : public testing::TestWithParam<Precision> {};

}  // namespace tessera

// Instantiates a suite of it.
#define TESSERA_OF_EACH_PRECISION(Suite) \
  INSTANTIATE_TEST_SUITE_P(Of, Suite, testing::Values(Precision::tf32, Precision::bf16, Precision::fp16), \
                           [](const auto& test) { return std::string(name_of(test.param)); })
