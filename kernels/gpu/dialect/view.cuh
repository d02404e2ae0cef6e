// A view as a kernel parameter: by value, typed, with 32-bit sizes. Only the row offset has 64 bits, because a table
// may have more than 2³¹ elements.
#pragma once
#include "kernels/gpu/dialect/table.h"

namespace tessera::gpu {

constexpr int kThreads = 256;  // per block, unless a kernel needs another number

template <class T>
struct Mat {
  T* data;
  int rows, cols;
  int64_t ld;
  __host__ __device__ explicit Mat(const View& v)
      : data(static_cast<T*>(v.data)), rows(static_cast<int>(v.rows)), cols(static_cast<int>(v.cols)), ld(v.ld) {}
  __device__ T* row(int r) const { return data + r * ld; }
  __host__ __device__ explicit operator bool() const { return data != nullptr; }
};

inline bool empty(const View& v) { return v.rows == 0 || v.cols == 0; }
inline unsigned grid_of(int64_t work, int64_t each) { return static_cast<unsigned>(blocks_for(work, each)); }

// Whether rows may be accessed 16 bytes at a time.
inline bool aligned16(const View& v) {
  return reinterpret_cast<uintptr_t>(v.data) % 16 == 0 && (v.rows <= 1 || v.ld * v.item_bytes % 16 == 0);
}
// Whether the elements are contiguous.
inline bool contiguous(const View& v) { return v.rows <= 1 || v.ld == v.cols; }

// The elements of a contiguous view as one row.
inline View as_row(const View& v) { return {v.data, 1, v.rows * v.cols, v.rows * v.cols, v.item_bytes}; }

// x rounded as a product with such factors reads it. `factors` is the same for every thread.
__device__ inline float rounded(float x, Precision factors) {
  if (factors == Precision::tf32) return __uint_as_float(to_tf32(x));
  if (factors == Precision::bf16) return __uint_as_float(pack_bf16(0, x));
  return factors == Precision::fp16 ? rounded_fp16(x) : x;
}

// Sixteen bytes at once.
__device__ inline void load_four(const float* from, float (&to)[4]) {
  const float4 v = *reinterpret_cast<const float4*>(from);
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

// The number of a call's tiles: run() enqueues everything at once, unless there is no work.
inline int64_t one_if_any(const Call& call) { return empty(call.out[0]) ? 0 : 1; }
inline int64_t one(const Call&) { return 1; }

// The kernel of each op, defined in the op's own file (table.cu collects them).
#define TESSERA_DECLARE(type, field, parts) Kernel field##_entry();
TESSERA_OPS(TESSERA_DECLARE)
#undef TESSERA_DECLARE

}  // namespace tessera::gpu
