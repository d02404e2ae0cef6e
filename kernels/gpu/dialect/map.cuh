// map: out[r, c] = f(x_1[r, c], …, x_N[r, c]) with broadcast inputs; every elementwise kernel is one.
//   x_i [rows, cols], [1, cols], [rows, 1] or [1, 1] · out [rows, cols]
//   (N + 1)·4·rows·cols bytes: bandwidth-bound · a thread owns four neighbouring columns (one 16-byte access if the row
//   is aligned), 256 threads per block · no synchronisation; an element and its bits depend only on its own inputs. out
//   may be one of the inputs.
#pragma once
#include "kernels/gpu/dialect/view.cuh"

namespace tessera::gpu {

constexpr int kChunk = 4;  // columns per thread
// loads that a thread starts before it uses the first, so that their latencies overlap
constexpr int kInFlight = 8;

struct Operand {
  const float* data;
  int64_t row_step;  // 0: one row for all
  int col_step;      // 0: one column for all
  bool wide;         // 16-byte accesses at every fourth column
};

template <int N>
struct Operands {
  Operand x[N == 0 ? 1 : N];
};

struct Target {
  float* data;
  int64_t ld;
  int rows, cols;
  bool wide;
};

inline Target target(const View& v) {
  return {static_cast<float*>(v.data), v.ld, static_cast<int>(v.rows), static_cast<int>(v.cols), aligned16(v)};
}
// v as an operand of a larger `out`: a dimension of size one is broadcast.
inline Operand operand(const View& v, const View& out) {
  const bool one_col = v.cols == 1 && out.cols != 1;
  return {static_cast<const float*>(v.data), v.rows == 1 ? 0 : v.ld, one_col ? 0 : 1, !one_col && aligned16(v)};
}

// All of v, or its single row for every row.
inline Operand whole(const View& v) {
  return {static_cast<const float*>(v.data), v.rows == 1 ? 0 : v.ld, 1, aligned16(v)};
}

__device__ inline void load_chunk(const Operand& x, int r, int c, int n, float (&to)[kChunk]) {
  const float* p = x.data + r * x.row_step + static_cast<int64_t>(c) * x.col_step;
  if (x.wide && n == kChunk) return load_four(p, to);
#pragma unroll
  for (int k = 0; k < kChunk; ++k) to[k] = k < n ? p[k * x.col_step] : 0.0f;
}

__device__ inline void store_chunk(const Target& out, int r, int c, int n, const float (&v)[kChunk]) {
  float* p = out.data + r * out.ld + c;
  if (out.wide && n == kChunk) {
    *reinterpret_cast<float4*>(p) = make_float4(v[0], v[1], v[2], v[3]);
    return;
  }
#pragma unroll
  for (int k = 0; k < kChunk; ++k)
    if (k < n) p[k] = v[k];
}

template <class F, int N>
__global__ void __launch_bounds__(kThreads) map_kernel(F f, Operands<N> in, Target out, int chunks) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (item >= static_cast<int64_t>(out.rows) * chunks) return;
  const int r = static_cast<int>(item / chunks), c = static_cast<int>(item % chunks) * kChunk,
            n = min(kChunk, out.cols - c);
  float x[N == 0 ? 1 : N][kChunk], y[kChunk];
#pragma unroll
  for (int i = 0; i < N; ++i) load_chunk(in.x[i], r, c, n, x[i]);
#pragma unroll
  for (int k = 0; k < kChunk; ++k) {
    if constexpr (N == 0) y[k] = f();
    if constexpr (N == 1) y[k] = f(x[0][k]);
    if constexpr (N == 2) y[k] = f(x[0][k], x[1][k]);
    if constexpr (N == 3) y[k] = f(x[0][k], x[1][k], x[2][k]);
    if constexpr (N == 5) y[k] = f(x[0][k], x[1][k], x[2][k], x[3][k], x[4][k]);
  }
  store_chunk(out, r, c, n, y);
}

// Launches f over `out`; `views` are its N inputs.
template <class F, int N>
void map(void* scratch, const char* name, F f, const View* const (&views)[N == 0 ? 1 : N], const View& out) {
  Operands<N> in{};
  Target to = target(out);
  bool flat = contiguous(out);  // then the rows are one long row, with one partial chunk instead of one per row
  for (int i = 0; i < N; ++i) {
    const View& v = *views[i];
    const bool one_row = v.rows == 1 && out.rows != 1, one_col = v.cols == 1 && out.cols != 1;
    in.x[i] = operand(v, out);
    flat = flat && ((one_row && one_col) || (!one_row && !one_col && contiguous(v)));
  }
  if (flat && out.rows * out.cols < (int64_t{1} << 31)) {
    to.cols = static_cast<int>(out.rows * out.cols);
    to.rows = 1;
  }
  const int chunks = static_cast<int>(blocks_for(to.cols, kChunk));
  launch(
      {dim3(grid_of(static_cast<int64_t>(to.rows) * chunks, kThreads)), dim3(kThreads), 0, gpu_context(scratch).stream},
      name, map_kernel<F, N>, f, in, to, chunks);
}

}  // namespace tessera::gpu
