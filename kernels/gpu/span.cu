// The span ops (gpu/bodies/span.cuh): one warp per (row, span), or one warp per row if only one of its spans counts.
#include "kernels/gpu/bodies/span.cuh"

namespace tessera::gpu {
namespace {

constexpr int kSpanWarps = 4;

// The row and span of this warp; false: none.
__device__ bool place(const SpanTable& spans, int rows, SpanPlace& p) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kSpanWarps + threadIdx.y;
  if (item >= static_cast<int64_t>(rows) * spans.count) return false;
  p = span_place(spans, static_cast<int>(item / spans.count), static_cast<int>(item % spans.count));
  return true;
}

template <class... P, class... A>
void launch_spans(void* scratch, const char* name, void (*kernel)(P...), int64_t rows, const SpanTable& spans,
                  const A&... arguments) {
  launch({dim3(grid_of(rows * spans.count, kSpanWarps)), dim3(32, kSpanWarps), 0, gpu_context(scratch).stream}, name,
         kernel, spans, arguments...);
}
template <class... P, class... A>
void launch_rows(void* scratch, const char* name, void (*kernel)(P...), int64_t rows, const SpanTable& spans,
                 const A&... arguments) {
  launch({dim3(grid_of(rows, kSpanWarps)), dim3(32, kSpanWarps), 0, gpu_context(scratch).stream}, name, kernel, spans,
         arguments...);
}

__global__ void __launch_bounds__(32 * kSpanWarps)
    span_activation_kernel(SpanTable spans, Mat<const float> x, Mat<const float> u, Mat<float> out, float inverse_tau,
                           float low, float high) {
  SpanPlace p;
  if (place(spans, out.rows, p)) span_activation(p, x, u, out, inverse_tau, low, high);
}

void activation_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const SpanActivation*>(call.op);
  launch_spans(scratch, "span_activation", span_activation_kernel, call.out[0].rows, *op.spans,
               Mat<const float>(call.in[0]), Mat<const float>(call.in[1]), Mat<float>(call.out[0]),
               static_cast<float>(1 / op.tau), static_cast<float>(op.u_low), static_cast<float>(op.u_high));
}

__global__ void __launch_bounds__(32 * kSpanWarps)
    span_activation_grad_kernel(SpanTable spans, Mat<const float> y, Mat<const float> d, Mat<float> out,
                                float inverse_tau) {
  SpanPlace p;
  if (place(spans, out.rows, p)) span_activation_grad(p, y, d, out, inverse_tau);
}

void activation_grad_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const SpanActivationGrad*>(call.op);
  launch_spans(scratch, "span_activation_grad", span_activation_grad_kernel, call.out[0].rows, *op.spans,
               Mat<const float>(call.in[0]), Mat<const float>(call.in[1]), Mat<float>(call.out[0]),
               static_cast<float>(1 / op.tau));
}

__global__ void __launch_bounds__(32 * kSpanWarps)
    span_cross_entropy_kernel(SpanTable spans, Mat<const float> x, Mat<const int32_t> condition, Mat<float> out) {
  const int r = static_cast<int>(blockIdx.x) * kSpanWarps + static_cast<int>(threadIdx.y);
  if (r < out.rows) span_cross_entropy(spans, x, condition, out, r);
}

void cross_entropy_run(const Call& call, int64_t, void* scratch) {
  launch_rows(scratch, "span_cross_entropy", span_cross_entropy_kernel, call.out[0].rows,
              *static_cast<const SpanCrossEntropy*>(call.op)->spans, Mat<const float>(call.in[0]),
              Mat<const int32_t>(call.in[1]), Mat<float>(call.out[0]));
}

__global__ void __launch_bounds__(32 * kSpanWarps)
    span_cross_entropy_grad_kernel(SpanTable spans, Mat<const float> x, Mat<const int32_t> condition,
                                   Mat<const float> d, Mat<float> out) {
  const int r = static_cast<int>(blockIdx.x) * kSpanWarps + static_cast<int>(threadIdx.y);
  if (r < out.rows) span_cross_entropy_grad(spans, x, condition, d, out, r);
}

void cross_entropy_grad_run(const Call& call, int64_t, void* scratch) {
  launch_rows(scratch, "span_cross_entropy_grad", span_cross_entropy_grad_kernel, call.out[0].rows,
              *static_cast<const SpanCrossEntropyGrad*>(call.op)->spans, Mat<const float>(call.in[0]),
              Mat<const int32_t>(call.in[1]), Mat<const float>(call.in[2]), Mat<float>(call.out[0]));
}

__global__ void __launch_bounds__(32 * kSpanWarps)
    span_reduce_kernel(SpanTable spans, Mat<const float> x, Mat<const float> y, Mat<float> out, bool max) {
  SpanPlace p;
  if (place(spans, out.rows, p)) span_reduce(p, x, y, out, max);
}

void reduce_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const SpanReduce*>(call.op);
  launch_spans(scratch, "span_reduce", span_reduce_kernel, call.out[0].rows, *op.spans, Mat<const float>(call.in[0]),
               Mat<const float>(call.inputs > 1 ? call.in[1] : View{}), Mat<float>(call.out[0]), op.max);
}

__global__ void __launch_bounds__(32 * kSpanWarps)
    span_spread_kernel(SpanTable spans, Mat<const float> x, Mat<float> out) {
  SpanPlace p;
  if (place(spans, out.rows, p)) span_spread(p, x, out);
}

void spread_run(const Call& call, int64_t, void* scratch) {
  launch_spans(scratch, "span_spread", span_spread_kernel, call.out[0].rows,
               *static_cast<const SpanSpread*>(call.op)->spans, Mat<const float>(call.in[0]), Mat<float>(call.out[0]));
}

__global__ void __launch_bounds__(32 * kSpanWarps) span_mask_kernel(SpanTable spans, float* out, bool softmax) {
  SpanPlace p;
  if (place(spans, 1, p)) span_mask(p, out, softmax);
}

void mask_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const SpanMask*>(call.op);
  launch_spans(scratch, "span_mask", span_mask_kernel, 1, *op.spans, static_cast<float*>(call.out[0].data), op.softmax);
}

__global__ void __launch_bounds__(32 * kSpanWarps)
    span_sample_kernel(SpanTable spans, Mat<const float> x, Mat<const float> u, Mat<int32_t> codes, Mat<float> alphas,
                       float low, float high) {
  SpanPlace p;
  if (place(spans, x.rows, p)) span_sample(p, x, u, codes, alphas, low, high);
}

void sample_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const SpanSample*>(call.op);
  launch_spans(scratch, "span_sample", span_sample_kernel, call.in[0].rows, *op.spans, Mat<const float>(call.in[0]),
               Mat<const float>(call.in[1]), Mat<int32_t>(call.out[0]), Mat<float>(call.out[1]),
               static_cast<float>(op.u_low), static_cast<float>(op.u_high));
}

__global__ void __launch_bounds__(32 * kSpanWarps)
    span_draw_kernel(SpanTable spans, Mat<const float> x, Mat<const float> u, Mat<int32_t> codes) {
  SpanPlace p;
  if (place(spans, x.rows, p)) span_draw(p, x, u, codes);
}

void draw_run(const Call& call, int64_t, void* scratch) {
  launch_spans(scratch, "span_draw", span_draw_kernel, call.in[0].rows, *static_cast<const SpanDraw*>(call.op)->spans,
               Mat<const float>(call.in[0]), Mat<const float>(call.in[1]), Mat<int32_t>(call.out[0]));
}

__global__ void __launch_bounds__(32 * kSpanWarps)
    span_reconstruction_kernel(SpanTable spans, Reconstruction in, Mat<float> out) {
  SpanPlace p;
  if (place(spans, out.rows, p)) span_reconstruction(p, in, out);
}

void reconstruction_run(const Call& call, int64_t, void* scratch) {
  launch_spans(scratch, "span_reconstruction", span_reconstruction_kernel, call.out[0].rows,
               *static_cast<const SpanReconstruction*>(call.op)->spans, reconstruction(call), Mat<float>(call.out[0]));
}

__global__ void __launch_bounds__(32 * kSpanWarps)
    span_reconstruction_grad_kernel(SpanTable spans, Reconstruction in, Mat<const float> d, Mat<float> d_x,
                                    Mat<float> d_sigma) {
  SpanPlace p;
  if (place(spans, d_x.rows, p)) span_reconstruction_grad(p, in, d, d_x, d_sigma);
}

void reconstruction_grad_run(const Call& call, int64_t, void* scratch) {
  launch_spans(scratch, "span_reconstruction_grad", span_reconstruction_grad_kernel, call.out[0].rows,
               *static_cast<const SpanReconstructionGrad*>(call.op)->spans, reconstruction(call),
               Mat<const float>(call.in[4]), Mat<float>(call.out[0]), Mat<float>(call.out[1]));
}

}  // namespace

Kernel span_activation_entry() { return {one_if_any, activation_run, nullptr}; }
Kernel span_activation_grad_entry() { return {one_if_any, activation_grad_run, nullptr}; }
Kernel span_cross_entropy_entry() { return {one_if_any, cross_entropy_run, nullptr}; }
Kernel span_cross_entropy_grad_entry() { return {one_if_any, cross_entropy_grad_run, nullptr}; }
Kernel span_reconstruction_entry() { return {one_if_any, reconstruction_run, nullptr}; }
Kernel span_reconstruction_grad_entry() { return {one_if_any, reconstruction_grad_run, nullptr}; }
Kernel span_reduce_entry() { return {one_if_any, reduce_run, nullptr}; }
Kernel span_spread_entry() { return {one_if_any, spread_run, nullptr}; }
Kernel span_mask_entry() { return {one_if_any, mask_run, nullptr}; }
Kernel span_draw_entry() { return {one_if_any, draw_run, nullptr}; }
Kernel span_sample_entry() { return {one, sample_run, nullptr}; }

}  // namespace tessera::gpu
