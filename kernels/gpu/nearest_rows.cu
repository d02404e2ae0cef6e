// leaf_boxes, near_rows, nearest_rows: lower bounds of the distances of all pairs of rows (kernels/array_kernels.h).
// The host measures the few pairs that they leave, in double.
//   A warp has 16 queries of a leaf and goes through the reference's leaves; a lane has two of a leaf's 64 rows, in the
//       halves of a register.
//   The boxes of two leaves come first, 32 leaves at once, one a lane: most leaves of real tables have no row near
//       enough for any of the 16 queries.
//   Two terms: numbers max, min, subtract, min, add · levels xor, min, multiply and add · one more to copy the query's
//       position to both halves
//   128 bytes a column of a leaf, from L1 for the other three warps of a block · no barrier: warps are independent
//   Integers, and every warp has its own place for what it finds: the same bits in every run
#include "kernels/gpu/dialect/view.cuh"

namespace tessera::gpu {
namespace {

constexpr int kSearchWarps = kLeafRows / kWarpQueries;  // of a block: the queries of one leaf
constexpr int kLanes = 32;
constexpr uint64_t kNoRow = ~uint64_t{0};

__device__ inline int columns_of(const NearestPlan& plan) { return plan.numbers + plan.levels; }
__device__ inline uint32_t first_of(uint32_t two) { return (two & 0xFFFFu) * 0x10001u; }  // to both halves
__device__ inline uint32_t second_of(uint32_t two) { return (two >> 16) * 0x10001u; }

__global__ void __launch_bounds__(32 * kSearchWarps) leaf_boxes_kernel(NearestPlan plan, LeafRows rows) {
  const int64_t leaf = static_cast<int64_t>(blockIdx.x) * kSearchWarps + threadIdx.y;
  if (leaf >= rows.leaves) return;
  const int columns = columns_of(plan), lane = static_cast<int>(threadIdx.x);
  const auto* two = reinterpret_cast<const uint32_t*>(rows.leaf) + leaf * columns * kLanes + lane;
  for (int c = 0; c < columns; ++c, two += kLanes) {
    const uint32_t a = *two & 0xFFFFu, b = *two >> 16;
    uint64_t box;
    if (c < plan.numbers) {
      box = warp_max(a > b ? a : b);
      box = box << 16 | warp_min(a < b ? a : b);
    } else {
      box = uint64_t{1} << (a & 63) | uint64_t{1} << (b & 63);
#pragma unroll
      for (int step = 16; step > 0; step >>= 1) box |= __shfl_xor_sync(kWholeWarp, box, step);
    }
    if (lane == 0) rows.box[c * rows.leaves + leaf] = box;
  }
}

// The smallest distance that rows of two leaves can have.
__device__ inline uint32_t bound_of_boxes(const NearestPlan& plan, const LeafRows& queries, int64_t query,
                                          const LeafRows& reference, int64_t leaf) {
  uint32_t sum = 0;
  for (int c = 0; c < columns_of(plan); ++c) {
    const uint64_t a = queries.box[c * queries.leaves + query], b = reference.box[c * reference.leaves + leaf];
    if (c >= plan.numbers) {
      sum += (a & b) == 0 ? plan.weight : 0;
      continue;
    }
    const auto low_a = static_cast<uint32_t>(a & 0xFFFF), high_a = static_cast<uint32_t>(a >> 16);
    const auto low_b = static_cast<uint32_t>(b & 0xFFFF), high_b = static_cast<uint32_t>(b >> 16);
    const uint32_t gap = low_b > high_a ? low_b - high_a : low_a > high_b ? low_a - high_b : 0;
    sum += gap < plan.cap ? gap : plan.cap;
  }
  return sum;
}

// The bounds of the warp's queries and the lane's two rows of a leaf. Terms of kChunkColumns columns fit in 16 bits.
__device__ inline void bounds_of_rows(const NearestPlan& plan, const uint4* query, const uint32_t* leaf,
                                      uint32_t (&even)[kWarpQueries], uint32_t (&odd)[kWarpQueries]) {
  const uint32_t cap = plan.cap * 0x10001u, one = 0x10001u;
#pragma unroll
  for (int k = 0; k < kWarpQueries; ++k) even[k] = odd[k] = 0;
  for (int c0 = 0; c0 < columns_of(plan); c0 += kChunkColumns) {
    const int c1 = min(c0 + kChunkColumns, columns_of(plan));
    uint32_t sum[kWarpQueries] = {};
    for (int c = c0; c < c1; ++c) {
      const uint32_t x = leaf[c * kLanes];
      const uint4 a = query[c * 8], b = query[c * 8 + 1];
      const uint32_t two[kWarpQueries / 2] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
      if (c < plan.numbers) {
#pragma unroll
        for (int k = 0; k < kWarpQueries; ++k) {
          const uint32_t q = k % 2 == 0 ? first_of(two[k / 2]) : second_of(two[k / 2]);
          sum[k] += __vminu2(__vmaxu2(x, q) - __vminu2(x, q), cap);
        }
      } else {
#pragma unroll
        for (int k = 0; k < kWarpQueries; ++k) {
          const uint32_t q = k % 2 == 0 ? first_of(two[k / 2]) : second_of(two[k / 2]);
          sum[k] += __vminu2(x ^ q, one) * plan.weight;
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kWarpQueries; ++k) even[k] += sum[k] & 0xFFFFu, odd[k] += sum[k] >> 16;
  }
}

// All rows with a bound below a query's limit.
class Near {
 public:
  __device__ Near(const NearRows& s, int64_t leaf, uint32_t* limit) : s_(s), limit_(limit) {
    const int lane = lane_id(), warp = static_cast<int>(threadIdx.y);
    first_ = leaf * kLeafRows + warp * kWarpQueries;
    place_ = (leaf - s.first) * kSearchWarps + warp;
    if (lane < kWarpQueries) limit_[lane] = s.limit[first_ + lane];
    __syncwarp();
    widest_ = warp_max(limit_[lane % kWarpQueries]);
  }
  __device__ int64_t first_leaf(int64_t query) const { return s_.same ? query : 0; }
  __device__ bool may_have(uint32_t bound) const { return bound < widest_; }
  __device__ bool wants(int k, uint32_t bound) const { return bound < limit_[k]; }
  __device__ void take(int k, int64_t leaf, uint32_t even, uint32_t odd) {
    for (int half = 0; half < 2; ++half) {
      const int64_t query = first_ + k, row = leaf * kLeafRows + 2 * lane_id() + half;
      const bool is = wants(k, half == 0 ? even : odd) && row < s_.reference.rows && (!s_.same || row > query);
      const unsigned lanes = __ballot_sync(kWholeWarp, is);
      const int64_t at = found_ + __popc(lanes & ((1u << lane_id()) - 1));
      if (is && at < s_.capacity)
        s_.pair[place_ * s_.capacity + at] = static_cast<uint64_t>(query) << 32 | static_cast<uint64_t>(row);
      found_ += static_cast<uint32_t>(__popc(lanes));
    }
  }
  __device__ void end_leaf() {}
  __device__ void end() {
    if (lane_id() == 0) s_.found[place_] = found_;
  }

 private:
  const NearRows& s_;
  uint32_t* limit_;  // [kWarpQueries] of shared memory
  int64_t first_, place_;
  uint32_t widest_, found_ = 0;
};

// The two best rows of each query: its limit falls with them.
class Nearest {
 public:
  __device__ Nearest(const NearestRows& s, int64_t leaf, uint64_t (*best)[2]) : s_(s), best_(best) {
    first_ = (leaf - s.first) * kLeafRows + static_cast<int>(threadIdx.y) * kWarpQueries;
    if (lane_id() < kWarpQueries) best_[lane_id()][0] = best_[lane_id()][1] = kNoRow;
    __syncwarp();
  }
  __device__ int64_t first_leaf(int64_t) const { return 0; }
  __device__ bool may_have(uint32_t bound) const { return bound < widest_; }
  __device__ bool wants(int k, uint32_t bound) const { return bound < limit(k); }
  __device__ void take(int k, int64_t leaf, uint32_t even, uint32_t odd) {
    const int64_t row = leaf * kLeafRows + 2 * lane_id();
    const auto entry = [&](uint32_t bound, int64_t at) {
      return at < s_.reference.rows ? static_cast<uint64_t>(bound) << 32 | static_cast<uint64_t>(at) : kNoRow;
    };
    uint64_t mine = entry(even, row), other = entry(odd, row + 1), best = best_[k][0], next = best_[k][1];
    if (other < mine) {
      const uint64_t swapped = mine;
      mine = other, other = swapped;
    }
#pragma unroll
    for (int round = 0; round < 2; ++round) {  // the two best of the leaf
      const uint64_t lowest = warp_min(mine);
      if (mine == lowest) mine = other, other = kNoRow;
      next = lowest < best ? best : lowest < next ? lowest : next;
      best = lowest < best ? lowest : best;
    }
    __syncwarp();
    if (lane_id() == 0) best_[k][0] = best, best_[k][1] = next;
    __syncwarp();
  }
  __device__ void end_leaf() { widest_ = warp_max(limit(lane_id() % kWarpQueries)); }
  __device__ void end() {
    if (lane_id() < kWarpQueries)
      for (int i = 0; i < 2; ++i) s_.best[2 * (first_ + lane_id()) + i] = best_[lane_id()][i];
  }

 private:
  __device__ uint32_t limit(int k) const { return static_cast<uint32_t>(best_[k][s_.second ? 1 : 0] >> 32); }

  const NearestRows& s_;
  uint64_t (*best_)[2];  // [kWarpQueries] of shared memory
  int64_t first_;
  uint32_t widest_ = ~0u;
};

template <class Wanted>
__device__ void search_leaf(const NearestPlan& plan, const uint4* query, const LeafRows& reference, int64_t leaf,
                            Wanted& wanted) {
  uint32_t even[kWarpQueries], odd[kWarpQueries];
  const auto* rows = reinterpret_cast<const uint32_t*>(reference.leaf) + leaf * columns_of(plan) * kLanes + lane_id();
  bounds_of_rows(plan, query, rows, even, odd);
  unsigned near = 0;
#pragma unroll
  for (int k = 0; k < kWarpQueries; ++k)
    near |= __ballot_sync(kWholeWarp, wanted.wants(k, min(even[k], odd[k]))) != 0 ? 1u << k : 0;
  for (; near != 0; near &= near - 1) {  // few: one copy of the code, which selects their registers
    const int query_at = __ffs(static_cast<int>(near)) - 1;
    uint32_t a = even[0], b = odd[0];
#pragma unroll
    for (int k = 1; k < kWarpQueries; ++k)
      if (k == query_at) a = even[k], b = odd[k];
    wanted.take(query_at, leaf, a, b);
  }
  wanted.end_leaf();
}

// `close`: begin with the leaf whose box is nearest, after which fewer leaves may have a row.
template <bool close, class Search, class Wanted>
__device__ void search_leaves(const Search& s, int64_t query, Wanted& wanted) {
  const LeafRows& reference = s.reference;
  const auto* positions =
      reinterpret_cast<const uint4*>(s.queries.leaf) + query * columns_of(s.plan) * 8 + 2 * threadIdx.y;
  const auto bound_of = [&](int64_t leaf) {
    return leaf < reference.leaves ? bound_of_boxes(s.plan, s.queries, query, reference, leaf) : ~0u;
  };
  int64_t closest = -1;
  if (close) {
    uint64_t best = kNoRow;
    for (int64_t leaf = lane_id(); leaf < reference.leaves; leaf += kLanes) {
      const uint64_t here = static_cast<uint64_t>(bound_of(leaf)) << 32 | static_cast<uint64_t>(leaf);
      best = here < best ? here : best;
    }
    closest = static_cast<int64_t>(warp_min(best) & 0xFFFFFFFFu);
    search_leaf(s.plan, positions, reference, closest, wanted);
  }
  const int64_t first = wanted.first_leaf(query);
  for (int64_t group = first - first % kLanes; group < reference.leaves; group += kLanes) {
    const int64_t mine = group + lane_id();
    const uint32_t bound = bound_of(mine);
    unsigned open = __ballot_sync(
        kWholeWarp, mine < reference.leaves && mine >= first && mine != closest && wanted.may_have(bound));
    for (; open != 0; open &= open - 1) {
      const int lane = __ffs(static_cast<int>(open)) - 1;
      if (wanted.may_have(__shfl_sync(kWholeWarp, bound, lane)))
        search_leaf(s.plan, positions, reference, group + lane, wanted);
    }
  }
  wanted.end();
}

__global__ void __launch_bounds__(32 * kSearchWarps) near_rows_kernel(const __grid_constant__ Constants<NearRows> s) {
  TESS_SHARED(limit, uint32_t[kSearchWarps][kWarpQueries]);
  const int64_t leaf = (*s).first + blockIdx.x;
  Near wanted(*s, leaf, limit[threadIdx.y]);
  search_leaves<false>(*s, leaf, wanted);
}

__global__ void __launch_bounds__(32 * kSearchWarps)
    nearest_rows_kernel(const __grid_constant__ Constants<NearestRows> s) {
  TESS_SHARED(best, uint64_t[kSearchWarps][kWarpQueries][2]);
  const int64_t leaf = (*s).first + blockIdx.x;
  Nearest wanted(*s, leaf, best[threadIdx.y]);
  search_leaves<true>(*s, leaf, wanted);
}

Launch blocks(int64_t count, cudaStream_t stream) {
  return {dim3(static_cast<unsigned>(count)), dim3(32, kSearchWarps), 0, stream};
}

}  // namespace

void leaf_boxes(const NearestPlan& plan, const LeafRows& rows, cudaStream_t stream) {
  launch(blocks(grid_of(rows.leaves, kSearchWarps), stream), "leaf_boxes", leaf_boxes_kernel, plan, rows);
}
void near_rows(const NearRows& search, cudaStream_t stream) {
  launch(blocks(search.leaves, stream), "near_rows", near_rows_kernel, Constants<NearRows>{search});
}
void nearest_rows(const NearestRows& search, cudaStream_t stream) {
  launch(blocks(search.leaves, stream), "nearest_rows", nearest_rows_kernel, Constants<NearestRows>{search});
}

}  // namespace tessera::gpu
