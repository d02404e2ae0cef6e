// adam (Kingma & Ba 2015), average, report: the end of a step. The step count is read from the device, so a recorded step never has to be patched.
#include "kernels/gpu_map.cuh"

namespace tessera::gpu {
namespace {

// adam, in place.   param, m, v, grad [1, n]; t = step·updates + index + 1
//   torch form: θ −= lr/(1 − β1ᵗ)·m/(√v/√(1 − β2ᵗ) + ε) · tf1 form: θ −= lr·√(1 − β2ᵗ)/(1 − β1ᵗ)·m/(√v + ε)
//   4 reads and 3 writes (28·n bytes), ~15 FLOP a parameter: bandwidth-bound · a thread owns four parameters
//   the rate is worked out once a block, in double · one block barrier; an element depends on its own inputs alone
struct Rates {
  float rate, root;  // θ −= rate·m/(√v·root + ε)
};

__device__ Rates rates_of(const Adam& op, int64_t step) {
  const double t = static_cast<double>(step * op.updates + op.index + 1);
  const double fix1 = 1 - pow(op.beta1, t), root2 = sqrt(1 - pow(op.beta2, t));
  double lr = op.lr;
  if (op.decay_steps > 0 && step > op.decay_from) {
    const double left = 1 - static_cast<double>(step - op.decay_from) / static_cast<double>(op.decay_steps);
    lr *= left > 0 ? left : 0;
  }
  const bool torch = op.form == Adam::torch;
  return {static_cast<float>(torch ? lr / fix1 : lr * root2 / fix1), static_cast<float>(torch ? 1 / root2 : 1)};
}

__global__ void __launch_bounds__(256) adam_kernel(Target param, Target m, Target v, Operand grad, Adam op, const StepState* state) {
  TESS_SHARED(rates, Rates);
  if (threadIdx.x == 0) rates = rates_of(op, state->step);
  __syncthreads();
  const int c = static_cast<int>(blockIdx.x * 256 + threadIdx.x) * kChunk, n = min(kChunk, param.cols - c);
  if (n <= 0) return;
  const float rate = rates.rate, root = rates.root, eps = static_cast<float>(op.eps), decay = static_cast<float>(op.weight_decay);
  const float b1 = static_cast<float>(op.beta1), c1 = static_cast<float>(1 - op.beta1), b2 = static_cast<float>(op.beta2), c2 = static_cast<float>(1 - op.beta2);
  float p[kChunk], first[kChunk], second[kChunk], g[kChunk];
  load_chunk({param.data, 0, 1, param.wide}, 0, c, n, p);
  load_chunk({m.data, 0, 1, m.wide}, 0, c, n, first);
  load_chunk({v.data, 0, 1, v.wide}, 0, c, n, second);
  load_chunk(grad, 0, c, n, g);
#pragma unroll
  for (int k = 0; k < kChunk; ++k) {
    const float slope = g[k] + decay * p[k];
    first[k] = b1 * first[k] + c1 * slope;
    second[k] = b2 * second[k] + c2 * (slope * slope);
    p[k] -= rate * first[k] / (sqrtf(second[k]) * root + eps);
  }
  store_chunk(m, 0, c, n, first);
  store_chunk(v, 0, c, n, second);
  store_chunk(param, 0, c, n, p);
}

Target target(const View& v) { return {static_cast<float*>(v.data), v.ld, 1, static_cast<int>(v.cols), aligned16(v)}; }

void adam_run(const Call& call, int64_t, void* scratch) {
  const View& grad = call.in[3];
  launch({dim3(grid_of(grad.cols, 256 * kChunk)), dim3(256), 0, gpu_context(scratch).stream}, "adam", adam_kernel, target(call.out[0]), target(call.out[1]), target(call.out[2]),
         Operand{static_cast<const float*>(grad.data), 0, 1, aligned16(grad)}, *static_cast<const Adam*>(call.op), static_cast<const StepState*>(call.state));
}

// average ← d·average + (1 − d)·param with d = min(decay, (step + 1)/(step + 10)), in place: a map.   12·n bytes: bandwidth-bound
struct Mix {
  const StepState* state;
  double decay;
  __device__ float operator()(float average, float param) const {
    const double step = static_cast<double>(state->step), early = (step + 1) / (step + 10);
    const float keep = static_cast<float>(early < decay ? early : decay);
    return keep * average + (1.0f - keep) * param;
  }
};
void average_run(const Call& call, int64_t, void* scratch) {
  map<Mix, 2>(scratch, "average", {call.state, static_cast<const Average*>(call.op)->decay}, {&call.out[0], &call.in[1]}, call.out[0]);
}

// report: scalars [1, 1] into row step mod slots of the ring [slots, n], in place; the first step with one that is not finite is noted.
//   one thread: a dozen numbers at most, once a step
constexpr int kScalars = 32;
struct Scalars {
  const float* x[kScalars];
};
__global__ void report_kernel(Mat<float> ring, Scalars scalars, int first, int count, StepState* state, int64_t slots) {
  float* to = ring.row(static_cast<int>(state->step % slots)) + first;
  for (int k = 0; k < count; ++k) {
    to[k] = scalars.x[k][0];
    if (!(to[k] - to[k] == 0.0f) && state->bad < 0) state->bad = state->step;
  }
}

void report_run(const Call& call, int64_t, void* scratch) {
  const int all = call.inputs - 1;
  for (int first = 0; first < all; first += kScalars) {
    Scalars scalars{};
    const int count = all - first < kScalars ? all - first : kScalars;
    for (int k = 0; k < count; ++k) scalars.x[k] = static_cast<const float*>(call.in[1 + first + k].data);
    launch({dim3(1), dim3(1), 0, gpu_context(scratch).stream}, "report", report_kernel, Mat<float>(call.out[0]), scalars, first, count, call.state,
           static_cast<const Report*>(call.op)->slots);
  }
}

}  // namespace

void add_optimizer(KernelTable& t) {
  t.adam = {one_if_any, adam_run, nullptr};
  t.average = {one_if_any, average_run, nullptr};
  t.report = {one_if_any, report_run, nullptr};
}

}  // namespace tessera::gpu
