// unary, binary, lerp_rows, broadcast: each is a map (gpu_map.cuh, where the kernel and its head stand) of one of the functions below.
//   8 to 16 bytes and 1 to ~30 FLOP an element: bandwidth-bound. Functions are CUDA's accurate ones (1–2 units in the last place), not the fast ones.
#include "kernels/gpu_map.cuh"

namespace tessera::gpu {
namespace {

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

void unary_run(const Call& call, int64_t, void* scratch) {
  const auto& op = *static_cast<const Unary*>(call.op);
  const float a = static_cast<float>(op.a), b = static_cast<float>(op.b);
  auto each = [&](auto f) { map<decltype(f), 1>(scratch, "unary", f, {&call.in[0]}, call.out[0]); };
  switch (op.fn) {
    case Unary::affine: return each(Affine{a, b});
    case Unary::exp: return each(Exp{});
    case Unary::log: return each(Log{});
    case Unary::tanh: return each(Tanh{});
    case Unary::sigmoid: return each(Sigmoid{});
    case Unary::softplus: return each(Softplus{});
    case Unary::sqrt: return each(Sqrt{});
    case Unary::rsqrt: return each(Rsqrt{});
    case Unary::leaky: return each(Leaky{a});
    case Unary::step: return each(Step{a});
    case Unary::clamp: return each(Clamp{a, b});
  }
}

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

void binary_run(const Call& call, int64_t, void* scratch) {
  auto each = [&](auto f) { map<decltype(f), 2>(scratch, "binary", f, {&call.in[0], &call.in[1]}, call.out[0]); };
  switch (static_cast<const Binary*>(call.op)->fn) {
    case Binary::add: return each(Add{});
    case Binary::sub: return each(Sub{});
    case Binary::mul: return each(Mul{});
    case Binary::div: return each(Div{});
  }
}

struct Lerp {
  __device__ float operator()(float a, float x, float y) const { return a * x + (1.0f - a) * y; }
};
void lerp_run(const Call& call, int64_t, void* scratch) {
  map<Lerp, 3>(scratch, "lerp_rows", {}, {&call.in[0], &call.in[1], &call.in[2]}, call.out[0]);
}

struct Same {
  __device__ float operator()(float x) const { return x; }
};
void broadcast_run(const Call& call, int64_t, void* scratch) { map<Same, 1>(scratch, "broadcast", {}, {&call.in[0]}, call.out[0]); }

}  // namespace

void add_elementwise(KernelTable& t) {
  t.unary = {one_if_any, unary_run, nullptr};
  t.binary = {one_if_any, binary_run, nullptr};
  t.lerp_rows = {one_if_any, lerp_run, nullptr};
  t.broadcast = {one_if_any, broadcast_run, nullptr};
}

}  // namespace tessera::gpu
