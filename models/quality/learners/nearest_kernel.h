// The two inner loops of the nearest-row search, on 16-bit positions: lower bounds of many distances at once.
// Written once, compiled for plain x86-64 (or any other machine), AVX2 and AVX-512; one is chosen at run time.
// Integers: same bits on all.
#pragma once
#include <cstdint>
#include <vector>

namespace tessera::quality {

// Reference rows of one leaf; a column of a leaf is kLeafRows contiguous positions.
constexpr int kLeafRows = 64;
// Terms of this many columns, each at most 65535 / kChunkColumns, are summed in 16 bits before they are widened.
constexpr int kChunkColumns = 16;

struct NearestPlan {
  int numbers = 0;  // columns 0 … numbers−1: min(|Δposition|, cap)
  int levels = 0;   // the columns after them: weight·[≠]
  uint16_t cap = 0, weight = 0;
};

struct NearestKernel {
  const char* name;
  // bound[i] = Σ over columns of the term between the query's positions and those of row i; leaf [columns][kLeafRows],
  // query [columns].
  // True if one of them is ≤ limit.
  bool (*scan_leaf)(const NearestPlan& plan, const uint16_t* leaf, const uint16_t* query, uint32_t limit,
                    uint32_t* bound);
  // bound[i] = Σ over columns of the smallest term of any row of leaf i. `leaves` is a multiple of kLeafRows; low, high
  // [numbers][leaves];
  // miss[column] → leaves terms for the query's level: 0 or weight.
  void (*bound_leaves)(const NearestPlan& plan, int64_t leaves, const uint16_t* low, const uint16_t* high,
                       const uint16_t* const* miss, const uint16_t* query, uint32_t* bound);
};

// The kernels this machine can run, fastest last.
const std::vector<NearestKernel>& nearest_kernels();

}  // namespace tessera::quality
