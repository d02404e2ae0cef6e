// unary, binary, lerp_rows, broadcast: one output element from one element of each input; bandwidth-bound.
// An element's bits depend on its inputs alone, so the rows of contiguous matrices are processed as one.
#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kElements = 8192;  // a tile's size, in whole rows

int64_t rows_per_tile(const View& out) {
  return out.cols >= kElements ? 1 : div_up(kElements, out.cols > 0 ? out.cols : 1);
}
int64_t tiles(const Call& call) {
  return call.out[0].cols == 0 ? 0 : div_up(call.out[0].rows, rows_per_tile(call.out[0]));
}

// body(row, columns) for each row of a tile, or once for all of them if they are `one`.
template <class F>
void each_row(const Call& call, int64_t tile, bool one, F&& body) {
  const View& out = call.out[0];
  const Range r = piece(tile, rows_per_tile(out), out.rows);
  if (one) return body(r.begin, (r.end - r.begin) * out.cols);
  for (int64_t i = r.begin; i < r.end; ++i) body(i, out.cols);
}

template <class T, class F>
void map_rows(const Call& call, int64_t tile, F f) {
  const Mat<T> x(call.in[0]), out(call.out[0]);
  each_row(call, tile, contiguous(call.in[0], call.out[0]), [&](int64_t i, int64_t n) {
    const T* from = x.row(i);
    T* to = out.row(i);
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) to[c] = f(from[c]);
  });
}

// For functions of many instructions: a row's tail is widened to whole vectors.
template <class T, class F>
void map_rows_whole(const Call& call, int64_t tile, F f) {
  constexpr int64_t L = Simd<T>::kLanes;
  const Mat<T> x(call.in[0]), out(call.out[0]);
  each_row(call, tile, contiguous(call.in[0], call.out[0]), [&](int64_t i, int64_t n) {
    const T* from = x.row(i);
    T* to = out.row(i);
    const int64_t whole = n / L * L;
#pragma GCC ivdep
    for (int64_t c = 0; c < whole; ++c) to[c] = f(from[c]);
    if (whole == n) return;
    T tail[L];
    store(tail, load_part(from + whole, n - whole));
#pragma GCC ivdep
    for (int64_t c = 0; c < L; ++c) tail[c] = f(tail[c]);
    store_part(to + whole, load(tail), n - whole);
  });
}

template <class T>
void unary_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const Unary*>(call.op);
  const T a = static_cast<T>(op.a), b = static_cast<T>(op.b);
  switch (op.fn) {
    case Unary::affine: return map_rows<T>(call, tile, [=](T x) { return mul_add(a, x, b); });
    case Unary::exp: return map_rows_whole<T>(call, tile, [](T x) { return exp_of(x); });
    case Unary::log: return map_rows_whole<T>(call, tile, [](T x) { return log_of(x); });
    case Unary::tanh: return map_rows_whole<T>(call, tile, [](T x) { return tanh_of(x); });
    case Unary::sigmoid: return map_rows_whole<T>(call, tile, [](T x) { return sigmoid_of(x); });
    case Unary::silu: return map_rows_whole<T>(call, tile, [](T x) { return silu_of(x); });
    case Unary::softplus: return map_rows_whole<T>(call, tile, [](T x) { return softplus_of(x); });
    case Unary::sqrt: return map_rows<T>(call, tile, [](T x) { return sqrt_of(x); });
    case Unary::rsqrt: return map_rows<T>(call, tile, [](T x) { return x == T(0) ? T(0) : T(1) / sqrt_of(x); });
    case Unary::leaky: return map_rows<T>(call, tile, [=](T x) { return x > T(0) ? x : a * x; });
    case Unary::clamp: return map_rows<T>(call, tile, [=](T x) { return x < a ? a : x > b ? b : x; });
    case Unary::step: return map_rows<T>(call, tile, [=](T x) { return x > T(0) ? T(1) : a; });
  }
}

// Whether x, y and out are contiguous and have one shape.
bool zipped_as_one(const Call& call) {
  const View &x = call.in[0], &y = call.in[1], &out = call.out[0];
  return contiguous(x, out) && contiguous(y, out) && y.rows == out.rows;
}

template <class T, class F>
void zip_rows(const Call& call, int64_t tile, F f) {
  const Mat<T> x(call.in[0]), y(call.in[1]), out(call.out[0]);
  const bool one_row = y.rows == 1, one_col = y.cols == 1 && out.cols != 1;
  each_row(call, tile, zipped_as_one(call), [&](int64_t i, int64_t n) {
    const T *p = x.row(i), *q = y.row(one_row ? 0 : i);
    T* to = out.row(i);
    if (one_col) {
      const T v = q[0];
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c) to[c] = f(p[c], v);
    } else {
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c) to[c] = f(p[c], q[c]);
    }
  });
}

// The same of a y that may be narrow.
template <class T, class F>
void zip_stored(const Call& call, int64_t tile, F f) {
  const View& y = call.in[1];
  if (!y.narrow()) return zip_rows<T>(call, tile, f);
  constexpr int64_t kAtOnce = 256;
  const Mat<T> x(call.in[0]), out(call.out[0]);
  const bool one_row = y.rows == 1, one_col = y.cols == 1 && out.cols != 1;
  T buffer[kAtOnce];
  each_row(call, tile, zipped_as_one(call), [&](int64_t i, int64_t cols) {
    for (int64_t first = 0; first < cols; first += kAtOnce) {
      const int64_t n = min_of(kAtOnce, cols - first);
      read_row(y, one_row ? 0 : i, one_col ? 0 : first, one_col ? 1 : n, buffer);
      for (int64_t c = 1; c < n && one_col; ++c) buffer[c] = buffer[0];
      const T* p = x.row(i) + first;
      T* to = out.row(i) + first;
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c) to[c] = f(p[c], buffer[c]);
    }
  });
}

template <class T>
void binary_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const Binary*>(call.op);
  const T a = static_cast<T>(op.a);
  switch (op.fn) {
    case Binary::add: return zip_rows<T>(call, tile, [](T x, T y) { return x + y; });
    case Binary::sub: return zip_rows<T>(call, tile, [](T x, T y) { return x - y; });
    case Binary::mul: return zip_rows<T>(call, tile, [](T x, T y) { return x * y; });
    case Binary::div: return zip_rows<T>(call, tile, [](T x, T y) { return x / y; });
    case Binary::gate: return zip_stored<T>(call, tile, [=](T x, T y) { return x * (y > T(0) ? T(1) : a); });
    case Binary::silu_slope: return zip_rows<T>(call, tile, [](T x, T y) { return x * silu_slope_of(y); });
    case Binary::sigmoid_slope: return zip_stored<T>(call, tile, [](T x, T y) { return x * (y * (T(1) - y)); });
    case Binary::tanh_slope: return zip_stored<T>(call, tile, [](T x, T y) { return x * (T(1) - y * y); });
  }
}

template <class T>
void lerp_run(const Call& call, int64_t tile, void*) {
  const Mat<T> a(call.in[0]), x(call.in[1]), y(call.in[2]), out(call.out[0]);
  each_row(call, tile, false, [&](int64_t i, int64_t n) {
    const T s = a.row(i)[0], t = T(1) - s;
    const T *p = x.row(i), *q = y.row(i);
    T* to = out.row(i);
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) to[c] = mul_add(s, p[c], t * q[c]);
  });
}

template <class T>
void broadcast_run(const Call& call, int64_t tile, void*) {
  const Mat<T> x(call.in[0]), out(call.out[0]);
  each_row(call, tile, false, [&](int64_t i, int64_t n) {
    const T* from = x.row(x.rows == 1 ? 0 : i);
    for (int64_t c = 0; c < n; ++c) out.row(i)[c] = from[x.cols == 1 ? 0 : c];
  });
}

}  // namespace

TESSERA_KERNEL(unary, tiles, unary_run<T>, nullptr)
TESSERA_KERNEL(binary, tiles, binary_run<T>, nullptr)
TESSERA_KERNEL(lerp_rows, tiles, lerp_run<T>, nullptr)
TESSERA_KERNEL(broadcast, tiles, broadcast_run<T>, nullptr)

}  // namespace tessera::TESSERA_ISA
