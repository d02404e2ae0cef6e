// The tensor-core instructions of kernels/gpu/dialect/device.h as warp collectives, with the fragment layouts of the
// PTX manual; products and sums in float, k in order. PTX leaves order and rounding of the sums open, so tests/ptx also
// runs them at both ends of what it allows.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

#include "emulation/machine.h"

namespace tessera {
namespace emulation {

struct Fragments {
  float* d;
  const uint32_t *a, *b;
};

inline float half_value(uint32_t bits) {
  return static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
}
inline float bfloat_value(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
// what the hardware reads of a register
inline float tf32_value(uint32_t bits) { return std::bit_cast<float>(bits & ~0x1FFFu); }

// d + Σ products, which are exact: two factors have 22 bits together at most.
using Sum = float (*)(float d, const float* products, int count);
inline float in_order(float d, const float* products, int count) {
  for (int k = 0; k < count; ++k) d += products[k];
  return d;
}

// Both sides gathered from the lanes' fragments into plain matrices, multiplied, and the sums handed back.
template <int k_size, Sum sum, class A, class B>
void mma_complete(void* const* operands, A&& a_of, B&& b_of) {
  float a[16][k_size], b[k_size][8];
  for (int l = 0; l < 32; ++l) {
    const auto& f = *static_cast<const Fragments*>(operands[l]);
    a_of(a, f.a, l / 4, l % 4);
    b_of(b, f.b, l / 4, l % 4);
  }
  for (int l = 0; l < 32; ++l) {
    float* d = static_cast<const Fragments*>(operands[l])->d;
    for (int i = 0; i < 4; ++i) {
      const int row = l / 4 + 8 * (i / 2), column = 2 * (l % 4) + i % 2;
      float products[k_size];
      for (int k = 0; k < k_size; ++k) products[k] = a[row][k] * b[k][column];
      d[i] = sum(d[i], products, k_size);
    }
  }
}
template <Sum sum = in_order>
void mma_tf32_complete(void* const* operands, unsigned) {
  mma_complete<8, sum>(
      operands,
      [](float(&a)[16][8], const uint32_t* f, int g, int t) {
        a[g][t] = tf32_value(f[0]), a[g + 8][t] = tf32_value(f[1]), a[g][t + 4] = tf32_value(f[2]),
        a[g + 8][t + 4] = tf32_value(f[3]);
      },
      [](float(&b)[8][8], const uint32_t* f, int g, int t) {
        b[t][g] = tf32_value(f[0]), b[t + 4][g] = tf32_value(f[1]);
      });
}
template <float (*value)(uint32_t), Sum sum = in_order>
void mma_16_complete(void* const* operands, unsigned) {
  mma_complete<16, sum>(
      operands,
      [](float(&a)[16][16], const uint32_t* f, int g, int t) {
        for (int i = 0; i < 4; ++i)
          for (int h = 0; h < 2; ++h) a[g + 8 * (i % 2)][2 * t + h + 8 * (i / 2)] = value(f[i] >> (16 * h) & 0xFFFFu);
      },
      [](float(&b)[16][8], const uint32_t* f, int g, int t) {
        for (int i = 0; i < 2; ++i)
          for (int h = 0; h < 2; ++h) b[2 * t + h + 8 * i][g] = value(f[i] >> (16 * h) & 0xFFFFu);
      });
}
// What lane l gets of matrix m (ldmatrix): lines[8·m + i] is the matrix's line i.
template <class Line>
uint32_t matrix_pair(Line* const* lines, int m, int l) {
  uint32_t pair;
  std::memcpy(&pair, static_cast<const char*>(lines[8 * m + l / 4]) + 4 * (l % 4), 4);
  return pair;
}
struct MatrixLines {
  const void *own, *all[32];
};
inline void matrix_lines_complete(void* const* operands, unsigned) {
  for (int l = 0; l < 32; ++l)
    for (int k = 0; k < 32; ++k)
      static_cast<MatrixLines*>(operands[l])->all[k] = static_cast<const MatrixLines*>(operands[k])->own;
}

inline uint32_t bfloat_bits(float x) {  // round to nearest, ties to even
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFFu;
  return (u + 0x7FFFu + (u >> 16 & 1u)) >> 16;
}

}  // namespace emulation

inline uint32_t to_tf32(float x) {  // round to nearest, ties away
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFFFFFFu;
  return u << 1 == 0xFF000000u ? u : (u + 0x1000u) & ~0x1FFFu;
}
inline void mma_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                     emulation::Place place = emulation::Place::here()) {
  emulation::Fragments f{d, a, b};
  emulation::warp_collective("mma_tf32", 0xFFFFFFFFu, &f, &emulation::mma_tf32_complete<>, place);
}
inline void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                     emulation::Place place = emulation::Place::here()) {
  emulation::Fragments f{d, a, b};
  emulation::warp_collective("mma_bf16", 0xFFFFFFFFu, &f, &emulation::mma_16_complete<emulation::bfloat_value>, place);
}
inline void mma_fp16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                     emulation::Place place = emulation::Place::here()) {
  emulation::Fragments f{d, a, b};
  emulation::warp_collective("mma_fp16", 0xFFFFFFFFu, &f, &emulation::mma_16_complete<emulation::half_value>, place);
}
inline void ldmatrix_4(uint32_t& m0, uint32_t& m1, uint32_t& m2, uint32_t& m3, const void* line,
                       emulation::Place place = emulation::Place::here()) {
  emulation::matrix_line(line);
  emulation::MatrixLines lines{line, {}};
  emulation::warp_collective("ldmatrix", 0xFFFFFFFFu, &lines, &emulation::matrix_lines_complete, place);
  uint32_t* const m[4] = {&m0, &m1, &m2, &m3};
  for (int i = 0; i < 4; ++i) *m[i] = emulation::matrix_pair(lines.all, i, emulation::lane());
}
inline uint32_t pack_bf16(float low, float high) {
  return emulation::bfloat_bits(low) | emulation::bfloat_bits(high) << 16;
}
inline uint32_t pack_fp16(float low, float high) {
  return uint32_t{std::bit_cast<uint16_t>(static_cast<_Float16>(low))} |
         uint32_t{std::bit_cast<uint16_t>(static_cast<_Float16>(high))} << 16;
}
inline float rounded_fp16(float x) { return static_cast<float>(static_cast<_Float16>(x)); }

}  // namespace tessera
