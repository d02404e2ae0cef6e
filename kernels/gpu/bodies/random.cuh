// The identity of a row for the random number generator: its index in the batch, of which the op's first row is row
// `first`, and the step; or its own identity if `rows` is given.
#pragma once
#include "kernels/gpu/bodies/chain.cuh"
#include "kernels/math/philox.h"

namespace tessera::gpu {

__device__ inline Counter row_key(const StepState& state, const Mat<const int32_t>& rows, int row, int purpose,
                                  int first) {
  const auto p = static_cast<uint32_t>(purpose);
  if (!rows) {
    const auto step = static_cast<uint64_t>(state.step);
    return counter(p, static_cast<uint32_t>(first + row) | step << 32, static_cast<uint32_t>(step >> 32));
  }
  const int32_t* id = rows.row(row);
  return counter(p, static_cast<uint32_t>(id[0]) | static_cast<uint64_t>(static_cast<uint32_t>(id[1])) << 32,
                 static_cast<uint32_t>(id[2]));
}

// Two normals from two uniforms; the angle is in half turns, exact until the sine is taken.
__device__ inline void box_muller(float u, float v, float& x, float& y) {
  const float radius = sqrtf(-2.0f * logf(u));
  float sine, cosine;
  sincospif(2.0f * v, &sine, &cosine);
  x = radius * cosine;
  y = radius * sine;
}

struct RandomSource {
  Random::Kind kind;
  int purpose;
  float keep;
  int first, block;
};
inline RandomSource random_source(const Random& op) {
  return {op.kind, op.purpose, static_cast<float>(op.keep), static_cast<int>(op.first), static_cast<int>(op.block)};
}

// The op's numbers of columns 4·block to 4·block + 3 of row r.
__device__ inline void random_numbers(const RandomSource& source, const Mat<const int32_t>& rows,
                                      const StepState& state, int r, int block, float (&v)[kChunk]) {
  const Philox words = random_words(state.seed, row_key(state, rows, r, source.purpose, source.first),
                                    static_cast<uint32_t>(source.block + block));
#pragma unroll
  for (int k = 0; k < kChunk; ++k) v[k] = open_uniform(words.word[k]);
  if (source.kind == Random::bernoulli) {
#pragma unroll
    for (int k = 0; k < kChunk; ++k) v[k] = v[k] < source.keep ? 1.0f : 0.0f;
  } else if (source.kind == Random::normal) {
    box_muller(v[0], v[1], v[0], v[1]);
    box_muller(v[2], v[3], v[2], v[3]);
  }
}
__device__ inline void random_chunk(const RandomSource& source, const Mat<const int32_t>& rows, const Target& out,
                                    const StepState& state, int r, int block) {
  float v[kChunk];
  random_numbers(source, rows, state, r, block, v);
  store_chunk(out, r, block * kChunk, min(kChunk, out.cols - block * kChunk), v);
}

struct RandomStep {
  RandomSource source;
  Mat<const int32_t> rows;
  Target out;
};
template <>
struct Fused<Random> {
  using Step = RandomStep;
  static Step pack(const Call& call, Packing&) {
    const auto& op = *static_cast<const Random*>(call.op);
    return {random_source(op), Mat<const int32_t>(call.in[0]), target(call.out[0])};
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_chunk(x.out.cols, [&](int r, int c) { random_chunk(x.source, x.rows, x.out, p.state, r, c / kChunk); });
  }
};

}  // namespace tessera::gpu
