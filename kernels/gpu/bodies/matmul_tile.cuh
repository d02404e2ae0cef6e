// A tile of op(A)·op(B), shared by all matmul kernels: how operands are copied to shared memory and multiplied.
//   A stage is kStep = 32 of k. An operand keeps its orientation in shared memory, so that copies need no
//   transposition: the lines of a stage run along k or along the tile's side. Lines are padded so that the fragment
//   reads below have no bank conflicts.
//   fp32 and tf32: copies are asynchronous (cp.async); as many further stages as fit are in flight while one is
//   multiplied.
//   16 bits: the next one or two stages are loaded into registers meanwhile, and rounded once, when they are stored to
//   shared memory. Fragments are read by ldmatrix.
#pragma once
#include "kernels/gpu/dialect/view.cuh"

namespace tessera::gpu {

constexpr int kStep = 32;

// Layout in a stage of an operand with `side` rows or columns in the tile, as Stored (float or 16 bits).
template <class Stored, int side, bool along_k>
struct StageLayout {
  static constexpr int kLines = along_k ? side : kStep, kPosts = along_k ? kStep : side;
  // 16 bits: an odd number of 16-byte words, so that the eight lines of a matrix are in different banks
  static constexpr int kPitch = sizeof(Stored) == 2 ? (kPosts / 8 | 1) * 8 : along_k ? kStep + 4 : side + 8;
  static constexpr int kRoom = kLines * kPitch;
  __device__ static int at(int i, int k) { return along_k ? i * kPitch + k : k * kPitch + i; }  // i along the side
};
// Elements of one stage, for either orientation.
template <class Stored, int side>
constexpr int kStageRoom = StageLayout<Stored, side, true>::kRoom > StageLayout<Stored, side, false>::kRoom
                               ? StageLayout<Stored, side, true>::kRoom
                               : StageLayout<Stored, side, false>::kRoom;
template <class Stored, int side>
constexpr int kStageFloats = kStageRoom<Stored, side>* static_cast<int>(sizeof(Stored)) / 4;

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

// The chunks of an operand's stages that a thread copies from global to shared memory: four adjacent elements of a line
// each, for i in [first, first + side) of `rows`, zeros beyond rows.count. Addresses and bounds are computed once, at
// the beginning of a slice.
template <class Layout, bool along_k, int threads>
struct Chunks {
  static constexpr int kAll = Layout::kLines * Layout::kPosts / 4, kOwn = (kAll + threads - 1) / threads;
  const float* from[kOwn];  // of the next stage
  int there[kOwn];          // at most this many of the four exist (≤ 0: none)
  int64_t step;             // to the following stage
  bool wide;                // 16 bytes may be read at once

  __device__ static int number(int own) { return own * threads + static_cast<int>(threadIdx.x); }
  __device__ static bool any(int own) { return kAll % threads == 0 || number(own) < kAll; }
  __device__ static int line(int own) { return number(own) / (Layout::kPosts / 4); }
  __device__ static int post(int own) { return number(own) % (Layout::kPosts / 4) * 4; }
  __device__ static int target(int own) { return line(own) * Layout::kPitch + post(own); }

  __device__ void begin(const Panel& p, const Rows& rows, int first, int k0) {
    wide = p.wide && (along_k ? k0 : rows.first + first) % 4 == 0;
    step = along_k ? kStep : kStep * p.ld;
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      const int i = first + (along_k ? line(own) : post(own));
      there[own] = along_k ? (i < rows.count ? 4 : 0) : rows.count - i;
      from[own] = p.data;
      if (there[own] > 0)
        from[own] += along_k ? rows.at(i) * p.ld + k0 + post(own) : (k0 + line(own)) * p.ld + rows.first + i;
    }
  }
  // Calls f(number of the thread's chunk, its first element, how many elements exist (≤ 0: none), whether 16 bytes may
  // be read at once) for a stage with `depth` of k.
  template <class F>
  __device__ void next(int depth, F&& f) {
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      if (!any(own)) break;
      int valid = there[own];
      if (depth < kStep) valid = along_k ? min(valid, depth - post(own)) : line(own) < depth ? valid : 0;
      f(own, from[own], valid, wide && (valid >= 4 || valid <= 0));
      from[own] += step;
    }
  }
};

// As floats, by asynchronous copies: start() copies to `stage`; the data are valid after cp_async_wait and a barrier.
template <int side, bool along_k, int threads>
struct CopyingCarrier {
  using Layout = StageLayout<float, side, along_k>;
  using Own = Chunks<Layout, along_k, threads>;
  __device__ void start(Own& chunks, int depth, float* stage) {
    chunks.next(depth, [&](int own, const float* from, int valid, bool whole) {
      float* to = stage + Own::target(own);
      if (whole) {
        cp_async_16(to, from, valid > 0);
      } else {
#pragma unroll
        for (int q = 0; q < 4; ++q) cp_async_4(to + q, from + (q < valid ? q : 0), q < valid);
      }
    });
  }
};

// As 16 bits, through registers: start() loads, put_down() rounds and stores.
template <class Math, int side, bool along_k, int threads>
struct RoundingCarrier {
  using Layout = StageLayout<uint16_t, side, along_k>;
  using Own = Chunks<Layout, along_k, threads>;
  float x[Own::kOwn][4] = {};  // if uninitialised, ptxas would reserve registers for it in every caller
  __device__ void start(Own& chunks, int depth, uint16_t*) {
    chunks.next(depth, [&](int own, const float* from, int valid, bool whole) {
      float4 v = make_float4(0, 0, 0, 0);
      if (whole) {
        if (valid > 0) v = *reinterpret_cast<const float4*>(from);
      } else {
        if (valid > 0) v.x = from[0];
        if (valid > 1) v.y = from[1];
        if (valid > 2) v.z = from[2];
        if (valid > 3) v.w = from[3];
      }
      x[own][0] = v.x, x[own][1] = v.y, x[own][2] = v.z, x[own][3] = v.w;
    });
  }
  __device__ void put_down(uint16_t* stage) const {
#pragma unroll
    for (int own = 0; own < Own::kOwn; ++own)
      if (Own::any(own))
        *reinterpret_cast<uint2*>(stage + Own::target(own)) =
            make_uint2(Math::pack(x[own][0], x[own][1]), Math::pack(x[own][2], x[own][3]));
  }
};

// ---- fp32 on the FMA units ----------------------------------------------------------------------
// 256 threads; a thread's elements are adjacent if they are contiguous in shared memory, and evenly spaced if k is
// contiguous. At 64 × 64 a thread has 4 × 4 elements: per four k it reads eight 16-byte words and does 64 FMA. It is
// bound by shared-memory bandwidth, 32 floats per cycle: half the peak at 4 × 4 elements per thread, a fifth at 1 × 4,
// an eighth at 1 × 1. 32 × 32 and 16 × 16 are for products with too few larger tiles to fill a device, 16 × 64 and 128
// × 8 for blocks with few rows or few columns. Every element is one chain over k.
template <int down, int across, bool a_along_k, bool b_along_k>
struct FmaTile {
  static constexpr int kThreads = 256, kRows = down, kCols = across;
  using Stored = float;
  template <int side, bool along_k>
  using Carrier = CopyingCarrier<side, along_k, kThreads>;
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
        const float* p = along_k ? stage + StageLayout<float, side, true>::at(first + side / n * q, k)
                                 : stage + StageLayout<float, side, false>::at(first, k + q);
        const float4 w = *reinterpret_cast<const float4*>(p);
        if constexpr (along_k) v[q][0] = w.x, v[q][1] = w.y, v[q][2] = w.z, v[q][3] = w.w;
        else v[0][q] = w.x, v[n > 1 ? 1 : 0][q] = w.y, v[n > 2 ? 2 : 0][q] = w.z, v[n > 3 ? 3 : 0][q] = w.w;
      }
    } else {
#pragma unroll
      for (int q = 0; q < 4; ++q) v[0][q] = stage[StageLayout<float, side, false>::at(first, k + q)];
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
// Warps of fragments of 16 × 8. A Math takes kDepth of k at a time from a stage and multiplies them; sums are fp32. An
// element is one chain over k, a fragment's depth at a time, so the size of its tile changes no bit.

// tf32: 10 bits of mantissa.
struct Tf32Math {
  static constexpr int kDepth = 8;
  using Stored = float;
  template <int side, bool along_k, int threads>
  using Carrier = CopyingCarrier<side, along_k, threads>;
  using A = uint32_t[4];
  using B = uint32_t[2];
  template <int side, bool along_k>
  __device__ static void load_a(const float* s, int i, int k, A& a) {
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int q = 0; q < 4; ++q)
      a[q] = to_tf32(s[StageLayout<float, side, along_k>::at(i + g + q % 2 * 8, k + t + q / 2 * 4)]);
  }
  template <int side, bool along_k>
  __device__ static void load_b(const float* s, int j, int k, B& b) {
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int q = 0; q < 2; ++q) b[q] = to_tf32(s[StageLayout<float, side, along_k>::at(j + g, k + t + q * 4)]);
  }
  __device__ static void multiply(float (&d)[4], const A& a, const B& b) { mma_tf32(d, a, b); }
};

// bf16 (8 bits of mantissa, fp32's range) and fp16 (11 bits, up to 65504). A whole stage at a time: two fragments of 16
// of k. If the lines of a stage run along the side, ldmatrix transposes.
template <bool bfloat>
struct HalfMath {
  static constexpr int kDepth = 32;
  using Stored = uint16_t;
  template <int side, bool along_k, int threads>
  using Carrier = RoundingCarrier<HalfMath, side, along_k, threads>;
  using A = uint32_t[2][4];
  using B = uint32_t[2][2];
  __device__ static uint32_t pack(float low, float high) {
    if constexpr (bfloat) return pack_bf16(low, high);
    else return pack_fp16(low, high);
  }
  // 16 of the side: matrices (i, k), (i + 8, k), (i, k + 8), (i + 8, k + 8).
  template <int side, bool along_k>
  __device__ static void load_a(const uint16_t* s, int i, int k, A& a) {
    const int line = lane_id() % 8, down = lane_id() / 8 % 2 * 8, deep = lane_id() / 16 * 8;
    using L = StageLayout<uint16_t, side, along_k>;
#pragma unroll
    for (int h = 0; h < 2; ++h)
      ldmatrix_4<!along_k>(
          a[h][0], a[h][1], a[h][2], a[h][3],
          s + (along_k ? L::at(i + down + line, k + 16 * h + deep) : L::at(i + down, k + 16 * h + deep + line)));
  }
  // 8 of the side: matrices (j, k), (j, k + 8), (j, k + 16), (j, k + 24).
  template <int side, bool along_k>
  __device__ static void load_b(const uint16_t* s, int j, int k, B& b) {
    const int line = lane_id() % 8, deep = lane_id() / 8 * 8;
    using L = StageLayout<uint16_t, side, along_k>;
    ldmatrix_4<!along_k>(b[0][0], b[0][1], b[1][0], b[1][1],
                         s + (along_k ? L::at(j + line, k + deep) : L::at(j, k + deep + line)));
  }
  __device__ static void multiply(float (&d)[4], const A& a, const B& b) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if constexpr (bfloat) mma_bf16(d, a[h], b[h]);
      else mma_fp16(d, a[h], b[h]);
    }
  }
};

template <class Math, bool a_along_k, bool b_along_k, int down, int across, int warps_down>
struct TensorTile {
  static constexpr int kThreads = 256, kRows = down, kCols = across, kWarpsAcross = kThreads / 32 / warps_down;
  static constexpr int kWarpRows = down / warps_down, kWarpCols = across / kWarpsAcross;
  static constexpr int kDown = kWarpRows / 16, kRight = kWarpCols / 8;  // fragments of a warp
  static_assert(kDown * 16 * warps_down == down && kRight * 8 * kWarpsAcross == across);
  using Stored = typename Math::Stored;
  template <int side, bool along_k>
  using Carrier = typename Math::template Carrier<side, along_k, kThreads>;
  float acc[kDown][kRight][4] = {};

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static int warp_row() { return warp() / kWarpsAcross * kWarpRows; }
  __device__ static int warp_col() { return warp() % kWarpsAcross * kWarpCols; }

  __device__ void multiply(const Stored* a_stage, const Stored* b_stage) {
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

// ---- the tiles of a product ---------------------------------------------------------------------
// fp32 on the FMA units, rounded factors on tensor cores, whose fragments have 16 rows. kLeast: the smallest square.
struct FmaTiles {
  static constexpr int kLeast = 16;
  template <int side, bool a, bool b>
  using Square = FmaTile<side, side, a, b>;
  template <bool a, bool b>
  using Low = FmaTile<16, 64, a, b>;
  template <bool a, bool b>
  using Tall = FmaTile<128, 8, a, b>;
};
template <class Math>
struct TensorTiles {
  static constexpr int kLeast = 32;
  template <int side, bool a, bool b>
  using Square = TensorTile<Math, a, b, side, side, 2>;
  template <bool a, bool b>
  using Low = TensorTile<Math, a, b, 16, 64, 1>;
  template <bool a, bool b>
  using Tall = TensorTile<Math, a, b, 128, 8, 8>;
};

template <class T>
struct Is {
  using Type = T;
};
// f(Is<the square tile with this side, of a product with these orientations>).
#pragma nv_exec_check_disable
template <class Tiles, bool trans_a, bool trans_b, class F>
__host__ __device__ inline void with_square(int64_t side, F&& f) {
  if (side == 64) return f(Is<typename Tiles::template Square<64, !trans_a, trans_b>>{});
  if constexpr (Tiles::kLeast == 16)
    if (side == 16) return f(Is<typename Tiles::template Square<16, !trans_a, trans_b>>{});
  f(Is<typename Tiles::template Square<32, !trans_a, trans_b>>{});
}

}  // namespace tessera::gpu
