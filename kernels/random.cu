// random: uniform (0, 1), normal (Box–Muller), bernoulli (0 or 1). Element (r, c) comes from philox(c / 4, row, step, purpose), word c mod 4.
//   out [rows, cols]; rows [rows, 3] int32 or absent: with it the counter is (c / 4, id low, id high, purpose | try), the row's own numbers in any batch
//   4 bytes written an element, ~25 integer operations, for normals half a logarithm, root and sine more: compute-bound beyond L2's bandwidth
//   a thread makes the four numbers of one counter · no synchronisation; a number depends on its counter alone
#include "kernels/gpu_map.cuh"
#include "kernels/gpu_random.cuh"

namespace tessera::gpu {
namespace {

// Two normals from two uniforms; the angle is half turns, exact until the sine is taken.
__device__ void box_muller(float u, float v, float& x, float& y) {
  const float radius = sqrtf(-2.0f * logf(u));
  float sine, cosine;
  sincospif(2.0f * v, &sine, &cosine);
  x = radius * cosine;
  y = radius * sine;
}

__global__ void __launch_bounds__(256) random_kernel(Mat<const int32_t> rows, Target out, const StepState* state, Random::Kind kind, int purpose, float keep, int chunks) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (item >= static_cast<int64_t>(out.rows) * chunks) return;
  const int r = static_cast<int>(item / chunks), block = static_cast<int>(item % chunks);
  const Philox words = draw(*state, static_cast<uint32_t>(block), row_key(*state, rows, r, purpose));
  float v[kChunk];
#pragma unroll
  for (int k = 0; k < kChunk; ++k) v[k] = open_uniform(words.word[k]);
  if (kind == Random::bernoulli) {
#pragma unroll
    for (int k = 0; k < kChunk; ++k) v[k] = v[k] < keep ? 1.0f : 0.0f;
  } else if (kind == Random::normal) {
    box_muller(v[0], v[1], v[0], v[1]);
    box_muller(v[2], v[3], v[2], v[3]);
  }
  store_chunk(out, r, block * kChunk, min(kChunk, out.cols - block * kChunk), v);
}

void random_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const Random*>(call.op);
  const View& out = call.out[0];
  const int chunks = static_cast<int>(blocks_for(out.cols, kChunk));
  launch({dim3(grid_of(out.rows * chunks, 256)), dim3(256), 0, gpu_context(scratch).stream}, "random", random_kernel, Mat<const int32_t>(call.in[0]),
         Target{static_cast<float*>(out.data), out.ld, static_cast<int>(out.rows), static_cast<int>(out.cols), aligned16(out)}, call.state, op.kind, op.purpose,
         static_cast<float>(op.keep), chunks);
}

}  // namespace

void add_random(KernelTable& t) {
  t.random = {one_if_any, random_run, nullptr};
}

}  // namespace tessera::gpu
