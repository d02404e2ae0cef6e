#include "models/quality/learners/nearest_kernel.h"

#include <cstring>

#include "engine/run/cpu_features.h"

namespace tessera::quality {
namespace {

// Bodies are inlined into one function per instruction set, so that no template of the standard library is compiled for
// an instruction set that the machine may lack.
// Bytes is the width of that set's registers; GCC and clang lower their vector types to plain code if there are none.

template <int Bytes>
struct Lanes {
  static constexpr int kCount = Bytes / 2;
  typedef uint16_t Vector __attribute__((vector_size(Bytes)));
};

template <int Bytes>
[[gnu::always_inline]] inline void load(typename Lanes<Bytes>::Vector& v, const uint16_t* from) {
  std::memcpy(&v, from, Bytes);
}

// bound[0 … kLeafRows) = Σ of terms, where terms.number(column, entry, sum) and terms.level(…) add one column's terms
// of the entries from `entry` on.
// True if one of them is ≤ limit.
template <int Bytes, class Terms>
[[gnu::always_inline]] inline bool sum_columns(const NearestPlan& plan, uint32_t limit, uint32_t* bound,
                                               const Terms& terms) {
  using V = typename Lanes<Bytes>::Vector;
  constexpr int kCount = Lanes<Bytes>::kCount, kVectors = kLeafRows / kCount;
  const int columns = plan.numbers + plan.levels;
  for (int i = 0; i < kLeafRows; ++i) bound[i] = 0;
  for (int c0 = 0; c0 < columns; c0 += kChunkColumns) {
    const int c1 = c0 + kChunkColumns < columns ? c0 + kChunkColumns : columns;
    V sum[kVectors] = {};
    int c = c0;
    for (; c < c1 && c < plan.numbers; ++c)
      for (int v = 0; v < kVectors; ++v) terms.number(c, v * kCount, sum[v]);
    for (; c < c1; ++c)
      for (int v = 0; v < kVectors; ++v) terms.level(c, v * kCount, sum[v]);
    uint16_t narrow[kLeafRows];
    std::memcpy(narrow, sum, sizeof narrow);
    for (int i = 0; i < kLeafRows; ++i) bound[i] += narrow[i];
  }
  uint32_t any = 0;
  for (int i = 0; i < kLeafRows; ++i) any |= bound[i] <= limit ? 1u : 0u;
  return any != 0;
}

template <int Bytes>
struct LeafTerms {
  using V = typename Lanes<Bytes>::Vector;
  const NearestPlan& plan;
  const uint16_t *leaf, *query;
  [[gnu::always_inline]] void number(int c, int entry, V& sum) const {
    V x;
    load<Bytes>(x, leaf + static_cast<size_t>(c) * kLeafRows + entry);
    const V q = V{} + query[c], cap = V{} + plan.cap;
    const V gap = (x > q ? x : q) - (x < q ? x : q);
    sum += gap < cap ? gap : cap;
  }
  [[gnu::always_inline]] void level(int c, int entry, V& sum) const {
    V x;
    load<Bytes>(x, leaf + static_cast<size_t>(c) * kLeafRows + entry);
    sum += x != V{} + query[c] ? V{} + plan.weight : V{};
  }
};

template <int Bytes>
struct BoundTerms {
  using V = typename Lanes<Bytes>::Vector;
  const NearestPlan& plan;
  int64_t leaves, first;
  const uint16_t *low, *high;
  const uint16_t* const* miss;
  const uint16_t* query;
  [[gnu::always_inline]] void number(int c, int entry, V& sum) const {
    V lo, hi;
    load<Bytes>(lo, low + c * leaves + first + entry);
    load<Bytes>(hi, high + c * leaves + first + entry);
    const V q = V{} + query[c], cap = V{} + plan.cap;
    const V below = (lo > q ? lo : q) - q, above = q - (hi < q ? hi : q);
    const V gap = below > above ? below : above;
    sum += gap < cap ? gap : cap;
  }
  [[gnu::always_inline]] void level(int c, int entry, V& sum) const {
    V term;
    load<Bytes>(term, miss[c - plan.numbers] + first + entry);
    sum += term;
  }
};

template <int Bytes>
[[gnu::always_inline]] inline bool scan_leaf(const NearestPlan& plan, const uint16_t* leaf, const uint16_t* query,
                                             uint32_t limit, uint32_t* bound) {
  return sum_columns<Bytes>(plan, limit, bound, LeafTerms<Bytes>{plan, leaf, query});
}

template <int Bytes>
[[gnu::always_inline]] inline void bound_leaves(const NearestPlan& plan, int64_t leaves, const uint16_t* low,
                                                const uint16_t* high, const uint16_t* const* miss,
                                                const uint16_t* query, uint32_t* bound) {
  for (int64_t first = 0; first < leaves; first += kLeafRows)
    sum_columns<Bytes>(plan, 0, bound + first, BoundTerms<Bytes>{plan, leaves, first, low, high, miss, query});
}

bool scan_plain(const NearestPlan& p, const uint16_t* leaf, const uint16_t* query, uint32_t limit, uint32_t* bound) {
  return scan_leaf<16>(p, leaf, query, limit, bound);
}
void bound_plain(const NearestPlan& p, int64_t n, const uint16_t* low, const uint16_t* high,
                 const uint16_t* const* miss, const uint16_t* query, uint32_t* bound) {
  bound_leaves<16>(p, n, low, high, miss, query, bound);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) bool scan_avx2(const NearestPlan& p, const uint16_t* leaf, const uint16_t* query,
                                               uint32_t limit, uint32_t* bound) {
  return scan_leaf<32>(p, leaf, query, limit, bound);
}
__attribute__((target("avx2"))) void bound_avx2(const NearestPlan& p, int64_t n, const uint16_t* low,
                                                const uint16_t* high, const uint16_t* const* miss,
                                                const uint16_t* query, uint32_t* bound) {
  bound_leaves<32>(p, n, low, high, miss, query, bound);
}
__attribute__((target("avx512bw,avx512vl"))) bool scan_avx512(const NearestPlan& p, const uint16_t* leaf,
                                                              const uint16_t* query, uint32_t limit, uint32_t* bound) {
  return scan_leaf<64>(p, leaf, query, limit, bound);
}
__attribute__((target("avx512bw,avx512vl"))) void bound_avx512(const NearestPlan& p, int64_t n, const uint16_t* low,
                                                               const uint16_t* high, const uint16_t* const* miss,
                                                               const uint16_t* query, uint32_t* bound) {
  bound_leaves<64>(p, n, low, high, miss, query, bound);
}
#endif

std::vector<NearestKernel> runnable() {
  std::vector<NearestKernel> kernels{{"plain", scan_plain, bound_plain}};
#if defined(__x86_64__)
  if (best_isa() >= Isa::avx2) kernels.push_back({"avx2", scan_avx2, bound_avx2});
  if (best_isa() >= Isa::avx512) kernels.push_back({"avx512", scan_avx512, bound_avx512});
#endif
  return kernels;
}

}  // namespace

const std::vector<NearestKernel>& nearest_kernels() {
  static const std::vector<NearestKernel> kernels = runnable();
  return kernels;
}

}  // namespace tessera::quality
