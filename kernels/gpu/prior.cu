// perceptrons: layers of random multilayer perceptrons, of many tables at once (kernels/array_kernels.h). Every number
// has the processor's bits: the same functions (kernels/activations.h), and sums in its order.
//   blockIdx.y is the table; a block beyond the end of its layer returns. For a layer, one launch each:
//   weights   four normal numbers a thread: one counter
//   product   a tile of 64 units × 64 rows, 4 × 4 a thread, and bias and noise: 2·units·inputs·rows FLOP. A sum is one
//             chain over the inputs, cut as the processor's (cpu/product.h); two barriers for 16 inputs
//   waves, knots   of a random curve: 16,384 sines twice, then 8.4 million multiply-adds · one barrier
//   units     sixteen lanes have a unit, lane l the rows l, l + 16, …: moments, shown columns, activation in place. 8
//             bytes an element from L2 and 4 to it, 12 where it is shown · shuffles, no barrier
//   deterministic, no atomics
#include "kernels/activations.h"
#include "kernels/gpu/dialect/view.cuh"
#include "kernels/math/philox.h"

namespace tessera::gpu {
namespace {

constexpr int kSide = 64, kDeep = 16, kOwn = 4, kChain = 256;  // kChain: Shape::kDepth of cpu/product.h
constexpr int kLanes = 16, kUnits = kThreads / kLanes;         // lanes: of a sum in cpu/arrays/prior.cpp
constexpr int kBlocksAtOnce = kThreads / kCurveSteps;
constexpr float kKnot = 2 * kCurveEnd / kCurveKnots;

__device__ inline PerceptronLayer layer_of(const Perceptrons& p, int l) {
  return p.layer[l * p.tables + static_cast<int>(blockIdx.y)];
}

// Four numbers of row `row`: what draw_matrix draws at 4·block.
__device__ inline Philox words_of(const Perceptrons& p, const PerceptronLayer& y, int purpose, int row, int block) {
  const Counter c{static_cast<uint32_t>(row), y.table, static_cast<uint32_t>(purpose) << 16 | (y.attempt & 0xFFFF)};
  return random_words(p.seed, c, static_cast<uint32_t>(block));
}
__device__ inline void normals_of(const Philox& words, float (&v)[kOwn]) {
#pragma unroll
  for (int k = 0; k < kOwn; k += 2) {
    const float radius = sqrtf(-2.0f * log_of(open_uniform(words.word[k])));
    float cosine, sine;
    turn(open_uniform(words.word[k + 1]), cosine, sine);
    v[k] = radius * cosine, v[k + 1] = radius * sine;
  }
}

__global__ void __launch_bounds__(kThreads) prior_weights_kernel(Perceptrons p, int l) {
  const PerceptronLayer y = layer_of(p, l);
  const int across = static_cast<int>(blocks_for(y.inputs, kOwn)), item = blockIdx.x * kThreads + threadIdx.x;
  if (item >= y.outputs * across) return;
  const int i = item / across, block = item % across;
  float v[kOwn];
  normals_of(words_of(p, y, y.weights, i, block), v);
  Philox kept{};
  if (y.kept != 0) kept = words_of(p, y, y.kept, i, block);
#pragma unroll
  for (int k = 0; k < kOwn; ++k) {
    const int j = block * kOwn + k;
    if (j >= y.inputs) break;
    bool in = y.kept == 0 || open_uniform(kept.word[k]) < y.keep;
    if (y.blocks > 0) in = i / y.down == j / y.across && i / y.down < y.blocks;
    y.matrix[i * y.inputs + j] = v[k] * (in ? y.scale : 0.0f);
  }
}

__global__ void __launch_bounds__(kThreads) prior_product_kernel(Perceptrons p, int l) {
  TESS_SHARED(w, float[kDeep][kSide + 4]);
  TESS_SHARED(x, float[kDeep][kSide]);
  const PerceptronLayer y = layer_of(p, l);
  const int tiles = static_cast<int>(blocks_for(y.stride, kSide)), thread = static_cast<int>(threadIdx.x);
  if (y.outputs == 0 || static_cast<int>(blockIdx.x) >= tiles * blocks_for(y.outputs, kSide)) return;
  const int unit0 = static_cast<int>(blockIdx.x) / tiles * kSide, row0 = static_cast<int>(blockIdx.x) % tiles * kSide;
  const int unit = unit0 + thread / kLanes * kOwn, row = row0 + thread % kLanes * kOwn;  // the thread's own
  const int chains = static_cast<int>(blocks_for(y.inputs, kChain)), length = (y.inputs + chains - 1) / chains;
  const auto load_stage = [&](int k0, int depth) {
    const int of_w = unit0 + thread / 4, k = thread / kLanes;  // a thread loads four of each
    for (int q = thread % 4 * kOwn; q < thread % 4 * kOwn + kOwn; ++q)
      w[q][thread / 4] = of_w < y.outputs && q < depth ? y.matrix[of_w * y.inputs + k0 + q] : 0.0f;
    float4 four = make_float4(0, 0, 0, 0);
    if (k < depth && row < y.stride) four = *reinterpret_cast<const float4*>(y.in + int64_t{k0 + k} * y.stride + row);
    *reinterpret_cast<float4*>(&x[k][thread % kLanes * kOwn]) = four;
  };
  float total[kOwn][kOwn];
  for (int chain = 0; chain < chains; ++chain) {
    const int end = min(y.inputs, (chain + 1) * length);
    float sum[kOwn][kOwn] = {};
    for (int k0 = chain * length; k0 < end; k0 += kDeep) {
      const int depth = min(kDeep, end - k0);
      __syncthreads();  // the last stage has been read
      load_stage(k0, depth);
      __syncthreads();
#pragma unroll 4
      for (int k = 0; k < depth; ++k) {
        const float4 a = *reinterpret_cast<const float4*>(&w[k][thread / kLanes * kOwn]),
                     b = *reinterpret_cast<const float4*>(&x[k][thread % kLanes * kOwn]);
        const float left[kOwn] = {a.x, a.y, a.z, a.w}, right[kOwn] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
#pragma unroll
          for (int j = 0; j < kOwn; ++j) sum[i][j] = mul_add(left[i], right[j], sum[i][j]);
      }
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i)
#pragma unroll
      for (int j = 0; j < kOwn; ++j) total[i][j] = chain == 0 ? sum[i][j] : total[i][j] + sum[i][j];
  }
  if (row >= y.stride) return;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (unit + i >= y.outputs) break;
    const float bias = y.bias[unit + i], deviation = y.deviation[unit + i];
    float noise[kOwn];
    if (y.noise != 0) normals_of(words_of(p, y, y.noise, unit + i, row / kOwn), noise);
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const float v = total[i][j] + bias;
      total[i][j] = y.noise != 0 ? mul_add(deviation, noise[j], v) : v;
    }
    *reinterpret_cast<float4*>(y.out + int64_t{unit + i} * y.stride + row) =
        make_float4(total[i][0], total[i][1], total[i][2], total[i][3]);
  }
}

__device__ inline double turns_of(float frequency, double x) { return static_cast<double>(frequency) * kTurns * x; }

__global__ void __launch_bounds__(kThreads) prior_waves_kernel(Perceptrons p, int l) {
  const PerceptronLayer y = layer_of(p, l);
  if (y.terms == nullptr) return;
  RandomCurve& c = *y.curve;
  const int item = blockIdx.x * kThreads + threadIdx.x, k = item / kCurveSteps, j = item % kCurveSteps;
  const double turns = turns_of(y.terms->frequency[k], static_cast<double>(j) * static_cast<double>(kKnot));
  c.sine[k][j] = sine_of_turn(part_of_turn(turns));
  c.cosine[k][j] = sine_of_turn(part_of_turn(turns + 0.25));
}

// The value of a curve at x, by a warp; both halves add up the sixteen sums.
__device__ inline float curve_at(const CurveTerms& c, float x) {
  float sum = 0, total = 0;
  for (int k = lane_id() % kLanes; k < kCurveTerms; k += kLanes) {
    const double turns = turns_of(c.frequency[k], static_cast<double>(x)) + static_cast<double>(c.turn[k]);
    sum = mul_add(c.weight[k], sine_of_turn(part_of_turn(turns)), sum);
  }
  for (int s = 0; s < kLanes; ++s) total += __shfl_sync(kWholeWarp, sum, s);
  return total;
}

// Four blocks of knots, or, by the last block, the last knot.
__global__ void __launch_bounds__(kThreads) prior_knots_kernel(Perceptrons p, int l) {
  TESS_SHARED(wave, float4[kBlocksAtOnce][kCurveTerms]);
  const PerceptronLayer y = layer_of(p, l);
  if (y.terms == nullptr) return;
  const CurveTerms& t = *y.terms;
  RandomCurve& c = *y.curve;
  const int thread = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * kBlocksAtOnce;
  const bool last = first == kCurveBlocks;
  for (int b = 0; b < (last ? 1 : kBlocksAtOnce); ++b) {
    const double x =
        static_cast<double>((first + b) * kCurveSteps) * static_cast<double>(kKnot) - static_cast<double>(kCurveEnd);
    const double turns = turns_of(t.frequency[thread], x) + static_cast<double>(t.turn[thread]);
    const float size = t.weight[thread], rise = size * t.frequency[thread] * kKnot;
    const float s = sine_of_turn(part_of_turn(turns)), o = sine_of_turn(part_of_turn(turns + 0.25));
    wave[b][thread] = make_float4(size * s, size * o, last ? rise : rise * o, last ? o : -rise * s);
  }
  __syncthreads();
  if (last) {
    const float end = curve_at(t, kCurveEnd);
    if (thread > 0) return;
    float slope = 0;
    for (int k = 0; k < kCurveTerms; ++k) slope = mul_add(wave[0][k].z, wave[0][k].w, slope);
    c.value[kCurveKnots] = end, c.rise[kCurveKnots] = slope;
    return;
  }
  float value = 0, rise = 0;
  for (int k = 0, j = thread % kCurveSteps; k < kCurveTerms; ++k) {
    const float4 w = wave[thread / kCurveSteps][k];
    const float cosine = c.cosine[k][j], sine = c.sine[k][j];
    value = mul_add(w.y, sine, mul_add(w.x, cosine, value));
    rise = mul_add(w.w, sine, mul_add(w.z, cosine, rise));
  }
  c.value[first * kCurveSteps + thread] = value, c.rise[first * kCurveSteps + thread] = rise;
}

// x ← the curve at z, of the lane's rows; a place outside the knots is summed up by the whole warp.
__device__ inline void follow_curve(const PerceptronLayer& y, const Standardized& s, bool mine, int lane, float* x) {
  for (int i = lane; i - lane < y.rows; i += kLanes) {
    const bool in = mine && i < y.rows;
    const float z = in ? mul_add(s.scale, x[i] - s.mean, s.shift) : 0.0f;
    const CurvePlace place = place_on_curve(z);
    float found = between_knots(y.curve->value, y.curve->rise, place.knot, place.along);
    for (unsigned far = __ballot_sync(kWholeWarp, !on_curve(z)); far != 0; far &= far - 1) {
      const int at = __ffs(static_cast<int>(far)) - 1;
      const float direct = curve_at(*y.terms, __shfl_sync(kWholeWarp, z, at));
      if (lane_id() == at) found = direct;
    }
    if (in) x[i] = found;
  }
}

__global__ void __launch_bounds__(kThreads) prior_units_kernel(Perceptrons p, int l) {
  const PerceptronLayer y = layer_of(p, l);
  const int first = static_cast<int>(blockIdx.x) * kUnits, lane = static_cast<int>(threadIdx.x) % kLanes;
  if (first >= y.outputs) return;
  const int unit = first + static_cast<int>(threadIdx.x) / kLanes;
  const bool mine = unit < y.outputs;  // the others take part in shuffles
  const int rows = mine ? y.rows : 0;
  float* x = y.out + int64_t{mine ? unit : 0} * y.stride;
  if (const int column = mine ? y.shown[unit] : -1; column >= 0)
    for (int i = lane; i < rows; i += kLanes) y.columns[int64_t{column} * y.stride + i] = x[i];
  if (y.last) return;
  const double about = __shfl_sync(kWholeWarp, mine && lane == 0 ? static_cast<double>(x[0]) : 0.0, 0, kLanes);
  double sum = 0, square = 0, total = 0, squares = 0;
  for (int i = lane; i < rows; i += kLanes) {
    const double d = static_cast<double>(x[i]) - about;
    sum += d;
    square = mul_add(d, d, square);
  }
  for (int s = 0; s < kLanes; ++s) {
    total += __shfl_sync(kWholeWarp, sum, s, kLanes);
    squares += __shfl_sync(kWholeWarp, square, s, kLanes);
  }
  const Standardized s = standardized(unit_moments(about, total, squares, y.rows), y.a, y.b, y.f == Activation::random);
  if (y.f == Activation::random) return follow_curve(y, s, mine, lane, x);
  with_activation(y.f, [&](auto kind) {
    for (int i = lane; i < rows; i += kLanes) x[i] = activated<kind.kKind>(mul_add(s.scale, x[i] - s.mean, s.shift));
  });
}

void each_table(const char* name, void (*kernel)(Perceptrons, int), int64_t blocks, const Perceptrons& p, int layer,
                cudaStream_t stream) {
  launch({dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(p.tables)), dim3(kThreads), 0, stream}, name,
         kernel, p, layer);
}

}  // namespace

void perceptrons(const Perceptrons& p, cudaStream_t stream) {
  for (int l = 0; l < p.layers; ++l) {
    each_table("prior_weights", prior_weights_kernel, blocks_for(p.outputs * blocks_for(p.inputs, kOwn), kThreads), p,
               l, stream);
    each_table("prior_product", prior_product_kernel, blocks_for(p.outputs, kSide) * blocks_for(p.stride, kSide), p, l,
               stream);
    each_table("prior_waves", prior_waves_kernel, kCurveTerms * kCurveSteps / kThreads, p, l, stream);
    each_table("prior_knots", prior_knots_kernel, kCurveBlocks / kBlocksAtOnce + 1, p, l, stream);
    each_table("prior_units", prior_units_kernel, blocks_for(p.outputs, kUnits), p, l, stream);
  }
}

}  // namespace tessera::gpu
