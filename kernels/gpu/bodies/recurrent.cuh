// The layers of kernels/cpu/recurrent.cpp on a GPU, with the same formulae and layouts: a block's work on some of the
// sequences, in its own launch (recurrent.cu) or as a step of a fused one (gpu/fused/chains.cuh). The derivatives are
// in recurrent_grad.cuh, the products and the order of their sums in recurrent_sums.cuh.
// One sequence per lane and no lane reads another, so any partition of the sequences gives the same bits. Blocks with
// one lane, or with a multiple of four.
//   a gate is (bias + Σ x·W_x) + Σ h·W_h · the input's part does not depend on the state: it is computed for as many
//   steps at a time as fit in the room · a thread, or four threads if the weights of W_h are held in registers,
//   computes all gates of a unit and its next state · the room holds the state, twice for the products (the step reads
//   one and writes the other) and once unrounded (only its owner reads it), c or r⊙h; the lanes; x and its part of the
//   gates
//   block barriers per step: one (reset before: two); two more when x is loaded
#pragma once
#include "kernels/gpu/bodies/recurrent_sums.cuh"

namespace tessera::gpu {

__device__ inline float gate_of(float x) { return 1.0f / (1.0f + expf(-x)); }

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

// A block's memory while it runs sequences through a layer.
struct RecurrentRoom {
  float *h, *more, *state;
  Lane* lanes;
  float *x, *a;       // [input][step][lane] and [step][gate][unit][lane] of `span` steps
  int L, all;         // lanes, and floats of each state
  int span, columns;  // columns: lanes of these steps
  int most;           // steps of any lane
};
__device__ inline RecurrentRoom recurrent_room(const RecurrentLayer& s, int lanes, float* room, int floats) {
  const int L = lanes == 1 ? 1 : padded(lanes), all = padded(s.hidden) * L, left = floats - 4 * all - kLaneFloats * L,
            fit = left / ((padded(s.in) + s.w_x.cols) * L);
  // With one lane, the products with W_x process four steps at a time.
  const int span = L > 1 ? min(fit, s.steps) : fit < 4 ? 1 : min(fit / 4 * 4, padded(s.steps));
  float *more = room + 2 * all, *state = more + all, *lane = state + all, *x = lane + kLaneFloats * L;
  return {room, more, state, reinterpret_cast<Lane*>(lane), x, x + padded(s.in) * span * L, L, all, span, span * L, 0};
}

// Loads the inputs of the steps from t on.
__device__ inline void take_inputs(const RecurrentLayer& s, const RecurrentRoom& room, int t) {
  for (int i = thread(), depth = padded(s.in); i < depth * room.columns; i += kThreads) {
    const int k = i % depth, column = i / depth, step = t + column / room.L;
    const Lane& lane = room.lanes[column % room.L];
    room.x[k * room.columns + column] =
        k < s.in && step < lane.steps ? rounded(s.x.row(lane.row)[step * s.in + k], s.factors) : 0.0f;
  }
}
// Computes their part of the gates.
template <Cell cell, int at_a_time>
__device__ inline void input_gates(const RecurrentLayer& s, const RecurrentRoom& at) {
  constexpr int G = static_cast<int>(gates_of(cell));
  const RecurrentRoom room = at;
  const int H = s.hidden, L = room.L, groups = room.columns / at_a_time;
  for (Items item(thread(), kThreads, H); item.group < groups; item.next()) {
    float sum[G][at_a_time];
    column_sums<G, at_a_time>(s.w_x.data + item.u, static_cast<int>(s.w_x.ld), H, room.x + item.group * at_a_time,
                              room.columns, s.in, s.factors, sum);
    const int column = item.group * at_a_time, step = column / L, lane = column % L, next = L == 1 ? G * H : 1;
#pragma unroll
    for (int g = 0; g < G; ++g) {
      const int j = g * H + item.u;
      const bool both = cell == Cell::lstm || (cell == Cell::gru && g < 2);  // n has b_h in q
      const float bias = both ? s.b_x.data[j] + s.b_h.data[j] : s.b_x.data[j];
      float* to = room.a + ((step * G + g) * H + item.u) * L + lane;
#pragma unroll
      for (int i = 0; i < at_a_time; ++i) to[i * next] = bias + sum[g][i];
    }
  }
}

// Runs the steps from `first` to before `end`, whose inputs' part of the gates is in the room; one lane (V = 1) or
// groups of four. `held`: a thread has one unit.
template <Cell cell, int V, bool held>
__device__ inline void recurrent_steps(const RecurrentLayer& s, const RecurrentRoom& at, int first, int end) {
  constexpr int G = static_cast<int>(gates_of(cell)), parts = static_cast<int>(saved_of(cell));
  constexpr bool lstm = cell == Cell::lstm, reset = cell == Cell::gru_reset_before;
  constexpr bool kKept = held && V == 1 && cell == Cell::gru;
  Kept<kKept, RecurrentRoom> room = at;
  Kept<kKept, Mat<float>> saved = s.saved, y = s.y;
  const float* const b_h = s.b_h.data;
  const Precision factors = s.factors;
  const int L = V == 1 ? 1 : room.L, H = s.hidden, B = y.rows, steps = s.steps;

  // this thread's index among those that share a unit, and whether it owns a lane of the unit
  const int p = held ? thread() % kColumnThreads : 0;
  const Items mine(held ? thread() / kColumnThreads : thread(), kThreads, H);
  const bool owner = !held || (mine.group < L / V && (V == 4 || p == 0));
  float own[held ? G * kHeldColumn<G> : 1];
  if constexpr (held)
    hold_columns<G>(s.w_h.data + mine.u, static_cast<int>(s.w_h.ld), s.hidden, s.hidden, p, factors, own);
  // take(u, lane, sums) of n gates from `gate` on, each Σ_k W_h[k, gate·H + u]·v[k][lane].
  const auto each_unit = [&]<int gate, int n>(const float* v, auto&& take) {
    if constexpr (held) {
      float sum[n];
      const int group = owner ? mine.group * V : 0;
      held_column_sums<G, V, gate, n>(own, v + group, L, H, p, sum);
      if (owner) take(mine.u, group + (V == 4 ? p : 0), sum);
    } else {
      for (Items item = mine; item.group < L / V; item.next()) {
        float sum[n][V];
        column_sums<n, V>(s.w_h.data + gate * H + item.u, static_cast<int>(s.w_h.ld), H, v + item.group * V, L, H,
                          factors, sum);
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
  };

  for (int t = first; t < end; ++t) {
    const float* now = room.h + (t % 2) * room.all;
    float *next = room.h + (1 - t % 2) * room.all, *a = room.a + (t - first) * G * H * L;
    const int gate = H * L;
    const auto keep = [&](int u, int lane, const float(&values)[parts], float state) {
      const Lane& of = room.lanes[lane];
      if (of.row < 0) return;
      const bool on = t < of.steps;
      float* to = cell_of(saved, of, t, steps, parts, H, u);
#pragma unroll
      for (int i = 0; i < parts; ++i) to[i * H * saved.ld] = on ? values[i] : 0.0f;
      if (of.row < B) y.row(of.row)[t * H + u] = on ? state : 0.0f;
      const float kept = on ? state : values[parts - 1];
      room.state[u * L + lane] = kept;
      next[u * L + lane] = rounded(kept, factors);
    };
    if constexpr (lstm) {
      each_unit.template operator()<0, 4>(now, [&](int u, int lane, const float(&sum)[4]) {
        const int i = u * L + lane;
        const float in = gate_of(a[i] + sum[0]), forget = gate_of((a[i + gate] + sum[1]) + s.forget_bias),
                    g = tanhf(a[i + 2 * gate] + sum[2]), out = gate_of(a[i + 3 * gate] + sum[3]);
        const float was = room.more[i], c = fmaf(forget, was, in * g), squashed = tanhf(c);
        if (t < room.lanes[lane].steps) room.more[i] = c;
        keep(u, lane, {in, forget, g, out, squashed, was, room.state[i]}, out * squashed);
      });
    } else if constexpr (!reset) {
      each_unit.template operator()<0, 3>(now, [&](int u, int lane, const float(&sum)[3]) {
        const int i = u * L + lane;
        const float r = gate_of(a[i] + sum[0]), z = gate_of(a[i + gate] + sum[1]), q = b_h[2 * H + u] + sum[2],
                    n = tanhf(fmaf(r, q, a[i + 2 * gate])), was = room.state[i];
        keep(u, lane, {r, z, n, q, was}, fmaf(z, was - n, n));
      });
    } else {
      each_unit.template operator()<0, 2>(now, [&](int u, int lane, const float(&sum)[2]) {
        const int i = u * L + lane;
        const float r = gate_of(a[i] + sum[0]);
        a[i] = r;
        a[i + gate] = gate_of(a[i + gate] + sum[1]);
        room.more[i] = rounded(r * room.state[i], factors);
      });
      __syncthreads();
      each_unit.template operator()<2, 1>(room.more, [&](int u, int lane, const float(&sum)[1]) {
        const int i = u * L + lane;
        const float z = a[i + gate], n = tanhf(a[i + 2 * gate] + sum[0]), was = room.state[i];
        keep(u, lane, {a[i], z, n, was}, fmaf(z, was - n, n));
      });
    }
    __syncthreads();
  }
}

// The lanes and their states.
__device__ inline void start_lanes(const RecurrentLayer& s, const Rows& rows, RecurrentRoom& at) {
  const RecurrentRoom room = at;
  const int L = room.L, H = s.hidden, B = s.y.rows;
  put_lanes(room.lanes, L, rows, s.length, B, s.steps);
  __syncthreads();
  for (int i = thread(); i < room.all; i += kThreads) {
    const int u = i / L, b = room.lanes[i % L].row;
    const bool any = u < H && b >= 0 && b < B;
    const float h = any && s.h0 ? s.h0.row(b)[u] : 0.0f;
    room.h[i] = rounded(h, s.factors);
    room.h[room.all + i] = 0.0f;
    room.state[i] = h;
    room.more[i] = s.cell == Cell::lstm && any && s.c0 ? s.c0.row(b)[u] : 0.0f;
  }
  int most = 0;
  for (int lane = 0; lane < L; ++lane) most = max(most, room.lanes[lane].steps);
  at.most = most;
}
// The last states, and zeros where no lane has a step.
template <Cell cell>
__device__ inline void end_lanes(const RecurrentLayer& s, const RecurrentRoom& at) {
  constexpr int parts = static_cast<int>(saved_of(cell));
  const RecurrentRoom room = at;
  const int L = room.L, H = s.hidden, B = s.y.rows, most = room.most;
  for (int i = thread(); i < (s.steps - most) * H * L; i += kThreads) {
    const int u = i / L % H, t = most + i / L / H;
    const Lane& lane = room.lanes[i % L];
    if (lane.row < 0) continue;
    float* to = cell_of(s.saved, lane, t, s.steps, parts, H, u);
    for (int part = 0; part < parts; ++part) to[part * H * s.saved.ld] = 0.0f;
    if (lane.row < B) s.y.row(lane.row)[t * H + u] = 0.0f;
  }
  for (int i = thread(); i < H * L; i += kThreads) {
    const int b = room.lanes[i % L].row, u = i / L;
    if (b < 0 || b >= B) continue;
    s.h_last.row(b)[u] = room.state[i];
    if (cell == Cell::lstm) s.c_last.row(b)[u] = room.more[i];
  }
}

// All steps of the sequences `rows`, in groups that the room holds. Every thread of the block calls it. noinline: each
// variant gets the registers that it needs, and makes no calls that would make its callers save theirs.
template <Cell cell, int V, bool held, bool in_shared>
__attribute__((noinline)) __device__ void recurrent_forwards(const RecurrentLayer& s, Rows rows, int most,
                                                             float* floats, int count) {
  if constexpr (in_shared) assume_shared(floats);
  each_group(rows, most, [&](const Rows& some) {
    RecurrentRoom room = recurrent_room(s, V == 1 ? 1 : padded(some.count), floats, count);
    start_lanes(s, some, room);
    for (int t = 0; t < room.most; t += room.span) {
      take_inputs(s, room, t);
      __syncthreads();
      if (V == 4 || room.columns > 1) input_gates<cell, 4>(s, room);
      else input_gates<cell, 1>(s, room);
      __syncthreads();
      recurrent_steps<cell, V, held>(s, room, t, min(t + room.span, room.most));
    }
    end_lanes<cell>(s, room);
  });
}
template <Cell cell, bool in_shared>
__device__ inline void recurrent_of(const RecurrentLayer& s, const Rows& rows, float* room, int floats) {
  const int most = most_lanes(recurrent_floats(s.in, s.hidden), floats), lanes = min(most, rows.count);
  const bool held = s.hidden <= kHeldColumn<static_cast<int>(gates_of(cell))> * kColumnThreads &&
                    s.hidden * blocks_of_four(lanes) * kColumnThreads <= kThreads;
  if (lanes == 1 && held) return recurrent_forwards<cell, 1, true, in_shared>(s, rows, most, room, floats);
  if (lanes == 1) return recurrent_forwards<cell, 1, false, in_shared>(s, rows, most, room, floats);
  if (held) return recurrent_forwards<cell, 4, true, in_shared>(s, rows, most, room, floats);
  return recurrent_forwards<cell, 4, false, in_shared>(s, rows, most, room, floats);
}
// in_shared: the room lies in shared memory, not in the workspace.
template <bool in_shared>
__device__ inline void recurrent_rows(const RecurrentLayer& s, const Rows& rows, float* room, int floats) {
  if (s.cell == Cell::lstm) return recurrent_of<Cell::lstm, in_shared>(s, rows, room, floats);
  if (s.cell == Cell::gru) return recurrent_of<Cell::gru, in_shared>(s, rows, room, floats);
  return recurrent_of<Cell::gru_reset_before, in_shared>(s, rows, room, floats);
}

// ---- as a step of a fused launch ------------------------------------------------------------------------------------
template <>
struct Fused<Recurrent> {
  using Step = RecurrentLayer;
  static Step pack(const Call& call, Packing& packing) {
    packing.fits = recurrent_floats(call.in[4].rows, call.in[5].rows) <= kSharedFloats;
    return recurrent_layer(call);
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    clear_beyond(x.saved, p.rows, x.y.rows, x.steps, static_cast<int>(saved_of(x.cell)) * x.hidden);
    recurrent_rows<true>(x, p.rows, p.shared, kSharedFloats);
  }
};

}  // namespace tessera::gpu
