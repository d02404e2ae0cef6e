#include "models/quality/nearest_kernel.h"

#include <cstddef>

namespace tessera::quality {
namespace {

// Bodies are inlined into one function per instruction set, so that no template of the standard library is compiled for a machine that may not be there.
#define TESSERA_INLINE static inline __attribute__((always_inline))

constexpr int kLanes = 32;  // 16-bit lanes worked on at once: a 512-bit register, or two of 256

TESSERA_INLINE uint16_t smaller(uint16_t a, uint16_t b) { return a < b ? a : b; }
TESSERA_INLINE uint16_t larger(uint16_t a, uint16_t b) { return a > b ? a : b; }

// For `count` entries, a multiple of kLanes: bound = Σ of terms, where add(column, first entry, sum) adds one column's terms to kLanes sums.
template <class Add>
TESSERA_INLINE void sum_columns(int columns, int64_t count, uint32_t* bound, const Add& add) {
  for (int64_t start = 0; start < count; start += kLanes) {
    uint32_t total[kLanes] = {};
    for (int c0 = 0; c0 < columns; c0 += kChunkColumns) {
      uint16_t sum[kLanes] = {};
      const int c1 = c0 + kChunkColumns < columns ? c0 + kChunkColumns : columns;
      for (int c = c0; c < c1; ++c) add(c, start, sum);
      for (int i = 0; i < kLanes; ++i) total[i] += sum[i];
    }
    for (int i = 0; i < kLanes; ++i) bound[start + i] = total[i];
  }
}

TESSERA_INLINE void scan_leaf(const NearestPlan& plan, const uint16_t* leaf, const uint16_t* query, uint32_t* bound) {
  const int numbers = plan.numbers;
  const uint16_t cap = plan.cap, weight = plan.weight;
  sum_columns(numbers + plan.levels, kLeafRows, bound, [&](int c, int64_t start, uint16_t* sum) __attribute__((always_inline)) {
    const uint16_t* x = leaf + static_cast<ptrdiff_t>(c) * kLeafRows + start;
    const uint16_t q = query[c];
    if (c < numbers) {
      for (int i = 0; i < kLanes; ++i) sum[i] = static_cast<uint16_t>(sum[i] + smaller(static_cast<uint16_t>(larger(x[i], q) - smaller(x[i], q)), cap));
    } else {
      for (int i = 0; i < kLanes; ++i) sum[i] = static_cast<uint16_t>(sum[i] + (x[i] == q ? 0 : weight));
    }
  });
}

TESSERA_INLINE void bound_leaves(const NearestPlan& plan, int64_t leaves, const uint16_t* low, const uint16_t* high, const uint16_t* const* miss, const uint16_t* query,
                                 uint32_t* bound) {
  const int numbers = plan.numbers;
  const uint16_t cap = plan.cap;
  sum_columns(numbers + plan.levels, leaves, bound, [&](int c, int64_t start, uint16_t* sum) __attribute__((always_inline)) {
    if (c < numbers) {
      const uint16_t *lo = low + c * leaves + start, *hi = high + c * leaves + start;
      const uint16_t q = query[c];
      for (int i = 0; i < kLanes; ++i) {
        const uint16_t below = static_cast<uint16_t>(larger(lo[i], q) - q), above = static_cast<uint16_t>(q - smaller(hi[i], q));
        sum[i] = static_cast<uint16_t>(sum[i] + smaller(larger(below, above), cap));
      }
    } else {
      const uint16_t* term = miss[c - numbers] + start;
      for (int i = 0; i < kLanes; ++i) sum[i] = static_cast<uint16_t>(sum[i] + term[i]);
    }
  });
}

void scan_plain(const NearestPlan& p, const uint16_t* leaf, const uint16_t* query, uint32_t* bound) { scan_leaf(p, leaf, query, bound); }
void bound_plain(const NearestPlan& p, int64_t n, const uint16_t* low, const uint16_t* high, const uint16_t* const* miss, const uint16_t* query, uint32_t* bound) {
  bound_leaves(p, n, low, high, miss, query, bound);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void scan_avx2(const NearestPlan& p, const uint16_t* leaf, const uint16_t* query, uint32_t* bound) { scan_leaf(p, leaf, query, bound); }
__attribute__((target("avx2"))) void bound_avx2(const NearestPlan& p, int64_t n, const uint16_t* low, const uint16_t* high, const uint16_t* const* miss,
                                                const uint16_t* query, uint32_t* bound) {
  bound_leaves(p, n, low, high, miss, query, bound);
}
__attribute__((target("avx512bw,avx512vl"))) void scan_avx512(const NearestPlan& p, const uint16_t* leaf, const uint16_t* query, uint32_t* bound) {
  scan_leaf(p, leaf, query, bound);
}
__attribute__((target("avx512bw,avx512vl"))) void bound_avx512(const NearestPlan& p, int64_t n, const uint16_t* low, const uint16_t* high, const uint16_t* const* miss,
                                                               const uint16_t* query, uint32_t* bound) {
  bound_leaves(p, n, low, high, miss, query, bound);
}
#endif

std::vector<NearestKernel> runnable() {
  std::vector<NearestKernel> kernels{{"plain", scan_plain, bound_plain}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) kernels.push_back({"avx2", scan_avx2, bound_avx2});
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) kernels.push_back({"avx512", scan_avx512, bound_avx512});
#endif
  return kernels;
}

}  // namespace

const std::vector<NearestKernel>& nearest_kernels() {
  static const std::vector<NearestKernel> kernels = runnable();
  return kernels;
}

}  // namespace tessera::quality
