// A tile of op(A)·op(B), shared by all matmul kernels: how operands are copied to shared memory and multiplied.
//   A stage is kStep = 32 of k, in fp32. An operand keeps its orientation in shared memory, so that copies need no
//   transposition: the lines of a stage run along k or along the tile's side. Lines are padded so that the reads of
//   fragments below have no bank conflicts.
//   Half of a block's warps multiply; the others copy, asynchronously (cp.async), 16 bytes at a time where the operand
//   is aligned. As many further stages as fit are in flight while one is multiplied. So a warp that multiplies has a
//   large part of the tile, reads little for each multiplication, and its registers hold sums and fragments alone.
//   Factors are rounded where a warp reads them from shared memory.
#pragma once
#include "kernels/gpu/dialect/view.cuh"

namespace tessera::gpu {

constexpr int kStep = 32;
constexpr int kMultiplying = kThreads / 2, kCopying = kThreads - kMultiplying;  // the first threads multiply

// Layout in a stage of an operand with `side` rows or columns in the tile; Math pads its lines.
template <class Math, int side, bool along_k>
struct StageLayout {
  static constexpr int kLines = along_k ? side : kStep, kPosts = along_k ? kStep : side;
  static constexpr int kPitch = kPosts + (along_k ? Math::kPadAlongK : Math::kPadAlongSide);
  static constexpr int kFloats = kLines * kPitch;
  __device__ static int at(int i, int k) { return along_k ? i * kPitch + k : k * kPitch + i; }  // i along the side
};

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
struct AdjacentRows {
  int first, count;
  __device__ int at(int i) const { return first + i; }
  __device__ operator Rows() const { return {first, count, count, 0}; }
};
__device__ inline AdjacentRows rows_between(int first, int end) { return {first, end - first}; }

// The chunks of an operand's stages that a thread copies from global to shared memory: four adjacent elements of a line
// each, for i in [first, first + side) of `rows`, zeros beyond rows.count.
template <class Layout, bool along_k>
struct Chunks {
  static constexpr int kOfLine = Layout::kPosts / 4, kAll = Layout::kLines * kOfLine,
                       kOwn = (kAll + kCopying - 1) / kCopying;
  static_assert(kCopying % kOfLine == 0);  // a thread's chunks are at one place of their lines
  const float* from[kOwn];                 // of the next stage
  int count[kOwn];                         // of its four elements, that exist
  int64_t step;                            // to the following stage
  bool wide;                               // all or none exist, and are read at once

  __device__ static int first_chunk() { return static_cast<int>(threadIdx.x) - kMultiplying; }
  __device__ static bool any(int own) { return kAll % kCopying == 0 || own * kCopying + first_chunk() < kAll; }
  __device__ static int line(int own) { return first_chunk() / kOfLine + own * (kCopying / kOfLine); }
  __device__ static int post() { return first_chunk() % kOfLine * 4; }

  // From k0 on.
  template <class TileRows>
  __device__ void begin(const Panel& p, const TileRows& rows, int first, int k0) {
    const int across = rows.count - first - post();
    wide = p.wide && (along_k ? k0 : rows.first + first) % 4 == 0 && (along_k || across <= 0 || across >= 4);
    step = along_k ? kStep : kStep * p.ld;
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      const int i = first + (along_k ? line(own) : post()), there = rows.count - i;
      count[own] = max(0, min(4, along_k ? 4 * there : there));
      from[own] = p.data;
      if (there > 0) from[own] += along_k ? rows.at(i) * p.ld + k0 + post() : (k0 + line(own)) * p.ld + rows.first + i;
    }
  }
  // The next stage is the last one and has `depth` of k.
  __device__ void clip(int depth) {
    const int along = depth - post();
    if (along_k && along > 0 && along < 4) wide = false;
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      if constexpr (along_k) count[own] = min(count[own], max(0, along));
      else if (line(own) >= depth) count[own] = 0;
    }
  }
  // Where its chunks begin in a stage.
  __device__ static int place() { return line(0) * Layout::kPitch + post(); }
  // Starts copying to a stage; its data are valid after cp_async_wait and a barrier.
  __device__ void copy(float* to) {
    if (wide) copy<true>(to);
    else copy<false>(to);
  }
  template <bool at_once>
  __device__ void copy(float* to) {
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      if (!any(own)) break;
      float* chunk = to + own * (kCopying / kOfLine) * Layout::kPitch;
      if constexpr (at_once) {
        cp_async_16(chunk, from[own], count[own] > 0);
      } else {
#pragma unroll
        for (int q = 0; q < 4; ++q) cp_async_4(chunk + q, from[own] + (q < count[own] ? q : 0), q < count[own]);
      }
      from[own] += step;
    }
  }
  // Rounds the chunks of a stage that have arrived.
  __device__ static void round(float* to, Precision factors) {
    static_assert(kAll % kCopying == 0);
#pragma unroll 1
    for (int own = 0; own < kOwn; ++own, to += kCopying / kOfLine * Layout::kPitch)
#pragma unroll
      for (int q = 0; q < 4; ++q) to[q] = rounded(to[q], factors);
  }
};

// ---- fp32 on the FMA units ----------------------------------------------------------------------
// An element of a slice is four chains: chain c has those k, counted from the slice's beginning, with k / 4 % 4 = c, in
// order, and the sum is (c0 + c1) + (c2 + c3). Every form that multiplies fp32 so sums like this, whatever its tile:
// tiles, matmul_few.cuh, matmul_deep.cuh. So a fused product has the bits of an unfused one.
//   Why four: a warp's read of 16 bytes a lane takes four cycles of shared memory, also where lanes share addresses. A
// thread with r × c elements reads r + c floats for r·c FMAs, so shared memory is the bound unless r and c are about 8.
// But 128 threads of 8 × 8 elements have four times what a tile of 64 × 32 holds. So the eight lanes of each quarter of
// a warp have the tile to themselves, each quarter with its own chain. Quarters read shared memory one after another
// anyway, so they have no bank conflicts with each other, and the sums of the chains are added by shuffles.
constexpr int kChains = 4, kChainStep = 4, kRound = kChains * kChainStep, kLanesOfChain = 32 / kChains;
__device__ inline int chain_of_lane() { return lane_id() / kLanesOfChain; }

// f(i, j, the sum of four chains) for the quarter of n × m elements that this lane hands over: i, j within it, which
// begins at owned<n, m>. Every lane of a warp calls it.
template <int n, int m>
struct Owned {
  __device__ static int row() { return chain_of_lane() % 2 * (n / 2); }
  __device__ static int col() { return chain_of_lane() / 2 * (m / 2); }
};
template <int n, int m, class F>
__device__ inline void add_chains(const float (&chain)[n][m], F&& f) {
  __syncwarp();
  const bool lower = Owned<n, m>::row() > 0, right = Owned<n, m>::col() > 0;
#pragma unroll
  for (int i = 0; i < n / 2; ++i) {
    float sum[m];
#pragma unroll
    for (int j = 0; j < m; ++j) {
      const float up = chain[i][j], down = chain[i + n / 2][j];
      sum[j] = (lower ? down : up) + __shfl_xor_sync(kWholeWarp, lower ? up : down, kLanesOfChain);
    }
#pragma unroll
    for (int j = 0; j < m / 2; ++j)
      f(i, j,
        (right ? sum[j + m / 2] : sum[j]) +
            __shfl_xor_sync(kWholeWarp, right ? sum[j] : sum[j + m / 2], 2 * kLanesOfChain));
  }
}

// A thread's elements are adjacent if they are contiguous in shared memory, and evenly spaced if k is contiguous. At 64
// × 32 a thread has 8 × 8 elements, at 32 × 32 8 × 4: such tiles are for products with too few larger ones to fill a
// device, 16 × 64 and 128 × 8 for blocks with few rows or few columns.
template <int down, int across, bool a_along_k, bool b_along_k>
struct FmaTile {
  static constexpr int kRows = down, kCols = across;
  static constexpr int kPadAlongK = 4, kPadAlongSide = 4;
  static constexpr bool kInParts = false;
  static constexpr int kHigh = 8, kWide = down * across * kChains / kMultiplying / kHigh;  // elements of a chain
  static constexpr int kWarpsDown = down >= 128 ? 4 : down >= 32 ? 2 : 1, kWarpsAcross = kMultiplying / 32 / kWarpsDown;
  static constexpr int kLanesDown = down / kWarpsDown / kHigh, kLanesAcross = kLanesOfChain / kLanesDown;
  static_assert(kLanesAcross * kWarpsAcross * kWide == across && kLanesDown * kWarpsDown * kHigh == down);
  static constexpr int kOwnRows = kHigh / 2, kOwnCols = kWide / 2;
  using LayoutA = StageLayout<FmaTile, down, a_along_k>;
  using LayoutB = StageLayout<FmaTile, across, b_along_k>;
  float acc[kHigh][kWide] = {};

  // Of the thread's elements: element i of a side is at first + i·step.
  static constexpr int kRowStep = a_along_k ? kLanesDown : 1, kColStep = b_along_k ? kLanesAcross : 1;
  __device__ static int first_row() {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = lane_id() % kLanesOfChain / kLanesAcross;
    return warp / kWarpsAcross * (down / kWarpsDown) + lane * (a_along_k ? 1 : kHigh);
  }
  __device__ static int first_col() {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = lane_id() % kLanesAcross;
    return warp % kWarpsAcross * (across / kWarpsAcross) + lane * (b_along_k ? 1 : kWide);
  }
  // Of those that it hands over.
  __device__ static int row(int i) { return first_row() + (Owned<kHigh, kWide>::row() + i) * kRowStep; }
  __device__ static int col(int j) { return first_col() + (Owned<kHigh, kWide>::col() + j) * kColStep; }

  // Where a thread's part of a stage begins, in that of each factor.
  __device__ static int place_a() { return LayoutA::at(first_row(), kChainStep * chain_of_lane()); }
  __device__ static int place_b() { return LayoutB::at(first_col(), kChainStep * chain_of_lane()); }

  // v[i][k] of n elements of a side and four k.
  template <class Layout, int n, int step, bool along_k>
  __device__ static void fragment(const float* own, float (&v)[n][4]) {
    if constexpr (along_k) {
#pragma unroll
      for (int i = 0; i < n; ++i) load_four(own + Layout::at(step * i, 0), v[i]);
    } else {
#pragma unroll
      for (int q = 0; q < 4; ++q)
#pragma unroll
        for (int i = 0; i < n; i += 4) {
          float w[4];
          load_four(own + Layout::at(i, q), w);
          v[i][q] = w[0], v[i + 1][q] = w[1], v[i + 2][q] = w[2], v[i + 3][q] = w[3];
        }
    }
  }

  // Rounds whose loads may be on their way together: of 8 × 8 elements more would spill.
  static constexpr int kTogether = kWide == 8 ? 1 : 2;
  __device__ void multiply(const float* a_own, const float* b_own) {
#pragma unroll kTogether
    for (int round = 0; round < kStep / kRound; ++round) {
      float b[kWide][4];
      fragment<LayoutB, kWide, kColStep, b_along_k>(b_own, b);
      if constexpr (a_along_k) {  // row by row: all fragments at once would spill
#pragma unroll
        for (int i = 0; i < kHigh; ++i) {
          float a[4];
          load_four(a_own + LayoutA::at(kRowStep * i, 0), a);
#pragma unroll
          for (int q = 0; q < 4; ++q)
#pragma unroll
            for (int j = 0; j < kWide; ++j) acc[i][j] += a[q] * b[j][q];
        }
      } else {
        float a[kHigh][4];
        fragment<LayoutA, kHigh, kRowStep, a_along_k>(a_own, a);
#pragma unroll
        for (int q = 0; q < 4; ++q)
#pragma unroll
          for (int i = 0; i < kHigh; ++i)
#pragma unroll
            for (int j = 0; j < kWide; ++j) acc[i][j] += a[i][q] * b[j][q];
      }
      a_own += LayoutA::at(0, kRound), b_own += LayoutB::at(0, kRound);
    }
  }

  // Hands over the sums of a slice, and begins the next one: f(own row, own column, sum).
  template <class F>
  __device__ void take(F&& f) {
    add_chains(acc, f);
#pragma unroll
    for (int i = 0; i < kHigh; ++i)
#pragma unroll
      for (int j = 0; j < kWide; ++j) acc[i][j] = 0;
  }
};

// ---- tensor cores -------------------------------------------------------------------------------
// Warps of fragments of 16 × 8. A Math takes 16 of k at a time from a stage and multiplies them; sums are fp32. An
// element is one chain over k, a fragment's depth at a time, so neither the tile nor its number of warps changes a bit.

// A float as the sum of two of tf32, but for 2⁻²² of it: the tensor core ignores the lower 13 bits of `low`. NaN is
// left in `low`; infinity becomes NaN.
__device__ inline void split_tf32(uint32_t x, uint32_t& high, uint32_t& low) {
  high = (x + 0x1000u) & ~0x1FFFu;
  low = __float_as_uint(__uint_as_float(x) - __uint_as_float(high));
}

// tf32: 10 bits of mantissa. parts 3: both factors as sums of two (3×tf32), without the product of their low parts; for
// fp32. Fragments whose lines run along k are read by ldmatrix, a float as a pair of 16 bits.
template <int parts>
struct Tf32Math {
  static constexpr int kPadAlongK = 4, kPadAlongSide = 8;
  static constexpr bool kInParts = parts == 3;
  struct A {
    uint32_t high[2][4], low[parts == 3 ? 2 : 1][4];
  };
  struct B {
    uint32_t high[2][2], low[parts == 3 ? 2 : 1][2];
  };
  template <int n>
  __device__ static void round(const uint32_t (&x)[n], uint32_t (&high)[n], uint32_t (&low)[n]) {
#pragma unroll
    for (int q = 0; q < n; ++q) {
      if constexpr (parts == 3) split_tf32(x[q], high[q], low[q]);
      else high[q] = to_tf32(__uint_as_float(x[q]));
    }
  }
  // Where a lane's part of a factor begins, of which fragments have `side` elements.
  template <class Layout, bool along_k, int side>
  __device__ static int place() {
    return along_k ? Layout::at(lane_id() % side, lane_id() / side * 4) : Layout::at(lane_id() / 4, lane_id() % 4);
  }
  // 16 of the side.
  template <class Layout, bool along_k>
  __device__ static void load_a(const float* own, A& a) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      uint32_t x[4];
      if constexpr (along_k) {
        ldmatrix_4(x[0], x[1], x[2], x[3], own + Layout::at(0, 8 * h));
      } else {
#pragma unroll
        for (int q = 0; q < 4; ++q) x[q] = __float_as_uint(own[Layout::at(q % 2 * 8, 8 * h + q / 2 * 4)]);
      }
      round(x, a.high[h], a.low[parts == 3 ? h : 0]);
    }
  }
  // 8 of the side.
  template <class Layout, bool along_k>
  __device__ static void load_b(const float* own, B& b) {
    uint32_t x[2][2];
    if constexpr (along_k) {
      ldmatrix_4(x[0][0], x[0][1], x[1][0], x[1][1], own);
    } else {
#pragma unroll
      for (int q = 0; q < 4; ++q) x[q / 2][q % 2] = __float_as_uint(own[Layout::at(0, q * 4)]);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) round(x[h], b.high[h], b.low[parts == 3 ? h : 0]);
  }
  // d += a·b; the smaller products to `fine`, because a tensor core cuts off what lies below the last bit of a sum.
  __device__ static void multiply(float (&d)[4], float (&fine)[4], const A& a, const B& b) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if constexpr (parts == 3) {
        mma_tf32(fine, a.low[h], b.high[h]);
        mma_tf32(fine, a.high[h], b.low[h]);
      }
      mma_tf32(d, a.high[h], b.high[h]);
    }
  }
};

// bf16 (8 bits of mantissa, fp32's range) and fp16 (11 bits, up to 65504).
template <bool bfloat>
struct HalfMath {
  static constexpr int kPadAlongK = 8, kPadAlongSide = 4;
  static constexpr bool kInParts = false;
  using A = uint32_t[4];
  using B = uint32_t[2];
  template <class Layout, bool, int>
  __device__ static int place() {
    return Layout::at(lane_id() / 4, lane_id() % 4 * 2);
  }
  // Two of k.
  template <class Layout, bool along_k>
  __device__ static uint32_t pair(const float* own) {
    float2 x;
    if constexpr (along_k) x = *reinterpret_cast<const float2*>(own);
    else x = make_float2(own[0], own[Layout::at(0, 1)]);
    if constexpr (bfloat) return pack_bf16(x.x, x.y);
    else return pack_fp16(x.x, x.y);
  }
  template <class Layout, bool along_k>
  __device__ static void load_a(const float* own, A& a) {
#pragma unroll
    for (int q = 0; q < 4; ++q) a[q] = pair<Layout, along_k>(own + Layout::at(q % 2 * 8, q / 2 * 8));
  }
  template <class Layout, bool along_k>
  __device__ static void load_b(const float* own, B& b) {
#pragma unroll
    for (int q = 0; q < 2; ++q) b[q] = pair<Layout, along_k>(own + Layout::at(0, q * 8));
  }
  __device__ static void multiply(float (&d)[4], float (&)[4], const A& a, const B& b) {
    if constexpr (bfloat) mma_bf16(d, a, b);
    else mma_fp16(d, a, b);
  }
};

template <class Math, bool a_along_k, bool b_along_k, int down, int across, int warps_down>
struct TensorTile {
  static constexpr int kRows = down, kCols = across, kWarpsAcross = kMultiplying / 32 / warps_down;
  static constexpr int kWarpRows = down / warps_down, kWarpCols = across / kWarpsAcross;
  static constexpr int kDown = kWarpRows / 16, kRight = kWarpCols / 8;  // fragments of a warp
  static constexpr int kOwnRows = 2 * kDown, kOwnCols = 2 * kRight;
  static constexpr bool kInParts = Math::kInParts;
  static_assert(kDown * 16 * warps_down == down && kRight * 8 * kWarpsAcross == across);
  using LayoutA = StageLayout<Math, down, a_along_k>;
  using LayoutB = StageLayout<Math, across, b_along_k>;
  using Sums = float[kDown][kRight][4];
  Sums acc = {}, fine = {}, slice = {};  // the last two: in parts

  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static int warp_row() { return warp() / kWarpsAcross * kWarpRows; }
  __device__ static int warp_col() { return warp() % kWarpsAcross * kWarpCols; }
  __device__ static int row(int i) { return warp_row() + lane_id() / 4 + 8 * i; }
  __device__ static int col(int j) { return warp_col() + lane_id() % 4 * 2 + j / 2 * 8 + j % 2; }

  __device__ static int place_a() {
    return LayoutA::at(warp_row(), 0) + Math::template place<LayoutA, a_along_k, 16>();
  }
  __device__ static int place_b() { return LayoutB::at(warp_col(), 0) + Math::template place<LayoutB, b_along_k, 8>(); }

  __device__ void multiply(const float* a_own, const float* b_own) {
#pragma unroll
    for (int k = 0; k < kStep; k += 16) {
      typename Math::A a[kDown];
      typename Math::B b[kRight];
#pragma unroll
      for (int i = 0; i < kDown; ++i) Math::template load_a<LayoutA, a_along_k>(a_own + LayoutA::at(16 * i, k), a[i]);
#pragma unroll
      for (int j = 0; j < kRight; ++j) Math::template load_b<LayoutB, b_along_k>(b_own + LayoutB::at(8 * j, k), b[j]);
#pragma unroll
      for (int i = 0; i < kDown; ++i)
#pragma unroll
        for (int j = 0; j < kRight; ++j) Math::multiply(acc[i][j], fine[i][j], a[i], b[j]);
    }
  }
  // In parts: what the tensor cores have summed goes to sums in fp32 registers, which round, after each stage. Tensor
  // cores cut off, so the longer a sum stays there, the more it loses: of sums of positive numbers 8.6e-7 at most after
  // 32 of k, 1.6e-6 after 64.
  __device__ void move_sums() {
#pragma unroll
    for (int i = 0; i < kDown; ++i)
#pragma unroll
      for (int j = 0; j < kRight; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          slice[i][j][q] += acc[i][j][q] + fine[i][j][q];
          acc[i][j][q] = fine[i][j][q] = 0;
        }
  }
  template <class F>
  __device__ void take(F&& f) {
    Sums& sums = kInParts ? slice : acc;
#pragma unroll
    for (int i = 0; i < kOwnRows; ++i)
#pragma unroll
      for (int j = 0; j < kOwnCols; ++j) {
        float& v = sums[i / 2][j / 2][i % 2 * 2 + j % 2];
        f(i, j, v);
        v = 0;
      }
  }
};
// ---- the tiles of a product ---------------------------------------------------------------------
// How a product multiplies: fp32 on the FMA units or, as an option, on tensor cores; rounded factors on tensor cores,
// whose fragments have 16 rows. The largest tile has 64 × 32 elements, 32 × 16 a warp. Of the FMA units there is one of
// 32 × 32 as well.
enum class Units : int { fma, tf32x3, tf32, bf16, fp16 };
struct FmaTiles {
  static constexpr bool kFma = true;
  template <int down, bool a, bool b>
  using Block = FmaTile<down, 32, a, b>;
  template <bool a, bool b>
  using Low = FmaTile<16, 64, a, b>;
  template <bool a, bool b>
  using Tall = FmaTile<128, 8, a, b>;
};
template <class Math>
struct TensorTiles {
  static constexpr bool kFma = false;
  template <int down, bool a, bool b>
  using Block = TensorTile<Math, a, b, 64, 32, 2>;
  template <bool a, bool b>
  using Low = TensorTile<Math, a, b, 16, 64, 1>;
  template <bool a, bool b>
  using Tall = TensorTile<Math, a, b, 128, 8, 4>;
};

template <class T>
struct Is {
  using Type = T;
};
// f(Is<the tile with `down` rows, of a product with these orientations>).
#pragma nv_exec_check_disable
template <class Tiles, bool trans_a, bool trans_b, class F>
__host__ __device__ inline void with_tile(int down, F&& f) {
  if constexpr (Tiles::kFma)
    if (down == 32) return f(Is<typename Tiles::template Block<32, !trans_a, trans_b>>{});
  f(Is<typename Tiles::template Block<64, !trans_a, trans_b>>{});
}
// f(the tiles that multiply so).
#pragma nv_exec_check_disable
template <class F>
__host__ __device__ inline void with_tiles(Units units, F&& f) {
  switch (units) {
    case Units::fma: return f(FmaTiles{});
    case Units::tf32x3: return f(TensorTiles<Tf32Math<3>>{});
    case Units::tf32: return f(TensorTiles<Tf32Math<1>>{});
    case Units::bf16: return f(TensorTiles<HalfMath<true>>{});
    case Units::fp16: return f(TensorTiles<HalfMath<false>>{});
  }
}

}  // namespace tessera::gpu
