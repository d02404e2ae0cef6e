// swish: y = x·σ(βx).
//   x, y [rows, cols] row-major, leading dimension ≥ cols · moves 8 bytes an element at fp32, ~18 FLOP: bandwidth-bound
//   tiles of whole rows; an element depends on its own input alone, so its bits depend on nothing else
#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kElements = 8192;  // a tile's size, in whole rows

int64_t rows_per_tile(const View& y) { return y.cols >= kElements ? 1 : div_up(kElements, y.cols > 0 ? y.cols : 1); }
int64_t tiles(const Call& call) {
  return call.out[0].cols == 0 ? 0 : div_up(call.out[0].rows, rows_per_tile(call.out[0]));
}

template <class T>
void swish_run(const Call& call, int64_t tile, void*) {
  const T beta = static_cast<T>(static_cast<const Swish*>(call.op)->beta);
  const Mat<T> x(call.in[0]), y(call.out[0]);
  const Range rows = piece(tile, rows_per_tile(call.out[0]), y.rows);
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const T* from = x.row(i);
    T* to = y.row(i);
    const int64_t n = y.cols;
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) to[c] = from[c] * sigmoid_of(beta * from[c]);
  }
}

}  // namespace

TESSERA_KERNEL(swish, tiles, swish_run<T>, nullptr)

}  // namespace tessera::TESSERA_ISA
