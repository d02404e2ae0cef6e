// node_ranges, sums_below: one level of extremely randomized trees. Rows come by node, so that the results of up to 64
// features stay in registers while a node's rows pass: 4 bytes read and 2 to 4 operations a row and feature.
//   rows of a run are added in their order: the same bits whatever else the level holds
#include "kernels/cpu/arrays/table.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int kLanes = Simd<float>::kLanes;
constexpr int kMaxUnits = kVectorBytes / 16;  // of kCutPadding features, at once

struct Rows {
  const int32_t *first, *last;
};
// Runs [from, to).
inline Rows runs(const RandomCuts& c, int64_t from, int64_t to) {
  return {c.row + (from == 0 ? 0 : c.end[from - 1]), c.row + c.end[to - 1]};
}

// body.template of<units>(feature) for all features, as many at once as registers hold.
template <class Body>
inline void each_unit(int64_t stride, const Body& body) {
  int64_t f = 0;
  if constexpr (kMaxUnits >= 4)
    for (; f + 4 * kCutPadding <= stride; f += 4 * kCutPadding) body.template of<4>(f);
  if constexpr (kMaxUnits >= 2)
    for (; f + 2 * kCutPadding <= stride; f += 2 * kCutPadding) body.template of<2>(f);
  for (; f < stride; f += kCutPadding) body.template of<1>(f);
}

struct RangesOf {
  const RandomCuts& c;
  Rows rows;
  float *low, *high;
  template <int units>
  void of(int64_t f) const {
    constexpr int kVectors = units * static_cast<int>(kCutPadding) / kLanes;
    Vec<float> from[kVectors], to[kVectors];
    for (int v = 0; v < kVectors; ++v) from[v] = Vec<float>{} + __builtin_inff(), to[v] = -from[v];
    for (const int32_t* i = rows.first; i != rows.last; ++i) {
      const float* x = c.x + *i * c.stride + f;
      for (int v = 0; v < kVectors; ++v) {
        const Vec<float> e = load(x + v * kLanes);
        from[v] = e < from[v] ? e : from[v];
        to[v] = e > to[v] ? e : to[v];
      }
    }
    for (int v = 0; v < kVectors; ++v) store(low + f + v * kLanes, from[v]), store(high + f + v * kLanes, to[v]);
  }
};

template <bool numbers>
struct Below {
  const RandomCuts& c;
  Rows rows;
  const float* cut;
  float *count, *sum;
  template <int units>
  void of(int64_t f) const {
    constexpr int kVectors = units * static_cast<int>(kCutPadding) / kLanes;
    Vec<float> at[kVectors], n[kVectors] = {}, total[kVectors] = {};
    for (int v = 0; v < kVectors; ++v) at[v] = load(cut + f + v * kLanes);
    for (const int32_t* i = rows.first; i != rows.last; ++i) {
      const float *x = c.x + *i * c.stride + f, times = c.times[*i];
      const Vec<float> one = Vec<float>{} + times, y = Vec<float>{} + (numbers ? times * c.y[*i] : 0);
      for (int v = 0; v < kVectors; ++v) {
        const auto below = load(x + v * kLanes) <= at[v];
        n[v] += below ? one : Vec<float>{};
        if constexpr (numbers) total[v] += below ? y : Vec<float>{};
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      store(count + f + v * kLanes, n[v]);
      if constexpr (numbers) store(sum + f + v * kLanes, total[v]);
    }
  }
};

}  // namespace

void node_ranges(const RandomCuts& c, float* low, float* high) {
  for (int64_t k = 0; k < c.nodes; ++k)
    each_unit(c.stride,
              RangesOf{c, runs(c, k * c.classes, (k + 1) * c.classes), low + k * c.stride, high + k * c.stride});
}

void sums_below(const RandomCuts& c, const float* cut, float* rows, float* sums) {
  for (int64_t k = 0; k < c.nodes; ++k)
    for (int64_t r = k * c.classes; r < (k + 1) * c.classes; ++r) {
      const float* at = cut + k * c.stride;
      if (c.classes == 1)
        each_unit(c.stride, Below<true>{c, runs(c, r, r + 1), at, rows + r * c.stride, sums + r * c.stride});
      else each_unit(c.stride, Below<false>{c, runs(c, r, r + 1), at, rows + r * c.stride, nullptr});
    }
}

}  // namespace tessera::TESSERA_ISA
