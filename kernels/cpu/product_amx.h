// Products of bf16 by AMX: an instruction adds the products of 16 rows, 16 columns and 16 pairs of factors to a
// tile.
//   32 rows × 32 columns are four tiles of sums; two tiles of A and two of B meet in four instructions. Factors are
//   copied as pairs, zeros beyond the last: A row by row, B with the pairs of 16 columns side by side.
//   A tile has an order of its own (Intel SDM, TDPBF16PS): 16 pairs make two chains from 0, of their first products and
//   of their second, each product added by a fused multiply-add. The chains' sum is added to the tile. So its bits
//   are not those of vdpbf16ps, which makes one chain of all (product.h). Subnormals are 0, as they are there.
//   A row's sum is cut by K alone here too: every 16 pairs, and every `depth`.
#pragma once
#include "kernels/cpu/product.h"

namespace tessera::TESSERA_ISA {
namespace {

// What _tile_loadconfig reads: all tiles have 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig kWholeTiles{};

// Holds this thread's tiles, and releases them at its end: a context switch would save their 8 KB.
class Tiles {
 public:
  Tiles() { _tile_loadconfig(&kWholeTiles); }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// ---- 16 pairs of factors ------------------------------------------------------------------------
static inline __mmask16 first16(int64_t n) { return static_cast<__mmask16>((1u << min_of(n, 16)) - 1); }

// Of a row, from factor k on; zeros beyond its end.
static inline __m512i pairs_in_row(const Mat<float>& m, int64_t row, int64_t k) {
  const float* from = m.row(row) + k;
  const int64_t n = m.cols - k;
  if (n >= 32) return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from)));
  const __m512 low = _mm512_maskz_loadu_ps(n > 0 ? first16(n) : 0, from),
               high = _mm512_maskz_loadu_ps(n > 16 ? first16(n - 16) : 0, from + 16);
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}
static inline __m512i pairs_in_row(const Narrowed& m, int64_t row, int64_t k) {
  const int64_t n = m.cols - k;
  const __mmask32 there = n >= 32 ? ~0u : n > 0 ? (1u << n) - 1 : 0;
  return _mm512_maskz_loadu_epi16(there, m.row(row) + k);
}

// Of rows k and k + 1, in n columns from `col` on; zeros beyond the last row and column.
static inline __m512i pairs_in_columns(const Mat<float>& m, int64_t k, int64_t col, int64_t n) {
  const __mmask16 there = first16(n);
  return pairs_of_lanes(_mm512_maskz_loadu_ps(k < m.rows ? there : 0, m.row(k) + col),
                        _mm512_maskz_loadu_ps(k + 1 < m.rows ? there : 0, m.row(k + 1) + col));
}
static inline __m512i pairs_in_columns(const Narrowed& m, int64_t k, int64_t col, int64_t n) {
  const __mmask16 there = first16(n);
  const __m256i low = _mm256_maskz_loadu_epi16(k < m.rows ? there : 0, m.row(k) + col),
                high = _mm256_maskz_loadu_epi16(k + 1 < m.rows ? there : 0, m.row(k + 1) + col);
  return _mm512_or_si512(_mm512_cvtepu16_epi32(low), _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
}

// 16 vectors of 16 pairs become those of the transposed.
static inline void transpose16(__m512i* v) {
  __m512i w[16];
  for (int q = 0; q < 16; q += 2)
    w[q] = _mm512_unpacklo_epi32(v[q], v[q + 1]), w[q + 1] = _mm512_unpackhi_epi32(v[q], v[q + 1]);
  for (int q = 0; q < 16; q += 4) {
    v[q] = _mm512_unpacklo_epi64(w[q], w[q + 2]), v[q + 1] = _mm512_unpackhi_epi64(w[q], w[q + 2]);
    v[q + 2] = _mm512_unpacklo_epi64(w[q + 1], w[q + 3]), v[q + 3] = _mm512_unpackhi_epi64(w[q + 1], w[q + 3]);
  }
  for (int q = 0; q < 4; ++q) {  // v[4b + q] holds columns q, 4 + q, … of rows 4b to 4b + 3
    w[q] = _mm512_shuffle_i32x4(v[q], v[4 + q], 0x88), w[4 + q] = _mm512_shuffle_i32x4(v[q], v[4 + q], 0xdd);
    w[8 + q] = _mm512_shuffle_i32x4(v[8 + q], v[12 + q], 0x88);
    w[12 + q] = _mm512_shuffle_i32x4(v[8 + q], v[12 + q], 0xdd);
  }
  for (int q = 0; q < 4; ++q) {
    v[q] = _mm512_shuffle_i32x4(w[q], w[8 + q], 0x88), v[8 + q] = _mm512_shuffle_i32x4(w[q], w[8 + q], 0xdd);
    v[4 + q] = _mm512_shuffle_i32x4(w[4 + q], w[12 + q], 0x88);
    v[12 + q] = _mm512_shuffle_i32x4(w[4 + q], w[12 + q], 0xdd);
  }
}

// ---- copies of the factors ----------------------------------------------------------------------
constexpr int64_t kSide = 16;                       // of a tile: rows, columns or pairs
constexpr int64_t kTilesRows = 2 * kSide;           // of A that are copied at once
constexpr int64_t kRowOfA = Shape<float>::kStride;  // pairs between rows of the copy
constexpr int64_t kRowOfB = Shape<float>::kNr;
static_assert(kRowOfB == 2 * kSide && Shape<float>::kDepth % kSide == 0);
static_assert(kTileScratch >= kTilesRows * (kRowOfA + kRowOfB));

// Rows [i, i + r) of op(A), `pairs` pairs (a multiple of 16) from factor k0 on.
template <class M>
void copy_a(const M& a, bool trans, int64_t i, int64_t r, int64_t k0, int64_t pairs, uint32_t* to) {
  if (!trans) {
    for (int64_t q = 0; q < r; ++q)
      for (int64_t k = 0; k < pairs; k += kSide)
        _mm512_storeu_si512(to + q * kRowOfA + k, pairs_in_row(a, i + q, k0 + 2 * k));
    return;
  }
  for (int64_t q = 0; q < r; q += kSide)
    for (int64_t k = 0; k < pairs; k += kSide) {
      __m512i v[kSide];
      for (int64_t t = 0; t < kSide; ++t) v[t] = pairs_in_columns(a, k0 + 2 * (k + t), i + q, r - q);
      transpose16(v);
      for (int64_t t = 0; t < kSide; ++t) _mm512_storeu_si512(to + (q + t) * kRowOfA + k, v[t]);
    }
}

// The same of the columns [col, col + cols) of op(B), 32 at most.
template <class M>
void copy_b(const M& b, bool trans, int64_t k0, int64_t pairs, int64_t col, int64_t cols, uint32_t* to) {
  for (int64_t j = 0; j < min_of(cols, kRowOfB); j += kSide) {
    if (!trans) {
      for (int64_t k = 0; k < pairs; ++k)
        _mm512_storeu_si512(to + k * kRowOfB + j, pairs_in_columns(b, k0 + 2 * k, col + j, cols - j));
      continue;
    }
    for (int64_t k = 0; k < pairs; k += kSide) {
      __m512i v[kSide];
      for (int64_t t = 0; t < kSide; ++t)
        v[t] = j + t < cols ? pairs_in_row(b, col + j + t, k0 + 2 * k) : _mm512_setzero_si512();
      transpose16(v);
      for (int64_t t = 0; t < kSide; ++t) _mm512_storeu_si512(to + (k + t) * kRowOfB + j, v[t]);
    }
  }
}

// ---- products -----------------------------------------------------------------------------------
// 16·R rows × 16·V columns of sums over `pairs` pairs, with leading dimension ld.
template <int R, int V>
void sums_of_tiles(int64_t pairs, const uint32_t* a, const uint32_t* b, float* sums, int64_t ld) {
  constexpr int kA = kRowOfA * 4, kB = kRowOfB * 4;  // bytes
  const int64_t bytes = ld * 4;
  _tile_zero(0);
  if constexpr (V == 2) _tile_zero(1);
  if constexpr (R == 2) _tile_zero(2);
  if constexpr (R == 2 && V == 2) _tile_zero(3);
  for (int64_t k = 0; k < pairs; k += kSide) {
    _tile_loadd(6, b + k * kRowOfB, kB);
    _tile_loadd(4, a + k, kA);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (V == 2) {
      _tile_loadd(7, b + k * kRowOfB + kSide, kB);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (R == 2) {
      _tile_loadd(5, a + kSide * kRowOfA + k, kA);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (R == 2 && V == 2) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, bytes);
  if constexpr (V == 2) _tile_stored(1, sums + kSide, bytes);
  if constexpr (R == 2) _tile_stored(2, sums + kSide * ld, bytes);
  if constexpr (R == 2 && V == 2) _tile_stored(3, sums + kSide * ld + kSide, bytes);
}

// As micro(), for up to 32 rows and columns. Uses `sums` as scratch if tiles exceed the output or are added to it.
template <int R, int V>
void corner_of_tiles(int64_t pairs, const uint32_t* a, const uint32_t* b, const Corner<float>& out, float* sums) {
  const bool in_place = out.first && out.addend == nullptr && out.rows >= R * kSide && out.cols >= V * kSide;
  if (in_place) return sums_of_tiles<R, V>(pairs, a, b, out.c, out.ld);
  sums_of_tiles<R, V>(pairs, a, b, sums, kRowOfB);
  for (int64_t i = 0; i < min_of(out.rows, R * kSide); ++i) {
    Vec<float> sum[V];
    for (int v = 0; v < V; ++v) sum[v] = load(sums + i * kRowOfB + v * kSide);
    put_row<float, V>(out, i, sum);
  }
}

void multiply_by_tiles(const Product<float>& p, const Range& rows, const Range& cols, bool first, void* scratch) {
  using S = Shape<float>;
  const Tiles tiles;
  uint32_t* const packed_b = static_cast<uint32_t*>(scratch);
  uint32_t* const packed_a = packed_b + S::kDepth * S::kTileCols;
  float* const sums = reinterpret_cast<float*>(packed_a + kTilesRows * kRowOfA);
  const int64_t K = div_up(p.trans_a ? p.a.rows : p.a.cols, 2), blocks = div_up(K, S::kDepth);
  const int64_t step = blocks == 0 ? kSide : div_up(div_up(K, blocks), kSide) * kSide;
  for (int64_t k0 = 0; k0 < K || (K == 0 && first && k0 == 0); k0 += step) {
    const int64_t pairs = div_up(min_of(step, K - k0), kSide) * kSide;
    with_type<float>(p.b, [&](const auto& b) {
      for (int64_t j = cols.begin; j < cols.end; j += S::kNr)
        copy_b(b, p.trans_b, 2 * k0, pairs, j, cols.end - j, packed_b + (j - cols.begin) * pairs);
    });
    for (int64_t i = rows.begin; i < rows.end; i += kTilesRows) {
      const int64_t r = min_of(kTilesRows, rows.end - i);
      with_type<float>(p.a, [&](const auto& a) { copy_a(a, p.trans_a, i, r, 2 * k0, pairs, packed_a); });
      for (int64_t j = cols.begin; j < cols.end; j += S::kNr) {
        const uint32_t* b = packed_b + (j - cols.begin) * pairs;
        const Corner<float> out = corner(p, i, r, j, cols.end - j, first);
        if (r <= kSide && out.cols <= kSide) corner_of_tiles<1, 1>(pairs, packed_a, b, out, sums);
        else if (r <= kSide) corner_of_tiles<1, 2>(pairs, packed_a, b, out, sums);
        else if (out.cols <= kSide) corner_of_tiles<2, 1>(pairs, packed_a, b, out, sums);
        else corner_of_tiles<2, 2>(pairs, packed_a, b, out, sums);
      }
    }
    first = false;
  }
}

}  // namespace
}  // namespace tessera::TESSERA_ISA
