// batch_norm, batch_norm_grad, norm_eval, running_stats (gpu/bodies/batch_norm.cuh).
#include "kernels/gpu/bodies/batch_norm.cuh"
#include "kernels/gpu/dialect/map.cuh"

namespace tessera::gpu {
namespace {

__global__ void __launch_bounds__(kThreads) batch_norm_kernel(NormIn in, NormOut out) {
  TESS_SHARED(scratch, ColumnScratch);
  batch_norm(in, out, static_cast<int>(blockIdx.x) * kAcross, static_cast<int>(blockIdx.y), scratch);
}
void forward_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const BatchNorm*>(call.op);
  launch({dim3(grid_of(call.in[0].cols, kAcross), static_cast<unsigned>(op.groups)), dim3(kThreads), 0,
          gpu_context(scratch).stream},
         "batch_norm", batch_norm_kernel, norm_in(call, op.eps, op.relu, op.groups), norm_out(call));
}

__global__ void __launch_bounds__(kThreads) batch_norm_grad_kernel(NormIn in, NormGrad d) {
  TESS_SHARED(scratch, ColumnScratch);
  batch_norm_grad(in, d, static_cast<int>(blockIdx.x) * kAcross, scratch);
}
void backward_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const BatchNormGrad*>(call.op);
  launch({dim3(grid_of(call.in[0].cols, kAcross)), dim3(kThreads), 0, gpu_context(scratch).stream}, "batch_norm_grad",
         batch_norm_grad_kernel, norm_in(call, op.eps, op.relu, op.groups), norm_grad(call));
}

// norm_eval: y = act((x − mean)/√(var + eps)·gamma + beta), given statistics: a map.
struct Eval {
  float eps, floor;
  __device__ float operator()(float x, float gamma, float beta, float mean, float var) const {
    return at_least((x - mean) / sqrtf(var + eps) * gamma + beta, floor);
  }
};
void eval_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const NormEval*>(call.op);
  const View* in = call.in;
  map<Eval, 5>(scratch, "norm_eval", {static_cast<float>(op.eps), floor_of(op.relu)},
               {&in[0], &in[1], &in[2], &in[3], &in[4]}, call.out[0]);
}

__global__ void __launch_bounds__(128) running_kernel(Running s) {
  const int c = static_cast<int>(blockIdx.x * 128 + threadIdx.x);
  if (c < s.mean.cols) running_stats(s, c);
}
void running_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].cols, 128)), dim3(128), 0, gpu_context(scratch).stream}, "running_stats",
         running_kernel, running(call));
}

}  // namespace

Kernel batch_norm_entry() { return {one_if_any, forward_run, nullptr}; }
Kernel batch_norm_grad_entry() { return {one_if_any, backward_run, nullptr}; }
Kernel norm_eval_entry() { return {one_if_any, eval_run, nullptr}; }
Kernel running_stats_entry() { return {one_if_any, running_run, nullptr}; }

}  // namespace tessera::gpu
