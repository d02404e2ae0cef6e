// recurrent, recurrent_grad, recurrent_input_grad, recurrent_wgrad, one launch per pass over time
// (gpu/bodies/recurrent.cuh, recurrent_grad.cuh): a block owns one sequence, or four in a large batch, through all
// steps, with its state and the current steps in shared memory; if they do not fit (in + 8·H or 13·H > 24,576), they
// are in the workspace.
//   2·B·steps·(in + H)·gates·H FLOP; latency-bound, as a step needs the last one · weights of at most 32 units
//   are in registers (recurrent_wave.cuh), others come from the L1 and L2 caches: 4·gates·H² bytes per step and block
//   recurrent_input_grad has a block for each tile of sequences and step, recurrent_wgrad one for 16 rows of a
//   weight and up to 128 columns of a tile
#include "kernels/gpu/bodies/recurrent_wave.cuh"

namespace tessera::gpu {
namespace {

constexpr int64_t kMaxShared = 96 * 1024;  // bytes: allows two blocks per multiprocessor, and fits smaller GPUs
// bytes up to which the inputs' part is computed for more steps at a time: the rest serves as L1 cache for the weights
constexpr int64_t kInputShared = 40 * 1024;

// in_shared: a block's floats fit in shared memory; otherwise they lie in the workspace.
template <bool in_shared>
__device__ inline float* room_of(float* shared, float* workspace, int block, int64_t floats) {
  return in_shared ? shared : workspace + block * floats;
}
__device__ inline Rows lanes_of_block(int lanes) { return {static_cast<int>(blockIdx.x) * lanes, lanes, lanes, 0}; }

template <bool in_shared>
__global__ void __launch_bounds__(kThreads, 2) recurrent_kernel(const __grid_constant__ Constants<RecurrentLayer> layer,
                                                                int lanes, float* workspace, int64_t floats) {
  TESS_DYN_SHARED(float, shared);
  run_layers<in_shared>(&*layer, 1, lanes_of_block(lanes),
                        room_of<in_shared>(shared, workspace, static_cast<int>(blockIdx.x), floats),
                        static_cast<int>(floats));
}

template <bool in_shared>
__global__ void __launch_bounds__(kThreads, 2)
    recurrent_grad_kernel(const __grid_constant__ Constants<RecurrentBackPair> back, int lanes, float* workspace,
                          int64_t floats) {
  TESS_DYN_SHARED(float, shared);
  run_layers_back<in_shared>(&*back, 1, false, lanes_of_block(lanes),
                             room_of<in_shared>(shared, workspace, static_cast<int>(blockIdx.x), floats),
                             static_cast<int>(floats));
}

template <bool in_shared>
__global__ void __launch_bounds__(kThreads, 2)
    recurrent_input_grad_kernel(RecurrentInput s, float* workspace, int64_t floats) {
  TESS_DYN_SHARED(float, shared);
  const int block = static_cast<int>(blockIdx.x), tile = block / s.steps, t = block % s.steps;
  const auto cell = [&](int i) { return SequenceStep{tile * kTile + i < s.d_x.rows ? tile * kTile + i : -1, t}; };
  input_gradients(s, kTile, cell, room_of<in_shared>(shared, workspace, block, floats));
}

__global__ void __launch_bounds__(kThreads) recurrent_wgrad_kernel(RecurrentWeights s) {
  TESS_SHARED(shared, float[kSharedFloats]);
  recurrent_weights_of(s, static_cast<int>(blockIdx.x), shared);
}

bool is_shared(int64_t floats) { return floats * 4 <= kMaxShared; }

// Blocks that have `floats` each.
struct Blocks {
  int64_t count, floats, lanes;
  size_t shared() const { return is_shared(floats) ? static_cast<size_t>(floats * 4) : 0; }
  int64_t workspace() const { return is_shared(floats) ? 0 : floats * 4 * count; }
  float* workspace(void* scratch) const {
    return is_shared(floats) ? nullptr : static_cast<float*>(gpu_context(scratch).workspace);
  }
  // Launches the kernel for where the floats are.
  template <class Kernel, class... Arguments>
  void launch(void* scratch, const char* name, Kernel in_shared, Kernel in_workspace, const Arguments&... more) const {
    tessera::launch({dim3(static_cast<unsigned>(count)), dim3(kThreads), shared(), gpu_context(scratch).stream}, name,
                    is_shared(floats) ? in_shared : in_workspace, more...);
  }
};
// For whole tiles of sequences. One lane per block while each block can have its own multiprocessor; otherwise four
// lanes share weights.
constexpr int64_t kMaxSingle = 128;
Blocks blocks_of(int64_t sequences, int64_t floats) {
  const int64_t lanes = sequences > kMaxSingle && is_shared(4 * floats) ? 4 : 1;
  return {sequence_tiles(sequences) * kSequenceTile / lanes, lanes * floats, lanes};
}

Blocks forward_blocks(const Call& call) {
  const int64_t in = call.in[4].rows, hidden = call.in[5].rows, steps = static_cast<const Recurrent*>(call.op)->steps;
  Blocks blocks = blocks_of(call.out[0].rows, recurrent_floats(in, hidden));
  if (in_a_wave(static_cast<const Recurrent*>(call.op)->cell, static_cast<int>(in), static_cast<int>(hidden),
                kSharedFloats)) {
    blocks.floats = kSharedFloats;
    return blocks;
  }
  const int64_t step = blocks.lanes * (recurrent_padded(in) + call.in[5].cols),
                more = (kInputShared / 4 - blocks.floats) / step, most = recurrent_padded(steps) - 1;
  if (more > 0) blocks.floats += (more < most ? more : most) * step;
  return blocks;
}
int64_t recurrent_scratch(const Call& call) { return forward_blocks(call).workspace(); }
void recurrent_run(const Call& call, int64_t, void* scratch) {
  const Blocks blocks = forward_blocks(call);
  blocks.launch(scratch, "recurrent", recurrent_kernel<true>, recurrent_kernel<false>,
                Constants<RecurrentLayer>{recurrent_layer(call)}, blocks.lanes, blocks.workspace(scratch),
                blocks.floats);
}

Blocks grad_blocks(const Call& call) {
  Blocks blocks = blocks_of(call.out[1].rows, recurrent_grad_floats(call.in[2].rows));
  if (call.in[2].rows <= kWaveUnits) blocks.floats = kWaveBackFloats;
  return blocks;
}
int64_t grad_tiles(const Call& call) { return empty(call.out[1]) ? 0 : 1; }
int64_t grad_scratch(const Call& call) { return grad_blocks(call).workspace(); }
void grad_run(const Call& call, int64_t, void* scratch) {
  const Blocks blocks = grad_blocks(call);
  const Mat<float> none(View{});
  const RecurrentInput nothing{none, Mat<const float>(View{}), none, Precision::fp32, 0, 0, 0};
  blocks.launch(scratch, "recurrent_grad", recurrent_grad_kernel<true>, recurrent_grad_kernel<false>,
                Constants<RecurrentBackPair>{{recurrent_back(call), nothing}}, blocks.lanes, blocks.workspace(scratch),
                blocks.floats);
}

Blocks input_blocks(const Call& call) {
  const int64_t steps = static_cast<const RecurrentInputGrad*>(call.op)->steps;
  return {sequence_tiles(call.out[0].rows) * steps, recurrent_input_floats(call.in[1].cols, kTile), 0};
}
int64_t input_scratch(const Call& call) { return input_blocks(call).workspace(); }
void input_run(const Call& call, int64_t, void* scratch) {
  const Blocks blocks = input_blocks(call);
  blocks.launch(scratch, "recurrent_input_grad", recurrent_input_grad_kernel<true>, recurrent_input_grad_kernel<false>,
                recurrent_input(call), blocks.workspace(scratch), blocks.floats);
}

void wgrad_run(const Call& call, int64_t, void* scratch) {
  const RecurrentWeights weights = recurrent_weights(call);
  launch({dim3(static_cast<unsigned>(weight_blocks(weights))), dim3(kThreads), 0, gpu_context(scratch).stream},
         "recurrent_wgrad", recurrent_wgrad_kernel, weights);
}

}  // namespace

Kernel recurrent_entry() { return {one_if_any, recurrent_run, recurrent_scratch}; }
Kernel recurrent_grad_entry() { return {grad_tiles, grad_run, grad_scratch}; }
Kernel recurrent_input_grad_entry() { return {one_if_any, input_run, input_scratch}; }
Kernel recurrent_wgrad_entry() { return {one_if_any, wgrad_run, nullptr}; }

}  // namespace tessera::gpu
