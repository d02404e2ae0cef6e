// adam (Kingma & Ba 2015), count_above, average, clamp_range, report: the end of a step. The step counter is read from
// device memory, so a recorded step is never patched.
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

// adam, in place.   param, m, v, grad [rows, cols]; t = step·updates + index + 1
//   torch form: θ −= lr/(1 − β1ᵗ)·m/(√v/√(1 − β2ᵗ) + ε) · tf1 form: θ −= lr·√(1 − β2ᵗ)/(1 − β1ᵗ)·m/(√v + ε)
//   4 reads and 3 writes (28·n bytes), ~15 FLOP per parameter: bandwidth-bound · a thread owns four parameters
//   the rate is computed once per block, in double · one block barrier; an element depends on its own inputs only
struct Rates {
  float rate, root;  // θ −= rate·m/(√v·root + ε)
};

struct AdamGate {
  const float *value, *done, *scale;  // each [1, 1] or null
};
inline AdamGate adam_gate(const Call& call) {
  const auto number = [&](int i) { return call.inputs > i ? static_cast<const float*>(call.in[i].data) : nullptr; };
  return {number(4), number(5), number(6)};
}
// The factor for the gradient, the same for every thread.
__device__ inline float unscale_of(const AdamGate& gate) { return gate.scale != nullptr ? 1.0f / gate.scale[0] : 1.0f; }
// The same for every thread.
__device__ inline bool shut(const AdamGate& gate, const Adam& op) {
  return gate.value != nullptr && !(static_cast<double>(gate.value[0]) > op.above);
}

// Computed by one thread of a block: powers by squaring, some twenty multiplications each; pow took more time than the
// rest of a small update (bench/results/h100_2026-11-26.md).
__device__ inline void set_rates(Rates& rates, const Adam& op, int64_t step, const AdamGate& gate) {
  const double t =
      gate.done != nullptr ? static_cast<double>(gate.done[0]) : static_cast<double>(step * op.updates + op.index + 1);
  const bool counted = t < 1e15;  // else the powers are 0, or NaN
  double power1 = counted ? 1 : t > 0 ? 0 : t, power2 = power1, base1 = op.beta1, base2 = op.beta2;
  for (int64_t left = counted ? static_cast<int64_t>(t) : 0; left > 0; left /= 2) {
    if (left % 2 != 0) power1 *= base1, power2 *= base2;
    base1 *= base1, base2 *= base2;
  }
  const double fix1 = 1 - power1, root2 = sqrt(1 - power2);
  double lr = op.lr;
  if (op.decay_steps > 0 && step > op.decay_from) {
    const double left = 1 - static_cast<double>(step - op.decay_from) / static_cast<double>(op.decay_steps);
    lr *= left > 0 ? left : 0;
  }
  const bool torch = op.form == Adam::torch;
  rates.rate = static_cast<float>(torch ? lr / fix1 : lr * root2 / fix1);
  rates.root = static_cast<float>(torch ? 1 / root2 : 1);
}

struct AdamState {
  Target param, m, v;
  Operand grad;
};
inline AdamState adam_state(const Call& call) {
  return {target(call.out[0]), target(call.out[1]), target(call.out[2]), whole(call.in[3])};
}
// As one long row if all views are contiguous.
inline AdamState flat_adam_state(const Call& call) {
  const View *out = call.out, &grad = call.in[3];
  if (!contiguous(out[0]) || !contiguous(out[1]) || !contiguous(out[2]) || !contiguous(grad)) return adam_state(call);
  return {target(as_row(out[0])), target(as_row(out[1])), target(as_row(out[2])), whole(as_row(grad))};
}
__device__ inline Operand held(const Target& t) { return {t.data, t.ld, 1, t.wide}; }

// Row r's parameters c to c + 3, before column `end`.
__device__ inline void adam_chunk(const AdamState& s, const Adam& op, const Rates& rates, float unscale, int r, int c,
                                  int end) {
  const int n = min(kChunk, end - c);
  const float rate = rates.rate, root = rates.root, eps = static_cast<float>(op.eps),
              decay = static_cast<float>(op.weight_decay);
  const float b1 = static_cast<float>(op.beta1), c1 = static_cast<float>(1 - op.beta1),
              b2 = static_cast<float>(op.beta2), c2 = static_cast<float>(1 - op.beta2);
  float p[kChunk], first[kChunk], second[kChunk], g[kChunk];
  load_chunk(held(s.param), r, c, n, p);
  load_chunk(held(s.m), r, c, n, first);
  load_chunk(held(s.v), r, c, n, second);
  load_chunk(s.grad, r, c, n, g);
#pragma unroll
  for (int k = 0; k < kChunk; ++k) {
    // Which product is rounded is written out: a compiler that knows a factor (kernels/gpu/emitted) might choose anew.
    const float slope = fmaf(g[k], unscale, __fmul_rn(decay, p[k]));
    first[k] = fmaf(b1, first[k], __fmul_rn(c1, slope));
    second[k] = fmaf(b2, second[k], __fmul_rn(c2, __fmul_rn(slope, slope)));
    p[k] -= rate * first[k] / fmaf(sqrtf(second[k]), root, eps);
  }
  store_chunk(s.m, r, c, n, first);
  store_chunk(s.v, r, c, n, second);
  store_chunk(s.param, r, c, n, p);
}

// average ← d·average + (1 − d)·param with d = min(decay, (step + 1)/(step + 10)), in place: a map.   12·n bytes:
// bandwidth-bound
struct Mix {
  const StepState* state;
  double decay;
  __device__ float operator()(float average, float param) const {
    const double step = static_cast<double>(state->step), early = (step + 1) / (step + 10);
    const float keep = static_cast<float>(early < decay ? early : decay);
    return keep * average + (1.0f - keep) * param;
  }
};

// clamp_range: elements start … start + count − 1 are clamped to [low, high], in place.   8·count bytes:
// bandwidth-bound · one thread per element; NaN stays
struct ClampedRange {
  float* param;
  int64_t start, count;
  float low, high;
};
inline ClampedRange clamped_range(const Call& call) {
  const auto& op = *static_cast<const ClampRange*>(call.op);
  return {static_cast<float*>(call.out[0].data), op.start, op.count, static_cast<float>(op.low),
          static_cast<float>(op.high)};
}
// Element i of the whole parameter.
__device__ inline void clamp_element(const ClampedRange& s, int64_t i) {
  if (i < s.start || i >= s.start + s.count) return;
  const float v = s.param[i];
  s.param[i] = v < s.low ? s.low : v > s.high ? s.high : v;
}

// report: scalars [1, 1] into row step mod slots of the ring [slots, n], in place; records the first step with a scalar
// that is not finite.
//   one thread: at most a dozen numbers per step
constexpr int kScalars = 32;
struct Scalars {
  const float* x[kScalars];
};
__device__ inline void report(const Mat<float>& ring, const Scalars& scalars, int first, int count, int64_t step,
                              StepState* state, int64_t slots) {
  float* to = ring.row(static_cast<int>(step % slots)) + first;
  for (int k = 0; k < count; ++k) {
    to[k] = scalars.x[k][0];
    if (!(to[k] - to[k] == 0.0f) && state->bad < 0) state->bad = step;
  }
}

// ---- as steps of a fused launch -------------------------------------------------------------------------------------
struct AdamStep {
  AdamState state;
  Adam op;
  AdamGate gate;
};
template <>
struct Fused<Adam> : FusedUpdate<Fused<Adam>> {
  using Step = AdamStep;
  static Step pack(const Call& call, Packing& packing) {
    const bool flat = packing.cut == FusedChain::flat;
    const AdamStep a{flat ? flat_adam_state(call) : adam_state(call), *static_cast<const Adam*>(call.op),
                     adam_gate(call)};
    packing.fits = !(flat && a.state.param.rows > 1);
    return a;
  }
  template <class Walk>
  __device__ static void elements(const Step& x, const StepState& state, float* shared, Walk&& walk) {
    if (shut(x.gate, x.op)) return;
    Rates& rates = *reinterpret_cast<Rates*>(shared);
    if (threadIdx.x == 0) set_rates(rates, x.op, state.step, x.gate);
    const float unscale = unscale_of(x.gate);
    __syncthreads();
    walk(x.state.param.rows, x.state.param.cols,
         [&](int r, int c, int end) { adam_chunk(x.state, x.op, rates, unscale, r, c, end); });
  }
};

// count_above, in place: one thread.
struct CountStep {
  float* done;
  const float* gate;
  double above;
};
inline CountStep count_step(const Call& call) {
  return {static_cast<float*>(call.out[0].data), static_cast<const float*>(call.in[1].data),
          static_cast<const CountAbove*>(call.op)->above};
}
__device__ inline void count_above(const CountStep& x) {
  if (static_cast<double>(x.gate[0]) > x.above) x.done[0] += 1.0f;
}
template <>
struct Fused<CountAbove> {
  using Step = CountStep;
  static Step pack(const Call& call, Packing&) { return count_step(call); }
  __device__ static void cols(const Step& x, const ColsPart&) {
    if (threadIdx.x == 0) count_above(x);
  }
};

struct AverageStep {
  double decay;
  Operand average, param;
  Target out;
};
template <>
struct Fused<Average> : FusedUpdate<Fused<Average>> {
  using Step = AverageStep;
  static Step pack(const Call& call, Packing& packing) {
    const bool flat = packing.cut == FusedChain::flat;
    packing.fits = !(flat && !(contiguous(call.out[0]) && contiguous(call.in[1])));
    const View to = flat ? as_row(call.out[0]) : call.out[0], param = flat ? as_row(call.in[1]) : call.in[1];
    return {static_cast<const Average*>(call.op)->decay, whole(to), whole(param), target(to)};
  }
  template <class Walk>
  __device__ static void elements(const Step& x, const StepState& state, float*, Walk&& walk) {
    const Operand in[3] = {x.average, x.param, {}};
    walk(x.out.rows, x.out.cols, [&](int r, int c, int end) {
      map_chunk<2>(in, x.out, r, c, end, Mix{&state, x.decay});
    });
  }
};

struct ClampStep {
  ClampedRange range;
  int rows, cols;
};
template <>
struct Fused<ClampRange> : FusedUpdate<Fused<ClampRange>> {
  using Step = ClampStep;
  static Step pack(const Call& call, Packing& packing) {
    const View& out = call.out[0];
    const bool flat = packing.cut == FusedChain::flat;
    return {clamped_range(call), flat ? 1 : static_cast<int>(out.rows),
            static_cast<int>(flat ? out.rows * out.cols : out.cols)};
  }
  template <class Walk>
  __device__ static void elements(const Step& x, const StepState&, float*, Walk&& walk) {
    walk(x.rows, x.cols, [&](int r, int c, int end) {
      for (int k = c; k < min(c + kChunk, end); ++k) clamp_element(x.range, static_cast<int64_t>(r) * x.cols + k);
    });
  }
};

struct ReportStep {
  Mat<float> ring;
  Scalars scalars;
  int count;
  int64_t slots;
};
template <>
struct Fused<Report> {
  using Step = ReportStep;
  static constexpr bool kCounts = true;  // the block that counts the step must see the report
  static Step pack(const Call& call, Packing& packing) {
    ReportStep r{Mat<float>(call.out[0]), {}, call.inputs - 1, static_cast<const Report*>(call.op)->slots};
    packing.fits = r.count <= kScalars;
    for (int k = 0; k < r.count && packing.fits; ++k) r.scalars.x[k] = static_cast<const float*>(call.in[k + 1].data);
    return r;
  }
  __device__ static void cols(const Step& x, const ColsPart& p) {
    if (threadIdx.x == 0) report(x.ring, x.scalars, 0, x.count, p.state.step, p.noted, x.slots);
  }
};

}  // namespace tessera::gpu
