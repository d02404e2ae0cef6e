// draw_conditions, gather_rows, mixture_draw (gpu_sampling.cuh), gather_sequences.
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

// gather_sequences: a thread an element of x.   4·B·steps·(F + 1) bytes written, as many read: bandwidth-bound
struct SequenceRows {
  Mat<const float> features;
  Mat<const int32_t> first, lengths, sequence;
  Mat<float> x, length, valid;
  int steps;
};
__global__ void __launch_bounds__(kThreads) gather_sequences_kernel(SequenceRows s) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item >= static_cast<int64_t>(s.x.rows) * s.x.cols) return;
  const int b = static_cast<int>(item / s.x.cols), c = static_cast<int>(item % s.x.cols), t = c / s.features.cols, k = c % s.features.cols;
  const int i = s.sequence.row(b)[0], n = min(s.lengths.row(i)[0], s.steps);
  s.x.row(b)[c] = t < n ? s.features.row(s.first.row(i)[0] + t)[k] : 0.0f;
  if (k == 0) s.valid.row(b)[t] = t < n ? 1.0f : 0.0f;
  if (c == 0) s.length.row(b)[0] = static_cast<float>(n);
}

void sequences_run(const Call& call, int64_t, void* scratch) {
  const View *in = call.in, *out = call.out;
  const SequenceRows s{Mat<const float>(in[0]), Mat<const int32_t>(in[1]), Mat<const int32_t>(in[2]), Mat<const int32_t>(in[3]), Mat<float>(out[0]), Mat<float>(out[1]), Mat<float>(out[2]),
                       static_cast<int>(static_cast<const GatherSequences*>(call.op)->steps)};
  launch({dim3(grid_of(out[0].rows * out[0].cols, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream}, "gather_sequences", gather_sequences_kernel, s);
}

}  // namespace

void add_rows(KernelTable& t) {
  t.draw_conditions = {one_if_any, draw_run, nullptr};
  t.gather_rows = {one_if_any, gather_run, nullptr};
  t.gather_sequences = {one_if_any, sequences_run, nullptr};
  t.mixture_draw = {one_if_any, mixture_run, nullptr};
}

}  // namespace tessera::gpu
