// scan_leaf, bound_leaves: the inner loops of the search for nearest rows, lower bounds of kLeafRows distances at once.
//   numbers: min(|Δposition|, cap) · levels: weight·[≠]; both in 16 bits, widened every kChunkColumns columns
//   2 bytes and 4 integer operations per row and column, from the cache
#include "kernels/cpu/arrays/table.h"

namespace tessera::TESSERA_ISA {
namespace {

typedef uint16_t Positions __attribute__((vector_size(kVectorBytes)));
constexpr int kLanes = kVectorBytes / 2;

inline Positions load_positions(const uint16_t* from) {
  Positions v;
  memcpy(&v, from, sizeof v);
  return v;
}

// bound[0 … kLeafRows) = Σ of terms, where terms.number(column, entry, sum) and terms.level(…) add one column's terms
// of the entries from `entry` on. True if one of them is ≤ limit.
template <class Terms>
inline bool sum_columns(const NearestPlan& plan, uint32_t limit, uint32_t* bound, const Terms& terms) {
  constexpr int kVectors = kLeafRows / kLanes;
  const int columns = plan.numbers + plan.levels;
  for (int i = 0; i < kLeafRows; ++i) bound[i] = 0;
  for (int c0 = 0; c0 < columns; c0 += kChunkColumns) {
    const int c1 = c0 + kChunkColumns < columns ? c0 + kChunkColumns : columns;
    Positions sum[kVectors] = {};
    int c = c0;
    for (; c < c1 && c < plan.numbers; ++c)
      for (int v = 0; v < kVectors; ++v) terms.number(c, v * kLanes, sum[v]);
    for (; c < c1; ++c)
      for (int v = 0; v < kVectors; ++v) terms.level(c, v * kLanes, sum[v]);
    uint16_t narrow[kLeafRows];
    memcpy(narrow, sum, sizeof narrow);
    for (int i = 0; i < kLeafRows; ++i) bound[i] += narrow[i];
  }
  uint32_t any = 0;
  for (int i = 0; i < kLeafRows; ++i) any |= bound[i] <= limit ? 1u : 0u;
  return any != 0;
}

struct LeafTerms {
  const NearestPlan& plan;
  const uint16_t *leaf, *query;
  void number(int c, int entry, Positions& sum) const {
    const Positions x = load_positions(leaf + static_cast<size_t>(c) * kLeafRows + entry);
    const Positions q = Positions{} + query[c], cap = Positions{} + plan.cap;
    const Positions gap = (x > q ? x : q) - (x < q ? x : q);
    sum += gap < cap ? gap : cap;
  }
  void level(int c, int entry, Positions& sum) const {
    const Positions x = load_positions(leaf + static_cast<size_t>(c) * kLeafRows + entry);
    sum += x != Positions{} + query[c] ? Positions{} + plan.weight : Positions{};
  }
};

struct BoundTerms {
  const NearestPlan& plan;
  int64_t leaves, first;
  const uint16_t *low, *high;
  const uint16_t* const* miss;
  const uint16_t* query;
  void number(int c, int entry, Positions& sum) const {
    const Positions lo = load_positions(low + c * leaves + first + entry);
    const Positions hi = load_positions(high + c * leaves + first + entry);
    const Positions q = Positions{} + query[c], cap = Positions{} + plan.cap;
    const Positions below = (lo > q ? lo : q) - q, above = q - (hi < q ? hi : q);
    const Positions gap = below > above ? below : above;
    sum += gap < cap ? gap : cap;
  }
  void level(int c, int entry, Positions& sum) const { sum += load_positions(miss[c - plan.numbers] + first + entry); }
};

}  // namespace

bool scan_leaf(const NearestPlan& plan, const uint16_t* leaf, const uint16_t* query, uint32_t limit, uint32_t* bound) {
  return sum_columns(plan, limit, bound, LeafTerms{plan, leaf, query});
}

void bound_leaves(const NearestPlan& plan, int64_t leaves, const uint16_t* low, const uint16_t* high,
                  const uint16_t* const* miss, const uint16_t* query, uint32_t* bound) {
  for (int64_t first = 0; first < leaves; first += kLeafRows)
    sum_columns(plan, 0, bound + first, BoundTerms{plan, leaves, first, low, high, miss, query});
}

}  // namespace tessera::TESSERA_ISA
