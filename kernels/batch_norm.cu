// batch_norm (Ioffe & Szegedy 2015): y = act((x − mean)·rstd·gamma + beta), statistics over each group of rows, kept in double.
//   x, y [rows, cols]; gamma, beta [1, cols]; mean, var [groups, cols]; the variance is the biased one; act = ReLU if relu
#include "kernels/gpu_columns.cuh"
#include "kernels/gpu_map.cuh"

namespace tessera::gpu {
namespace {

// NaN is not below the floor, so it stays.
__device__ float at_least(float v, float floor) { return v < floor ? floor : v; }
float floor_of(bool relu) { return relu ? 0.0f : -__builtin_inff(); }

// Forward. 3 reads and 1 write of x (16·rows·cols bytes, of which two reads come from cache), 8 FLOP an element: bandwidth-bound
//   one block of 64 × 8 threads for 8 columns of one group: mean, then the squares about it, then y
//   four block barriers · rows in a fixed order, so the same bits for any schedule
__global__ void __launch_bounds__(kAcross* kDown)
    batch_norm_kernel(Mat<const float> x, const float* gamma, const float* beta, Mat<float> y, Mat<float> mean, Mat<float> var, int rows, double eps, float floor) {
  TESS_SHARED(room, ColumnRoom);
  const int c = static_cast<int>(blockIdx.x) * kAcross + static_cast<int>(threadIdx.x), g = static_cast<int>(blockIdx.y);
  const int first = g * rows + static_cast<int>(threadIdx.y), end = c < x.cols ? (g + 1) * rows : 0;
  double sum = 0;
  for (int r = first; r < end; r += kDown) sum += static_cast<double>(x.row(r)[c]);
  const double m = column_sum(sum, room) / rows;
  double square = 0;
  for (int r = first; r < end; r += kDown) {
    const double d = static_cast<double>(x.row(r)[c]) - m;
    square += d * d;
  }
  const double v = column_sum(square, room) / rows;
  if (c >= x.cols) return;
  if (threadIdx.y == 0) {
    mean.row(g)[c] = static_cast<float>(m);
    var.row(g)[c] = static_cast<float>(v);
  }
  const float centre = static_cast<float>(m), scale = static_cast<float>(static_cast<double>(gamma[c]) / sqrt(v + eps)), shift = beta[c];
  for (int r = first; r < end; r += kDown) y.row(r)[c] = at_least((x.row(r)[c] - centre) * scale + shift, floor);
}

void forward_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const BatchNorm*>(call.op);
  const View& x = call.in[0];
  launch({dim3(grid_of(x.cols, kAcross), static_cast<unsigned>(op.groups)), dim3(kAcross, kDown), 0, gpu_context(scratch).stream}, "batch_norm", batch_norm_kernel, Mat<const float>(x),
         static_cast<const float*>(call.in[1].data), static_cast<const float*>(call.in[2].data), Mat<float>(call.out[0]), Mat<float>(call.out[1]), Mat<float>(call.out[2]),
         static_cast<int>(x.rows / op.groups), op.eps, floor_of(op.relu));
}

// Backward. d_x = gamma·rstd·(d − mean(d) − x̂·mean(d·x̂)) with d = d_y where ReLU let it through (recomputed, not stored); d_gamma = Σ d·x̂, d_beta = Σ d
//   4 reads and 1 write of x (20·rows·cols bytes, of which two reads come from cache), 14 FLOP an element: bandwidth-bound
//   one block of 64 × 8 threads for 8 columns of all groups, group after group: no sum crosses a block
//   four block barriers a group · rows in a fixed order
struct Norm {
  float centre, rstd, scale, shift;
  bool relu;
  __device__ float hat(float x) const { return (x - centre) * rstd; }
  __device__ float passed(float x, float d) const { return !relu || (x - centre) * scale + shift > 0.0f ? d : 0.0f; }
};

__global__ void __launch_bounds__(kAcross* kDown) batch_norm_grad_kernel(Mat<const float> x, const float* gamma, const float* beta, Mat<const float> mean, Mat<const float> var,
                                                                         Mat<const float> d_y, Mat<float> d_x, float* d_gamma, float* d_beta, int groups, double eps, bool relu) {
  TESS_SHARED(room, ColumnRoom);
  const int c = static_cast<int>(blockIdx.x) * kAcross + static_cast<int>(threadIdx.x), rows = x.rows / groups;
  const bool in = c < x.cols;
  double total_gamma = 0, total_beta = 0;
  for (int g = 0; g < groups; ++g) {
    const int first = g * rows + static_cast<int>(threadIdx.y), end = in ? (g + 1) * rows : 0;
    Norm n{0, 0, 0, 0, relu};
    if (in) {
      n.centre = mean.row(g)[c];
      n.rstd = static_cast<float>(1 / sqrt(static_cast<double>(var.row(g)[c]) + eps));
      n.scale = n.rstd * gamma[c];
      n.shift = beta[c];
    }
    double sum = 0, dot = 0;
    for (int r = first; r < end; r += kDown) {
      const float p = x.row(r)[c];
      const double v = static_cast<double>(n.passed(p, d_y.row(r)[c]));
      sum += v;
      dot += v * static_cast<double>(n.hat(p));
    }
    sum = column_sum(sum, room);
    dot = column_sum(dot, room);
    total_beta += sum;
    total_gamma += dot;
    const float mean_d = static_cast<float>(sum / rows), mean_dx = static_cast<float>(dot / rows);
    for (int r = first; r < end; r += kDown) {
      const float p = x.row(r)[c];
      d_x.row(r)[c] = n.scale * (n.passed(p, d_y.row(r)[c]) - mean_d - n.hat(p) * mean_dx);
    }
  }
  if (in && threadIdx.y == 0) {
    d_gamma[c] = static_cast<float>(total_gamma);
    d_beta[c] = static_cast<float>(total_beta);
  }
}

void backward_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const BatchNormGrad*>(call.op);
  const View* in = call.in;
  launch({dim3(grid_of(in[0].cols, kAcross)), dim3(kAcross, kDown), 0, gpu_context(scratch).stream}, "batch_norm_grad", batch_norm_grad_kernel, Mat<const float>(in[0]),
         static_cast<const float*>(in[1].data), static_cast<const float*>(in[2].data), Mat<const float>(in[3]), Mat<const float>(in[4]), Mat<const float>(in[5]), Mat<float>(call.out[0]),
         static_cast<float*>(call.out[1].data), static_cast<float*>(call.out[2].data), static_cast<int>(op.groups), op.eps, op.relu);
}

// norm_eval: y = act((x − mean)/√(var + eps)·gamma + beta), given statistics: a map.
struct Eval {
  float eps, floor;
  __device__ float operator()(float x, float gamma, float beta, float mean, float var) const { return at_least((x - mean) / sqrtf(var + eps) * gamma + beta, floor); }
};
void eval_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const NormEval*>(call.op);
  const View* in = call.in;
  map<Eval, 5>(scratch, "norm_eval", {static_cast<float>(op.eps), floor_of(op.relu)}, {&in[0], &in[1], &in[2], &in[3], &in[4]}, call.out[0]);
}

// running ← (1 − momentum)·running + momentum·batch, group after group.   running [1, cols], in place; mean, var [groups, cols] · a thread a column
__global__ void __launch_bounds__(128)
    running_kernel(Mat<const float> mean, Mat<const float> var, float* running_mean, float* running_var, double momentum, double unbiased) {
  const int c = static_cast<int>(blockIdx.x * 128 + threadIdx.x);
  if (c >= mean.cols) return;
  for (int g = 0; g < mean.rows; ++g) {
    running_mean[c] = static_cast<float>((1 - momentum) * static_cast<double>(running_mean[c]) + momentum * static_cast<double>(mean.row(g)[c]));
    running_var[c] = static_cast<float>((1 - momentum) * static_cast<double>(running_var[c]) + momentum * unbiased * static_cast<double>(var.row(g)[c]));
  }
}

void running_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const RunningStats*>(call.op);
  const double unbiased = op.rows > 1 ? static_cast<double>(op.rows) / static_cast<double>(op.rows - 1) : 1;
  launch({dim3(grid_of(call.out[0].cols, 128)), dim3(128), 0, gpu_context(scratch).stream}, "running_stats", running_kernel, Mat<const float>(call.in[2]), Mat<const float>(call.in[3]),
         static_cast<float*>(call.out[0].data), static_cast<float*>(call.out[1].data), op.momentum, unbiased);
}

}  // namespace

void add_batch_norm(KernelTable& t) {
  t.batch_norm = {one_if_any, forward_run, nullptr};
  t.batch_norm_grad = {one_if_any, backward_run, nullptr};
  t.norm_eval = {one_if_any, eval_run, nullptr};
  t.running_stats = {one_if_any, running_run, nullptr};
}

}  // namespace tessera::gpu
