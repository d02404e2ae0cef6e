// adam, count_above, average, clamp_range, report (gpu/bodies/optimizer.cuh).
#include "kernels/gpu/bodies/optimizer.cuh"

namespace tessera::gpu {
namespace {

__global__ void __launch_bounds__(kThreads) adam_kernel(AdamState s, Adam op, const StepState* state, AdamGate gate) {
  TESS_SHARED(rates, Rates);
  if (shut(gate, op)) return;
  if (threadIdx.x == 0) set_rates(rates, op, state->step, gate);
  __syncthreads();
  const int c = static_cast<int>(blockIdx.x * kThreads + threadIdx.x) * kChunk;
  if (c < s.param.cols) adam_chunk(s, op, rates, unscale_of(gate), static_cast<int>(blockIdx.y), c, s.param.cols);
}
void adam_run(const Call& call, int64_t, void* scratch) {
  const AdamState s = flat_adam_state(call);
  launch({dim3(grid_of(s.param.cols, kThreads * kChunk), static_cast<unsigned>(s.param.rows)), dim3(kThreads), 0,
          gpu_context(scratch).stream},
         "adam", adam_kernel, s, *static_cast<const Adam*>(call.op), static_cast<const StepState*>(call.state),
         adam_gate(call));
}

__global__ void count_above_kernel(CountStep x) { count_above(x); }
void count_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(1), dim3(1), 0, gpu_context(scratch).stream}, "count_above", count_above_kernel, count_step(call));
}

void average_run(const Call& call, int64_t, void* scratch) {
  map<Mix, 2>(scratch, "average", {call.state, static_cast<const Average*>(call.op)->decay},
              {&call.out[0], &call.in[1]}, call.out[0]);
}

__global__ void __launch_bounds__(kThreads) clamp_range_kernel(ClampedRange s) {
  clamp_element(s, s.start + static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x);
}
void clamp_run(const Call& call, int64_t, void* scratch) {
  const ClampedRange s = clamped_range(call);
  launch({dim3(grid_of(s.count, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream}, "clamp_range",
         clamp_range_kernel, s);
}

__global__ void report_kernel(Mat<float> ring, Scalars scalars, int first, int count, StepState* state, int64_t slots) {
  report(ring, scalars, first, count, state->step, state, slots);
}
void report_run(const Call& call, int64_t, void* scratch) {
  const int all = call.inputs - 1;
  for (int first = 0; first < all; first += kScalars) {
    Scalars scalars{};
    const int count = all - first < kScalars ? all - first : kScalars;
    for (int k = 0; k < count; ++k) scalars.x[k] = static_cast<const float*>(call.in[1 + first + k].data);
    launch({dim3(1), dim3(1), 0, gpu_context(scratch).stream}, "report", report_kernel, Mat<float>(call.out[0]),
           scalars, first, count, call.state, static_cast<const Report*>(call.op)->slots);
  }
}

}  // namespace

Kernel adam_entry() { return {one_if_any, adam_run, nullptr}; }
Kernel count_above_entry() { return {one, count_run, nullptr}; }
Kernel average_entry() { return {one_if_any, average_run, nullptr}; }
Kernel clamp_range_entry() { return {one_if_any, clamp_run, nullptr}; }
Kernel report_entry() { return {one_if_any, report_run, nullptr}; }

}  // namespace tessera::gpu
