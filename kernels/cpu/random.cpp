// random: uniform (0, 1), normal (Box–Muller), bernoulli (0 or 1). Element (r, c) comes from philox(c / 4, row, step, purpose), word c mod 4; ~1–3 ns an element.
// With `rows` the counter is (c / 4, id low, id high, purpose | try): the row's own numbers, whatever batch it is made in.
#include "kernels/cpu/random.h"

#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kRows = 16;
constexpr int kLanes = 16;           // counters made side by side
constexpr int kWords = 4 * kLanes;   // numbers they give

int64_t row_tiles(const Call& call) { return div_up(call.out[0].rows, kRows); }

void philox_lanes(uint32_t first, const RowKey& key, uint32_t k0, uint32_t k1, uint32_t* words) {
  uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    c0[l] = first + static_cast<uint32_t>(l);
    c1[l] = key.c1;
    c2[l] = key.c2;
    c3[l] = key.c3;
  }
  for (int round = 0; round < 10; ++round) {
    for (int l = 0; l < kLanes; ++l) {
      const uint64_t p0 = 0xD2511F53ull * c0[l], p1 = 0xCD9E8D57ull * c2[l];
      const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1[l] ^ k0, n2 = static_cast<uint32_t>(p0 >> 32) ^ c3[l] ^ k1;
      c1[l] = static_cast<uint32_t>(p1);
      c3[l] = static_cast<uint32_t>(p0);
      c0[l] = n0;
      c2[l] = n2;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int l = 0; l < kLanes; ++l) {
    words[4 * l] = c0[l];
    words[4 * l + 1] = c1[l];
    words[4 * l + 2] = c2[l];
    words[4 * l + 3] = c3[l];
  }
}

// (cos, sin) of 2πu by quarter: 2πu = (k + ½)·π/2 + f·π/2 with |f| ≤ ½; the half quarter turns are ±√½.
inline void turn(float u, float& cosine, float& sine) {
  const float t = u * 4.0f;
  const int32_t k = static_cast<int32_t>(t);
  const float x = (t - static_cast<float>(k) - 0.5f) * 1.57079633f, x2 = x * x;
  const float s = x + x * x2 * (-0.16666667f + x2 * (8.3333333e-3f + x2 * (-1.9841270e-4f + x2 * 2.7557319e-6f)));
  const float c = 1.0f + x2 * (-0.5f + x2 * (4.1666667e-2f + x2 * (-1.3888889e-3f + x2 * 2.4801587e-5f)));
  const float a = k == 0 || k == 3 ? 0.70710678f : -0.70710678f, b = k < 2 ? 0.70710678f : -0.70710678f;
  cosine = a * c - b * s;
  sine = a * s + b * c;
}
inline void turn(double u, double& cosine, double& sine) {
  cosine = cos(6.283185307179586476925 * u);
  sine = sin(6.283185307179586476925 * u);
}

template <class T>
void convert(const Random& op, const uint32_t* words, T* out) {
  T u[kWords];
  for (int i = 0; i < kWords; ++i) u[i] = static_cast<T>(open_uniform(words[i]));
  switch (op.kind) {
    case Random::uniform:
      memcpy(out, u, sizeof u);
      return;
    case Random::bernoulli:
      for (int i = 0; i < kWords; ++i) out[i] = u[i] < static_cast<T>(op.keep) ? T(1) : T(0);
      return;
    case Random::normal: {
      T radius[kWords / 2], cosine[kWords / 2], sine[kWords / 2];
      for (int i = 0; i < kWords / 2; ++i) radius[i] = sqrt_of(T(-2) * log_of(u[2 * i]));
      for (int i = 0; i < kWords / 2; ++i) turn(u[2 * i + 1], cosine[i], sine[i]);
      for (int i = 0; i < kWords / 2; ++i) {
        out[2 * i] = radius[i] * cosine[i];
        out[2 * i + 1] = radius[i] * sine[i];
      }
    }
  }
}

template <class T>
void run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const Random*>(call.op);
  const Mat<T> out(call.out[0]);
  const Range r = piece(tile, kRows, out.rows);
  const uint32_t k0 = static_cast<uint32_t>(call.state->seed), k1 = static_cast<uint32_t>(call.state->seed >> 32);
  uint32_t words[kWords];
  T made[kWords];
  for (int64_t i = r.begin; i < r.end; ++i) {
    const RowKey key = row_key(call, call.in[0], i, op.purpose);
    for (int64_t c = 0; c < out.cols; c += kWords) {
      philox_lanes(static_cast<uint32_t>(c / 4), key, k0, k1, words);
      convert(op, words, made);
      memcpy(out.row(i) + c, made, static_cast<size_t>(least(kWords, out.cols - c)) * sizeof(T));
    }
  }
}

}  // namespace

template <class T>
void add_random(KernelTable& t) {
  t.random = {row_tiles, run<T>, nullptr};
}
TESSERA_INSTANTIATE(add_random)

}  // namespace tessera::TESSERA_ISA
