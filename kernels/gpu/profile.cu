// profile_rows: rows of codes and alphas as inputs of the density ratio.   codes [B, C], alphas [B, A], rows [B, 3] ·
// index, value [B, entries]
//   one thread per column of a row (kernels/math/profile.h): up to three binary searches among 1,001 quantiles each,
//       from cache:
//   latency-bound; 20·kInputs bytes written per number · neighbouring threads share a column, so they search the same
//       quantiles · no synchronisation; a row depends only on its own codes and identity
#include "kernels/math/profile.h"

#include "kernels/gpu/dialect/view.cuh"

namespace tessera::gpu {
namespace {

__global__ void __launch_bounds__(kThreads)
    profile_rows_kernel(ProfileTable t, Mat<const int32_t> codes, Mat<const float> alphas, Mat<const int32_t> rows,
                        Mat<int32_t> index, Mat<float> value, const StepState* state) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i < index.rows)
    profile_entries(t, t.columns[blockIdx.y], codes.row(i), alphas.row(i), rows.row(i), state->seed, index.row(i),
                    value.row(i));
}

void profile_run(const Call& call, int64_t, void* scratch) {
  const ProfileTable& t = *static_cast<const ProfileRows*>(call.op)->profile;
  const View* in = call.in;
  launch({dim3(grid_of(call.out[0].rows, kThreads), static_cast<unsigned>(t.column_count)), dim3(kThreads), 0,
          gpu_context(scratch).stream},
         "profile_rows", profile_rows_kernel, t, Mat<const int32_t>(in[0]), Mat<const float>(in[1]),
         Mat<const int32_t>(in[2]), Mat<int32_t>(call.out[0]), Mat<float>(call.out[1]), call.state);
}

}  // namespace

Kernel profile_rows_entry() { return {one_if_any, profile_run, nullptr}; }

}  // namespace tessera::gpu
