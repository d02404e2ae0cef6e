// The derivatives of a recurrent layer (gpu/bodies/recurrent.cuh): the gates' gradients step by step, and from them the
// gradients of the input and of the weights.
//   recurrent_grad: d_h before a step is the part that bypasses the gates plus Σ_j d_j·W_h[u, j] over the gates'
//   gradients d (recurrent_sums.cuh: along rows) · eight threads share a unit; one of them owns each of its lanes, and
//   computes from that sum the gates' gradients of the step before, whose `saved` are loaded meanwhile · the room holds
//   d of two steps (one is read, the other written), the lanes, the part of d_h that bypasses the gates, d_c or r, h
//   block barriers per step: one (reset before: two)
//   recurrent_input_grad: a product with W_x along its rows, for as many steps at a time as fit in the room; two
//   barriers each · recurrent_wgrad: a weight is one chain over steps and sequences, no barrier
#pragma once
#include "kernels/gpu/bodies/recurrent.cuh"

namespace tessera::gpu {

__device__ inline float sigmoid_slope(float y) { return y * (1.0f - y); }

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

// All steps of the sequences `rows`, last to first; as recurrent_forwards.
template <Cell cell, int V, bool held>
__device__ inline void group_backwards(const RecurrentBack& s, const Rows& rows, float* room) {
  constexpr int G = static_cast<int>(gates_of(cell)), parts = static_cast<int>(saved_of(cell)),
                slope_parts = static_cast<int>(slopes_of(cell));
  constexpr bool lstm = cell == Cell::lstm, reset = cell == Cell::gru_reset_before;
  const int L = V == 1 ? 1 : padded(rows.count), H = s.w_h.rows, B = s.sequences, all = H * L,
            depth = reset ? 2 * H : G * H, n_at = padded(2 * H),  // reset before: where n's gradients begin
      each = value_floats(reset ? n_at + H : depth, L);
  constexpr bool kKept = held && V == 1 && cell == Cell::gru;
  Kept<kKept, Mat<float>> saved = s.saved, slopes = s.slopes;
  Kept<kKept, Mat<const float>> d_y = s.d_y;
  const Precision factors = s.factors;
  const int steps = s.steps;
  float* d = room;
  Lane* lanes = reinterpret_cast<Lane*>(room + 2 * each);
  float *by = room + 2 * each + kLaneFloats * L, *more = by + all, *state = more + all;  // more: d_c or r; state: h
  put_lanes(lanes, L, rows, s.length, B, steps);
  for (int i = thread(); i < 2 * each; i += kThreads) d[i] = 0.0f;
  __syncthreads();

  const int p = thread() % kRowThreads;
  const Items mine(thread() / kRowThreads, kThreads / kRowThreads, H);
  const bool sole = p < V;  // owns a lane of its unit
  // 32 units of a product at a time, by whole warps
  const int passes = held ? 1 : static_cast<int>(blocks_for(all / V, kThreads / kRowThreads));
  // weights of 32·rows gates; reset before: those of n separately, because they multiply r⊙h
  constexpr int kOwn = (reset ? 2 : G) * kHeldUnits / (kRowThreads * kChunk) * kChunk, kOwnMore = reset ? kChunk : 1;
  float own[held ? kOwn : 1], own_n[held ? kOwnMore : 1];
  if constexpr (held) {
    hold_row<kOwn / kChunk>(s.w_h.row(mine.u), depth, p, factors, own);
    if constexpr (reset) hold_row<1>(s.w_h.row(mine.u) + 2 * H, H, p, factors, own_n);
  }
  // calls take(u, lane, sum) in the owner, and before(u, lane) while the sum is being computed
  const auto each_unit = [&]<bool n>(const float* values, auto&& before, auto&& take) {
    Items at = mine;
    for (int pass = 0; pass < passes; ++pass, at.next()) {
      const bool any = at.group < L / V;
      const int first = any ? at.group * V : 0, lane = first + (V == 4 ? p % 4 : 0);
      const auto early = before(at.u, lane, any && sole);
      float sum;
      if constexpr (held && n) sum = held_row_sums<V>(own_n, values + value_at<V>(n_at, L) + first, L, H, p);
      else if constexpr (held) sum = held_row_sums<V>(own, values + first, L, depth, p);
      else if constexpr (n)
        sum = row_sums<V>(s.w_h.row(at.u) + 2 * H, values + value_at<V>(n_at, L) + first, L, H, p, factors);
      else sum = row_sums<V>(s.w_h.row(at.u), values + first, L, depth, p, factors);
      if (any && sole) take(at.u, lane, sum, early);
    }
  };

  struct Saved {
    float part[parts], up;
  };
  // The saved values of a lane's step t, and d_y; zeros past its end.
  const auto saved_at = [&](int t, int u, int lane, bool wanted) {
    Saved was{};
    const Lane& of = lanes[lane];
    if (!wanted || t < 0 || t >= of.steps) return was;
    const float* from = cell_of(saved, of, t, steps, parts, H, u);
#pragma unroll
    for (int i = 0; i < parts; ++i) was.part[i] = from[i * H * saved.ld];
    if (d_y) was.up = d_y.row(of.row)[t * H + u];
    return was;
  };
  // The gates' gradients of step t, given d_h after it; with reset before, r's must wait for those of n.
  const auto gates_at = [&](int t, int u, int lane, float d_h, const Saved& was) {
    const Lane& of = lanes[lane];
    const bool on = t < of.steps;
    float slope[slope_parts] = {}, pass = d_h;
    const float up = d_h + was.up;
    const int i = u * L + lane;
    if constexpr (lstm) {
      const float in = was.part[0], forget = was.part[1], g = was.part[2], out = was.part[3], squashed = was.part[4],
                  e = fmaf(up * out, fmaf(-squashed, squashed, 1.0f), more[i]);
      if (on) {
        slope[0] = e * g * sigmoid_slope(in);
        slope[1] = e * was.part[5] * sigmoid_slope(forget);
        slope[2] = e * in * fmaf(-g, g, 1.0f);
        slope[3] = up * squashed * sigmoid_slope(out);
        more[i] = e * forget;
        pass = 0.0f;
      }
    } else {
      const float r = was.part[0], z = was.part[1], n = was.part[2], h = was.part[parts - 1],
                  d_n = up * (1.0f - z) * fmaf(-n, n, 1.0f);
      if (on) {
        slope[1] = up * (h - n) * sigmoid_slope(z);
        slope[2] = d_n;
        pass = up * z;
        if constexpr (!reset) {
          slope[0] = d_n * was.part[3] * sigmoid_slope(r);
          slope[3] = d_n * r;
        }
      }
      if constexpr (reset) more[i] = r, state[i] = h;
    }
    by[i] = pass;
    float* to = d + (t % 2) * each + lane;
#pragma unroll
    for (int g = 0; g < G; ++g)  // gru: W_hn multiplies into q
      to[value_at<V>((reset && g == 2 ? n_at : g * H) + u, L)] =
          rounded(slope[cell == Cell::gru && g == 2 ? 3 : g], factors);
    if (of.row < 0) return;
    float* out = cell_of(slopes, of, t, steps, slope_parts, H, u);
#pragma unroll
    for (int k = 0; k < slope_parts; ++k) out[k * H * slopes.ld] = slope[k];
  };

  Items at = mine;
  for (int pass = 0; pass < passes; ++pass, at.next()) {
    if (at.group >= L / V || !sole) continue;
    const int lane = at.group * V + (V == 4 ? p : 0), b = lanes[lane].row;
    const bool any = b >= 0 && b < B;
    if (lstm) more[at.u * L + lane] = s.d_c_last && any ? s.d_c_last.row(b)[at.u] : 0.0f;
    gates_at(steps - 1, at.u, lane, s.d_h_last && any ? s.d_h_last.row(b)[at.u] : 0.0f,
             saved_at(steps - 1, at.u, lane, true));
  }
  __syncthreads();
  for (int t = steps - 1; t >= 0; --t) {
    const float* now = d + (t % 2) * each;
    if constexpr (reset) {
      each_unit.template operator()<true>(
          now, [](int, int, bool) { return 0; },
          [&](int u, int lane, float sum, int) {
            const Lane& of = lanes[lane];
            if (t >= of.steps) return;
            const int i = u * L + lane;
            const float r = more[i], d_r = sum * state[i] * sigmoid_slope(r);
            by[i] = fmaf(sum, r, by[i]);
            d[(t % 2) * each + lane + value_at<V>(u, L)] = rounded(d_r, factors);
            cell_of(slopes, of, t, steps, slope_parts, H, u)[0] = d_r;
          });
      __syncthreads();
    }
    each_unit.template operator()<false>(
        now, [&](int u, int lane, bool wanted) { return saved_at(t - 1, u, lane, wanted); },
        [&](int u, int lane, float sum, const Saved& was) {
          const float pass = by[u * L + lane], d_h = t < lanes[lane].steps ? pass + sum : pass;
          if (t > 0) return gates_at(t - 1, u, lane, d_h, was);
          const int b = lanes[lane].row;
          if (b < 0 || b >= B) return;
          s.d_h0.row(b)[u] = d_h;
          if (lstm) s.d_c0.row(b)[u] = more[u * L + lane];
        });
    __syncthreads();
  }
}

template <Cell cell, int V, bool held, bool in_shared>
__attribute__((noinline)) __device__ void recurrent_backwards(const RecurrentBack& s, Rows rows, int most,
                                                              float* room) {
  if constexpr (in_shared) assume_shared(room);
  each_group(rows, most, [&](const Rows& some) { group_backwards<cell, V, held>(s, some, room); });
}
template <Cell cell, bool in_shared>
__device__ inline void recurrent_grad_of(const RecurrentBack& s, const Rows& rows, float* room, int floats) {
  const int most = most_lanes(recurrent_grad_floats(s.w_h.rows), floats), lanes = min(most, rows.count);
  const bool held = s.w_h.rows * blocks_of_four(lanes) * kRowThreads <= kThreads;
  if (lanes == 1 && held) return recurrent_backwards<cell, 1, true, in_shared>(s, rows, most, room);
  if (lanes == 1) return recurrent_backwards<cell, 1, false, in_shared>(s, rows, most, room);
  if (held) return recurrent_backwards<cell, 4, true, in_shared>(s, rows, most, room);
  return recurrent_backwards<cell, 4, false, in_shared>(s, rows, most, room);
}
template <bool in_shared>
__device__ inline void recurrent_grad_rows(const RecurrentBack& s, const Rows& rows, float* room, int floats) {
  if (s.cell == Cell::lstm) return recurrent_grad_of<Cell::lstm, in_shared>(s, rows, room, floats);
  if (s.cell == Cell::gru) return recurrent_grad_of<Cell::gru, in_shared>(s, rows, room, floats);
  return recurrent_grad_of<Cell::gru_reset_before, in_shared>(s, rows, room, floats);
}

// d_x.
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
// For the steps cell(i), i < columns, a multiple of four; row −1: none. Memory: recurrent_input_floats.
struct SequenceStep {
  int row, step;
};
template <class CellOf>
__device__ inline void input_gradients(const RecurrentInput& s, int columns, CellOf&& cell, float* room) {
  const int depth = s.w_x.cols, in = s.w_x.rows, a_pass = kThreads / kRowThreads;
  SequenceStep* cells = reinterpret_cast<SequenceStep*>(room + value_floats(depth, columns));
  for (int i = thread(); i < columns; i += kThreads) cells[i] = cell(i);
  __syncthreads();
  for (Items at(thread(), kThreads, columns); at.group < padded(depth); at.next()) {
    const SequenceStep from = cells[at.u];
    float v = 0.0f;
    if (from.row >= 0 && at.group < depth)
      v = s.slopes.row((from.row / kTile * s.steps + from.step) * s.parts * s.hidden + at.group)[from.row % kTile];
    room[value_at<4>(at.group, columns) + at.u] = rounded(v, s.factors);
  }
  __syncthreads();
  const int p = thread() % kRowThreads, items = in * (columns / 4);
  Items at(thread() / kRowThreads, a_pass, in);
  for (int done = 0; done < items; done += a_pass, at.next()) {
    const bool any = at.group < columns / 4;
    const int first = any ? at.group * 4 : 0;
    const float sum = row_sums<4>(s.w_x.row(at.u), room + first, columns, depth, p, s.factors);
    if (!any || p >= 4) continue;
    if (const SequenceStep to = cells[first + p]; to.row >= 0) s.d_x.row(to.row)[to.step * in + at.u] = sum;
  }
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
// The sixteen lanes of a unit's step.
__device__ inline void load_tile(const float* from, bool wide, float (&to)[kTile]) {
#pragma unroll
  for (int lane = 0; lane < kTile; lane += kChunk) {
    float v[kChunk];
    load_chunk({from, 0, 1, wide}, 0, lane, kChunk, v);
#pragma unroll
    for (int q = 0; q < kChunk; ++q) to[lane + q] = v[q];
  }
}
// Weight `at` of a tile's share: one chain over its steps and sequences. The sixteen lanes of a step are loaded at a
// time.
__device__ inline void recurrent_weight(const RecurrentWeights& s, int tile, int at) {
  const int H = s.hidden, gates = static_cast<int>(gates_of(s.cell)) * H, B = s.x.rows, b = tile * kTile;
  const int k = at / gates, j = at % gates, parts = static_cast<int>(saved_of(s.cell)),
            slope_parts = static_cast<int>(slopes_of(s.cell));
  const bool of_x = k < s.in, of_h = !of_x && k < s.in + H, of_h_bias = k == s.in + H + 1;
  // The rows of W_h for n: with gru they multiply into q, with reset before they multiply r⊙h.
  const int slope = s.cell == Cell::gru && (of_h || of_h_bias) && j >= 2 * H ? j + H : j;
  const bool reset = s.cell == Cell::gru_reset_before && of_h && j >= 2 * H;
  const Lane of{b, 0, tile, 0};
  int steps[kTile], most = 0;
#pragma unroll
  for (int lane = 0; lane < kTile; ++lane) {
    steps[lane] = length_of(s.length, b + lane, B, s.steps);
    most = max(most, steps[lane]);
  }
  float sum = 0.0f;
  for (int t = 0; t < most; ++t) {
    float d[kTile], v[kTile];
    load_tile(cell_of(s.slopes, of, t, s.steps, slope_parts, H, slope), s.wide, d);
    if (of_h) {
      load_tile(cell_of(s.saved, of, t, s.steps, parts, H, (parts - 1) * H + k - s.in), s.wide, v);
    } else {
#pragma unroll
      for (int lane = 0; lane < kTile; ++lane) {
        v[lane] = 1.0f;
        if (of_x) v[lane] = t < steps[lane] ? s.x.row(b + lane)[t * s.in + k] : 0.0f;
      }
    }
    if (reset) {
      float r[kTile];
      load_tile(cell_of(s.saved, of, t, s.steps, parts, H, k - s.in), s.wide, r);
#pragma unroll
      for (int lane = 0; lane < kTile; ++lane) v[lane] *= r[lane];
    }
    if (of_x || of_h) {
      round_all(s.factors, v);
      round_all(s.factors, d);
    }
#pragma unroll
    for (int lane = 0; lane < kTile; ++lane) sum = fmaf(v[lane], d[lane], sum);
  }
  s.out.row(tile)[at] = sum;
}

// ---- as steps of a fused launch -------------------------------------------------------------------------------------
template <>
struct Fused<RecurrentGrad> {
  using Step = RecurrentBack;
  static constexpr int kRowsOutput = 1;  // the first is lane-major
  static Step pack(const Call& call, Packing& packing) {
    packing.fits = recurrent_grad_floats(call.in[2].rows) <= kSharedFloats;
    return recurrent_back(call);
  }
  __device__ static void rows(const Step& x, const RowsPart& p) {
    clear_beyond(x.slopes, p.rows, x.sequences, x.steps, static_cast<int>(slopes_of(x.cell)) * x.w_h.rows);
    recurrent_grad_rows<true>(x, p.rows, p.shared, kSharedFloats);
  }
};
template <>
struct Fused<RecurrentInputGrad> {
  using Step = RecurrentInput;
  static Step pack(const Call& call, Packing& packing) {
    packing.fits = recurrent_input_floats(call.in[1].cols, 4) <= kSharedFloats;
    return recurrent_input(call);
  }
  __attribute__((noinline)) __device__ static void rows(const Step& x, RowsPart p) {
    assume_shared(p.shared);
    const int all = p.rows.count * x.steps, depth = padded(x.w_x.cols),
              columns = min((kSharedFloats - depth) / (depth + 2) / 4 * 4, padded(all));
    for (int first = 0; first < all; first += columns) {
      const auto cell = [&](int i) {
        const int at = first + i;
        return at < all ? SequenceStep{p.rows.at(at / x.steps), at % x.steps} : SequenceStep{-1, 0};
      };
      if (first > 0) __syncthreads();
      input_gradients(x, columns, cell, p.shared);
    }
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
