// random: uniform (0, 1), normal (Box–Muller), bernoulli (0 or 1). add_noise: x and two scaled normal numbers.
// Element (r, c) comes from philox(c / 4, row, step, purpose), word c mod 4, counted from the op's first row and block
// of four columns; ~1–3 ns per element.
// With `rows` the counter is (c / 4, id low, id high, purpose | try): the row's numbers do not depend on its batch.
#include "kernels/cpu/tables.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kRows = 16, kCols = 16384;  // of a tile; a single row is divided into columns
constexpr int kLanes = 16;                    // counters computed in parallel
constexpr int kWords = 4 * kLanes;            // numbers they yield

int64_t tiles(const Call& call) {
  const View& out = call.out[0];
  return out.rows == 1 ? div_up(out.cols, kCols) : div_up(out.rows, kRows);
}

// Counters first, first + 1, … in parallel. The generator needs the high word of a product, which vector units offer
// only as 32×32 → 64 bits in 64-bit lanes. The state therefore occupies the low halves of 64-bit lanes; the high halves
// are unspecified. At the end words 0 and 1, and 2 and 3, are merged into one lane each, and the words of a counter are
// stored contiguously.
#if defined(__AVX2__)
#if defined(__AVX512F__)
typedef __m512i Wide;
constexpr int kWide = 8;
// All lanes by a mask: without one, GCC 12 warns of a variable of its header.
inline Wide product(Wide a, Wide b) { return _mm512_maskz_mul_epu32(0xFF, a, b); }
inline Wide high(Wide a) { return _mm512_maskz_srli_epi64(0xFF, a, 32); }
inline Wide xor3(Wide a, Wide b, Wide c) { return _mm512_xor_si512(_mm512_xor_si512(a, b), c); }
inline Wide all(uint32_t x) { return _mm512_set1_epi64(x); }
inline Wide count_from(uint32_t first) {
  return _mm512_add_epi32(all(first), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
}
inline Wide join(Wide low, Wide above) {
  return _mm512_mask_blend_epi32(0xAAAA, low, _mm512_maskz_slli_epi64(0xFF, above, 32));
}
inline void store_words(Wide w01, Wide w23, uint32_t* to) {
  _mm512_storeu_si512(to, _mm512_permutex2var_epi64(w01, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), w23));
  _mm512_storeu_si512(to + 16, _mm512_permutex2var_epi64(w01, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), w23));
}
#else
typedef __m256i Wide;
constexpr int kWide = 4;
inline Wide product(Wide a, Wide b) { return _mm256_mul_epu32(a, b); }
inline Wide high(Wide a) { return _mm256_srli_epi64(a, 32); }
inline Wide xor3(Wide a, Wide b, Wide c) { return _mm256_xor_si256(_mm256_xor_si256(a, b), c); }
inline Wide all(uint32_t x) { return _mm256_set1_epi64x(x); }
inline Wide count_from(uint32_t first) { return _mm256_add_epi32(all(first), _mm256_set_epi64x(3, 2, 1, 0)); }
inline Wide join(Wide low, Wide above) { return _mm256_blend_epi32(low, _mm256_slli_epi64(above, 32), 0xAA); }
inline void store_words(Wide w01, Wide w23, uint32_t* to) {
  const Wide even = _mm256_unpacklo_epi64(w01, w23), odd = _mm256_unpackhi_epi64(w01, w23);
  _mm256_storeu_si256(reinterpret_cast<Wide*>(to), _mm256_permute2x128_si256(even, odd, 0x20));
  _mm256_storeu_si256(reinterpret_cast<Wide*>(to + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}
#endif

void philox_lanes(uint32_t first, const Counter& key, uint32_t k0, uint32_t k1, uint32_t* words) {
  constexpr int kSets = kLanes / kWide;
  Wide c0[kSets], c1[kSets], c2[kSets], c3[kSets];
  for (int s = 0; s < kSets; ++s) {
    c0[s] = count_from(first + static_cast<uint32_t>(s * kWide));
    c1[s] = all(key.c1);
    c2[s] = all(key.c2);
    c3[s] = all(key.c3);
  }
  const Wide m0 = all(0xD2511F53u), m1 = all(0xCD9E8D57u);
  for (int round = 0; round < 10; ++round) {
    const Wide a = all(k0), b = all(k1);
    for (int s = 0; s < kSets; ++s) {
      const Wide p0 = product(m0, c0[s]), p1 = product(m1, c2[s]);
      c0[s] = xor3(high(p1), c1[s], a);
      c2[s] = xor3(high(p0), c3[s], b);
      c1[s] = p1;
      c3[s] = p0;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int s = 0; s < kSets; ++s) store_words(join(c0[s], c1[s]), join(c2[s], c3[s]), words + 4 * kWide * s);
}
#else
void philox_lanes(uint32_t first, const Counter& key, uint32_t k0, uint32_t k1, uint32_t* words) {
  for (int l = 0; l < kLanes; ++l) {
    const Philox p = philox(first + static_cast<uint32_t>(l), key.c1, key.c2, key.c3, k0, k1);
    memcpy(words + 4 * l, p.word, sizeof p.word);
  }
}
#endif

using tessera::turn;
inline void turn(double u, double& cosine, double& sine) {
  cosine = cos(6.283185307179586476925 * u);
  sine = sin(6.283185307179586476925 * u);
}

template <class T>
[[gnu::always_inline]] inline void normals(const uint32_t* words, T* out) {
  constexpr int kPairs = kWords / 2;
  T u[kPairs], v[kPairs], cosine[kPairs], sine[kPairs];
  for (int i = 0; i < kPairs; ++i) {  // deinterleaved first: the loop below then has no strides
    u[i] = static_cast<T>(open_uniform(words[2 * i]));
    v[i] = static_cast<T>(open_uniform(words[2 * i + 1]));
  }
  for (int i = 0; i < kPairs; ++i) u[i] = sqrt_of(T(-2) * log_of(u[i]));
  for (int i = 0; i < kPairs; ++i) turn(v[i], cosine[i], sine[i]);
  for (int i = 0; i < kPairs; ++i) {
    out[2 * i] = u[i] * cosine[i];
    out[2 * i + 1] = u[i] * sine[i];
  }
}

template <class T>
void convert(const Random& op, const uint32_t* words, T* out) {
  switch (op.kind) {
    case Random::uniform:
      for (int i = 0; i < kWords; ++i) out[i] = static_cast<T>(open_uniform(words[i]));
      return;
    case Random::bernoulli:
      for (int i = 0; i < kWords; ++i)
        out[i] = static_cast<T>(open_uniform(words[i])) < static_cast<T>(op.keep) ? T(1) : T(0);
      return;
    case Random::normal: return normals(words, out);
  }
}

// What a tile of `out` is: rows, or columns of a single row.
struct Part {
  Range rows, cols;
  Part(const View& out, int64_t tile)
      : rows(out.rows == 1 ? Range{0, 1} : piece(tile, kRows, out.rows)),
        cols(out.rows == 1 ? piece(tile, kCols, out.cols) : Range{0, out.cols}) {}
};

template <class T>
void run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const Random*>(call.op);
  const Mat<T> out(call.out[0]);
  const auto [r, cols] = Part(call.out[0], tile);
  const uint32_t k0 = static_cast<uint32_t>(call.state->seed), k1 = static_cast<uint32_t>(call.state->seed >> 32);
  uint32_t words[kWords];
  T made[kWords];
  for (int64_t i = r.begin; i < r.end; ++i) {
    const Counter key = row_key(call, call.in[0], i, op.purpose, op.first);
    for (int64_t c = cols.begin; c < cols.end; c += kWords) {
      const int64_t n = cols.end - c;
      philox_lanes(static_cast<uint32_t>(op.block + c / 4), key, k0, k1, words);
      if (n >= kWords) {
        convert(op, words, out.row(i) + c);
        continue;
      }
      convert(op, words, made);
      memcpy(out.row(i) + c, made, static_cast<size_t>(n) * sizeof(T));
    }
  }
}

template <class T>
void add_noise_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const AddNoise*>(call.op);
  const Mat<T> x(call.in[0]), out(call.out[0]);
  const auto [r, cols] = Part(call.out[0], tile);
  const uint32_t k0 = static_cast<uint32_t>(call.state->seed), k1 = static_cast<uint32_t>(call.state->seed >> 32);
  const T scale = static_cast<T>(op.scale);
  uint32_t words[kWords];
  T one[kWords], two[kWords];
  for (int64_t i = r.begin; i < r.end; ++i) {
    const Counter first = row_key(call, View{}, i, op.purpose, 0), second = row_key(call, View{}, i, op.purpose + 1, 0);
    for (int64_t c = cols.begin; c < cols.end; c += kWords) {
      const auto block = static_cast<uint32_t>(c / 4);
      philox_lanes(block, first, k0, k1, words);
      normals(words, one);
      philox_lanes(block, second, k0, k1, words);
      normals(words, two);
      const int64_t n = min_of(kWords, cols.end - c);
      const T* from = x.row(i) + c;
      T* to = out.row(i) + c;
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k) to[k] = from[k] + scale * (one[k] + two[k]);
    }
  }
}

}  // namespace

TESSERA_KERNEL(add_noise, tiles, add_noise_run<T>, nullptr)
TESSERA_KERNEL(random, tiles, run<T>, nullptr)

}  // namespace tessera::TESSERA_ISA
