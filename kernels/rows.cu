// draw_conditions, gather_rows (gpu_sampling.cuh), mixture_draw.
#include "kernels/gpu_sampling.cuh"

namespace tessera::gpu {
namespace {

__global__ void __launch_bounds__(128) draw_conditions_kernel(ConditionTables in, Mat<int32_t> condition, Mat<int32_t> row, const StepState* state, DrawConditions op) {
  const int i = static_cast<int>(blockIdx.x * 128 + threadIdx.x);
  if (i < condition.rows) draw_condition(in, condition, row, *state, op, i);
}

void draw_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].rows, 128)), dim3(128), 0, gpu_context(scratch).stream}, "draw_conditions", draw_conditions_kernel, condition_tables(call.in),
         Mat<int32_t>(call.out[0]), Mat<int32_t>(call.out[1]), call.state, *static_cast<const DrawConditions*>(call.op));
}

__global__ void __launch_bounds__(kThreads)
    gather_rows_kernel(SpanTable spans, Mat<const int32_t> codes, Mat<const float> alphas, Mat<const int32_t> row, Mat<int32_t> index, Mat<float> value) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item >= static_cast<int64_t>(index.rows) * spans.count) return;
  const int i = static_cast<int>(item / spans.count);
  gather_entry(spans, codes, alphas, row.row(i)[0], index, value, i, static_cast<int>(item % spans.count));
}

void gather_run(const Call& call, int64_t, void* scratch) {
  const SpanTable& spans = *static_cast<const GatherRows*>(call.op)->spans;
  const View* in = call.in;
  launch({dim3(grid_of(call.out[0].rows * spans.count, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream}, "gather_rows", gather_rows_kernel, spans, Mat<const int32_t>(in[0]),
         Mat<const float>(in[1]), Mat<const int32_t>(in[2]), Mat<int32_t>(call.out[0]), Mat<float>(call.out[1]));
}

// mixture_draw: out[i, a] = mean[k, a] + Σ_b F_k[a, b]·noise[i, b], k the row's component.   noise, out [rows, d], mean [K, d], factor [K·d, d]
//   a thread an element, sums in the order of b; 2·rows·d² FLOP, the factors come from cache: latency-bound at the sizes of a latent space · no synchronisation
__global__ void __launch_bounds__(256) mixture_draw_kernel(Mat<const float> noise, Mat<const int32_t> component, Mat<const float> mean, Mat<const float> factor, Mat<float> out) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (item >= static_cast<int64_t>(out.rows) * out.cols) return;
  const int i = static_cast<int>(item / out.cols), a = static_cast<int>(item % out.cols), k = component.row(i)[0];
  const float* f = factor.row(k * out.cols + a);
  const float* e = noise.row(i);
  float sum = mean.row(k)[a];
  for (int b = 0; b < out.cols; ++b) sum += f[b] * e[b];
  out.row(i)[a] = sum;
}

void mixture_run(const Call& call, int64_t, void* scratch) {
  const View* in = call.in;
  launch({dim3(grid_of(call.out[0].rows * call.out[0].cols, 256)), dim3(256), 0, gpu_context(scratch).stream}, "mixture_draw", mixture_draw_kernel, Mat<const float>(in[0]),
         Mat<const int32_t>(in[1]), Mat<const float>(in[2]), Mat<const float>(in[3]), Mat<float>(call.out[0]));
}

}  // namespace

void add_rows(KernelTable& t) {
  t.draw_conditions = {one_if_any, draw_run, nullptr};
  t.gather_rows = {one_if_any, gather_run, nullptr};
  t.mixture_draw = {one_if_any, mixture_run, nullptr};
}

}  // namespace tessera::gpu
