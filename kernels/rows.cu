// draw_conditions, gather_rows, gather_sequences, mixture_draw (gpu_sampling.cuh).
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

__global__ void __launch_bounds__(kThreads) mixture_draw_kernel(Mixture m) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item < static_cast<int64_t>(m.out.rows) * m.out.cols) mixture_element(m, static_cast<int>(item / m.out.cols), static_cast<int>(item % m.out.cols));
}

void mixture_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].rows * call.out[0].cols, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream}, "mixture_draw", mixture_draw_kernel, mixture(call));
}

__global__ void __launch_bounds__(kThreads) gather_sequences_kernel(SequenceRows s) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item < static_cast<int64_t>(s.x.rows) * s.x.cols) gather_sequence_element(s, static_cast<int>(item / s.x.cols), static_cast<int>(item % s.x.cols));
}

void sequences_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].rows * call.out[0].cols, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream}, "gather_sequences", gather_sequences_kernel, sequence_rows(call));
}

}  // namespace

void add_rows(KernelTable& t) {
  t.draw_conditions = {one_if_any, draw_run, nullptr};
  t.gather_rows = {one_if_any, gather_run, nullptr};
  t.gather_sequences = {one_if_any, sequences_run, nullptr};
  t.mixture_draw = {one_if_any, mixture_run, nullptr};
}

}  // namespace tessera::gpu
