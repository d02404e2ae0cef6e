// The layers of kernels/cpu/recurrent.cpp on a GPU, with the same formulae, layouts and order of arithmetic: a block's
// work on some of the sequences, in its own launch (recurrent.cu) or as a step of a fused one (gpu/fused/chains.cuh).
// One sequence per lane and no lane reads another, so any partition of the sequences gives the same bits.
//   the lanes' state and the current step are in the block's room, [unit][lane]: recurrent takes in + 7·H floats per
//   lane, recurrent_grad 7·H · block barriers per step: two forward (four: reset before), two backward (three); values
//   that a thread wrote itself need none · none within recurrent_input_grad and recurrent_wgrad, where an element is
//   one chain
#pragma once
#include "kernels/gpu/bodies/chain.cuh"

namespace tessera::gpu {

constexpr int kTile = static_cast<int>(kSequenceTile);

__device__ inline float sigmoid_slope(float y) { return y * (1.0f - y); }
__device__ inline float gate_of(float x) { return 1.0f / (1.0f + expf(-x)); }

// The number of steps of sequence b.
__device__ inline int length_of(const Mat<const float>& length, int b, int sequences, int steps) {
  if (b >= sequences) return 0;
  if (!length) return steps;
  const float own = length.row(b)[0];
  return !(own > 0.0f) ? 0 : own < static_cast<float>(steps) ? static_cast<int>(own) : steps;
}

// Part `part`, unit u of sequence b at step t in a tile-major matrix.
__device__ inline float* cell_of(const Mat<float>& m, int b, int t, int steps, int parts, int part, int hidden, int u) {
  return m.row(((b / kTile * steps + t) * parts + part) * hidden + u) + b % kTile;
}

// Padding lanes of the last tile are zeroed by the block that owns the last sequence. `rows_a_step`: rows of a
// tile-major matrix per step of a tile.
__device__ inline void clear_beyond(const Mat<float>& m, const Rows& rows, int sequences, int steps, int rows_a_step) {
  const int used = sequences % kTile, beyond = kTile - used, first = sequences / kTile * steps * rows_a_step;
  if (used == 0 || rows.at(rows.count - 1) != sequences - 1) return;
  for (int i = static_cast<int>(threadIdx.x); i < steps * rows_a_step * beyond; i += kThreads)
    m.row(first + i / beyond)[used + i % beyond] = 0.0f;
}

// sum + Σ_k w(k)·v[k][lane], k < depth, of rounded factors: weights of one unit, `step` apart; a value's lanes are
// contiguous.
__device__ inline float chain_of(Precision factors, const float* w, int64_t step, const float* v, int lanes, int depth,
                                 int lane, float sum) {
  if (factors == Precision::fp32) {
    for (int k = 0; k < depth; ++k) sum = fmaf(w[k * step], v[k * lanes + lane], sum);
  } else {
    for (int k = 0; k < depth; ++k)
      sum = fmaf(rounded(w[k * step], factors), rounded(v[k * lanes + lane], factors), sum);
  }
  return sum;
}

struct RecurrentLayer {
  Mat<const float> x, length, h0, c0, w_x, w_h, b_x, b_h;
  Mat<float> y, h_last, saved, c_last;
  Cell cell;
  Precision factors;
  int steps, in, hidden;
  float forget_bias;
};
inline RecurrentLayer recurrent_layer(const Call& call) {
  const auto& op = *static_cast<const Recurrent*>(call.op);
  const View *in = call.in, none{};
  return {Mat<const float>(in[0]),
          Mat<const float>(in[1]),
          Mat<const float>(in[2]),
          Mat<const float>(in[3]),
          Mat<const float>(in[4]),
          Mat<const float>(in[5]),
          Mat<const float>(in[6]),
          Mat<const float>(in[7]),
          Mat<float>(call.out[0]),
          Mat<float>(call.out[1]),
          Mat<float>(call.out[2]),
          Mat<float>(op.cell == Cell::lstm ? call.out[3] : none),
          op.cell,
          op.factors,
          static_cast<int>(op.steps),
          static_cast<int>(in[4].rows),
          static_cast<int>(in[5].rows),
          static_cast<float>(op.forget_bias)};
}

// All steps of the sequences `rows`. Every thread of the block calls it. `fixed`: the number of lanes, where lanes
// beyond the batch have no steps; 0: rows.count.
template <int fixed>
__device__ inline void recurrent_forwards(const RecurrentLayer& s, const Rows& rows, float* room) {
  const int L = fixed > 0 ? fixed : rows.count, H = s.hidden, B = s.y.rows, parts = static_cast<int>(saved_of(s.cell)),
            first = static_cast<int>(threadIdx.x);
  float *x = room, *h = x + s.in * L, *c = h + H * L, *a = c + H * L, *more = a + 4 * H * L;
  const bool lstm = s.cell == Cell::lstm;
  for (int i = first; i < H * L; i += kThreads) {
    const int b = rows.at(i % L), u = i / L;
    h[i] = s.h0 && b < B ? s.h0.row(b)[u] : 0.0f;
    c[i] = lstm && s.c0 && b < B ? s.c0.row(b)[u] : 0.0f;
  }
  int most = 0;
  for (int lane = 0; lane < L; ++lane) most = max(most, length_of(s.length, rows.at(lane), B, s.steps));
  for (int t = 0; t < s.steps; ++t) {
    for (int i = first; i < s.in * L; i += kThreads) {
      const int b = rows.at(i % L);
      x[i] = t < length_of(s.length, b, B, s.steps) ? s.x.row(b)[t * s.in + i / L] : 0.0f;
    }
    __syncthreads();
    const int gates = s.cell == Cell::gru_reset_before ? 2 * H : 4 * H;
    for (int i = first; i < gates * L && t < most; i += kThreads) {
      const int j = i / L, lane = i % L;
      if (s.cell == Cell::gru && j >= 3 * H) {  // q, from h alone
        a[i] = chain_of(s.factors, s.w_h.data + j - H, s.w_h.ld, h, L, H, lane, s.b_h.data[j - H]);
      } else if (s.cell == Cell::gru && j >= 2 * H) {  // the part of n from x
        a[i] = chain_of(s.factors, s.w_x.data + j, s.w_x.ld, x, L, s.in, lane, s.b_x.data[j]);
      } else {
        const float start = s.b_x.data[j] + (s.b_h ? s.b_h.data[j] : 0.0f);
        a[i] = chain_of(s.factors, s.w_h.data + j, s.w_h.ld, h, L, H, lane,
                        chain_of(s.factors, s.w_x.data + j, s.w_x.ld, x, L, s.in, lane, start));
      }
    }
    __syncthreads();
    if (s.cell == Cell::gru_reset_before) {
      for (int i = first; i < H * L && t < most; i += kThreads) {
        a[i] = gate_of(a[i]);
        more[i] = a[i] * h[i];
      }
      __syncthreads();
      for (int i = first; i < H * L && t < most; i += kThreads) {
        const int j = 2 * H + i / L, lane = i % L;
        a[2 * H * L + i] = chain_of(s.factors, s.w_h.data + j, s.w_h.ld, more, L, H, lane,
                                    chain_of(s.factors, s.w_x.data + j, s.w_x.ld, x, L, s.in, lane, s.b_x.data[j]));
      }
      __syncthreads();
    }
    for (int i = first; i < H * L; i += kThreads) {
      const int u = i / L, gate = H * L, b = rows.at(i % L);
      const bool on = t < length_of(s.length, b, B, s.steps);
      auto keep = [&](int part, float v) { *cell_of(s.saved, b, t, s.steps, parts, part, H, u) = on ? v : 0.0f; };
      float now = h[i];
      if (!on) {
        for (int p = 0; p < parts; ++p) keep(p, 0.0f);
      } else if (lstm) {
        const float in = gate_of(a[i]), forget = gate_of(a[i + gate] + s.forget_bias), g = tanhf(a[i + 2 * gate]),
                    out = gate_of(a[i + 3 * gate]);
        const float state = forget * c[i] + in * g, squashed = tanhf(state);
        keep(0, in), keep(1, forget), keep(2, g), keep(3, out), keep(4, squashed), keep(5, c[i]), keep(6, now);
        c[i] = state;
        now = out * squashed;
      } else {
        const bool before = s.cell == Cell::gru_reset_before;
        const float r = before ? a[i] : gate_of(a[i]), z = gate_of(a[i + gate]), q = before ? 0.0f : a[i + 3 * gate],
                    n = tanhf(before ? a[i + 2 * gate] : a[i + 2 * gate] + r * q);
        keep(0, r), keep(1, z), keep(2, n);
        if (!before) keep(3, q);
        keep(parts - 1, now);
        now = n + z * (now - n);
      }
      h[i] = now;
      if (b < B) s.y.row(b)[t * H + u] = on ? now : 0.0f;
    }
  }
  for (int i = first; i < H * L; i += kThreads) {
    const int b = rows.at(i % L), u = i / L;
    if (b >= B) continue;
    s.h_last.row(b)[u] = h[i];
    if (lstm) s.c_last.row(b)[u] = c[i];
  }
}

struct RecurrentBack {
  Mat<const float> length, w_h, d_y, d_h_last, d_c_last;
  Mat<float> saved, slopes, d_h0, d_c0;
  Cell cell;
  Precision factors;
  int steps, sequences;
};
inline RecurrentBack recurrent_back(const Call& call) {
  const auto& op = *static_cast<const RecurrentGrad*>(call.op);
  const View *in = call.in, none{};
  return {Mat<const float>(in[0]),
          Mat<const float>(in[2]),
          Mat<const float>(in[3]),
          Mat<const float>(in[4]),
          Mat<const float>(in[5]),
          Mat<float>(in[1]),
          Mat<float>(call.out[0]),
          Mat<float>(call.out[1]),
          Mat<float>(op.cell == Cell::lstm ? call.out[2] : none),
          op.cell,
          op.factors,
          static_cast<int>(op.steps),
          static_cast<int>(op.sequences)};
}

template <int fixed>
__device__ inline void recurrent_backwards(const RecurrentBack& s, const Rows& rows, float* room) {
  const int L = fixed > 0 ? fixed : rows.count, H = s.w_h.rows, B = s.sequences, first = static_cast<int>(threadIdx.x),
            gate = H * L;
  const int parts = static_cast<int>(saved_of(s.cell)), slope_parts = static_cast<int>(slopes_of(s.cell));
  // d: the gate gradients of the step, as stored in the output
  float *d_h = room, *d_c = d_h + gate, *d = d_c + gate, *more = d + slope_parts * gate;
  const bool lstm = s.cell == Cell::lstm;
  for (int i = first; i < gate; i += kThreads) {
    const int b = rows.at(i % L), u = i / L;
    d_h[i] = s.d_h_last && b < B ? s.d_h_last.row(b)[u] : 0.0f;
    d_c[i] = lstm && s.d_c_last && b < B ? s.d_c_last.row(b)[u] : 0.0f;
  }
  for (int t = s.steps - 1; t >= 0; --t) {
    for (int i = first; i < gate; i += kThreads) {
      const int u = i / L, b = rows.at(i % L);
      if (t >= length_of(s.length, b, B, s.steps)) {
        for (int p = 0; p < slope_parts; ++p) d[p * gate + i] = 0.0f;
        continue;
      }
      auto was = [&](int part) { return *cell_of(s.saved, b, t, s.steps, parts, part, H, u); };
      const float up = d_h[i] + (s.d_y ? s.d_y.row(b)[t * H + u] : 0.0f);
      if (lstm) {
        const float in = was(0), forget = was(1), g = was(2), out = was(3), squashed = was(4);
        const float e = d_c[i] + up * out * (1.0f - squashed * squashed);
        d[i] = e * g * sigmoid_slope(in);
        d[gate + i] = e * was(5) * sigmoid_slope(forget);
        d[2 * gate + i] = e * in * (1.0f - g * g);
        d[3 * gate + i] = up * squashed * sigmoid_slope(out);
        d_c[i] = e * forget;
        d_h[i] = 0.0f;
      } else {
        const float r = was(0), z = was(1), n = was(2), h = was(parts - 1), d_n = up * (1.0f - z) * (1.0f - n * n);
        d[gate + i] = up * (h - n) * sigmoid_slope(z);
        d[2 * gate + i] = d_n;
        d_h[i] = up * z;
        if (s.cell == Cell::gru) {
          d[i] = d_n * was(3) * sigmoid_slope(r);
          d[3 * gate + i] = d_n * r;
        }
      }
    }
    __syncthreads();
    if (s.cell == Cell::gru_reset_before) {
      for (int i = first; i < gate; i += kThreads)
        more[i] = chain_of(s.factors, s.w_h.row(i / L) + 2 * H, 1, d + 2 * gate, L, H, i % L, 0.0f);
      for (int i = first; i < gate; i += kThreads) {
        const int u = i / L, b = rows.at(i % L);
        const bool on = t < length_of(s.length, b, B, s.steps);
        const float r = *cell_of(s.saved, b, t, s.steps, parts, 0, H, u),
                    h = *cell_of(s.saved, b, t, s.steps, parts, 3, H, u);
        d[i] = on ? more[i] * h * sigmoid_slope(r) : 0.0f;
        if (on) d_h[i] += more[i] * r;
      }
      __syncthreads();
    }
    for (int i = first; i < gate; i += kThreads) {
      const int u = i / L, lane = i % L, b = rows.at(lane);
      for (int p = 0; p < slope_parts; ++p) *cell_of(s.slopes, b, t, s.steps, slope_parts, p, H, u) = d[p * gate + i];
      if (t >= length_of(s.length, b, B, s.steps)) continue;  // padding holds the state, and also its gradient
      const float* w = s.w_h.row(u);
      float sum = chain_of(s.factors, w, 1, d, L, lstm ? 4 * H : 2 * H, lane, d_h[i]);
      if (s.cell == Cell::gru) sum = chain_of(s.factors, w + 2 * H, 1, d + 3 * gate, L, H, lane, sum);
      d_h[i] = sum;
    }
    __syncthreads();
  }
  for (int i = first; i < gate; i += kThreads) {
    const int b = rows.at(i % L), u = i / L;
    if (b >= B) continue;
    s.d_h0.row(b)[u] = d_h[i];
    if (lstm) s.d_c0.row(b)[u] = d_c[i];
  }
}

// d_x of sequence b at step t, input k.
struct RecurrentInput {
  Mat<float> slopes;
  Mat<const float> w_x;
  Mat<float> d_x;
  Precision factors;
  int steps, parts, hidden;
};
inline RecurrentInput recurrent_input(const Call& call) {
  const auto& op = *static_cast<const RecurrentInputGrad*>(call.op);
  return {Mat<float>(call.in[0]),
          Mat<const float>(call.in[1]),
          Mat<float>(call.out[0]),
          op.factors,
          static_cast<int>(op.steps),
          static_cast<int>(slopes_of(op.cell)),
          static_cast<int>(call.in[1].cols / gates_of(op.cell))};
}
__device__ inline void recurrent_input_element(const RecurrentInput& s, int b, int t, int k) {
  const float *w = s.w_x.row(k), *v = cell_of(s.slopes, b, t, s.steps, s.parts, 0, s.hidden, 0);
  s.d_x.row(b)[t * s.w_x.rows + k] = chain_of(s.factors, w, 1, v, static_cast<int>(s.slopes.ld), s.w_x.cols, 0, 0.0f);
}

struct RecurrentWeights {
  Mat<const float> x, length;
  Mat<float> saved, slopes, out;
  bool wide;  // 16-byte reads of saved and slopes
  Cell cell;
  Precision factors;
  int steps, in, hidden;
};
inline RecurrentWeights recurrent_weights(const Call& call) {
  const auto& op = *static_cast<const RecurrentWgrad*>(call.op);
  const int64_t hidden = call.in[2].rows / (call.out[0].rows * op.steps * saved_of(op.cell));
  return {Mat<const float>(call.in[0]),
          Mat<const float>(call.in[1]),
          Mat<float>(call.in[2]),
          Mat<float>(call.in[3]),
          Mat<float>(call.out[0]),
          aligned16(call.in[2]) && aligned16(call.in[3]),
          op.cell,
          op.factors,
          static_cast<int>(op.steps),
          static_cast<int>(call.in[0].cols / op.steps),
          static_cast<int>(hidden)};
}
__device__ inline void load_lanes(const float* from, bool wide, float (&to)[kTile]) {
#pragma unroll
  for (int lane = 0; lane < kTile; lane += kChunk) {
    float v[kChunk];
    load_chunk({from, 0, 1, wide}, 0, lane, kChunk, v);
#pragma unroll
    for (int q = 0; q < kChunk; ++q) to[lane + q] = v[q];
  }
}
// Weight `at` of a tile's share: one chain over its steps and sequences. The sixteen lanes of a step are on their way
// at a time.
__device__ inline void recurrent_weight(const RecurrentWeights& s, int tile, int at) {
  const int H = s.hidden, gates = static_cast<int>(gates_of(s.cell)) * H, B = s.x.rows, b = tile * kTile;
  const int k = at / gates, j = at % gates, parts = static_cast<int>(saved_of(s.cell)),
            slope_parts = static_cast<int>(slopes_of(s.cell));
  const bool of_x = k < s.in, of_h = !of_x && k < s.in + H, of_h_bias = k == s.in + H + 1;
  // The rows of W_h for n: with gru they multiply into q, with reset before they multiply r⊙h.
  const int slope = s.cell == Cell::gru && (of_h || of_h_bias) && j >= 2 * H ? j + H : j;
  const bool reset = s.cell == Cell::gru_reset_before && of_h && j >= 2 * H;
  int steps[kTile], most = 0;
#pragma unroll
  for (int lane = 0; lane < kTile; ++lane) {
    steps[lane] = length_of(s.length, b + lane, B, s.steps);
    most = max(most, steps[lane]);
  }
  float sum = 0.0f;
  for (int t = 0; t < most; ++t) {
    float d[kTile], v[kTile];
    load_lanes(cell_of(s.slopes, b, t, s.steps, slope_parts, 0, H, slope), s.wide, d);
    if (of_h) {
      load_lanes(cell_of(s.saved, b, t, s.steps, parts, parts - 1, H, k - s.in), s.wide, v);
    } else {
#pragma unroll
      for (int lane = 0; lane < kTile; ++lane) {
        v[lane] = 1.0f;
        if (of_x) v[lane] = t < steps[lane] ? s.x.row(b + lane)[t * s.in + k] : 0.0f;
      }
    }
    if (reset) {
      float r[kTile];
      load_lanes(cell_of(s.saved, b, t, s.steps, parts, 0, H, k - s.in), s.wide, r);
#pragma unroll
      for (int lane = 0; lane < kTile; ++lane) v[lane] *= r[lane];
    }
    if (s.factors != Precision::fp32 && (of_x || of_h)) {
#pragma unroll
      for (int lane = 0; lane < kTile; ++lane)
        v[lane] = rounded(v[lane], s.factors), d[lane] = rounded(d[lane], s.factors);
    }
#pragma unroll
    for (int lane = 0; lane < kTile; ++lane) sum = fmaf(v[lane], d[lane], sum);
  }
  s.out.row(tile)[at] = sum;
}

// ---- as steps of a fused launch -------------------------------------------------------------------------------------
// Processes as many sequences at a time as the room holds, `floats` each.
template <class Go>
__device__ inline void each_group(const Rows& rows, int64_t floats, Go&& go) {
  const int most = kSharedFloats / static_cast<int>(floats);
  if (rows.count <= most) return go(rows);
  for (int first = 0, n = 0; first < rows.count; first += n) {
    n = min(most, rows.run - first % rows.run);
    go(Rows{rows.at(first), n, n, 0});
    __syncthreads();
  }
}
template <>
struct Fused<Recurrent> {
  using Step = RecurrentLayer;
  static Step pack(const Call& call, Packing& packing) {
    packing.fits = recurrent_floats(call.in[4].rows, call.in[5].rows) <= kSharedFloats;
    return recurrent_layer(call);
  }
  __attribute__((noinline)) __device__ static void rows(const Step& x, const RowsPart& p) {
    each_group(p.rows, recurrent_floats(x.in, x.hidden),
               [&](const Rows& some) { recurrent_forwards<0>(x, some, p.shared); });
    clear_beyond(x.saved, p.rows, x.y.rows, x.steps, static_cast<int>(saved_of(x.cell)) * x.hidden);
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
  __attribute__((noinline)) __device__ static void rows(const Step& x, const RowsPart& p) {
    each_group(p.rows, recurrent_grad_floats(x.w_h.rows),
               [&](const Rows& some) { recurrent_backwards<0>(x, some, p.shared); });
    clear_beyond(x.slopes, p.rows, x.sequences, x.steps, static_cast<int>(slopes_of(x.cell)) * x.w_h.rows);
  }
};
template <>
struct Fused<RecurrentInputGrad> {
  using Step = RecurrentInput;
  static Step pack(const Call& call, Packing&) { return recurrent_input(call); }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    p.each_element(x.d_x.cols, [&](int r, int c) { recurrent_input_element(x, r, c / x.w_x.rows, c % x.w_x.rows); });
  }
};
template <>
struct Fused<RecurrentWgrad> {
  using Step = RecurrentWeights;
  static Step pack(const Call& call, Packing&) { return recurrent_weights(call); }
  __device__ static void cols(const Step& x, const ColsPart& p) {
    each_item(x.out.rows * (p.end - p.first),
              [&](int i) { recurrent_weight(x, i / (p.end - p.first), p.first + i % (p.end - p.first)); });
  }
};

}  // namespace tessera::gpu
