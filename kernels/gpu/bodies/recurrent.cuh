// The layers of kernels/cpu/recurrent.cpp on a GPU, with the same formulae and layouts: a block's work on some of the
// sequences, in its own launch (recurrent.cu) or as a step of a fused one (gpu/fused/chains.cuh). The derivatives are in
// recurrent_grad.cuh, the products and the order of their sums in recurrent_sums.cuh.
// One sequence per lane and no lane reads another, so any partition of the sequences gives the same bits. Blocks with
// one lane, or with a multiple of four.
//   a gate is (bias + Σ x·W_x) + Σ h·W_h · the input's part does not depend on the state: it is computed for as many
//   steps at a time as the room holds · a thread, or four of them if the weights of W_h are held in registers, computes
//   all gates of a unit and its next state · in the room: the state, twice for the products (the step reads one and
//   writes the other), once as it is (only its owner reads it), c or r⊙h; the lanes; x and the gates' part of it
//   block barriers per step: one (reset before: two); two more where x is taken
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

// A block's room while it takes sequences through a layer.
struct RecurrentRoom {
  float *h, *more, *state;
  Lane* lanes;
  float *x, *a;  // [input][step][lane] and [step][gate][unit][lane] of `span` steps
  int all;       // floats of each state
  int span, columns;
};
template <int V>
__device__ inline RecurrentRoom recurrent_room(const RecurrentLayer& s, int gates, int L, float* room, int floats) {
  const int all = padded(s.hidden) * L, left = floats - 4 * all - kLaneFloats * L,
            fit = left / ((padded(s.in) + gates * s.hidden) * L);
  // One lane's products with W_x take four steps at a time.
  const int span = V == 4 ? min(fit, s.steps) : fit < 4 ? 1 : min(fit / 4 * 4, padded(s.steps));
  float *more = room + 2 * all, *state = more + all, *lanes = state + all, *x = lanes + kLaneFloats * L;
  return {room,          more, state, reinterpret_cast<Lane*>(lanes), x, x + padded(s.in) * span * L, all, span,
          span * L};
}

// The inputs of the steps from t on, and then their part of the gates.
template <int V>
__device__ inline void take_inputs(const RecurrentLayer& s, const RecurrentRoom& room, int L, int t) {
  for (int i = thread(), depth = padded(s.in); i < depth * room.columns; i += kThreads) {
    const int k = i % depth, column = i / depth, step = t + (V == 1 ? column : column / L);
    const Lane& lane = room.lanes[V == 1 ? 0 : column % L];
    room.x[k * room.columns + column] =
        k < s.in && step < lane.steps ? rounded(s.x.row(lane.row)[step * s.in + k], s.factors) : 0.0f;
  }
}
template <Cell cell, int V, int at_a_time>
__device__ inline void input_gates(const RecurrentLayer& s, const RecurrentRoom& room, int L) {
  constexpr int G = static_cast<int>(gates_of(cell));
  const int H = s.hidden, groups = room.columns / at_a_time;
  for (Items at(thread(), kThreads, H); at.group < groups; at.next()) {
    float sum[G][at_a_time];
    column_sums<G, at_a_time>(s.w_x.data + at.u, static_cast<int>(s.w_x.ld), H, room.x + at.group * at_a_time,
                              room.columns, s.in, s.factors, sum);
    const int step = V == 1 ? at.group * at_a_time : at.group / (L / 4), lane = V == 1 ? 0 : at.group % (L / 4) * 4;
#pragma unroll
    for (int g = 0; g < G; ++g) {
      const int j = g * H + at.u;
      const bool both = cell == Cell::lstm || (cell == Cell::gru && g < 2);  // n has b_h in q
      const float bias = both ? s.b_x.data[j] + s.b_h.data[j] : s.b_x.data[j];
      float* to = room.a + ((step * G + g) * H + at.u) * L + lane;
#pragma unroll
      for (int i = 0; i < at_a_time; ++i) to[V == 1 ? i * G * H : i] = bias + sum[g][i];
    }
  }
}

// All steps of the sequences `rows`, with V = 1 one, `held` if a thread has one unit. Every thread of the block calls
// it.
template <Cell cell, int V, bool held>
__device__ inline void recurrent_forwards(const RecurrentLayer& s, const Rows& rows, float* floats, int count) {
  constexpr int G = static_cast<int>(gates_of(cell)), parts = static_cast<int>(saved_of(cell));
  constexpr bool lstm = cell == Cell::lstm, reset = cell == Cell::gru_reset_before;
  const int L = V == 1 ? 1 : padded(rows.count), H = s.hidden, B = s.y.rows, ld = static_cast<int>(s.w_h.ld);
  const RecurrentRoom room = recurrent_room<V>(s, G, L, floats, count);
  put_lanes(room.lanes, L, rows, s.length, B, s.steps);
  __syncthreads();
  for (int i = thread(); i < room.all; i += kThreads) {
    const int u = i / L, b = room.lanes[i % L].row;
    const bool any = u < H && b >= 0 && b < B;
    const float h = any && s.h0 ? s.h0.row(b)[u] : 0.0f;
    room.h[i] = rounded(h, s.factors);
    room.h[room.all + i] = 0.0f;
    room.state[i] = h;
    room.more[i] = lstm && any && s.c0 ? s.c0.row(b)[u] : 0.0f;
  }
  int most = 0;
  for (int lane = 0; lane < L; ++lane) most = max(most, room.lanes[lane].steps);

  // of the threads that share a unit: which this is, and whether it owns a lane of it
  const int p = held ? thread() % kColumnThreads : 0;
  const Items mine(held ? thread() / kColumnThreads : thread(), kThreads, H);
  const bool owner = !held || (mine.group < L / V && (V == 4 || p == 0));
  float own[held ? G * kHeldColumn : 1];
  if constexpr (held) hold_columns<G>(s.w_h.data + mine.u, ld, H, H, p, s.factors, own);
  // take(u, lane, sums) of n gates from `gate` on, each Σ_k W_h[k, gate·H + u]·v[k][lane].
  const auto each_unit = [&]<int gate, int n>(const float* v, auto&& take) {
    if constexpr (held) {
      float sum[n];
      const int first = owner ? mine.group * V : 0;
      held_column_sums<V, gate, n>(own, v + first, L, H, p, sum);
      if (owner) take(mine.u, first + (V == 4 ? p : 0), sum);
    } else {
      for (Items at = mine; at.group < L / V; at.next()) {
        float sum[n][V];
        column_sums<n, V>(s.w_h.data + gate * H + at.u, ld, H, v + at.group * V, L, H, s.factors, sum);
#pragma unroll
        for (int lane = 0; lane < V; ++lane) {
          float of_lane[n];
#pragma unroll
          for (int g = 0; g < n; ++g) of_lane[g] = sum[g][lane];
          take(at.u, at.group * V + lane, of_lane);
        }
      }
    }
  };

  for (int t = 0, slot = room.span; t < most; ++t, ++slot) {
    if (slot == room.span) {
      slot = 0;
      take_inputs<V>(s, room, L, t);
      __syncthreads();
      if (V == 4 || room.span > 1) input_gates<cell, V, 4>(s, room, L);
      else input_gates<cell, V, 1>(s, room, L);
      __syncthreads();
    }
    const float* now = room.h + (t % 2) * room.all;
    float *next = room.h + (1 - t % 2) * room.all, *a = room.a + slot * G * H * L;
    const int gate = H * L;
    const auto keep = [&](int u, int lane, const float (&values)[parts], float state) {
      const Lane& of = room.lanes[lane];
      if (of.row < 0) return;
      const bool on = t < of.steps;
      float* to = cell_of(s.saved, of, t, s.steps, parts, H, u);
#pragma unroll
      for (int i = 0; i < parts; ++i) to[i * H * s.saved.ld] = on ? values[i] : 0.0f;
      if (of.row < B) s.y.row(of.row)[t * H + u] = on ? state : 0.0f;
      const float kept = on ? state : values[parts - 1];
      room.state[u * L + lane] = kept;
      next[u * L + lane] = rounded(kept, s.factors);
    };
    if constexpr (lstm) {
      each_unit.template operator()<0, 4>(now, [&](int u, int lane, const float (&sum)[4]) {
        const int i = u * L + lane;
        const float in = gate_of(a[i] + sum[0]), forget = gate_of((a[i + gate] + sum[1]) + s.forget_bias),
                    g = tanhf(a[i + 2 * gate] + sum[2]), out = gate_of(a[i + 3 * gate] + sum[3]);
        const float was = room.more[i], c = fmaf(forget, was, in * g), squashed = tanhf(c);
        if (t < room.lanes[lane].steps) room.more[i] = c;
        keep(u, lane, {in, forget, g, out, squashed, was, room.state[i]}, out * squashed);
      });
    } else if constexpr (!reset) {
      each_unit.template operator()<0, 3>(now, [&](int u, int lane, const float (&sum)[3]) {
        const int i = u * L + lane;
        const float r = gate_of(a[i] + sum[0]), z = gate_of(a[i + gate] + sum[1]), q = s.b_h.data[2 * H + u] + sum[2],
                    n = tanhf(fmaf(r, q, a[i + 2 * gate])), was = room.state[i];
        keep(u, lane, {r, z, n, q, was}, fmaf(z, was - n, n));
      });
    } else {
      each_unit.template operator()<0, 2>(now, [&](int u, int lane, const float (&sum)[2]) {
        const int i = u * L + lane;
        const float r = gate_of(a[i] + sum[0]);
        a[i] = r;
        a[i + gate] = gate_of(a[i + gate] + sum[1]);
        room.more[i] = rounded(r * room.state[i], s.factors);
      });
      __syncthreads();
      each_unit.template operator()<2, 1>(room.more, [&](int u, int lane, const float (&sum)[1]) {
        const int i = u * L + lane;
        const float z = a[i + gate], n = tanhf(a[i + 2 * gate] + sum[0]), was = room.state[i];
        keep(u, lane, {a[i], z, n, was}, fmaf(z, was - n, n));
      });
    }
    __syncthreads();
  }

  // where no lane has a step
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
    if (lstm) s.c_last.row(b)[u] = room.more[i];
  }
}

template <Cell cell>
__device__ inline void recurrent_of(const RecurrentLayer& s, const Rows& rows, float* room, int floats) {
  const int lanes = rows.count == 1 ? 1 : padded(rows.count) / 4;
  const bool held = s.hidden <= kHeldUnits && s.hidden * lanes * kColumnThreads <= kThreads;
  if (rows.count == 1) {
    if (held) recurrent_forwards<cell, 1, true>(s, rows, room, floats);
    else recurrent_forwards<cell, 1, false>(s, rows, room, floats);
  } else {
    if (held) recurrent_forwards<cell, 4, true>(s, rows, room, floats);
    else recurrent_forwards<cell, 4, false>(s, rows, room, floats);
  }
}
__device__ inline void recurrent_rows(const RecurrentLayer& s, const Rows& rows, float* room, int floats) {
  if (s.cell == Cell::lstm) recurrent_of<Cell::lstm>(s, rows, room, floats);
  else if (s.cell == Cell::gru) recurrent_of<Cell::gru>(s, rows, room, floats);
  else recurrent_of<Cell::gru_reset_before>(s, rows, room, floats);
}

// ---- as a step of a fused launch ------------------------------------------------------------------------------------
// Processes as many sequences at a time as the room holds, `floats` each: one, or a multiple of four.
template <class Go>
__device__ inline void each_group(const Rows& rows, int64_t floats, Go&& go) {
  const int fit = kSharedFloats / static_cast<int>(floats), most = fit < 4 ? 1 : fit / 4 * 4;
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
               [&](const Rows& some) { recurrent_rows(x, some, p.shared, kSharedFloats); });
    clear_beyond(x.saved, p.rows, x.y.rows, x.steps, static_cast<int>(saved_of(x.cell)) * x.hidden);
  }
};

}  // namespace tessera::gpu
