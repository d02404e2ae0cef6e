// random: uniform (0, 1), normal (Box–Muller), bernoulli (0 or 1). Element (r, c) comes from philox(c / 4, row, step,
// purpose), word c mod 4.
//   out [rows, cols]; rows [rows, 3] int32 or absent: with it the counter is (c / 4, id low, id high, purpose | try),
//   so the row's numbers do not depend on its batch · 4 bytes written per element, ~25 integer operations, for normals
//   half a logarithm, root and sine more: compute-bound beyond L2's bandwidth · a thread computes the four numbers of
//   one counter · no synchronisation; a number depends only on its counter
#include "kernels/gpu/bodies/random.cuh"

namespace tessera::gpu {
namespace {

__global__ void __launch_bounds__(kThreads)
    random_kernel(RandomSource source, Mat<const int32_t> rows, Target out, const StepState* state, int chunks) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item < static_cast<int64_t>(out.rows) * chunks)
    random_chunk(source, rows, out, *state, static_cast<int>(item / chunks), static_cast<int>(item % chunks));
}

void random_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const Random*>(call.op);
  const View& out = call.out[0];
  const int chunks = static_cast<int>(blocks_for(out.cols, kChunk));
  launch({dim3(grid_of(out.rows * chunks, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream}, "random",
         random_kernel, random_source(op), Mat<const int32_t>(call.in[0]), target(out), call.state, chunks);
}

// add_noise: x + scale·(z + z′), normal numbers of two purposes.   x, out [rows, cols] · 8 bytes an element, two
// counters for four elements: compute-bound, as random · a thread computes four elements · no synchronisation
__global__ void __launch_bounds__(kThreads)
    add_noise_kernel(RandomSource first, RandomSource second, float scale, Operand x, Target out,
                     const StepState* state, int chunks) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item >= static_cast<int64_t>(out.rows) * chunks) return;
  const int r = static_cast<int>(item / chunks), block = static_cast<int>(item % chunks), c = block * kChunk,
            width = min(kChunk, out.cols - c);
  float sum[kChunk], one[kChunk], two[kChunk];
  load_chunk(x, r, c, width, sum);
  random_numbers(first, Mat<const int32_t>{View{}}, *state, r, block, one);
  random_numbers(second, Mat<const int32_t>{View{}}, *state, r, block, two);
#pragma unroll
  for (int k = 0; k < kChunk; ++k) sum[k] += scale * (one[k] + two[k]);
  store_chunk(out, r, c, width, sum);
}

void add_noise_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const AddNoise*>(call.op);
  const View& out = call.out[0];
  const int chunks = static_cast<int>(blocks_for(out.cols, kChunk));
  const RandomSource first{Random::normal, op.purpose, 0, 0, 0}, second{Random::normal, op.purpose + 1, 0, 0, 0};
  launch({dim3(grid_of(out.rows * chunks, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream}, "add_noise",
         add_noise_kernel, first, second, static_cast<float>(op.scale), operand(call.in[0], out), target(out),
         call.state, chunks);
}

}  // namespace

Kernel add_noise_entry() { return {one_if_any, add_noise_run, nullptr}; }
Kernel random_entry() { return {one_if_any, random_run, nullptr}; }

}  // namespace tessera::gpu
