// fill, reshape, concat_rows, concat_cols as steps of a fused launch; moves copy words.
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

struct FillStep {
  float value;
  Target out;
};
template <>
struct Fused<Fill> : FusedMap<Fused<Fill>> {
  using Step = FillStep;
  static Step pack(const Call& call, Packing&) {
    return {static_cast<float>(static_cast<const Fill*>(call.op)->value), target(call.out[0])};
  }
  template <class Walk>
  __device__ static void map(const Step& s, Walk&& walk) {
    const float v[kChunk] = {s.value, s.value, s.value, s.value};
    walk(s.out, [&](int r, int c, int end) { store_chunk(s.out, r, c, min(kChunk, end - c), v); });
  }
};

constexpr int kCopyParts = 8;
struct CopyStep {
  Mat<uint32_t> out;
  int count;
  struct Part {
    const uint32_t* from;
    int64_t ld;
    int rows, cols;
  } part[kCopyParts];
};
struct FusedCopy {
  using Step = CopyStep;
  static Step pack(const Call& call, Packing& packing) {
    CopyStep c{Mat<uint32_t>(call.out[0]), call.inputs, {}};
    packing.fits = call.inputs <= kCopyParts;
    for (int k = 0; k < call.inputs && packing.fits; ++k) {
      const View& in = call.in[k];
      c.part[k] = {static_cast<const uint32_t*>(in.data), in.ld, static_cast<int>(in.rows), static_cast<int>(in.cols)};
    }
    return c;
  }
};

template <>
struct Fused<Reshape> : FusedCopy {
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_element(x.out.cols, [&](int r, int c) {
      const int64_t at = static_cast<int64_t>(r) * x.out.cols + c;
      x.out.row(r)[c] = x.part[0].from[at / x.part[0].cols * x.part[0].ld + at % x.part[0].cols];
    });
  }
};

template <bool down>
__device__ inline void join_rows(const CopyStep& x, const RowsPart& p) {
  p.each_element(x.out.cols, [&](int row, int col) {
    int r = row, c = col, k = 0;
    while ((down ? r : c) >= (down ? x.part[k].rows : x.part[k].cols)) {
      (down ? r : c) -= down ? x.part[k].rows : x.part[k].cols;
      ++k;
    }
    const uint32_t* from = x.part[k].from + r * x.part[k].ld + c;
    if (from != &x.out.row(row)[col]) x.out.row(row)[col] = *from;
  });
}
template <>
struct Fused<ConcatRows> : FusedCopy {
  __device__ static void rows(const Step& x, const RowsPart& p) { join_rows<true>(x, p); }
};
template <>
struct Fused<ConcatCols> : FusedCopy {
  __device__ static void rows(const Step& x, const RowsPart& p) { join_rows<false>(x, p); }
};

}  // namespace tessera::gpu
