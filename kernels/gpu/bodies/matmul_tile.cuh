// A tile of op(A)·op(B), shared by all matmul kernels: how operands reach shared memory and how a thread multiplies
// them.
//   A stage is kStep = 32 of k. An operand keeps its orientation in shared memory, so that 16-byte copies need no
//   transposition: [side][36] if k runs along rows, [32][side + 8] if the tile's side does. Both strides make the
//   fragment reads below free of bank conflicts.
//   Copies are asynchronous (cp.async): the next stage is in flight while one is multiplied.
#pragma once
#include "kernels/gpu/dialect/view.cuh"

namespace tessera::gpu {

constexpr int kStep = 32, kAlongK = kStep + 4;

// Floats of one stage of an operand with `side` rows or columns in the tile.
template <int side>
constexpr int kStageRoom = side* kAlongK > kStep*(side + 8) ? side* kAlongK : kStep*(side + 8);

// Element (i, k) of an operand's stage: i along the tile's side.
template <int side, bool along_k>
__device__ inline int stage_index(int i, int k) {
  return along_k ? i * kAlongK + k : k * (side + 8) + i;
}

// One operand in global memory: element (i, k) at data[i·ld + k] if along_k, else at data[k·ld + i].
struct Panel {
  const float* data;
  int64_t ld;
  bool wide;  // 16-byte copies at every fourth element of a row
};

// The rows of the product that a block computes: `count` rows, in runs of `run` that begin `apart` rows apart.
struct Rows {
  int first, count, run, apart;
  __device__ int at(int i) const { return i < run ? first + i : first + i / run * apart + i % run; }
};
__device__ inline Rows rows_between(int first, int end) { return {first, end - first, end - first, 0}; }

// Loads i in [first, first + side) of `rows` and k in [k0, k0 + 32) into shared memory; zeros beyond rows.count and
// `depth`.
template <int side, bool along_k, int threads>
__device__ inline void bring(const Panel& p, const Rows& rows, int first, int k0, int depth, float* stage) {
  constexpr int kLines = along_k ? side : kStep, kPosts = along_k ? kStep : side,
                kStride = along_k ? kAlongK : side + 8, kChunks = kLines * kPosts / 4;
#pragma unroll
  for (int chunk = 0; chunk < (kChunks + threads - 1) / threads; ++chunk) {
    const int at = chunk * threads + static_cast<int>(threadIdx.x), r = at / (kPosts / 4), c = at % (kPosts / 4) * 4;
    if (kChunks % threads != 0 && at >= kChunks) break;
    const int valid =
        along_k ? (first + r < rows.count ? depth - (k0 + c) : 0) : (k0 + r < depth ? rows.count - (first + c) : 0);
    const int64_t line = along_k ? rows.at(first + r) : k0 + r, column = along_k ? k0 + c : rows.first + first + c;
    const float* from = p.data + (valid > 0 ? line * p.ld + column : 0);
    float* to = stage + r * kStride + c;
    if (p.wide && (along_k ? k0 : rows.first + first) % 4 == 0 && (valid >= 4 || valid <= 0)) {
      cp_async_16(to, from, valid > 0);
    } else {
#pragma unroll
      for (int q = 0; q < 4; ++q) cp_async_4(to + q, q < valid ? from + q : p.data, q < valid);
    }
  }
}

// ---- fp32 on the FMA units ----------------------------------------------------------------------
// 256 threads; a thread's elements are adjacent if they are contiguous in shared memory, and evenly spaced if k is
// contiguous. At 64 × 64 a thread has 4 × 4 elements: per four k it reads eight 16-byte words and does 64 FMA. 16 × 64
// and 128 × 8 serve blocks with few rows or few columns. Every element is one chain over k.
template <int down, int across, bool a_along_k, bool b_along_k>
struct FmaTile {
  static constexpr int kThreads = 256, kRows = down, kCols = across;
  static constexpr int kOwn = down * across / kThreads;  // elements per thread
  static constexpr int kDown = down < 64 ? 1 : 4, kRight = kOwn / kDown;
  static_assert(kRight == 1 || kRight == 4);
  float acc[kDown][kRight] = {};

  __device__ static int line() { return static_cast<int>(threadIdx.x) / (across / kRight); }
  __device__ static int post() { return static_cast<int>(threadIdx.x) % (across / kRight); }
  __device__ static int row(int i) { return a_along_k ? line() + down / kDown * i : line() * kDown + i; }
  __device__ static int col(int j) { return b_along_k ? post() + across / kRight * j : post() * kRight + j; }

  // v[i][k] of n sides and four k.
  template <int side, int n, bool along_k>
  __device__ static void fragment(const float* stage, int first, int k, float (&v)[n][4]) {
    if constexpr (along_k || n == 4) {
#pragma unroll
      for (int q = 0; q < (along_k ? n : 4); ++q) {
        const float* p = along_k ? stage + stage_index<side, true>(first + side / n * q, k)
                                 : stage + stage_index<side, false>(first, k + q);
        const float4 w = *reinterpret_cast<const float4*>(p);
        if constexpr (along_k) v[q][0] = w.x, v[q][1] = w.y, v[q][2] = w.z, v[q][3] = w.w;
        else v[0][q] = w.x, v[n > 1 ? 1 : 0][q] = w.y, v[n > 2 ? 2 : 0][q] = w.z, v[n > 3 ? 3 : 0][q] = w.w;
      }
    } else {
#pragma unroll
      for (int q = 0; q < 4; ++q) v[0][q] = stage[stage_index<side, false>(first, k + q)];
    }
  }

  __device__ void multiply(const float* a_stage, const float* b_stage) {
#pragma unroll 2
    for (int k = 0; k < kStep; k += 4) {
      float a[kDown][4], b[kRight][4];
      fragment<down, kDown, a_along_k>(a_stage, row(0), k, a);
      fragment<across, kRight, b_along_k>(b_stage, col(0), k, b);
#pragma unroll
      for (int q = 0; q < 4; ++q)
#pragma unroll
        for (int i = 0; i < kDown; ++i)
#pragma unroll
          for (int j = 0; j < kRight; ++j) acc[i][j] += a[i][q] * b[j][q];
    }
  }

  // f(row, column, element, its number) for each element.
  template <class F>
  __device__ void each(F&& f) {
#pragma unroll
    for (int i = 0; i < kDown; ++i)
#pragma unroll
      for (int j = 0; j < kRight; ++j) f(row(i), col(j), acc[i][j], i * kRight + j);
  }
  static constexpr int kElements = kDown * kRight;
};

// ---- tensor cores -------------------------------------------------------------------------------
// Warps of fragments of 16 × 8. A Math turns floats into fragments and multiplies them; sums are fp32. An element is
// one chain over k, a fragment's depth at a time, so the tile it is in changes no bit.

// tf32: 10 bits of mantissa. 3×tf32: each factor is split in two and the product of the small parts is omitted, which
// restores fp32's accuracy.
template <bool split>
struct Tf32Math {
  static constexpr int kDepth = 8, kParts = split ? 2 : 1;
  using A = uint32_t[kParts][4];
  using B = uint32_t[kParts][2];
  __device__ static void part(float x, uint32_t& high, uint32_t* low) {
    high = to_tf32(x);
    if constexpr (split) *low = to_tf32(x - __uint_as_float(high));
  }
  template <int side, bool along_k>
  __device__ static void load_a(const float* s, int i, int k, A& a) {
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int q = 0; q < 4; ++q)
      part(s[stage_index<side, along_k>(i + g + q % 2 * 8, k + t + q / 2 * 4)], a[0][q], &a[kParts - 1][q]);
  }
  template <int side, bool along_k>
  __device__ static void load_b(const float* s, int j, int k, B& b) {
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int q = 0; q < 2; ++q) part(s[stage_index<side, along_k>(j + g, k + t + q * 4)], b[0][q], &b[kParts - 1][q]);
  }
  __device__ static void multiply(float (&d)[4], const A& a, const B& b) {
    if constexpr (split) {  // small terms first
      mma_tf32(d, a[1], b[0]);
      mma_tf32(d, a[0], b[1]);
    }
    mma_tf32(d, a[0], b[0]);
  }
};

// bf16 (8 bits of mantissa, fp32's range) and fp16 (11 bits, up to 65504): rounded when read from shared memory.
template <bool bfloat>
struct HalfMath {
  static constexpr int kDepth = 16;
  using A = uint32_t[4];
  using B = uint32_t[2];
  __device__ static uint32_t pack(float low, float high) {
    if constexpr (bfloat) return pack_bf16(low, high);
    else return pack_fp16(low, high);
  }
  template <int side, bool along_k>
  __device__ static uint32_t pair(const float* s, int i, int k) {
    return pack(s[stage_index<side, along_k>(i, k)], s[stage_index<side, along_k>(i, k + 1)]);
  }
  template <int side, bool along_k>
  __device__ static void load_a(const float* s, int i, int k, A& a) {
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int q = 0; q < 4; ++q) a[q] = pair<side, along_k>(s, i + g + q % 2 * 8, k + 2 * t + q / 2 * 8);
  }
  template <int side, bool along_k>
  __device__ static void load_b(const float* s, int j, int k, B& b) {
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int q = 0; q < 2; ++q) b[q] = pair<side, along_k>(s, j + g, k + 2 * t + q * 8);
  }
  __device__ static void multiply(float (&d)[4], const A& a, const B& b) {
    if constexpr (bfloat) mma_bf16(d, a, b);
    else mma_fp16(d, a, b);
  }
};

template <class Math, bool a_along_k, bool b_along_k, int down = 64, int across = 64, int threads = 128,
          int warps_down = 2>
struct TensorTile {
  static constexpr int kThreads = threads, kRows = down, kCols = across, kWarpsAcross = threads / 32 / warps_down;
  static constexpr int kWarpRows = down / warps_down, kWarpCols = across / kWarpsAcross;
  static constexpr int kDown = kWarpRows / 16, kRight = kWarpCols / 8;  // fragments of a warp
  static_assert(kDown * 16 * warps_down == down && kRight * 8 * kWarpsAcross == across);
  float acc[kDown][kRight][4] = {};

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static int warp_row() { return warp() / kWarpsAcross * kWarpRows; }
  __device__ static int warp_col() { return warp() % kWarpsAcross * kWarpCols; }

  __device__ void multiply(const float* a_stage, const float* b_stage) {
#pragma unroll
    for (int k = 0; k < kStep; k += Math::kDepth) {
      typename Math::A a[kDown];
      typename Math::B b[kRight];
#pragma unroll
      for (int i = 0; i < kDown; ++i) Math::template load_a<down, a_along_k>(a_stage, warp_row() + 16 * i, k, a[i]);
#pragma unroll
      for (int j = 0; j < kRight; ++j) Math::template load_b<across, b_along_k>(b_stage, warp_col() + 8 * j, k, b[j]);
#pragma unroll
      for (int i = 0; i < kDown; ++i)
#pragma unroll
        for (int j = 0; j < kRight; ++j) Math::multiply(acc[i][j], a[i], b[j]);
    }
  }

  template <class F>
  __device__ void each(F&& f) {
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int i = 0; i < kDown; ++i)
#pragma unroll
      for (int j = 0; j < kRight; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q)
          f(warp_row() + 16 * i + g + q / 2 * 8, warp_col() + 8 * j + 2 * t + q % 2, acc[i][j][q],
            (i * kRight + j) * 4 + q);
  }
  static constexpr int kElements = kDown * kRight * 4;
};

}  // namespace tessera::gpu
