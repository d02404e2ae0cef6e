// The layers of kernels/cpu/recurrent.cpp on a GPU, with the same formulae and layouts: a block's work on some of the
// sequences, in its own launch (recurrent.cu) or as a step of a fused one (gpu/fused/chains.cuh). The derivatives are
// in recurrent_grad.cuh, the products and the order of their sums in recurrent_sums.cuh.
// One sequence per lane and no lane reads another, so any partition of the sequences gives the same bits. Blocks with
// one lane, or with a multiple of four.
//   a gate is (bias + Σ x·W_x) + Σ h·W_h · the input's part does not depend on the state: it is computed for as many
//   steps at a time as fit in the scratch · a thread, or four threads if the weights of W_h are held in registers,
//   computes all gates of a unit and its next state · scratch has the state, twice for the products (the step reads
//   one and writes the other) and once unrounded (only its owner reads it), c or r⊙h; the lanes; x and its part of the
//   gates
//   block barriers per step: one (reset before: two); two more when x is loaded
#pragma once
#include "kernels/gpu/bodies/recurrent_sums.cuh"

namespace tessera::gpu {

__device__ inline float gate_of(float x) { return 1.0f / (1.0f + expf(-x)); }

struct alignas(16) RecurrentLayer {
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

// The bias of a gate's input part: both of them, but n of a GRU has b_h in q.
template <Cell cell>
__device__ inline float input_bias(const RecurrentLayer& s, int g, int u) {
  const int j = g * s.hidden + u;
  const bool both = cell == Cell::lstm || (cell == Cell::gru && g < 2);
  return both ? s.b_x.data[j] + s.b_h.data[j] : s.b_x.data[j];
}
// The state of a unit after a step, and the values that the derivative needs, from the gates' sums: `a` of the input,
// with the bias, `sum` of the state; h and c are the state before it. Reset before: `a` has r and z themselves.
template <Cell cell>
__device__ inline float next_state(const float (&a)[gates_of(cell)], const float (&sum)[gates_of(cell)], float b_hn,
                                   float forget_bias, float h, float& c, float (&saved)[saved_of(cell)]) {
  if constexpr (cell == Cell::lstm) {
    const float in = gate_of(a[0] + sum[0]), forget = gate_of((a[1] + sum[1]) + forget_bias), g = tanhf(a[2] + sum[2]),
                out = gate_of(a[3] + sum[3]), was = c;
    c = fmaf(forget, was, in * g);
    const float squashed = tanhf(c);
    saved[0] = in, saved[1] = forget, saved[2] = g, saved[3] = out, saved[4] = squashed, saved[5] = was, saved[6] = h;
    return out * squashed;
  } else if constexpr (cell == Cell::gru) {
    const float r = gate_of(a[0] + sum[0]), z = gate_of(a[1] + sum[1]), q = b_hn + sum[2], n = tanhf(fmaf(r, q, a[2]));
    saved[0] = r, saved[1] = z, saved[2] = n, saved[3] = q, saved[4] = h;
    return fmaf(z, h - n, n);
  } else {
    const float n = tanhf(a[2] + sum[2]);
    saved[0] = a[0], saved[1] = a[1], saved[2] = n, saved[3] = h;
    return fmaf(a[1], h - n, n);
  }
}

// A block's memory while it runs sequences through a layer.
struct RecurrentRoom {
  float *h, *more, *state;
  Lane* lanes;
  float *x, *a;       // [input][step][lane] and [step][gate][unit][lane] of `span` steps
  int L, all;         // lanes, and floats of each state
  int span, columns;  // columns: lanes of these steps
  int most;           // steps of any lane
};
__device__ inline RecurrentRoom recurrent_room(const RecurrentLayer& s, int lanes, float* scratch, int floats) {
  const int L = lanes == 1 ? 1 : padded(lanes), all = padded(s.hidden) * L, left = floats - 4 * all - kLaneFloats * L,
            fit = left / ((padded(s.in) + s.w_x.cols) * L);
  // With one lane, the products with W_x process four steps at a time.
  const int span = L > 1 ? min(fit, s.steps) : fit < 4 ? 1 : min(fit / 4 * 4, padded(s.steps));
  float *more = scratch + 2 * all, *state = more + all, *lane = state + all, *x = lane + kLaneFloats * L;
  return {scratch, more,     state, reinterpret_cast<Lane*>(lane), x, x + padded(s.in) * span * L, L, all,
          span,    span * L, 0};
}

// Loads the inputs of the steps from t on.
__device__ inline void take_inputs(const RecurrentLayer& s, const RecurrentRoom& scratch, int t) {
  for (int i = thread(), depth = padded(s.in); i < depth * scratch.columns; i += kThreads) {
    const int k = i % depth, column = i / depth, step = t + column / scratch.L;
    const Lane& lane = scratch.lanes[column % scratch.L];
    scratch.x[k * scratch.columns + column] =
        k < s.in && step < lane.steps ? rounded(s.x.row(lane.row)[step * s.in + k], s.factors) : 0.0f;
  }
}
// Computes their part of the gates.
template <Cell cell, int at_a_time>
__device__ inline void input_gates(const RecurrentLayer& s, const RecurrentRoom& at) {
  constexpr int G = static_cast<int>(gates_of(cell));
  const RecurrentRoom scratch = at;
  const int H = s.hidden, L = scratch.L, groups = scratch.columns / at_a_time;
  for (Items item(thread(), kThreads, H); item.group < groups; item.next()) {
    float sum[G][at_a_time];
    column_sums<G, at_a_time>(s.w_x.data + item.u, static_cast<int>(s.w_x.ld), H, scratch.x + item.group * at_a_time,
                              scratch.columns, s.in, s.factors, sum);
    const int column = item.group * at_a_time, step = column / L, lane = column % L;
    const int next = L == 1 ? G * H : 1, after_next = L <= 2 ? 2 * G * H : 2;
#pragma unroll
    for (int g = 0; g < G; ++g) {
      const float bias = input_bias<cell>(s, g, item.u);
      float* to = scratch.a + ((step * G + g) * H + item.u) * L + lane;
#pragma unroll
      for (int i = 0; i < at_a_time; ++i) to[i % 2 * next + i / 2 * after_next] = bias + sum[g][i];
    }
  }
}

// The products of a step's state with W_h; one lane (V = 1) or groups of four: take(u, lane, sums) of n gates from
// `gate` on, each Σ_k W_h[k, gate·H + u]·v[k][lane].
template <int V, int gate, int n, class Take>
__device__ inline void each_unit(const RecurrentLayer& s, int L, const float* v, Take&& take) {
  const int H = s.hidden;
  for (Items item(thread(), kThreads, H); item.group < L / V; item.next()) {
    float sum[n][V];
    column_sums<n, V>(s.w_h.data + gate * H + item.u, static_cast<int>(s.w_h.ld), H, v + item.group * V, L, H,
                      s.factors, sum);
#pragma unroll 1  // one lane after the other: four at a time would take too many registers
    for (int lane = 0; lane < V; ++lane) {
      float of_lane[n];
#pragma unroll
      for (int g = 0; g < n; ++g) {
        of_lane[g] = sum[g][0];
#pragma unroll
        for (int k = 1; k < V; ++k) of_lane[g] = lane == k ? sum[g][k] : of_lane[g];
      }
      take(item.u, item.group * V + lane, of_lane);
    }
  }
}

// Runs the steps from `first` to before `end`, whose inputs' part of the gates is in the scratch.
template <Cell cell, int V>
__device__ inline void recurrent_steps(const RecurrentLayer& s, const RecurrentRoom& at, int first, int end) {
  constexpr int G = static_cast<int>(gates_of(cell)), parts = static_cast<int>(saved_of(cell));
  constexpr bool lstm = cell == Cell::lstm, reset = cell == Cell::gru_reset_before;
  const RecurrentRoom& scratch = at;
  const Mat<float>&saved = s.saved, &y = s.y;
  const float* const b_h = s.b_h.data;
  const Precision factors = s.factors;
  const int L = V == 1 ? 1 : scratch.L, H = s.hidden, B = y.rows, steps = s.steps;
  for (int t = first; t < end; ++t) {
    const float* now = scratch.h + (t % 2) * scratch.all;
    float *next = scratch.h + (1 - t % 2) * scratch.all, *a = scratch.a + (t - first) * G * H * L;
    const int gate = H * L;
    const auto keep = [&](int u, int lane, const float(&values)[parts], float state) {
      const Lane& of = scratch.lanes[lane];
      if (of.row < 0) return;
      const bool on = t < of.steps;
      float* to = cell_of(saved, of, t, steps, parts, H, u);
#pragma unroll
      for (int i = 0; i < parts; ++i) to[i * H * saved.ld] = on ? values[i] : 0.0f;
      if (of.row < B) y.row(of.row)[t * H + u] = on ? state : 0.0f;
      const float kept = on ? state : values[parts - 1];
      scratch.state[u * L + lane] = kept;
      next[u * L + lane] = rounded(kept, factors);
    };
    const auto step_of = [&](int u, int lane, const float(&sum)[G]) {
      const int i = u * L + lane;
      float of_gates[G], values[parts], c = lstm ? scratch.more[i] : 0.0f;
#pragma unroll
      for (int g = 0; g < G; ++g) of_gates[g] = a[i + g * gate];
      const float b_hn = cell == Cell::gru ? b_h[2 * H + u] : 0.0f,
                  state = next_state<cell>(of_gates, sum, b_hn, s.forget_bias, scratch.state[i], c, values);
      if (lstm && t < scratch.lanes[lane].steps) scratch.more[i] = c;
      keep(u, lane, values, state);
    };
    if constexpr (!reset) {
      each_unit<V, 0, G>(s, L, now, step_of);
    } else {
      each_unit<V, 0, 2>(s, L, now, [&](int u, int lane, const float(&sum)[2]) {
        const int i = u * L + lane;
        const float r = gate_of(a[i] + sum[0]);
        a[i] = r;
        a[i + gate] = gate_of(a[i + gate] + sum[1]);
        scratch.more[i] = rounded(r * scratch.state[i], factors);
      });
      __syncthreads();
      each_unit<V, 2, 1>(s, L, scratch.more, [&](int u, int lane, const float(&sum)[1]) {
        step_of(u, lane, {0.0f, 0.0f, sum[0]});
      });
    }
    __syncthreads();
  }
}

// The lanes and their states.
__device__ inline void start_lanes(const RecurrentLayer& s, const Rows& rows, RecurrentRoom& at) {
  const RecurrentRoom scratch = at;
  const int L = scratch.L, H = s.hidden, B = s.y.rows;
  put_lanes(scratch.lanes, L, rows, s.length, B, s.steps);
  __syncthreads();
  for (int i = thread(); i < scratch.all; i += kThreads) {
    const int u = i / L, b = scratch.lanes[i % L].row;
    const bool any = u < H && b >= 0 && b < B;
    const float h = any && s.h0 ? s.h0.row(b)[u] : 0.0f;
    scratch.h[i] = rounded(h, s.factors);
    scratch.h[scratch.all + i] = 0.0f;
    scratch.state[i] = h;
    scratch.more[i] = s.cell == Cell::lstm && any && s.c0 ? s.c0.row(b)[u] : 0.0f;
  }
  int most = 0;
  for (int lane = 0; lane < L; ++lane) most = max(most, scratch.lanes[lane].steps);
  at.most = most;
}
// The last states, and zeros where no lane has a step.
template <Cell cell>
__device__ inline void end_lanes(const RecurrentLayer& s, const RecurrentRoom& at) {
  constexpr int parts = static_cast<int>(saved_of(cell));
  const RecurrentRoom scratch = at;
  const int L = scratch.L, H = s.hidden, B = s.y.rows, most = scratch.most;
  for (int i = thread(); i < (s.steps - most) * H * L; i += kThreads) {
    const int u = i / L % H, t = most + i / L / H;
    const Lane& lane = scratch.lanes[i % L];
    if (lane.row < 0) continue;
    float* to = cell_of(s.saved, lane, t, s.steps, parts, H, u);
    for (int part = 0; part < parts; ++part) to[part * H * s.saved.ld] = 0.0f;
    if (lane.row < B) s.y.row(lane.row)[t * H + u] = 0.0f;
  }
  for (int i = thread(); i < H * L; i += kThreads) {
    const int b = scratch.lanes[i % L].row, u = i / L;
    if (b < 0 || b >= B) continue;
    s.h_last.row(b)[u] = scratch.state[i];
    if (cell == Cell::lstm) s.c_last.row(b)[u] = scratch.more[i];
  }
}

// All steps of the sequences `rows`, in groups that fit the scratch. Every thread of the block calls it. noinline: each
// variant gets the registers that it needs, and makes no calls that would make its callers save theirs.
template <Cell cell, int V, bool in_shared>
__attribute__((noinline)) __device__ void recurrent_forwards(const RecurrentLayer& s, Rows rows, int most,
                                                             float* floats, int count) {
  if constexpr (in_shared) assume_shared(floats);
  each_group(rows, most, [&](const Rows& some) {
    RecurrentRoom scratch = recurrent_room(s, V == 1 ? 1 : padded(some.count), floats, count);
    start_lanes(s, some, scratch);
    for (int t = 0; t < scratch.most; t += scratch.span) {
      take_inputs(s, scratch, t);
      __syncthreads();
      if (V == 4 || scratch.columns > 1) input_gates<cell, 4>(s, scratch);
      else input_gates<cell, 1>(s, scratch);
      __syncthreads();
      recurrent_steps<cell, V>(s, scratch, t, min(t + scratch.span, scratch.most));
    }
    end_lanes<cell>(s, scratch);
  });
}
template <Cell cell, bool in_shared>
__device__ inline void recurrent_rows(const RecurrentLayer& s, const Rows& rows, float* scratch, int floats) {
  const int most = most_lanes(recurrent_floats(s.in, s.hidden), floats);
  if (min(most, rows.count) == 1) recurrent_forwards<cell, 1, in_shared>(s, rows, most, scratch, floats);
  else recurrent_forwards<cell, 4, in_shared>(s, rows, most, scratch, floats);
}

}  // namespace tessera::gpu
