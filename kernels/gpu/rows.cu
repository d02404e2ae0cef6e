// draw_conditions, gather_rows, gather_sequences, mixture_draw (gpu/bodies/sampling.cuh), compact_rows.
#include "kernels/gpu/bodies/sampling.cuh"

namespace tessera::gpu {
namespace {

__global__ void __launch_bounds__(128)
    draw_conditions_kernel(ConditionTables in, Mat<int32_t> condition, Mat<int32_t> row, const StepState* state,
                           DrawConditions op) {
  const int i = static_cast<int>(blockIdx.x * 128 + threadIdx.x);
  if (i < condition.rows) draw_condition(in, condition, row, *state, op, i);
}

void draw_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].rows, 128)), dim3(128), 0, gpu_context(scratch).stream}, "draw_conditions",
         draw_conditions_kernel, condition_tables(call.in), Mat<int32_t>(call.out[0]), Mat<int32_t>(call.out[1]),
         call.state, *static_cast<const DrawConditions*>(call.op));
}

__global__ void __launch_bounds__(kThreads)
    gather_rows_kernel(SpanTable spans, Mat<const int32_t> codes, Mat<const float> alphas, Mat<const int32_t> row,
                       Mat<int32_t> index, Mat<float> value) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item >= static_cast<int64_t>(index.rows) * spans.count) return;
  const int i = static_cast<int>(item / spans.count);
  gather_entry(spans, codes, alphas, row.row(i)[0], index, value, i, static_cast<int>(item % spans.count));
}

void gather_run(const Call& call, int64_t, void* scratch) {
  const SpanTable& spans = *static_cast<const GatherRows*>(call.op)->spans;
  const View* in = call.in;
  launch({dim3(grid_of(call.out[0].rows * spans.count, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream},
         "gather_rows", gather_rows_kernel, spans, Mat<const int32_t>(in[0]), Mat<const float>(in[1]),
         Mat<const int32_t>(in[2]), Mat<int32_t>(call.out[0]), Mat<float>(call.out[1]));
}

__global__ void __launch_bounds__(kThreads) mixture_draw_kernel(Mixture m) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item < static_cast<int64_t>(m.out.rows) * m.out.cols)
    mixture_element(m, static_cast<int>(item / m.out.cols), static_cast<int>(item % m.out.cols));
}

void mixture_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].rows * call.out[0].cols, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream},
         "mixture_draw", mixture_draw_kernel, mixture(call));
}

__global__ void __launch_bounds__(kThreads) gather_sequences_kernel(SequenceRows s) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item < static_cast<int64_t>(s.x.rows) * s.x.cols)
    gather_sequence_element(s, static_cast<int>(item / s.x.cols), static_cast<int>(item % s.x.cols));
}

void sequences_run(const Call& call, int64_t, void* scratch) {
  launch({dim3(grid_of(call.out[0].rows * call.out[0].cols, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream},
         "gather_sequences", gather_sequences_kernel, sequence_rows(call));
}

// compact_rows: the rows with keep > 0 in order.   keep [B, 1], codes [B, C], alphas [B, A] · count [1, 1], row [B, 1],
// codes [B, C], alphas [B, A]
//   first one block of 32 warps scans `keep`, 1,024 rows at a time: one ballot per warp, then a prefix sum over warps
//   (two block barriers per round); unused output rows are marked −1. Then one thread per output element: 8·B·(C + A)
//   bytes, bandwidth-bound, latency-bound below 10⁵ rows · the order comes from ballots and sums: no atomics, the same
//   bits for any schedule
constexpr int kWarps = 32;
__global__ void __launch_bounds__(32 * kWarps)
    number_kept_kernel(Mat<const float> keep, Mat<int32_t> count, Mat<int32_t> row) {
  TESS_SHARED(of_warp, int[kWarps]);
  const int lane = lane_id(), warp = static_cast<int>(threadIdx.x) / 32;
  int before = 0;  // kept rows of previous rounds
  for (int first = 0; first < keep.rows; first += 32 * kWarps) {
    const int i = first + static_cast<int>(threadIdx.x);
    const bool kept = i < keep.rows && keep.row(i)[0] > 0;
    const unsigned ballot = __ballot_sync(kWholeWarp, kept);
    if (lane == 0) of_warp[warp] = __popc(ballot);
    __syncthreads();
    const int in_warp = of_warp[lane], all = warp_sum(in_warp), earlier = warp_sum(lane < warp ? in_warp : 0);
    if (kept) row.row(before + earlier + __popc(ballot & ((1u << lane) - 1)))[0] = i;
    before += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) count.row(0)[0] = before;
  for (int i = before + static_cast<int>(threadIdx.x); i < row.rows; i += 32 * kWarps) row.row(i)[0] = -1;
}

template <class T>
__device__ inline void compact_element(const Mat<const T>& from, const Mat<T>& to, int source, int i, int c) {
  to.row(i)[c] = source < 0 ? T(0) : from.row(source)[c];
}
__global__ void __launch_bounds__(kThreads)
    compact_rows_kernel(Mat<const int32_t> row, Mat<const int32_t> codes, Mat<const float> alphas,
                        Mat<int32_t> kept_codes, Mat<float> kept_alphas) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int width = codes.cols + alphas.cols, i = static_cast<int>(item / width), c = static_cast<int>(item % width);
  if (i >= row.rows) return;
  const int source = row.row(i)[0];
  if (c < codes.cols) compact_element(codes, kept_codes, source, i, c);
  else compact_element(alphas, kept_alphas, source, i, c - codes.cols);
}

void compact_run(const Call& call, int64_t, void* scratch) {
  const View *in = call.in, *out = call.out;
  const cudaStream_t stream = gpu_context(scratch).stream;
  launch({dim3(1), dim3(32 * kWarps), 0, stream}, "number_kept", number_kept_kernel, Mat<const float>(in[0]),
         Mat<int32_t>(out[0]), Mat<int32_t>(out[1]));
  const int64_t width = in[1].cols + in[2].cols;
  if (width == 0) return;
  launch({dim3(grid_of(in[0].rows * width, kThreads)), dim3(kThreads), 0, stream}, "compact_rows", compact_rows_kernel,
         Mat<const int32_t>(out[1]), Mat<const int32_t>(in[1]), Mat<const float>(in[2]), Mat<int32_t>(out[2]),
         Mat<float>(out[3]));
}

}  // namespace

Kernel draw_conditions_entry() { return {one_if_any, draw_run, nullptr}; }
Kernel gather_rows_entry() { return {one_if_any, gather_run, nullptr}; }
Kernel gather_sequences_entry() { return {one_if_any, sequences_run, nullptr}; }
Kernel compact_rows_entry() { return {one, compact_run, nullptr}; }
Kernel mixture_draw_entry() { return {one_if_any, mixture_run, nullptr}; }

}  // namespace tessera::gpu
