// adam (Kingma & Ba 2015), count_above, average, clamp_range, report: the end of a step. Adam moves 4 reads + 3 writes
// (28 bytes per float parameter); one tile is 16,384 parameters.
//   torch form: θ −= lr/(1 − β1ᵗ)·m/(√v/√(1 − β2ᵗ) + ε) · tf1 form: θ −= lr·√(1 − β2ᵗ)/(1 − β1ᵗ)·m/(√v + ε)
#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

constexpr int64_t kElements = 16384;
int64_t parameters(const Call& call) { return call.out[0].rows * call.out[0].cols; }
int64_t tiles(const Call& call) { return div_up(parameters(call), kElements); }

template <class T>
bool opened(const View& gate, double above) {
  return static_cast<double>(static_cast<const T*>(gate.data)[0]) > above;
}

template <class T>
void adam_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const Adam*>(call.op);
  const Range r = piece(tile, kElements, parameters(call));
  T *param = static_cast<T*>(call.out[0].data), *m = static_cast<T*>(call.out[1].data),
    *v = static_cast<T*>(call.out[2].data);
  const T* grad = static_cast<const T*>(call.in[3].data);
  const int64_t step = call.state->step;
  double t = static_cast<double>(step * op.updates + op.index + 1);
  if (call.inputs > 4) {
    if (!opened<T>(call.in[4], op.above)) return;
    t = static_cast<double>(static_cast<const T*>(call.in[5].data)[0]);
  }
  const T unscale = call.inputs > 6 ? T(1) / static_cast<const T*>(call.in[6].data)[0] : T(1);
  const double fix1 = 1 - pow(op.beta1, t), root2 = sqrt(1 - pow(op.beta2, t));
  double lr = op.lr;
  if (op.decay_steps > 0 && step > op.decay_from) {
    const double left = 1 - static_cast<double>(step - op.decay_from) / static_cast<double>(op.decay_steps);
    lr *= left > 0 ? left : 0;
  }
  const bool torch = op.form == Adam::torch;
  const T rate = static_cast<T>(torch ? lr / fix1 : lr * root2 / fix1), root = static_cast<T>(torch ? 1 / root2 : 1);
  const T b1 = static_cast<T>(op.beta1), c1 = static_cast<T>(1 - op.beta1), b2 = static_cast<T>(op.beta2),
          c2 = static_cast<T>(1 - op.beta2);
  const T eps = static_cast<T>(op.eps), decay = static_cast<T>(op.weight_decay);
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) {
    const T g = mul_add(decay, param[i], unscale * grad[i]);
    const T first = mul_add(b1, m[i], c1 * g), second = mul_add(b2, v[i], c2 * (g * g));
    m[i] = first;
    v[i] = second;
    param[i] -= rate * first / mul_add(sqrt_of(second), root, eps);
  }
}

template <class T>
void count_run(const Call& call, int64_t, void*) {
  if (opened<T>(call.in[1], static_cast<const CountAbove*>(call.op)->above))
    static_cast<T*>(call.out[0].data)[0] += T(1);
}

template <class T>
void average_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const Average*>(call.op);
  const Range r = piece(tile, kElements, parameters(call));
  T* average = static_cast<T*>(call.out[0].data);
  const T* param = static_cast<const T*>(call.in[1].data);
  const double step = static_cast<double>(call.state->step), early = (step + 1) / (step + 10);
  const T keep = static_cast<T>(early < op.decay ? early : op.decay), take = T(1) - keep;
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) average[i] = mul_add(keep, average[i], take * param[i]);
}

template <class T>
void clamp_range_run(const Call& call, int64_t tile, void*) {
  const auto& op = *static_cast<const ClampRange*>(call.op);
  T* param = static_cast<T*>(call.out[0].data) + op.start;
  const T low = static_cast<T>(op.low), high = static_cast<T>(op.high);
  const Range r = piece(tile, kElements, op.count);
  for (int64_t i = r.begin; i < r.end; ++i) param[i] = param[i] < low ? low : param[i] > high ? high : param[i];
}
int64_t clamp_tiles(const Call& call) { return div_up(static_cast<const ClampRange*>(call.op)->count, kElements); }

template <class T>
void report_run(const Call& call, int64_t, void*) {
  const auto& op = *static_cast<const Report*>(call.op);
  const Mat<T> ring(call.out[0]);
  T* to = ring.row(call.state->step % op.slots);
  for (int64_t k = 0; k < ring.cols; ++k) {
    to[k] = static_cast<const T*>(call.in[k + 1].data)[0];
    if (!(to[k] - to[k] == T(0)) && call.state->bad < 0) call.state->bad = call.state->step;
  }
}
int64_t one_tile(const Call&) { return 1; }

}  // namespace

TESSERA_KERNEL(adam, tiles, adam_run<T>, nullptr)
TESSERA_KERNEL(count_above, one_tile, count_run<T>, nullptr)
TESSERA_KERNEL(average, tiles, average_run<T>, nullptr)
TESSERA_KERNEL(clamp_range, clamp_tiles, clamp_range_run<T>, nullptr)
TESSERA_KERNEL(report, one_tile, report_run<T>, nullptr)

}  // namespace tessera::TESSERA_ISA
