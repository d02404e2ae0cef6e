// A 64 × 64 tile of op(A)·op(B), the part every matmul kernel shares: what is brought to shared memory and how a thread multiplies it.
//   A stage is kStep = 32 of k. An operand keeps its direction in shared memory, so that 16-byte copies go straight through: [64][36] where k runs along rows,
//   [32][72] where the tile's side does. Either stride lets the fragment reads below meet every bank once.
//   Copies are asynchronous (cp.async): while one stage is multiplied the next one is on its way.
#pragma once
#include "kernels/gpu_view.cuh"

namespace tessera::gpu {

constexpr int kSide = 64, kStep = 32;
constexpr int kAlongK = kStep + 4, kAcrossK = kSide + 8;  // row strides in shared memory
constexpr int kRoom = kSide * kAlongK;                    // floats of one operand's stage
static_assert(kRoom == kStep * kAcrossK);

// Element (i, k) of an operand's stage: i along the tile's side.
template <bool along_k>
__device__ inline int stage_index(int i, int k) {
  return along_k ? i * kAlongK + k : k * kAcrossK + i;
}

// One operand in global memory: element (i, k) at data[i·ld + k] if along_k, else at data[k·ld + i].
struct Panel {
  const float* data;
  int64_t ld;
  bool wide;  // 16-byte copies at every fourth element of a row
};

// Brings i in [first, first + 64) and k in [k0, k0 + 32) to shared memory; zeros beyond `sides` and `depth`.
template <bool along_k, int threads>
__device__ inline void bring(const Panel& p, int first, int sides, int k0, int depth, float* stage) {
  constexpr int kRows = along_k ? kSide : kStep, kCols = along_k ? kStep : kSide, kStride = along_k ? kAlongK : kAcrossK;
  const int row0 = along_k ? first : k0, rows = along_k ? sides : depth, col0 = along_k ? k0 : first, cols = along_k ? depth : sides;
#pragma unroll
  for (int chunk = 0; chunk < kRows * kCols / 4 / threads; ++chunk) {
    const int at = chunk * threads + static_cast<int>(threadIdx.x), r = at / (kCols / 4), c = at % (kCols / 4) * 4;
    const int valid = row0 + r < rows ? cols - (col0 + c) : 0;
    const float* from = p.data + (valid > 0 ? (row0 + r) * p.ld + col0 + c : 0);
    float* to = stage + r * kStride + c;
    if (p.wide && (valid >= 4 || valid <= 0)) {
      cp_async_16(to, from, valid > 0);
    } else {
#pragma unroll
      for (int q = 0; q < 4; ++q) cp_async_4(to + q, q < valid ? from + q : p.data, q < valid);
    }
  }
}

// ---- fp32 on the FMA units ---------------------------------------------------------------------------------------------------------
// 256 threads, 4 × 4 elements each: rows and columns side by side where shared memory holds them so, 16 apart where it holds k so. Per four k a thread reads
// eight 16-byte words and does 64 FMA. Every element is one chain over k.
template <bool a_along_k, bool b_along_k>
struct FmaTile {
  static constexpr int kThreads = 256;
  float acc[4][4] = {};

  __device__ static int row(int i) { return a_along_k ? static_cast<int>(threadIdx.x) / 16 + 16 * i : static_cast<int>(threadIdx.x) / 16 * 4 + i; }
  __device__ static int col(int j) { return b_along_k ? static_cast<int>(threadIdx.x) % 16 + 16 * j : static_cast<int>(threadIdx.x) % 16 * 4 + j; }

  __device__ static float4 four(const float* p) { return *reinterpret_cast<const float4*>(p); }
  // v[i][k] of the thread's four sides and four k.
  template <bool along_k>
  __device__ static void fragment(const float* stage, int side, int k, float (&v)[4][4]) {
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const float4 w = along_k ? four(stage + stage_index<true>(side + 16 * q, k)) : four(stage + stage_index<false>(side, k + q));
      if constexpr (along_k) v[q][0] = w.x, v[q][1] = w.y, v[q][2] = w.z, v[q][3] = w.w;
      else v[0][q] = w.x, v[1][q] = w.y, v[2][q] = w.z, v[3][q] = w.w;
    }
  }

  __device__ void multiply(const float* a_stage, const float* b_stage) {
#pragma unroll 2
    for (int k = 0; k < kStep; k += 4) {
      float a[4][4], b[4][4];
      fragment<a_along_k>(a_stage, row(0), k, a);
      fragment<b_along_k>(b_stage, col(0), k, b);
#pragma unroll
      for (int q = 0; q < 4; ++q)
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) acc[i][j] += a[i][q] * b[j][q];
    }
  }

  // f(row, column, element) for each element, in the same order always.
  template <class F>
  __device__ void each(F&& f) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) f(row(i), col(j), acc[i][j], i * 4 + j);
  }
  static constexpr int kElements = 16;
};

// ---- tensor cores ------------------------------------------------------------------------------------------------------------------
// 128 threads: four warps of 32 × 32, each 2 × 4 fragments of 16 × 8. A Math turns floats into fragments and multiplies them; sums are fp32.

// tf32: 10 bits of mantissa. 3×tf32: each factor as two, the product of the small parts left out, which gives back fp32's accuracy.
template <bool split>
struct Tf32Math {
  static constexpr int kDepth = 8, kParts = split ? 2 : 1;
  using A = uint32_t[kParts][4];
  using B = uint32_t[kParts][2];
  __device__ static void part(float x, uint32_t& high, uint32_t* low) {
    high = to_tf32(x);
    if constexpr (split) *low = to_tf32(x - __uint_as_float(high));
  }
  template <bool along_k>
  __device__ static void load_a(const float* s, int i, int k, A& a) {
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int q = 0; q < 4; ++q) part(s[stage_index<along_k>(i + g + q % 2 * 8, k + t + q / 2 * 4)], a[0][q], &a[kParts - 1][q]);
  }
  template <bool along_k>
  __device__ static void load_b(const float* s, int j, int k, B& b) {
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int q = 0; q < 2; ++q) part(s[stage_index<along_k>(j + g, k + t + q * 4)], b[0][q], &b[kParts - 1][q]);
  }
  __device__ static void multiply(float (&d)[4], const A& a, const B& b) {
    if constexpr (split) {  // small terms first
      mma_tf32(d, a[1], b[0]);
      mma_tf32(d, a[0], b[1]);
    }
    mma_tf32(d, a[0], b[0]);
  }
};

// bf16 (8 bits of mantissa, fp32's range) and fp16 (11 bits, up to 65504): rounded where they are read from shared memory.
template <bool bfloat>
struct HalfMath {
  static constexpr int kDepth = 16;
  using A = uint32_t[4];
  using B = uint32_t[2];
  __device__ static uint32_t pack(float low, float high) {
    if constexpr (bfloat) return pack_bf16(low, high);
    else return pack_fp16(low, high);
  }
  template <bool along_k>
  __device__ static uint32_t pair(const float* s, int i, int k) {
    return pack(s[stage_index<along_k>(i, k)], s[stage_index<along_k>(i, k + 1)]);
  }
  template <bool along_k>
  __device__ static void load_a(const float* s, int i, int k, A& a) {
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int q = 0; q < 4; ++q) a[q] = pair<along_k>(s, i + g + q % 2 * 8, k + 2 * t + q / 2 * 8);
  }
  template <bool along_k>
  __device__ static void load_b(const float* s, int j, int k, B& b) {
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int q = 0; q < 2; ++q) b[q] = pair<along_k>(s, j + g, k + 2 * t + q * 8);
  }
  __device__ static void multiply(float (&d)[4], const A& a, const B& b) {
    if constexpr (bfloat) mma_bf16(d, a, b);
    else mma_fp16(d, a, b);
  }
};

template <class Math, bool a_along_k, bool b_along_k>
struct TensorTile {
  static constexpr int kThreads = 128, kDown = 2, kRight = 4;
  float acc[kDown][kRight][4] = {};

  __device__ static int warp_row() { return static_cast<int>(threadIdx.x) / 64 * 32; }
  __device__ static int warp_col() { return static_cast<int>(threadIdx.x) / 32 % 2 * 32; }

  __device__ void multiply(const float* a_stage, const float* b_stage) {
#pragma unroll
    for (int k = 0; k < kStep; k += Math::kDepth) {
      typename Math::A a[kDown];
      typename Math::B b[kRight];
#pragma unroll
      for (int i = 0; i < kDown; ++i) Math::template load_a<a_along_k>(a_stage, warp_row() + 16 * i, k, a[i]);
#pragma unroll
      for (int j = 0; j < kRight; ++j) Math::template load_b<b_along_k>(b_stage, warp_col() + 8 * j, k, b[j]);
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
        for (int q = 0; q < 4; ++q) f(warp_row() + 16 * i + g + q / 2 * 8, warp_col() + 8 * j + 2 * t + q % 2, acc[i][j][q], (i * kRight + j) * 4 + q);
  }
  static constexpr int kElements = kDown * kRight * 4;
};

}  // namespace tessera::gpu
