// Who a row is to the random number generator: its place in the batch and the step, or its own identity where `rows` is given.
#pragma once
#include "kernels/cpu/simd.h"

namespace tessera::TESSERA_ISA {

struct RowKey {
  uint32_t c1, c2, c3;
};

static inline RowKey row_key(const Call& call, const View& rows, int64_t row, int purpose) {
  const uint32_t p = static_cast<uint32_t>(purpose) << 16;
  if (rows.data == nullptr) {
    const uint64_t step = static_cast<uint64_t>(call.state->step);
    return {static_cast<uint32_t>(call.first_row + row), static_cast<uint32_t>(step), p | static_cast<uint32_t>(step >> 32 & 0xFFFF)};
  }
  const int32_t* id = Mat<int32_t>(rows).row(row);
  return {static_cast<uint32_t>(id[0]), static_cast<uint32_t>(id[1]), p | static_cast<uint32_t>(id[2] & 0xFFFF)};
}

}  // namespace tessera::TESSERA_ISA
