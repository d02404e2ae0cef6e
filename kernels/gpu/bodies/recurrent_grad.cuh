// The derivatives of a recurrent layer (gpu/bodies/recurrent.cuh): the gates' gradients step by step, and from them the
// gradients of the input and of the weights.
//   recurrent_grad: d_h before a step is the part that bypasses the gates plus Σ_j d_j·W_h[u, j] over the gates'
//   gradients d (recurrent_sums.cuh: along rows) · eight threads share a unit; one of them owns each of its lanes, and
//   computes from that sum the gates' gradients of the step before, whose `saved` are loaded meanwhile · scratch holds
//   d of two steps (one is read, the other written), the lanes, the part of d_h that bypasses the gates, d_c or r, h
//   block barriers per step: one (reset before: two)
//   recurrent_input_grad: a product with W_x along its rows, for as many steps at a time as fit in the scratch; two
//   barriers each · recurrent_wgrad: a tile's sequences at a time; three barriers for as many steps as fit
#pragma once
#include "kernels/gpu/bodies/recurrent.cuh"

namespace tessera::gpu {

__device__ inline float sigmoid_slope(float y) { return y * (1.0f - y); }

struct alignas(16) RecurrentBack {
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

// The gates' gradients of a unit's step, from what the forward pass saved and the gradient of the state after it, `up`;
// pass: the part of d_h that bypasses the gates; d_c: before and after. Reset before: without that of r.
template <Cell cell>
__device__ inline void gate_slopes(const float (&saved)[saved_of(cell)], float up, float& d_c, float& pass,
                                   float (&slope)[slopes_of(cell)]) {
  if constexpr (cell == Cell::lstm) {
    const float in = saved[0], forget = saved[1], g = saved[2], out = saved[3], squashed = saved[4],
                e = fmaf(up * out, fmaf(-squashed, squashed, 1.0f), d_c);
    slope[0] = e * g * sigmoid_slope(in);
    slope[1] = e * saved[5] * sigmoid_slope(forget);
    slope[2] = e * in * fmaf(-g, g, 1.0f);
    slope[3] = up * squashed * sigmoid_slope(out);
    d_c = e * forget;
    pass = 0.0f;
  } else {
    const float r = saved[0], z = saved[1], n = saved[2], h = saved[saved_of(cell) - 1],
                d_n = up * (1.0f - z) * fmaf(-n, n, 1.0f);
    slope[1] = up * (h - n) * sigmoid_slope(z);
    slope[2] = d_n;
    pass = up * z;
    if constexpr (cell == Cell::gru) {
      slope[0] = d_n * saved[3] * sigmoid_slope(r);
      slope[3] = d_n * r;
    }
  }
}

// A block's memory while it runs sequences back through a layer: d of two steps, the lanes, and floats of each unit and
// lane.
template <Cell cell, int V>
struct BackRoom {
  static constexpr bool reset = cell == Cell::gru_reset_before;
  int L, H, all, depth, n_at, each;  // n_at: where n's gradients begin (reset before); each: floats of a step's d
  float* d;
  Lane* lanes;
  float *by, *more, *state;  // by: d_h past the gates; more: d_c or r; state: h
  __device__ BackRoom(int count, int hidden, float* scratch)
      : L(V == 1 ? 1 : padded(count)),
        H(hidden),
        all(H * L),
        depth(reset ? 2 * H : static_cast<int>(gates_of(cell)) * H),
        n_at(padded(2 * H)),
        each(value_floats(reset ? n_at + H : depth, L)),
        d(scratch),
        lanes(reinterpret_cast<Lane*>(scratch + 2 * each)),
        by(scratch + 2 * each + kLaneFloats * L),
        more(by + all),
        state(more + all) {}
};

// The products of a step's gates' gradients with the rows of W_h.
template <Cell cell, int V>
struct GradientProducts {
  const RecurrentBack& s;
  const BackRoom<cell, V>& at;
  const int p;
  const Items mine;
  const bool sole;   // owns a lane of its unit
  const int passes;  // 32 units of a product at a time, by whole warps

  __device__ GradientProducts(const RecurrentBack& back, const BackRoom<cell, V>& scratch)
      : s(back),
        at(scratch),
        p(thread() % kRowThreads),
        mine(thread() / kRowThreads, kThreads / kRowThreads, scratch.H),
        sole(p < V),
        passes(static_cast<int>(blocks_for(scratch.all / V, kThreads / kRowThreads))) {}
  // calls take(u, lane, sum) in the owner, and before(u, lane) while the sum is being computed; reset before: n: of n's
  // gradients, otherwise of those of r and z
  template <bool n, class Before, class Take>
  __device__ void each_unit(const float* values, Before&& before, Take&& take) const {
    const int L = at.L, H = at.H;
    Items item = mine;
    for (int pass = 0; pass < passes; ++pass, item.next()) {
      const bool any = item.group < L / V;
      const int first = any ? item.group * V : 0, lane = first + (V == 4 ? p % 4 : 0);
      const auto early = before(item.u, lane, any && sole);
      float sum;
      if constexpr (n)
        sum = row_sums<V>(s.w_h.row(item.u) + 2 * H, values + value_at<V>(at.n_at, L) + first, L, H, p, s.factors);
      else sum = row_sums<V>(s.w_h.row(item.u), values + first, L, at.depth, p, s.factors);
      if (any && sole) take(item.u, lane, sum, early);
    }
  }
};

// The gates' gradients of a unit's step.
template <Cell cell, int V>
struct GateGradients {
  static constexpr int G = static_cast<int>(gates_of(cell)), parts = static_cast<int>(saved_of(cell)),
                       slope_parts = static_cast<int>(slopes_of(cell));
  static constexpr bool lstm = cell == Cell::lstm, reset = cell == Cell::gru_reset_before;
  const BackRoom<cell, V>& at;
  const Mat<float>&saved, &slopes;
  const Mat<const float>& d_y;
  const Precision factors;
  const int steps;
  __device__ GateGradients(const RecurrentBack& s, const BackRoom<cell, V>& scratch)
      : at(scratch), saved(s.saved), slopes(s.slopes), d_y(s.d_y), factors(s.factors), steps(s.steps) {}

  struct Saved {
    float part[parts], up;
  };
  // The saved values of a lane's step t, and d_y; zeros past its end.
  __device__ Saved saved_at(int t, int u, int lane, bool wanted) const {
    Saved was{};
    const Lane& of = at.lanes[lane];
    if (!wanted || t < 0 || t >= of.steps) return was;
    const float* from = cell_of(saved, of, t, steps, parts, at.H, u);
#pragma unroll
    for (int i = 0; i < parts; ++i) was.part[i] = from[i * at.H * saved.ld];
    if (d_y) was.up = d_y.row(of.row)[t * at.H + u];
    return was;
  }
  // Those of step t, given d_h after it; with reset before, r's must wait for those of n.
  __device__ void put(int t, int u, int lane, float d_h, const Saved& was) const {
    const int L = at.L, H = at.H;
    const Lane& of = at.lanes[lane];
    const bool on = t < of.steps;
    float slope[slope_parts] = {}, pass = d_h;
    const float up = d_h + was.up;
    const int i = u * L + lane;
    float d_c = lstm ? at.more[i] : 0.0f;
    if (on) gate_slopes<cell>(was.part, up, d_c, pass, slope);
    if constexpr (lstm) at.more[i] = d_c;
    if constexpr (reset) at.more[i] = was.part[0], at.state[i] = was.part[parts - 1];
    at.by[i] = pass;
    float* to = at.d + (t % 2) * at.each + lane;
#pragma unroll
    for (int g = 0; g < G; ++g)  // gru: W_hn multiplies into q
      to[value_at<V>((reset && g == 2 ? at.n_at : g * H) + u, L)] =
          rounded(slope[cell == Cell::gru && g == 2 ? 3 : g], factors);
    if (of.row < 0) return;
    float* out = cell_of(slopes, of, t, steps, slope_parts, H, u);
#pragma unroll
    for (int k = 0; k < slope_parts; ++k) out[k * H * slopes.ld] = slope[k];
  }
  // Reset before: those of r in step t, from Σ of n's gradients.
  __device__ void put_reset(int t, int u, int lane, float sum) const {
    const Lane& of = at.lanes[lane];
    if (t >= of.steps) return;
    const int i = u * at.L + lane;
    const float r = at.more[i], d_r = sum * at.state[i] * sigmoid_slope(r);
    at.by[i] = fmaf(sum, r, at.by[i]);
    at.d[(t % 2) * at.each + lane + value_at<V>(u, at.L)] = rounded(d_r, factors);
    cell_of(slopes, of, t, steps, slope_parts, at.H, u)[0] = d_r;
  }
};

// All steps of the sequences `rows`, last to first; as recurrent_forwards.
template <Cell cell, int V>
__device__ inline void group_backwards(const RecurrentBack& s, const Rows& rows, float* scratch) {
  using Gates = GateGradients<cell, V>;
  constexpr bool lstm = cell == Cell::lstm;
  const BackRoom<cell, V> at(rows.count, s.w_h.rows, scratch);
  const int B = s.sequences, steps = s.steps, L = at.L;
  put_lanes(at.lanes, L, rows, s.length, B, steps);
  for (int i = thread(); i < 2 * at.each; i += kThreads) at.d[i] = 0.0f;
  __syncthreads();

  const GradientProducts<cell, V> products(s, at);
  const Gates gates(s, at);
  Items item = products.mine;
  for (int pass = 0; pass < products.passes; ++pass, item.next()) {
    if (item.group >= L / V || !products.sole) continue;
    const int lane = item.group * V + (V == 4 ? products.p : 0), b = at.lanes[lane].row;
    const bool any = b >= 0 && b < B;
    if (lstm) at.more[item.u * L + lane] = s.d_c_last && any ? s.d_c_last.row(b)[item.u] : 0.0f;
    gates.put(steps - 1, item.u, lane, s.d_h_last && any ? s.d_h_last.row(b)[item.u] : 0.0f,
              gates.saved_at(steps - 1, item.u, lane, true));
  }
  __syncthreads();
  for (int t = steps - 1; t >= 0; --t) {
    const float* now = at.d + (t % 2) * at.each;
    if constexpr (cell == Cell::gru_reset_before) {
      products.template each_unit<true>(
          now, [](int, int, bool) { return 0; },
          [&](int u, int lane, float sum, int) { gates.put_reset(t, u, lane, sum); });
      __syncthreads();
    }
    products.template each_unit<false>(
        now, [&](int u, int lane, bool wanted) { return gates.saved_at(t - 1, u, lane, wanted); },
        [&](int u, int lane, float sum, const typename Gates::Saved& was) {
          const float pass = at.by[u * L + lane], d_h = t < at.lanes[lane].steps ? pass + sum : pass;
          if (t > 0) return gates.put(t - 1, u, lane, d_h, was);
          const int b = at.lanes[lane].row;
          if (b < 0 || b >= B) return;
          s.d_h0.row(b)[u] = d_h;
          if (lstm) s.d_c0.row(b)[u] = at.more[u * L + lane];
        });
    __syncthreads();
  }
}

template <Cell cell, int V, bool in_shared>
__attribute__((noinline)) __device__ void recurrent_backwards(const RecurrentBack& s, Rows rows, int most,
                                                              float* scratch) {
  if constexpr (in_shared) assume_shared(scratch);
  each_group(rows, most, [&](const Rows& some) { group_backwards<cell, V>(s, some, scratch); });
}
template <Cell cell, bool in_shared>
__device__ inline void recurrent_grad_rows(const RecurrentBack& s, const Rows& rows, float* scratch, int floats) {
  const int most = most_lanes(recurrent_grad_floats(s.w_h.rows), floats);
  if (min(most, rows.count) == 1) recurrent_backwards<cell, 1, in_shared>(s, rows, most, scratch);
  else recurrent_backwards<cell, 4, in_shared>(s, rows, most, scratch);
}

// d_x.
struct alignas(16) RecurrentInput {
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
__device__ inline void input_gradients(const RecurrentInput& s, int columns, CellOf&& cell, float* scratch) {
  const int depth = s.w_x.cols, in = s.w_x.rows, a_pass = kThreads / kRowThreads;
  SequenceStep* cells = reinterpret_cast<SequenceStep*>(scratch + value_floats(depth, columns));
  for (int i = thread(); i < columns; i += kThreads) cells[i] = cell(i);
  __syncthreads();
  for (Items at(thread(), kThreads, columns); at.group < padded(depth); at.next()) {
    const SequenceStep from = cells[at.u];
    float v = 0.0f;
    if (from.row >= 0 && at.group < depth)
      v = s.slopes.row((from.row / kTile * s.steps + from.step) * s.parts * s.hidden + at.group)[from.row % kTile];
    scratch[value_at<4>(at.group, columns) + at.u] = rounded(v, s.factors);
  }
  __syncthreads();
  const int p = thread() % kRowThreads, items = in * (columns / 4);
  Items at(thread() / kRowThreads, a_pass, in);
  for (int done = 0; done < items; done += a_pass, at.next()) {
    const bool any = at.group < columns / 4;
    const int first = any ? at.group * 4 : 0;
    const float sum = row_sums<4>(s.w_x.row(at.u), scratch + first, columns, depth, p, s.factors);
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
// A block computes a tile's share of kWeightRows rows of W_x, with b_x as the row after the last, or of W_h with b_h,
// and of some columns.
constexpr int kWeightRows = 16, kWeightColumns = 128;
struct WeightBlocks {
  int of_x, of_h, across, width;  // blocks of rows, and of columns; columns of each: a multiple of four
  __host__ __device__ WeightBlocks(Cell cell, int in, int hidden) {
    const int columns = static_cast<int>(gates_of(cell)) * hidden;
    of_x = tiles_of(in + 1, kWeightRows);
    of_h = tiles_of(hidden + (cell == Cell::gru_reset_before ? 0 : 1), kWeightRows);
    across = tiles_of(columns, kWeightColumns);
    width = padded(tiles_of(columns, across));
  }
  __host__ __device__ int of_tile() const { return (of_x + of_h) * across; }
};
inline int64_t weight_blocks(const RecurrentWeights& s) {
  return static_cast<int64_t>(WeightBlocks(s.cell, s.in, s.hidden).of_tile()) * s.out.rows;
}

// Sixteen bytes of a row of sixteen lanes; zeros if not `in`.
__device__ inline void copy_lanes(float* to, const float* from, bool wide) {
  if (wide) return cp_async_16(to, from);
#pragma unroll
  for (int q = 0; q < kChunk; ++q) cp_async_4(to + q, from + q);
}
// sum[k][q] += Σ over lanes of row k of v times row q of d, whose rows are `next` floats long; plain: nothing is
// rounded, and no values are r⊙h. Row `bias` takes d unrounded.
template <bool plain>
__device__ inline void add_weights(const float* d_of, const float* v_of, int next, Precision factors, unsigned of_r,
                                   int bias, float (&sum)[4][4]) {
#pragma unroll(plain ? kTile / kChunk : 1)
  for (int lane = 0; lane < kTile; lane += kChunk) {
    float d[4][kChunk], v[4][kChunk], whole[4][kChunk], reset[4][kChunk] = {};
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      load_four(d_of + q * next + lane, d[q]);
      load_four(v_of + q * kTile + lane, v[q]);
      if constexpr (plain) continue;
      if (of_r != 0) load_four(v_of + kWeightRows * kTile + q * kTile + lane, reset[q]);
#pragma unroll
      for (int l = 0; l < kChunk; ++l) reset[q][l] *= v[q][l], whole[q][l] = d[q][l];
      round_all(factors, reset[q]);
      round_all(factors, v[q]);
      round_all(factors, d[q]);
    }
#pragma unroll
    for (int l = 0; l < kChunk; ++l)
#pragma unroll
      for (int k = 0; k < 4; ++k)
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          if constexpr (plain) sum[k][q] = fmaf(v[k][l], d[q][l], sum[k][q]);
          else
            sum[k][q] =
                fmaf((of_r >> q & 1u) != 0 ? reset[k][l] : v[k][l], k == bias ? whole[q][l] : d[q][l], sum[k][q]);
        }
  }
}
// A thread has the sums of four rows and four columns over every `groups`-th step, sixteen lanes in order; then those
// of the groups are added in order. The values of as many steps as fit are copied to shared memory at a time; the rows
// of gradients have four floats of padding, so that neighbouring threads read from different banks.
__attribute__((noinline)) __device__ inline void recurrent_weights_of(const RecurrentWeights& s, int block,
                                                                      float* shared) {
  assume_shared(shared);
  constexpr int kPitch = kTile + kChunk, kValues = kWeightRows * kTile;
  const WeightBlocks blocks(s.cell, s.in, s.hidden);
  const int tile = block / blocks.of_tile(), rest = block % blocks.of_tile(), b = tile * kTile, H = s.hidden,
            B = s.x.rows, columns = static_cast<int>(gates_of(s.cell)) * H, j0 = rest % blocks.across * blocks.width,
            row_block = rest / blocks.across, parts = static_cast<int>(saved_of(s.cell)),
            slope_parts = static_cast<int>(slopes_of(s.cell));
  const bool of_x = row_block < blocks.of_x;
  const int k0 = (of_x ? row_block : row_block - blocks.of_x) * kWeightRows, depth = of_x ? s.in : H;
  // The rows of W_h for n: with gru they multiply into q, with reset before they multiply r⊙h.
  const bool to_q = !of_x && s.cell == Cell::gru, reset = !of_x && s.cell == Cell::gru_reset_before;
  const int a_step = blocks.width * kPitch + (reset ? 2 : 1) * kValues, across = blocks.width / 4,
            fit = (kSharedFloats - kTile) / a_step, groups = min(min(kThreads / (across * 4), fit), 8),
            at_a_time = fit / groups * groups;
  int* lengths = reinterpret_cast<int*>(shared);
  float* stage = shared + kTile;
  if (thread() < kTile) lengths[thread()] = length_of(s.length, b + thread(), B, s.steps);
  __syncthreads();
  int most = 0;
  for (int lane = 0; lane < kTile; ++lane) most = max(most, lengths[lane]);

  const int jt = thread() % across, kt = thread() / across % 4, group = thread() / (across * 4);
  unsigned of_r = 0;  // columns whose values are r⊙h
  for (int q = 0; q < 4; ++q)
    if (reset && j0 + jt + q * across >= 2 * H) of_r |= 1u << q;
  const int bias = depth - k0 - kt * 4;
  float sum[4][4] = {};
  for (int t0 = 0; t0 < most; t0 += at_a_time) {
    const int count = min(at_a_time, most - t0);
    if (t0 > 0) __syncthreads();
    for (int i = thread(), n = blocks.width * 4; i < count * n; i += kThreads) {
      const int t = t0 + i / n, row = i % n / 4, q = i % 4 * kChunk, j = min(j0 + row, columns - 1);
      const float* from = s.slopes.row((tile * s.steps + t) * slope_parts * H + (to_q && j >= 2 * H ? j + H : j)) + q;
      copy_lanes(stage + i / n * a_step + row * kPitch + q, from, s.wide);
    }
    for (int i = thread(); i < count * kValues; i += kThreads) {
      const int t = t0 + i / kValues, k = k0 + (of_x ? i % kWeightRows : i / kTile % kWeightRows),
                lane = of_x ? i / kWeightRows % kTile : i % kTile;
      float* to = stage + i / kValues * a_step + blocks.width * kPitch + (k - k0) * kTile + lane;
      if (k >= depth) {
        *to = k == depth ? 1.0f : 0.0f;  // the bias
        if (reset) to[kValues] = 0.0f;
      } else if (of_x) {
        *to = t < lengths[lane] ? s.x.row(b + lane)[t * s.in + k] : 0.0f;
      } else if (lane % kChunk == 0) {
        const float* from = s.saved.row((tile * s.steps + t) * parts * H + k) + lane;
        copy_lanes(to, from + (parts - 1) * H * s.saved.ld, s.wide);
        if (reset) copy_lanes(to + kValues, from, s.wide);
      }
    }
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    for (int i = group; group < groups && i < count; i += groups) {
      const float *d_of = stage + i * a_step + jt * kPitch,
                  *v_of = stage + i * a_step + blocks.width * kPitch + kt * 4 * kTile;
      if (s.factors == Precision::fp32 && !reset) add_weights<true>(d_of, v_of, across * kPitch, s.factors, 0, 0, sum);
      else add_weights<false>(d_of, v_of, across * kPitch, s.factors, of_r, bias, sum);
    }
  }
  __syncthreads();
  const int each = kWeightRows * blocks.width;
  if (group < groups)
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int q = 0; q < 4; ++q) stage[group * each + (kt * 4 + k) * blocks.width + jt + q * across] = sum[k][q];
  __syncthreads();
  for (int i = thread(); i < each; i += kThreads) {
    const int k = k0 + i / blocks.width, j = j0 + i % blocks.width;
    if (j >= columns || k > depth || (reset && k == depth)) continue;
    float total = stage[i];
    for (int g = 1; g < groups; ++g) total += stage[g * each + i];
    const int row = k == depth ? s.in + H + (of_x ? 0 : 1) : of_x ? k : s.in + k;
    s.out.row(tile)[row * columns + j] = total;
  }
}

// ---- as steps of a fused launch -------------------------------------------------------------------------------------
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
  static TiledBlocks tiling(const FusedStep& s) { return {{1, 1, 1, 1}, weight_blocks(recurrent_weights(s.call))}; }
  __device__ static void tiles(const Step& x, const TilesPart& p) { recurrent_weights_of(x, p.block, p.shared); }
};

}  // namespace tessera::gpu
