// The identity of a row for the random number generator: its index in the batch, of which the op's first row is row
// `first`, and the step; or its own identity if `rows` is given.
#pragma once
#include "kernels/cpu/simd.h"

namespace tessera::TESSERA_ISA {

using RowKey = Counter;

static inline RowKey row_key(const Call& call, const View& rows, int64_t row, int purpose, int64_t first) {
  const auto p = static_cast<uint32_t>(purpose);
  if (rows.data == nullptr) {
    const auto step = static_cast<uint64_t>(call.state->step);
    return counter(p, static_cast<uint32_t>(first + call.first_row + row) | step << 32,
                   static_cast<uint32_t>(step >> 32));
  }
  const int32_t* id = Mat<int32_t>(rows).row(row);
  return counter(p, static_cast<uint32_t>(id[0]) | static_cast<uint64_t>(static_cast<uint32_t>(id[1])) << 32,
                 static_cast<uint32_t>(id[2]));
}

}  // namespace tessera::TESSERA_ISA
