// batch_norm, batch_norm_grad, norm_eval, running_stats (gpu/bodies/batch_norm.cuh); batch_norm_sums,
// batch_norm_rows_grad.
#include "kernels/gpu/bodies/batch_norm.cuh"
#include "kernels/gpu/dialect/map.cuh"
#include "kernels/shards.h"

namespace tessera::gpu {
namespace {

__global__ void __launch_bounds__(kThreads) batch_norm_kernel(NormIn in, NormOut out) {
  TESS_SHARED(room, ColumnRoom);
  batch_norm(in, out, static_cast<int>(blockIdx.x) * kAcross, static_cast<int>(blockIdx.y), room);
}
void forward_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const BatchNorm*>(call.op);
  launch({dim3(grid_of(call.in[0].cols, kAcross), static_cast<unsigned>(op.groups)), dim3(kThreads), 0,
          gpu_context(scratch).stream},
         "batch_norm", batch_norm_kernel, norm_in(call, op.eps, op.relu, op.groups), norm_out(call));
}

__global__ void __launch_bounds__(kThreads) batch_norm_grad_kernel(NormIn in, NormGrad d) {
  TESS_SHARED(room, ColumnRoom);
  batch_norm_grad(in, d, static_cast<int>(blockIdx.x) * kAcross, room);
}
void backward_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const BatchNormGrad*>(call.op);
  launch({dim3(grid_of(call.in[0].cols, kAcross)), dim3(kThreads), 0, gpu_context(scratch).stream}, "batch_norm_grad",
         batch_norm_grad_kernel, norm_in(call, op.eps, op.relu, op.groups), norm_grad(call));
}

// batch_norm_sums, batch_norm_rows_grad: shards of a batch one after another. A device's step uses other ops instead,
// which fused launches run side by side (engine/passes/batch/shard.h); these kernels serve for comparison.
//   1 read of x (gradient: and d_y), two block barriers per sum of a shard · 2 reads and 1 write, one thread per
//   element
constexpr int kMostSums = 32;  // pending sums: the maximum depth of a tree with an int number of leaves
struct ShardNorm {
  NormIn in;
  const float *mean, *var;
  Mat<const float> d_y;
  __device__ Norm at(int c) const {
    const float v = var[c] + static_cast<float>(in.eps), rstd = v == 0.0f ? 0.0f : 1.0f / sqrtf(v);
    return {mean[c], rstd, rstd * in.gamma[c], in.beta[c], in.relu};
  }
};
__device__ void batch_norm_sums(const ShardNorm& x, const BatchNormSums& op, float* out, int first_column,
                                ColumnRoom& room) {
  const int c = first_column + column_lane(), rows = x.in.x.rows, cols = x.in.x.cols;
  const bool inside = c < cols, gradient = op.form == BatchNormSums::gradient;
  const float centre = inside && op.form == BatchNormSums::variance ? x.mean[c] : 0.0f;
  const Norm norm = inside && gradient ? x.at(c) : Norm{0, 0, 0, 0, false};
  float waiting[kMostSums][2] = {};
  int count = 0;
  for (int s = 0; s < op.count; ++s) {
    const int end = inside ? static_cast<int>(shard_begin(op, rows, s + 1)) : 0;
    double sum = 0, dot = 0;
    for (int r = static_cast<int>(shard_begin(op, rows, s)) + row_lane(); r < end; r += kDown) {
      const float p = x.in.x.row(r)[c];
      if (gradient) {
        const float d = x.d_y.row(r)[c] * norm.passed(p, 1.0f);  // 0·NaN is NaN, as in gate
        sum += static_cast<double>(d);
        dot += static_cast<double>(d * norm.hat(p));
      } else {
        sum += static_cast<double>(op.form == BatchNormSums::mean ? p : (p - centre) * (p - centre));
      }
    }
    waiting[count][0] = static_cast<float>(column_sum(sum, room) * op.scale);
    waiting[count][1] = gradient ? static_cast<float>(column_sum(dot, room) * op.scale) : 0.0f;
    ++count;
    for (int m = shards_joined(op.count, s); m > 0; --m, --count)
      for (int q = 0; q < 2; ++q) waiting[count - 2][q] += waiting[count - 1][q];
  }
  if (!inside || row_lane() != 0) return;
  out[c] = waiting[0][0];
  if (gradient) out[cols + c] = waiting[0][1];
}
__device__ void batch_norm_rows_grad(const ShardNorm& x, const BatchNormRowsGrad& op, const float* sums,
                                     const Mat<float>& d_x, int r, int c) {
  const Norm norm = x.at(c);
  const float p = x.in.x.row(r)[c], share = static_cast<float>(op.share);
  const float d = x.d_y.row(r)[c] * norm.passed(p, 1.0f);
  d_x.row(r)[c] = (d - share * sums[c] - norm.hat(p) * (share * sums[d_x.cols + c])) * norm.scale;
}

ShardNorm shard_norm(const Call& call, double eps, bool relu) {
  const View none{};
  const auto in = [&](int i) -> const View& { return i < call.inputs ? call.in[i] : none; };
  return {{Mat<const float>(in(0)), static_cast<const float*>(in(1).data), static_cast<const float*>(in(2).data), eps,
           relu, static_cast<int>(in(0).rows)},
          static_cast<const float*>(in(call.inputs == 2 ? 1 : 3).data),
          static_cast<const float*>(in(4).data),
          Mat<const float>(in(5))};
}

__global__ void __launch_bounds__(kThreads) batch_norm_sums_kernel(ShardNorm x, BatchNormSums op, float* out) {
  TESS_SHARED(room, ColumnRoom);
  batch_norm_sums(x, op, out, static_cast<int>(blockIdx.x) * kAcross, room);
}
void sums_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const BatchNormSums*>(call.op);
  launch({dim3(grid_of(call.in[0].cols, kAcross)), dim3(kThreads), 0, gpu_context(scratch).stream}, "batch_norm_sums",
         batch_norm_sums_kernel, shard_norm(call, op.eps, op.relu), op, static_cast<float*>(call.out[0].data));
}

__global__ void __launch_bounds__(kThreads)
    batch_norm_rows_grad_kernel(ShardNorm x, BatchNormRowsGrad op, const float* sums, Mat<float> d_x) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item < static_cast<int64_t>(d_x.rows) * d_x.cols)
    batch_norm_rows_grad(x, op, sums, d_x, static_cast<int>(item / d_x.cols), static_cast<int>(item % d_x.cols));
}
void rows_grad_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const BatchNormRowsGrad*>(call.op);
  const View& out = call.out[0];
  launch({dim3(grid_of(out.rows * out.cols, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream},
         "batch_norm_rows_grad", batch_norm_rows_grad_kernel, shard_norm(call, op.eps, op.relu), op,
         static_cast<const float*>(call.in[6].data), Mat<float>(out));
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
Kernel batch_norm_sums_entry() { return {one_if_any, sums_run, nullptr}; }
Kernel batch_norm_rows_grad_entry() { return {one_if_any, rows_grad_run, nullptr}; }
Kernel norm_eval_entry() { return {one_if_any, eval_run, nullptr}; }
Kernel running_stats_entry() { return {one_if_any, running_run, nullptr}; }

}  // namespace tessera::gpu
