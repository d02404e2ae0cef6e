// The functions of the elementwise ops, one struct each. They use CUDA's accurate functions (1–2 units in the last
// place), not the fast ones.
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

struct Affine {
  float a, b;
  __device__ float operator()(float x) const { return a * x + b; }
};
struct Exp {
  __device__ float operator()(float x) const { return expf(x); }
};
struct Log {
  __device__ float operator()(float x) const { return logf(x); }
};
struct Tanh {
  __device__ float operator()(float x) const { return tanhf(x); }
};
struct Sigmoid {
  __device__ float operator()(float x) const { return 1.0f / (1.0f + expf(-x)); }
};
struct Silu {
  __device__ float operator()(float x) const { return x / (1.0f + expf(-x)); }
};
struct Softplus {
  __device__ float operator()(float x) const { return (x > 0.0f ? x : 0.0f) + log1pf(expf(x > 0.0f ? -x : x)); }
};
struct Sqrt {
  __device__ float operator()(float x) const { return sqrtf(x); }
};
struct Rsqrt {
  __device__ float operator()(float x) const { return x == 0.0f ? 0.0f : 1.0f / sqrtf(x); }
};
struct Leaky {
  float a;
  __device__ float operator()(float x) const { return x > 0.0f ? x : a * x; }
};
struct Step {
  float a;
  __device__ float operator()(float x) const { return x > 0.0f ? 1.0f : a; }
};
struct Clamp {
  float a, b;
  __device__ float operator()(float x) const { return x < a ? a : x > b ? b : x; }
};

struct Add {
  __device__ float operator()(float x, float y) const { return x + y; }
};
struct Sub {
  __device__ float operator()(float x, float y) const { return x - y; }
};
struct Mul {
  __device__ float operator()(float x, float y) const { return x * y; }
};
struct Div {
  __device__ float operator()(float x, float y) const { return x / y; }
};
struct Gate {
  float a;
  __device__ float operator()(float x, float y) const { return x * (y > 0.0f ? 1.0f : a); }
};
struct SiluSlope {
  __device__ float operator()(float x, float y) const {
    const float share = 1.0f / (1.0f + expf(-y));
    return x * (share + share * y * (1.0f - share));
  }
};

struct SigmoidSlope {
  __device__ float operator()(float x, float y) const { return x * (y * (1.0f - y)); }
};
struct TanhSlope {
  __device__ float operator()(float x, float y) const { return x * (1.0f - y * y); }
};
struct Lerp {
  __device__ float operator()(float a, float x, float y) const { return a * x + (1.0f - a) * y; }
};

struct Same {
  __device__ float operator()(float x) const { return x; }
};
// f is called with the function of the op; f is a host function on the host and a device function on the device.
#pragma nv_exec_check_disable
template <class F>
__host__ __device__ inline void with_function(const Unary& op, F&& f) {
  const float a = static_cast<float>(op.a), b = static_cast<float>(op.b);
  switch (op.fn) {
    case Unary::affine: return f(Affine{a, b});
    case Unary::exp: return f(Exp{});
    case Unary::log: return f(Log{});
    case Unary::tanh: return f(Tanh{});
    case Unary::sigmoid: return f(Sigmoid{});
    case Unary::silu: return f(Silu{});
    case Unary::softplus: return f(Softplus{});
    case Unary::sqrt: return f(Sqrt{});
    case Unary::rsqrt: return f(Rsqrt{});
    case Unary::leaky: return f(Leaky{a});
    case Unary::step: return f(Step{a});
    case Unary::clamp: return f(Clamp{a, b});
  }
}
#pragma nv_exec_check_disable
template <class F>
__host__ __device__ inline void with_function(const Binary& op, F&& f) {
  switch (op.fn) {
    case Binary::add: return f(Add{});
    case Binary::sub: return f(Sub{});
    case Binary::mul: return f(Mul{});
    case Binary::div: return f(Div{});
    case Binary::gate: return f(Gate{static_cast<float>(op.a)});
    case Binary::silu_slope: return f(SiluSlope{});
    case Binary::sigmoid_slope: return f(SigmoidSlope{});
    case Binary::tanh_slope: return f(TanhSlope{});
  }
}

// ---- as steps of a fused launch -------------------------------------------------------------------------------------
template <class Op>
struct MapStep {
  Op op;
  Operand x[3];
  Target out;
};
template <class Op, int inputs>
struct FusedFunction : FusedMap<Fused<Op>> {
  using Step = MapStep<Op>;
  static Step pack(const Call& call, Packing& packing) {
    Step m{*static_cast<const Op*>(call.op), {}, target(call.out[0])};
    for (int i = 0; i < inputs; ++i) m.x[i] = operand(call.in[i], call.out[0]);
    packing.fits = packing.cut != FusedChain::flat || m.out.rows == 1;
    return m;
  }
};
template <>
struct Fused<Unary> : FusedFunction<Unary, 1> {
  template <class Walk>
  __device__ static void map(const Step& s, Walk&& walk) {
    with_function(s.op,
                  [&](auto f) { walk(s.out, [&](int r, int c, int end) { map_chunk<1>(s.x, s.out, r, c, end, f); }); });
  }
};
template <>
struct Fused<Binary> : FusedFunction<Binary, 2> {
  template <class Walk>
  __device__ static void map(const Step& s, Walk&& walk) {
    with_function(s.op,
                  [&](auto f) { walk(s.out, [&](int r, int c, int end) { map_chunk<2>(s.x, s.out, r, c, end, f); }); });
  }
};
template <>
struct Fused<LerpRows> : FusedFunction<LerpRows, 3> {
  template <class Walk>
  __device__ static void map(const Step& s, Walk&& walk) {
    walk(s.out, [&](int r, int c, int end) { map_chunk<3>(s.x, s.out, r, c, end, Lerp{}); });
  }
};
template <>
struct Fused<Broadcast> : FusedFunction<Broadcast, 1> {
  template <class Walk>
  __device__ static void map(const Step& s, Walk&& walk) {
    walk(s.out, [&](int r, int c, int end) { map_chunk<1>(s.x, s.out, r, c, end, Same{}); });
  }
};

}  // namespace tessera::gpu
