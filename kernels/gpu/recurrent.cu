// recurrent, recurrent_grad, recurrent_input_grad, recurrent_wgrad, one launch per pass over time
// (gpu/bodies/recurrent.cuh): a block owns a tile of 16 sequences through all steps, with its state and the current
// step in shared memory ([unit][16 lanes]: a warp reads two weights, each broadcast to 16 lanes, without bank
// conflicts); if they do not fit (in + 7·H > ~1,500), they are in the workspace.
//   2·B·steps·(in + H)·gates·H FLOP; latency-bound for few tiles · weights come from the L1 and L2 caches
//   recurrent_input_grad has a block for each tile and step, recurrent_wgrad one for 256 weights of a tile
#include "kernels/gpu/bodies/recurrent.cuh"

namespace tessera::gpu {
namespace {

constexpr int64_t kMostShared = 96 * 1024;  // bytes: allows two blocks per multiprocessor, and fits smaller GPUs

__device__ inline Rows tile_rows(int tile) { return {tile * kTile, kTile, kTile, 0}; }

// `workspace`: nullptr if shared memory holds a block's floats.
__global__ void __launch_bounds__(kThreads, 2) recurrent_kernel(RecurrentLayer s, float* workspace, int64_t floats) {
  TESS_DYN_SHARED(float, room);
  const int tile = static_cast<int>(blockIdx.x);
  recurrent_forwards<kTile>(s, tile_rows(tile), workspace == nullptr ? room : workspace + tile * floats);
}

__global__ void __launch_bounds__(kThreads, 2)
    recurrent_grad_kernel(RecurrentBack s, float* workspace, int64_t floats) {
  TESS_DYN_SHARED(float, room);
  const int tile = static_cast<int>(blockIdx.x);
  recurrent_backwards<kTile>(s, tile_rows(tile), workspace == nullptr ? room : workspace + tile * floats);
}

__global__ void __launch_bounds__(kThreads) recurrent_input_grad_kernel(RecurrentInput s) {
  const int tile = static_cast<int>(blockIdx.x), t = static_cast<int>(blockIdx.y);
  for (int i = static_cast<int>(threadIdx.x); i < s.w_x.rows * kTile; i += kThreads)
    if (const int b = tile * kTile + i % kTile; b < s.d_x.rows) recurrent_input_element(s, b, t, i / kTile);
}

__global__ void __launch_bounds__(kThreads) recurrent_wgrad_kernel(RecurrentWeights s) {
  const int at = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (at < s.out.cols) recurrent_weight(s, static_cast<int>(blockIdx.y), at);
}

bool is_shared(int64_t floats) { return floats * 4 <= kMostShared; }
int64_t workspace_of(int64_t floats, int64_t tiles) { return is_shared(floats) ? 0 : floats * 4 * tiles; }

template <class Kernel, class Pass>
void launch_tiles(const char* name, Kernel kernel, const Pass& pass, int64_t floats, int64_t sequences, void* scratch) {
  const bool shared = is_shared(floats);
  launch({dim3(static_cast<unsigned>(sequence_tiles(sequences))), dim3(kThreads),
          shared ? static_cast<size_t>(floats * 4) : 0, gpu_context(scratch).stream},
         name, kernel, pass, shared ? nullptr : static_cast<float*>(gpu_context(scratch).workspace), floats);
}

int64_t floats_of(const Call& call) { return kTile * recurrent_floats(call.in[4].rows, call.in[5].rows); }
int64_t recurrent_scratch(const Call& call) { return workspace_of(floats_of(call), sequence_tiles(call.out[0].rows)); }
void recurrent_run(const Call& call, int64_t, void* scratch) {
  launch_tiles("recurrent", recurrent_kernel, recurrent_layer(call), floats_of(call), call.out[0].rows, scratch);
}

int64_t grad_tiles(const Call& call) { return empty(call.out[1]) ? 0 : 1; }
int64_t grad_floats(const Call& call) { return kTile * recurrent_grad_floats(call.in[2].rows); }
int64_t grad_scratch(const Call& call) { return workspace_of(grad_floats(call), sequence_tiles(call.out[1].rows)); }
void grad_run(const Call& call, int64_t, void* scratch) {
  launch_tiles("recurrent_grad", recurrent_grad_kernel, recurrent_back(call), grad_floats(call), call.out[1].rows,
               scratch);
}

void input_run(const Call& call, int64_t, void* scratch) {
  const RecurrentInput input = recurrent_input(call);
  launch({dim3(static_cast<unsigned>(sequence_tiles(call.out[0].rows)), static_cast<unsigned>(input.steps)),
          dim3(kThreads), 0, gpu_context(scratch).stream},
         "recurrent_input_grad", recurrent_input_grad_kernel, input);
}

void wgrad_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].cols, kThreads), static_cast<unsigned>(call.out[0].rows)), dim3(kThreads), 0,
          gpu_context(scratch).stream},
         "recurrent_wgrad", recurrent_wgrad_kernel, recurrent_weights(call));
}

}  // namespace

Kernel recurrent_entry() { return {one_if_any, recurrent_run, recurrent_scratch}; }
Kernel recurrent_grad_entry() { return {grad_tiles, grad_run, grad_scratch}; }
Kernel recurrent_input_grad_entry() { return {one_if_any, input_run, nullptr}; }
Kernel recurrent_wgrad_entry() { return {one_if_any, wgrad_run, nullptr}; }

}  // namespace tessera::gpu
