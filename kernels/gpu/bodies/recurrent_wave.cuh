// The layers of a network as a wavefront: one block runs all of them, layer l at step w − l while the first is at step
// w, so L layers of T steps take T + L − 1 steps instead of L·T. Backward a layer follows the one above it by two
// steps: T + 2·L − 1. For layers of at most kWaveUnits units, one or two sequences at a time (V); a single layer is a
// wavefront too. The bits are those of one layer after the other (recurrent.cuh, recurrent_grad.cuh).
//   a layer has whole warps · weights of W_h, and of W_x of all but the first layer, stay in registers through all
//   steps; the input's part of the first layer is computed for as many steps at a time as fit · shared memory passes
//   states forward and gradients backward, of two steps each: a step reads one and writes the other
//   forward: two threads share a unit (lstm: four) and split its lanes · backward: one thread (lstm: two) per sum along
//   a row of W_h or W_x; half of a layer's warps have those of the state, half those of the input
//   block barriers per step: one; backward two with several sequences; reset before one more forward, two more backward
#pragma once
#include "kernels/gpu/bodies/recurrent_grad.cuh"

namespace tessera::gpu {

constexpr int kFewUnits = 24, kWaveUnits = 32, kWaveLanes = 2;
// Whether few threads hold all weights of a sum. Otherwise twice as many do, and half as many layers fit a block.
template <Cell cell>
__host__ __device__ constexpr bool few(int units) {
  return units <= kFewUnits && cell != Cell::lstm;
}

template <int n>
__device__ inline void load_floats(const float* from, float (&to)[n]) {
  if constexpr (n == 1) {
    to[0] = from[0];
  } else if constexpr (n == 2) {
    const float2 v = *reinterpret_cast<const float2*>(from);
    to[0] = v.x, to[1] = v.y;
  } else {
#pragma unroll
    for (int i = 0; i < n; i += 4) {
      float v[4];
      load_four(from + i, v);
#pragma unroll
      for (int q = 0; q < 4; ++q) to[i + q] = v[q];
    }
  }
}

// One branch if nothing is rounded.
__device__ inline float wave_rounded(float x, Precision factors) {
  if (factors != Precision::fp32) x = rounded(x, factors);
  return x;
}

// A weight that a thread holds: −0 in chunks of four that a sum of `depth` does not have, since a product of −0 and 0
// changes no sum, not even one of −0.
__device__ inline float held_weight(const float* w, int k, int depth) {
  return k < depth ? *w : (k & ~3) < depth ? 0.0f : -0.0f;
}

// ---- forward --------------------------------------------------------------------------------------------------------
template <Cell cell, int V, int units>
struct WaveForward {
  static constexpr bool lstm = cell == Cell::lstm, reset = cell == Cell::gru_reset_before;
  static constexpr int G = static_cast<int>(gates_of(cell)), parts = static_cast<int>(saved_of(cell));
  static constexpr int kShare = few<cell>(units) ? 2 : 4;  // threads that share a unit
  static constexpr int kThreadsOfLayer = (units * kShare + 31) / 32 * 32, kLayers = kThreads / kThreadsOfLayer;
  static constexpr int kEach = 4 / kShare, kHeld = units / kShare;  // weights of a gate: `kEach` of every four
  static constexpr int kState = units * V;

  const RecurrentLayer& s;
  const int p, layer, u;
  const bool unit, owner;  // there is such a unit; this thread owns lanes of it
  float w_x[G * kHeld], w_h[G * kHeld], bias[G], b_hn;
  float h = 0, c = 0;

  __device__ WaveForward(const RecurrentLayer* layers, int n)
      : s(layers[min(thread() / kThreadsOfLayer, n - 1)]),
        p(thread() % kShare),
        layer(thread() / kThreadsOfLayer),
        u(thread() % kThreadsOfLayer / kShare),
        unit(layer < n && u < s.hidden),
        owner(unit && p < V) {}
  __device__ void hold_weights() {
    hold(s.w_x, layer > 0 ? s.hidden : 0, w_x);
    hold(s.w_h, s.hidden, w_h);
#pragma unroll
    for (int g = 0; g < G; ++g) bias[g] = unit ? input_bias<cell>(s, g, u) : 0.0f;
    b_hn = cell == Cell::gru && unit ? s.b_h.data[2 * s.hidden + u] : 0.0f;
  }
  __device__ void hold(const Mat<const float>& w, int depth, float (&to)[G * kHeld]) const {
#pragma unroll
    for (int g = 0; g < G; ++g)
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        const int k = i / kEach * 4 + p * kEach + i % kEach;
        to[g * kHeld + i] = held_weight(w.row(k) + g * s.hidden + u, k, unit ? depth : 0);
      }
    round_all(s.factors, to);
  }
  __device__ int lane() const { return p % V; }

  // sum[g], of lane(): gates first … first + n − 1 of W times v [k][lane]
  template <int first, int n>
  __device__ void sums(const float (&w)[G * kHeld], const float* v, float (&sum)[n]) const {
    float part[kEach][n][V] = {};
#pragma unroll
    for (int k = 0; k < units; k += 4) {
      float x[kEach * V];
      load_floats(v + (k + p * kEach) * V, x);
#pragma unroll
      for (int e = 0; e < kEach; ++e)
#pragma unroll
        for (int g = 0; g < n; ++g)
#pragma unroll
          for (int l = 0; l < V; ++l)
            part[e][g][l] = fmaf(w[(first + g) * kHeld + k / 4 * kEach + e], x[e * V + l], part[e][g][l]);
    }
#pragma unroll
    for (int g = 0; g < n; ++g) {
      float whole[V];
#pragma unroll
      for (int l = 0; l < V; ++l) whole[l] = kEach == 2 ? part[0][g][l] + part[kEach - 1][g][l] : part[0][g][l];
      sum[g] = across(whole);
    }
  }
  // The sum of the parts of the threads that share a unit, as (0 + 1) + (2 + 3).
  __device__ float across(const float (&part)[V]) const {
    float own = part[0];
    if constexpr (V == 1) own += __shfl_xor_sync(kWholeWarp, own, 1);
    else own = (p & 1 ? part[1] : part[0]) + __shfl_xor_sync(kWholeWarp, p & 1 ? part[0] : part[1], 1);
    if constexpr (kShare == 4) own += __shfl_xor_sync(kWholeWarp, own, 2);
    return own;
  }
};

template <Cell cell, int V, int units>
struct WaveScratch {
  Lane* lanes;
  float *value, *reset;  // rounded states of two steps; r⊙h
  RecurrentRoom inputs;  // of the first layer
  __device__ WaveScratch(const RecurrentLayer& first, int n, float* floats, int count) : inputs{} {
    constexpr int G = static_cast<int>(gates_of(cell)), kState = WaveForward<cell, V, units>::kState;
    lanes = reinterpret_cast<Lane*>(floats);
    value = floats + kLaneFloats * V;
    reset = value + 2 * n * kState;
    inputs.lanes = lanes;
    inputs.x = reset + (cell == Cell::gru_reset_before ? n * kState : 0);
    const int step = (padded(first.in) + G * first.hidden) * V;
    inputs.L = V;
    inputs.span = min((count - static_cast<int>(inputs.x - floats)) / step / 4 * 4, padded(first.steps));
    inputs.columns = inputs.span * V;
    inputs.a = inputs.x + padded(first.in) * inputs.columns;
  }
};
// noinline: in the loop of steps its registers would push the weights out.
template <Cell cell>
__attribute__((noinline)) __device__ void take_first_inputs(const RecurrentLayer& first, RecurrentRoom scratch, int t) {
  assume_shared(scratch.x);
  assume_shared(scratch.a);
  take_inputs(first, scratch, t);
  __syncthreads();
  input_gates<cell, 4>(first, scratch);
  __syncthreads();
}

// All steps of at most V sequences through n layers. noinline: as recurrent_forwards.
template <Cell cell, int V, int units>
__attribute__((noinline)) __device__ void wave_forwards(const RecurrentLayer* layers, int n, Rows rows, float* floats,
                                                        int count) {
  assume_shared(floats);
  using Wave = WaveForward<cell, V, units>;
  constexpr int G = Wave::G, parts = Wave::parts, kState = Wave::kState;
  constexpr bool lstm = Wave::lstm, reset = Wave::reset;
  const RecurrentLayer& first = layers[0];
  WaveScratch<cell, V, units> scratch(first, n, floats, count);
  const int B = first.y.rows, H = first.hidden, steps = first.steps;
  put_lanes(scratch.lanes, V, rows, first.length, B, steps);
  for (int i = thread(); i < (reset ? 3 : 2) * n * kState; i += kThreads) scratch.value[i] = 0.0f;
  Wave wave(layers, n);
  const RecurrentLayer& s = wave.s;
  const Precision factors = s.factors;
  const int layer = wave.layer, u = wave.unit ? wave.u : 0;
  __syncthreads();

  int most = 0;
#pragma unroll
  for (int l = 0; l < V; ++l) most = max(most, scratch.lanes[l].steps);
  const int lane = wave.lane(), own = u * V + lane, length = scratch.lanes[lane].steps,
            row = wave.owner ? scratch.lanes[lane].row : -1;
  const bool any = row >= 0 && row < B;
  if (any && s.h0) wave.h = s.h0.row(row)[u];
  if (lstm && any && s.c0) wave.c = s.c0.row(row)[u];
  // of the next step to be stored
  float* saved = row < 0 ? nullptr : cell_of(s.saved, scratch.lanes[lane], 0, steps, parts, H, u);
  float* y = any ? s.y.row(row) + u : nullptr;
  const int part = H * static_cast<int>(s.saved.ld);
  const auto store = [&](const float(&values)[parts], bool on) {
    if (row < 0) return;
#pragma unroll
    for (int k = 0; k < parts; ++k) saved[k * part] = on ? values[k] : 0.0f;
    saved += parts * part;
    if (any) *y = on ? wave.h : 0.0f, y += H;
  };
  if (wave.owner) scratch.value[((layer & 1) * n + layer) * kState + own] = wave_rounded(wave.h, factors);

  for (int t0 = 0; t0 < most; t0 += scratch.inputs.span) {
    take_first_inputs<cell>(first, scratch.inputs, t0);
    wave.hold_weights();  // after the call: it would save them
    const int end = t0 + scratch.inputs.span < most ? t0 + scratch.inputs.span : most + n - 1;
    for (int w = t0; w < end; ++w) {
      const int t = w - layer;
      if (layer >= n || t < 0 || t >= most) {  // the same for all threads of a warp
        if constexpr (reset) meet();
        meet();
        continue;
      }
      const float* state = scratch.value + ((w & 1) * n + layer) * kState;
      float a[G], sum[G] = {}, values[parts];
      if (layer > 0) {
        wave.template sums<0, G>(wave.w_x, state - kState, a);
#pragma unroll
        for (int g = 0; g < G; ++g) a[g] += wave.bias[g];
      } else {
#pragma unroll
        for (int g = 0; g < G; ++g) a[g] = scratch.inputs.a[(((t - t0) * G + g) * H + u) * V + lane];
      }
      if constexpr (reset) {
        float of_gates[2], of_n[1];
        wave.template sums<0, 2>(wave.w_h, state, of_gates);
        a[0] = gate_of(a[0] + of_gates[0]);
        a[1] = gate_of(a[1] + of_gates[1]);
        if (wave.owner) scratch.reset[layer * kState + own] = wave_rounded(a[0] * wave.h, factors);
        meet();
        wave.template sums<2, 1>(wave.w_h, scratch.reset + layer * kState, of_n);
        sum[2] = of_n[0];
      } else {
        wave.template sums<0, G>(wave.w_h, state, sum);
      }
      float c = wave.c;
      const float h = next_state<cell>(a, sum, wave.b_hn, s.forget_bias, wave.h, c, values);
      if (t < length) wave.h = h, wave.c = c;
      if (wave.owner) scratch.value[((~w & 1) * n + layer) * kState + own] = wave_rounded(wave.h, factors);
      meet();
      store(values, t < length);  // after the barrier: the next step does not wait for it
    }
  }
  for (int t = most; t < steps; ++t) store({}, false);
  if (!any) return;
  s.h_last.row(row)[u] = wave.h;
  if (lstm) s.c_last.row(row)[u] = wave.c;
}

// ---- backward -------------------------------------------------------------------------------------------------------
// A layer's gradient, and d_x if that is the gradient of the layer below or follows it.
struct RecurrentBackPair {
  RecurrentBack back;
  RecurrentInput input;
};

template <Cell cell, int V, int units>
struct WaveBackward {
  static constexpr bool lstm = cell == Cell::lstm, reset = cell == Cell::gru_reset_before;
  static constexpr int G = static_cast<int>(gates_of(cell)), parts = static_cast<int>(saved_of(cell)),
                       slope_parts = static_cast<int>(slopes_of(cell));
  static constexpr int kShare = few<cell>(units) ? 1 : 2;  // threads that share a sum
  static constexpr int kThreadsOfRole = (units * kShare + 31) / 32 * 32, kLayers = kThreads / (2 * kThreadsOfRole);
  static constexpr int kDepth = G * units, kState = units * V;
  // Weights of a row in chunks of four: all; reset before: those of r and z, and behind them those of n.
  static constexpr int kChunks = kDepth / 4 / kShare, kChunksOfN = units / 4 / kShare;

  const int layer, input, u, q;  // input: 1 in threads whose sums are those of d_x
  const RecurrentBack& s;
  const RecurrentInput& s_x;
  float w[kChunks * 4];

  __device__ WaveBackward(const RecurrentBackPair* pairs, int n, bool last)
      : layer(thread() / (2 * kThreadsOfRole)),
        input(thread() / kThreadsOfRole % 2),
        u(thread() % kThreadsOfRole / kShare),
        q(thread() % kShare),
        s(pairs[min(layer, n - 1)].back),
        s_x(pairs[min(layer, n - 1)].input) {
    const int H = s.w_h.rows;
    if (layer < n && !input && u < H) {
      hold<0, reset ? kChunks - kChunksOfN : kChunks>(s.w_h.row(u), reset ? 2 * H : G * H);
      if constexpr (reset) hold<kChunks - kChunksOfN, kChunksOfN>(s.w_h.row(u) + 2 * H, H);
    } else if (layer < n && input && (layer < n - 1 || last) && u < s_x.w_x.rows) {
      hold<0, kChunks>(s_x.w_x.row(u), G * H);
    } else {
      hold<0, kChunks>(nullptr, 0);
    }
    round_all(s.factors, w);
  }
  // Chunk c of those that this thread adds up, in the order of the eight threads of row_sums.
  __device__ int chunk(int c) const { return kShare == 1 ? c : c / 4 * 8 + q * 4 + c % 4; }
  template <int first, int chunks>
  __device__ void hold(const float* row, int depth) {
#pragma unroll
    for (int c = 0; c < chunks; ++c)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = chunk(c) * 4 + i;
        w[(first + c) * 4 + i] = held_weight(row + j, j, depth);
      }
  }
  // Σ_j w[j]·v[j][lane], with the bits of row_sums.
  template <int first, int chunks>
  __device__ void sums(const float* v, float (&sum)[V]) const {
    // in the order of the butterfly, so that few turns wait for others
#pragma unroll
    for (int half = 0; half < 2 / kShare; ++half) {
      float quarter[2][V], turn[V];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        add_turn<first, chunks>(v, half * 4 + i * 2, quarter[i]);
        add_turn<first, chunks>(v, half * 4 + i * 2 + 1, turn);
#pragma unroll
        for (int l = 0; l < V; ++l) quarter[i][l] += turn[l];
      }
#pragma unroll
      for (int l = 0; l < V; ++l) {
        const float of_half = quarter[0][l] + quarter[1][l];
        sum[l] = half == 0 ? of_half : sum[l] + of_half;
      }
    }
    if constexpr (kShare == 2)
#pragma unroll
      for (int l = 0; l < V; ++l) sum[l] += __shfl_xor_sync(kWholeWarp, sum[l], 1);
  }
  // What thread `turn` of the eight adds up.
  template <int first, int chunks>
  __device__ void add_turn(const float* v, int turn, float (&sum)[V]) const {
    float part[4][V] = {};
#pragma unroll
    for (int c = turn; c < chunks; c += 8 / kShare) {
      float x[4 * V];
      load_floats(v + chunk(c) * 4 * V, x);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int l = 0; l < V; ++l) part[i][l] = fmaf(w[(first + c) * 4 + i], x[i * V + l], part[i][l]);
    }
#pragma unroll
    for (int l = 0; l < V; ++l) sum[l] = (part[0][l] + part[1][l]) + (part[2][l] + part[3][l]);
  }
  // The lane whose gates the thread computes: a unit has 2·kShare threads.
  __device__ int lane() const { return input * kShare + q; }
};

template <Cell cell, int V, int units>
__attribute__((noinline)) __device__ void wave_backwards(const RecurrentBackPair* pairs, int n, bool last, Rows rows,
                                                         float* floats) {
  assume_shared(floats);
  using Wave = WaveBackward<cell, V, units>;
  constexpr int G = Wave::G, parts = Wave::parts, slope_parts = Wave::slope_parts, kState = Wave::kState,
                kGates = Wave::kDepth * V;
  constexpr bool lstm = Wave::lstm, reset = Wave::reset, gru = cell == Cell::gru;
  const RecurrentBack& top = pairs[0].back;
  const int B = top.sequences, H = top.w_h.rows, steps = top.steps;
  Lane* lanes = reinterpret_cast<Lane*>(floats);
  // Of each of two steps, the gates' gradients of each layer, for d_x, and those for d_h that differ (gru: q in the
  // place of n; reset before: n alone); d_x of two steps; a layer's sums.
  float *d = floats + kLaneFloats * V, *d_x = d + 4 * n * kGates, *sum_of = d_x + 2 * n * kState;
  put_lanes(lanes, V, rows, top.length, B, steps);
  for (int i = thread(); i < 4 * n * kGates; i += kThreads) d[i] = 0.0f;
  const Wave wave(pairs, n, last);
  const RecurrentBack& s = wave.s;
  const RecurrentInput& s_x = wave.s_x;
  const Precision factors = s.factors;
  const int layer = wave.layer < n ? wave.layer : 0, u = wave.u < H ? wave.u : 0;
  const bool any = wave.layer < n, unit = any && wave.u < H, owner = unit && wave.lane() < V,
             input = any && wave.input != 0 && (wave.layer < n - 1 || last), output = input && wave.u < s_x.w_x.rows;
  __syncthreads();

  const int lane = owner ? wave.lane() : 0, own = u * V + lane, b = owner ? lanes[lane].row : -1;
  const Lane of = owner ? lanes[lane] : Lane{-1, 0, 0, 0};
  const bool there = b >= 0 && b < B;
  float pass = s.d_h_last && there ? s.d_h_last.row(b)[u] : 0.0f,
        d_c = lstm && s.d_c_last && there ? s.d_c_last.row(b)[u] : 0.0f, r = 0.0f, h = 0.0f;
  const int saved_part = H * static_cast<int>(s.saved.ld), slopes_part = H * static_cast<int>(s.slopes.ld);
  const auto at = [&](int t, int which) { return d + (((t & 1) * n + layer) * 2 + which) * kGates; };
  // The owner's sum: with one lane it is the thread's own.
  const auto to_owner = [&](const float(&sum)[V]) {
    if constexpr (V == 1) {
      return sum[0];
    } else {
      if (unit && wave.input == 0 && wave.q == 0)
#pragma unroll
        for (int l = 0; l < V; ++l) sum_of[layer * kState + u * V + l] = sum[l];
      __syncthreads();
      return owner ? sum_of[layer * kState + own] : 0.0f;
    }
  };

  for (int w = 0; w <= steps + 2 * (n - 1); ++w) {
    const int t = steps - (w - 2 * layer);  // sums are those of step t, gates those of the step before
    const bool runs = any && t >= 0 && t <= steps, adds = runs && t < steps;  // the same for all threads of a warp
    const bool on = runs && t > 0 && t <= of.steps;
    float saved[parts] = {}, up = 0.0f;
    if (on) {
      const float* from = cell_of(s.saved, of, t - 1, steps, parts, H, u);
#pragma unroll
      for (int k = 0; k < parts; ++k) saved[k] = from[k * saved_part];
      if (layer == 0 && s.d_y) up = s.d_y.row(b)[(t - 1) * H + u];
    }
    float sum[V] = {};
    if constexpr (reset) {
      if (adds && wave.input == 0)
        wave.template sums<Wave::kChunks - Wave::kChunksOfN, Wave::kChunksOfN>(at(t, 1), sum);
      const float of_n = to_owner(sum);
      if (adds && t < of.steps) {
        const float d_r = of_n * h * sigmoid_slope(r);
        pass = fmaf(of_n, r, pass);
        at(t, 0)[own] = wave_rounded(d_r, factors);
        cell_of(s.slopes, of, t, steps, slope_parts, H, u)[0] = d_r;
      }
      __syncthreads();
    }
    if (adds && wave.input == 0) {
      if constexpr (reset) wave.template sums<0, Wave::kChunks - Wave::kChunksOfN>(at(t, 0), sum);
      else wave.template sums<0, Wave::kChunks>(at(t, gru), sum);
    } else if (adds && input) {
      wave.template sums<0, Wave::kChunks>(at(t, 0), sum);
      if (output && wave.q == 0)
#pragma unroll
        for (int l = 0; l < V; ++l) {
          d_x[((w & 1) * n + layer) * kState + wave.u * V + l] = sum[l];
          if (const int to = lanes[l].row; to >= 0 && to < B) s_x.d_x.row(to)[t * s_x.w_x.rows + wave.u] = sum[l];
        }
    }
    const float of_state = to_owner(sum), d_h = t < of.steps ? pass + of_state : pass;
    if (runs && owner && t > 0) {
      if (layer > 0 && on) up = d_x[((~w & 1) * n + layer - 1) * kState + own];
      float slope[slope_parts] = {};
      pass = d_h;
      if (on) gate_slopes<cell>(saved, d_h + up, d_c, pass, slope);
      if constexpr (reset) r = saved[0], h = saved[parts - 1];
#pragma unroll
      for (int g = 0; g < G; ++g) {
        const float v = wave_rounded(slope[g], factors);
        at(t - 1, 0)[g * H * V + own] = v;
        if constexpr (gru) at(t - 1, 1)[g * H * V + own] = g == 2 ? wave_rounded(slope[3], factors) : v;
        if (reset && g == 2) at(t - 1, 1)[own] = v;
      }
      if (b >= 0) {
        float* to = cell_of(s.slopes, of, t - 1, steps, slope_parts, H, u);
#pragma unroll
        for (int k = 0; k < slope_parts; ++k) to[k * slopes_part] = slope[k];
      }
    } else if (runs && there) {
      s.d_h0.row(b)[u] = d_h;
      if (lstm) s.d_c0.row(b)[u] = d_c;
    }
    __syncthreads();
  }
}

// ---- which form -----------------------------------------------------------------------------------------------------
// Floats of shared memory: forward with inputs of four steps, and backward.
constexpr int kWaveBackFloats = kWaveLanes * kLaneFloats + 6144;
__host__ __device__ constexpr int wave_floats(Cell cell, int in, int hidden) {
  return kWaveLanes * (kLaneFloats + 12 * kFewUnits + 4 * (padded(in) + static_cast<int>(gates_of(cell)) * hidden));
}
__host__ __device__ constexpr bool in_a_wave(Cell cell, int in, int hidden, int floats) {
  return hidden <= kWaveUnits && wave_floats(cell, in, hidden) <= floats;
}
// Layers that one wavefront can have.
__host__ __device__ constexpr int wave_layers(Cell cell, int hidden) {
  return cell != Cell::lstm && hidden <= kFewUnits ? 4 : 2;
}

// go<cell, V, units>(sequences) of groups of sequences that a wavefront takes
template <Cell cell, class Go>
__device__ inline void each_wave(int hidden, const Rows& rows, Go&& go) {
  each_group(rows, kWaveLanes, [&](const Rows& some) {
    if constexpr (cell != Cell::lstm)
      if (hidden <= kFewUnits) {
        if (some.count == 1) return go.template operator()<1, kFewUnits>(some);
        return go.template operator()<2, kFewUnits>(some);
      }
    if (some.count == 1) return go.template operator()<1, kWaveUnits>(some);
    return go.template operator()<2, kWaveUnits>(some);
  });
}
template <Cell cell, bool in_shared>
__device__ inline void layers_of(const RecurrentLayer* layers, int n, const Rows& rows, float* scratch, int floats) {
  if constexpr (in_shared)
    if (in_a_wave(cell, layers->in, layers->hidden, floats))
      return each_wave<cell>(layers->hidden, rows, [&]<int V, int units>(const Rows& some) {
        wave_forwards<cell, V, units>(layers, n, some, scratch, floats);
      });
  recurrent_rows<cell, in_shared>(*layers, rows, scratch, floats);
}
template <Cell cell, bool in_shared>
__device__ inline void layers_back_of(const RecurrentBackPair* pairs, int n, bool last, const Rows& rows,
                                      float* scratch, int floats) {
  if constexpr (in_shared)
    if (const int hidden = pairs->back.w_h.rows; hidden <= kWaveUnits && kWaveBackFloats <= floats)
      return each_wave<cell>(hidden, rows, [&]<int V, int units>(const Rows& some) {
        wave_backwards<cell, V, units>(pairs, n, last, some, scratch);
      });
  recurrent_grad_rows<cell, in_shared>(pairs->back, rows, scratch, floats);
}
// n layers, one after the other in memory; more than one only of a wavefront. in_shared: the scratch lies in shared
// memory, not in the workspace.
template <bool in_shared>
__device__ inline void run_layers(const RecurrentLayer* layers, int n, const Rows& rows, float* scratch, int floats) {
  if (layers->cell == Cell::lstm) return layers_of<Cell::lstm, in_shared>(layers, n, rows, scratch, floats);
  if (layers->cell == Cell::gru) return layers_of<Cell::gru, in_shared>(layers, n, rows, scratch, floats);
  return layers_of<Cell::gru_reset_before, in_shared>(layers, n, rows, scratch, floats);
}
// n layers from the last to the first; `last`: with the d_x of the last of these.
template <bool in_shared>
__device__ inline void run_layers_back(const RecurrentBackPair* pairs, int n, bool last, const Rows& rows,
                                       float* scratch, int floats) {
  const Cell cell = pairs->back.cell;
  if (cell == Cell::lstm) return layers_back_of<Cell::lstm, in_shared>(pairs, n, last, rows, scratch, floats);
  if (cell == Cell::gru) return layers_back_of<Cell::gru, in_shared>(pairs, n, last, rows, scratch, floats);
  return layers_back_of<Cell::gru_reset_before, in_shared>(pairs, n, last, rows, scratch, floats);
}

// ---- as steps of a fused launch -------------------------------------------------------------------------------------
inline bool same(const View& a, const View& b) {
  return a.data == b.data && a.rows == b.rows && a.cols == b.cols && a.ld == b.ld;
}
template <class Op>
inline const Op* op_of(const FusedStep& s, OpKind kind) {
  return s.kind == kind ? static_cast<const Op*>(s.call.op) : nullptr;
}
// How many of the steps from the first on are a wavefront: recurrent layers, each with the output of the one before as
// its input; or their gradients, each followed by d_x, which is the next one's d_y.
inline int wave_span(const FusedStep* steps, int count) {
  int span = 1;
  if (const auto* op = op_of<Recurrent>(steps[0], OpKind::recurrent)) {
    const View* in = steps[0].call.in;
    const int64_t hidden = in[5].rows;
    if (!in_a_wave(op->cell, static_cast<int>(in[4].rows), static_cast<int>(hidden), kSharedFloats)) return 1;
    for (; span < count && span < wave_layers(op->cell, static_cast<int>(hidden)); ++span) {
      const FusedStep &a = steps[span - 1], &b = steps[span];
      const auto* next = op_of<Recurrent>(b, OpKind::recurrent);
      if (next == nullptr || !(*next == *op) || !same(b.call.in[0], a.call.out[0]) || !same(b.call.in[1], in[1]) ||
          b.call.in[5].rows != hidden)
        break;
    }
  } else if (const auto* grad = op_of<RecurrentGrad>(steps[0], OpKind::recurrent_grad)) {
    const int64_t hidden = steps[0].call.in[2].rows;
    if (hidden > kWaveUnits) return 1;
    for (; span < count && span < 2 * wave_layers(grad->cell, static_cast<int>(hidden)); ++span) {
      const FusedStep &a = steps[span - 1], &b = steps[span];
      if (span % 2 == 1) {
        const auto* d_x = op_of<RecurrentInputGrad>(b, OpKind::recurrent_input_grad);
        const int64_t units = hidden <= kFewUnits && grad->cell != Cell::lstm ? kFewUnits : kWaveUnits;
        if (d_x == nullptr || d_x->factors != grad->factors || !same(b.call.in[0], a.call.out[0]) ||
            b.call.in[1].rows > units)
          break;
      } else {
        const auto* next = op_of<RecurrentGrad>(b, OpKind::recurrent_grad);
        if (next == nullptr || !(*next == *grad) || !same(b.call.in[3], a.call.out[0]) ||
            !same(b.call.in[0], steps[0].call.in[0]) || b.call.in[2].rows != hidden)
          break;
      }
    }
  }
  return span;
}

template <>
struct Fused<Recurrent> {
  using Step = RecurrentLayer;
  static Step pack(const Call& call, Packing& packing) {
    packing.fits = recurrent_floats(call.in[4].rows, call.in[5].rows) <= kSharedFloats;
    return recurrent_layer(call);
  }
  __device__ static void layers(const Step* x, int span, const RowsPart& p) {
    for (int i = 0; i < span; ++i)
      clear_beyond(x[i].saved, p.rows, x->y.rows, x->steps, static_cast<int>(saved_of(x->cell)) * x->hidden);
    run_layers<true>(x, span, p.rows, p.shared, kSharedFloats);
  }
};
template <>
struct Fused<RecurrentGrad> {
  using Step = RecurrentBack;
  static constexpr int kRowsOutput = 1;  // the first is lane-major
  static Step pack(const Call& call, Packing& packing) {
    packing.fits = recurrent_grad_floats(call.in[2].rows) <= kSharedFloats;
    return recurrent_back(call);
  }
  __device__ static void layers(const Step* x, int span, const RowsPart& p) {
    const auto* pairs = reinterpret_cast<const RecurrentBackPair*>(x);
    for (int i = 0; i < (span + 1) / 2; ++i)
      clear_beyond(pairs[i].back.slopes, p.rows, x->sequences, x->steps,
                   static_cast<int>(slopes_of(x->cell)) * x->w_h.rows);
    run_layers_back<true>(pairs, (span + 1) / 2, span % 2 == 0, p.rows, p.shared, kSharedFloats);
  }
};

}  // namespace tessera::gpu
