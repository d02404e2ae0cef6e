// recurrent_grad, recurrent_input_grad, recurrent_wgrad: the derivative of a recurrent layer (recurrent.cpp), in three
// ops, so that a plan computes only what it needs.
//   recurrent_grad        backwards through time: gradients of the gates' pre-activations, and of the first state.
//                         2·B·steps·H·gates·H FLOP
//     gru   d_n = d(1 − z)(1 − n²), d_z = d(h − n)z(1 − z), d_r = d_n·q·r(1 − r), d_q = d_n·r, d_h = d·z + W_h·[d_r,
//           d_z, d_q]; d: the gradient of h′
//     reset before  d_s = W_hn·d_n, d_r = d_s·h·r(1 − r), d_h = d·z + d_s·r + W_h·[d_r, d_z]
//     lstm  e = d_c′ + d·o(1 − τ²), d_i = e·g·i(1 − i), d_f = e·c·f(1 − f), d_g = e·i(1 − g²), d_o = d·τ·o(1 − o), d_c
//           = e·f, d_h = W_h·[d_i, d_f, d_g, d_o]; τ = tanh c′
//   recurrent_input_grad  d_x = W_x·slopes, step by step. 2·B·steps·in·gates·H FLOP
//   recurrent_wgrad       Σ over a tile's steps and sequences of [x; h; 1]·slopesᵀ. 2·B·steps·(in + H)·gates·H FLOP;
//                         sum_rows adds the tiles in order
// As in the layer, one sequence per lane: only recurrent_wgrad reduces over sequences, at the end of each block of
// steps.
#include "kernels/cpu/recurrent.h"
#include "kernels/cpu/tables.h"
#include "kernels/step_block.h"

namespace tessera::TESSERA_ISA {
namespace {

// ---- through time -------------------------------------------------------------------------------
int64_t grad_tiles(const Call& call) { return call.out[1].cols == 0 ? 0 : sequence_tiles(call.out[1].rows); }

// Columns of W_h that multiply the first parts of the slopes. With a reset gate, the columns of the candidate n
// multiply another part.
int64_t first_columns(Cell cell, int64_t hidden) { return (cell == Cell::lstm ? 4 : 2) * hidden; }

template <class T>
int64_t grad_scratch_bytes(const Call& call) {
  const auto& op = *static_cast<const RecurrentGrad*>(call.op);
  const int64_t H = call.in[2].rows, first = first_columns(op.cell, H);
  const int64_t copies = with_items<T>(op.factors, [&](auto item) {
    const CellFactors<T, decltype(item)> factors{op.factors};
    return factors.copy_items(first, H + kTile) + factors.copy_items(call.in[2].cols - first, H + kTile);
  });
  const int64_t slopes = call.out[0].narrow() ? slopes_of(op.cell) * H * kTile : 0;  // of a step
  return static_cast<int64_t>(sizeof(T)) * ((5 * kTile + 1) * H + slopes + copies) + 64;
}

template <class T, class S, class Item>
struct GradStep {
  const S* saved;
  const T* d_y;
  T *slopes, *d_h, *d_c, *more;  // d_h, d_c: of the state after the step, then of the state before it
  int64_t ld_saved, ld_slopes, hidden;
  CellFactors<T, Item> factors;
  Lines<Item> w_first, w_rest;
  Item *first_copy, *rest_copy;  // of the step's slopes

  // The step's slopes in a 16-bit tensor; nullptr: `slopes` is in the tensor itself.
  uint16_t* narrow;
  int64_t ld_narrow;
  Precision format;

  void store_narrow(int64_t row, int64_t rows) const {
    if (narrow == nullptr) return;
    const int64_t together = ld_narrow == kTile ? rows : 1;
    for (int64_t k = row; k < row + rows; k += together)
      narrow_to(slopes + k * ld_slopes, together * kTile, format, narrow + k * ld_narrow);
  }
  // n complete rows of the slopes as factors; stores them in 16 bits too.
  Lines<Item> take(int64_t row, int64_t n, Item* copy) const {
    store_narrow(row, n);
    if constexpr (kIsPair<Item>)
      if (narrow != nullptr && format == Precision::bf16)
        return factors.across_stored(
            Lines<StoredBf16>{reinterpret_cast<const StoredBf16*>(narrow) + row * ld_narrow, ld_narrow}, n, slopes,
            copy);
    return factors.across({slopes + row * ld_slopes, ld_slopes}, n, kTile, copy);
  }
  Term<Item> first(int64_t n) const { return {w_first, take(0, n, first_copy), factors.items(n)}; }
  Term<Item> rest(int64_t part) const {
    return {w_rest, take(part * hidden, hidden, rest_copy), factors.items(hidden)};
  }
};

// Prefetches the inputs of step t − 1 during the product with W_h: the hardware prefetcher does not predict descending
// addresses. Before step 0 there is nothing to read, but a prefetch of any address is harmless. (Gate gradients
// overwrite those of the previous layer, which are in the cache.)
template <class T, class S, class Item>
Prefetch previous_step(const GradStep<T, S, Item>& s, int64_t parts) {
  const auto bytes = static_cast<uintptr_t>(parts * s.hidden * s.ld_saved) * sizeof(S);
  return {reinterpret_cast<uintptr_t>(s.saved) - bytes, static_cast<int64_t>(bytes / 64)};
}

// 1 − y²: the derivative of tanh, given its value y.
template <class T>
Vec<T> tanh_slope(Vec<T> y) {
  return mul_add(-y, y, lanes_of(T(1)));
}

template <class T, class S, class Item>
void gru_back(const GradStep<T, S, Item>& s) {
  constexpr int L = Simd<T>::kLanes;
  const int64_t H = s.hidden, part = H * s.ld_saved, slope = H * s.ld_slopes;
  for (int64_t u = 0; u < H; ++u)
    for (int64_t l = 0; l < kTile; l += L) {
      const S* in = s.saved + u * s.ld_saved + l;
      T *d_h = s.d_h + u * kTile + l, *out = s.slopes + u * s.ld_slopes + l;
      const Vec<T> r = load_stored<T>(in), z = load_stored<T>(in + part), n = load_stored<T>(in + 2 * part),
                   q = load_stored<T>(in + 3 * part), h = load_stored<T>(in + 4 * part);
      const Vec<T> d = load(d_h) + load(s.d_y + u * kTile + l), dn = d * (T(1) - z) * tanh_slope<T>(n);
      store(out, dn * q * (r * (T(1) - r)));
      store(out + slope, d * (h - n) * (z * (T(1) - z)));
      store(out + 2 * slope, dn);
      store(out + 3 * slope, dn * r);
      store(d_h, d * z);
    }
  s.store_narrow(2 * H, H);
  const Term<Item> terms[2] = {s.first(2 * H), s.rest(3)};
  product<T, true>(H, terms, 2, s.d_h, kTile, nullptr, nullptr, true, previous_step(s, 5));
}

template <class T, class S, class Item>
void reset_before_back(const GradStep<T, S, Item>& s) {
  constexpr int L = Simd<T>::kLanes;
  const int64_t H = s.hidden, part = H * s.ld_saved, slope = H * s.ld_slopes;
  for (int64_t u = 0; u < H; ++u)
    for (int64_t l = 0; l < kTile; l += L) {
      const S* in = s.saved + u * s.ld_saved + l;
      T *d_h = s.d_h + u * kTile + l, *out = s.slopes + u * s.ld_slopes + l;
      const Vec<T> z = load_stored<T>(in + part), n = load_stored<T>(in + 2 * part), h = load_stored<T>(in + 3 * part),
                   d = load(d_h) + load(s.d_y + u * kTile + l);
      store(out + slope, d * (h - n) * (z * (T(1) - z)));
      store(out + 2 * slope, d * (T(1) - z) * tanh_slope<T>(n));
      store(d_h, d * z);
    }
  const Term<Item> candidate = s.rest(2);
  product<T, true>(H, &candidate, 1, s.more, kTile, nullptr, nullptr, false);
  for (int64_t u = 0; u < H; ++u)
    for (int64_t l = 0; l < kTile; l += L) {
      const S* in = s.saved + u * s.ld_saved + l;
      T* d_h = s.d_h + u * kTile + l;
      const Vec<T> r = load_stored<T>(in), h = load_stored<T>(in + 3 * part), d_s = load(s.more + u * kTile + l);
      store(s.slopes + u * s.ld_slopes + l, d_s * h * (r * (T(1) - r)));
      store(d_h, mul_add(d_s, r, load(d_h)));
    }
  const Term<Item> gates = s.first(2 * H);
  product<T, true>(H, &gates, 1, s.d_h, kTile, nullptr, nullptr, true, previous_step(s, 4));
}

template <class T, class S, class Item>
void lstm_back(const GradStep<T, S, Item>& s) {
  constexpr int L = Simd<T>::kLanes;
  const int64_t H = s.hidden, part = H * s.ld_saved, slope = H * s.ld_slopes;
  for (int64_t u = 0; u < H; ++u)
    for (int64_t l = 0; l < kTile; l += L) {
      const S* in = s.saved + u * s.ld_saved + l;
      T *d_h = s.d_h + u * kTile + l, *d_c = s.d_c + u * kTile + l, *out = s.slopes + u * s.ld_slopes + l;
      const Vec<T> i = load_stored<T>(in), f = load_stored<T>(in + part), g = load_stored<T>(in + 2 * part),
                   o = load_stored<T>(in + 3 * part), t = load_stored<T>(in + 4 * part),
                   c = load_stored<T>(in + 5 * part);
      const Vec<T> d = load(d_h) + load(s.d_y + u * kTile + l), e = mul_add(d * o, tanh_slope<T>(t), load(d_c));
      store(out, e * g * (i * (T(1) - i)));
      store(out + slope, e * c * (f * (T(1) - f)));
      store(out + 2 * slope, e * i * tanh_slope<T>(g));
      store(out + 3 * slope, d * t * (o * (T(1) - o)));
      store(d_c, e * f);
    }
  const Term<Item> gates = s.first(4 * H);
  product<T, true>(H, &gates, 1, s.d_h, kTile, nullptr, nullptr, false, previous_step(s, 7));
}

template <class T, class S, class Item>
void grad_reading(const Call& call, int64_t tile, void* scratch) {
  const auto& op = *static_cast<const RecurrentGrad*>(call.op);
  const Mat<T> w_h(call.in[2]), d_h0(call.out[1]);
  const int64_t H = w_h.rows, B = op.sequences;
  const Lengths length = lengths_of<T>(call.in[0], tile, B, op.steps);
  const TileMajor<S> saved(call.in[1], op.steps, saved_of(op.cell), H);
  const View& out = call.out[0];
  const TileMajor<T> slopes(out, op.steps, slopes_of(op.cell), H);
  const TileMajor<uint16_t> narrow_slopes(out, op.steps, slopes_of(op.cell), H);
  const int64_t slope_rows = slopes.parts * H;

  GradStep<T, S, Item> s{};
  T* dy = static_cast<T*>(scratch);
  s.d_y = dy;
  s.d_h = dy + H * kTile;
  s.d_c = s.d_h + H * kTile;
  s.more = s.d_c + H * kTile;
  T *before = s.more + H * kTile, *zeros = before + H * kTile;
  for (int64_t k = 0; k < H; ++k) zeros[k] = T(0);
  for (int64_t k = 0; k < H * kTile; ++k) dy[k] = T(0);
  s.slopes = zeros + H;  // of a step, if the tensor has 16 bits
  s.ld_narrow = narrow_slopes.ld, s.format = out.stored;
  s.ld_saved = saved.ld, s.ld_slopes = out.narrow() ? kTile : slopes.ld, s.hidden = H;
  const int64_t first = first_columns(op.cell, H), rest = w_h.cols - first;
  s.factors = {op.factors};
  s.first_copy = reinterpret_cast<Item*>(s.slopes + (out.narrow() ? slope_rows * kTile : 0));
  s.rest_copy = s.first_copy + s.factors.copy_items(first, kTile);
  Item* const weights = s.rest_copy + s.factors.copy_items(rest, kTile);
  s.w_first = s.factors.along({w_h.data, w_h.ld}, first, H, weights);
  s.w_rest = s.factors.along({w_h.data + first, w_h.ld}, rest, H, weights + s.factors.copy_items(first, H));

  load_state(call.in[4], tile, B, H, zeros, s.d_h);
  const bool lstm = op.cell == Cell::lstm;
  if (lstm) load_state(call.in[5], tile, B, H, zeros, s.d_c);
  for (int64_t t = op.steps - 1; t >= 0; --t) {
    if (t >= length.max) {
      out.narrow() ? narrow_slopes.clear(tile, t) : slopes.clear(tile, t);
      continue;
    }
    const Active<T> active(length, t);
    if (call.in[3].data != nullptr) s.d_y = step_in_lanes(call.in[3], tile, t, H, length, zeros, dy, -1);
    s.saved = saved.at(tile, t, 0);
    if (out.narrow()) s.narrow = narrow_slopes.at(tile, t, 0);
    else s.slopes = slopes.at(tile, t, 0);
    // If the step holds the state (padding), it also holds the gradient.
    const int64_t states = active.all ? 0 : lstm ? 2 : 1;
    T *const d_state[2] = {s.d_h, s.d_c}, *const previous[2] = {before, s.more};
    for (int64_t k = 0; k < states * H * kTile; ++k)
      previous[k / (H * kTile)][k % (H * kTile)] = d_state[k / (H * kTile)][k % (H * kTile)];
    if (op.cell == Cell::gru) gru_back(s);
    else if (op.cell == Cell::gru_reset_before) reset_before_back(s);
    else lstm_back(s);
    for (int64_t n = 0; n < states; ++n)
      for (int64_t k = 0; k < H; ++k)
        for (int64_t l = 0; l < kTile; ++l)
          if (active.lane[l] == T(0)) d_state[n][k * kTile + l] = previous[n][k * kTile + l];
    // … and its gate gradients are 0: `saved` is 0 there, which leaves only a product with z = 0.
    for (int64_t k = 0; k < slope_rows && !active.all; ++k)
      for (int64_t l = 0; l < kTile; ++l)
        if (active.lane[l] == T(0)) s.slopes[k * s.ld_slopes + l] = T(0);
    if (!active.all) s.store_narrow(0, slope_rows);
  }
  store_state(d_h0, tile, H, s.d_h);
  if (lstm) store_state(Mat<T>(call.out[2]), tile, H, s.d_c);
}

template <class T>
void grad_run(const Call& call, int64_t tile, void* scratch) {
  as_stored<T>(call.in[1], [&](auto saved) {
    with_items<T>(static_cast<const RecurrentGrad*>(call.op)->factors,
                  [&](auto item) { grad_reading<T, decltype(saved), decltype(item)>(call, tile, scratch); });
  });
}

// ---- gradient of the input -----------------------------------------------------------------------
int64_t input_tiles(const Call& call) { return call.out[0].cols == 0 ? 0 : sequence_tiles(call.out[0].rows); }

template <class T>
int64_t input_scratch_bytes(const Call& call) {
  const Precision precision = static_cast<const RecurrentInputGrad*>(call.op)->factors;
  const int64_t in = call.in[1].rows, gates = call.in[1].cols;
  const int64_t copies = with_items<T>(
      precision, [&](auto item) { return CellFactors<T, decltype(item)>{precision}.copy_items(gates, in + kTile); });
  const int64_t widened = call.in[0].narrow() ? gates : 0;
  return static_cast<int64_t>(sizeof(T)) * (kTile * (in + widened) + copies) + 64;
}

template <class T, class S, class Item>
void input_of(const Call& call, int64_t tile, void* scratch) {
  const auto& op = *static_cast<const RecurrentInputGrad*>(call.op);
  const Mat<T> w_x(call.in[1]);
  const int64_t in = w_x.rows, gates = w_x.cols, H = gates / gates_of(op.cell);
  const TileMajor<S> slopes(call.in[0], op.steps, slopes_of(op.cell), H);
  T *d = static_cast<T*>(scratch), *widened = d + kTile * in;
  const CellFactors<T, Item> factors{op.factors};
  Item* const copy = reinterpret_cast<Item*>(widened + (call.in[0].narrow() ? kTile * gates : 0));
  const Lines<Item> w = factors.along({w_x.data, w_x.ld}, gates, in, copy + factors.copy_items(gates, kTile));
  for (int64_t t = 0; t < op.steps; ++t) {
    const Lines<S> step{slopes.at(tile, t, 0), slopes.ld};
    const Term<Item> term{w, factors.across_stored(step, gates, widened, copy), factors.items(gates)};
    T* lanes = lanes_at<T>(call.out[0], tile, t, in);
    product<T, true>(in, &term, 1, lanes != nullptr ? lanes : d, kTile, nullptr, nullptr, false);
    if (lanes == nullptr) store_step(call.out[0], tile, t, in, d);
  }
}

template <class T>
void input_run(const Call& call, int64_t tile, void* scratch) {
  as_stored<T>(call.in[0], [&](auto slopes) {
    with_items<T>(static_cast<const RecurrentInputGrad*>(call.op)->factors,
                  [&](auto item) { input_of<T, decltype(slopes), decltype(item)>(call, tile, scratch); });
  });
}

// ---- gradient of the weights ---------------------------------------------------------------------
constexpr int64_t kBlock = kStepBlock;  // steps whose inputs are held as lanes at a time

// The first n/2 of n vectors become sums of neighbors: lanes of the even ones, then lanes of the odd ones.
template <class T, int n>
[[gnu::always_inline]] inline void add_neighbors(Vec<T>* a) {
  constexpr int L = Simd<T>::kLanes;
// the sanitizers unroll the loop first, and the compiler warns that there is none
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#pragma GCC unroll 8
#endif
  for (int i = 0; i < n / 2; ++i) {
    const Vec<T> p = a[2 * i], q = a[2 * i + 1];
    if constexpr (L == 16)
      a[i] = __builtin_shufflevector(p, q, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
             __builtin_shufflevector(p, q, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    else if constexpr (L == 8)
      a[i] = __builtin_shufflevector(p, q, 0, 2, 4, 6, 8, 10, 12, 14) +
             __builtin_shufflevector(p, q, 1, 3, 5, 7, 9, 11, 13, 15);
    else if constexpr (L == 4)
      a[i] = __builtin_shufflevector(p, q, 0, 2, 4, 6) + __builtin_shufflevector(p, q, 1, 3, 5, 7);
    else a[i] = __builtin_shufflevector(p, q, 0, 2) + __builtin_shufflevector(p, q, 1, 3);
  }
}
// Lane i of the result is the sum over all lanes of a[i]; as many vectors as lanes. By recursion, because vectors that
// a loop indexes are in memory.
template <class T, int n = Simd<T>::kLanes>
[[gnu::always_inline]] inline Vec<T> lane_sums(Vec<T>* a) {
  add_neighbors<T, n>(a);
  if constexpr (n > 2) return lane_sums<T, n / 2>(a);
  else return a[0];
}

// A matrix of lanes over time: row k of step t at data + t·step + k·ld.
template <class Item>
struct Lanes {
  const Item* data;
  int64_t step, ld;
};

// out[k·ldo + j] += Σ over steps and lanes of v[k]·d[j], for K × J elements that fill a vector of sums exactly.
template <class T, class Item, int K, int J>
void outer(int64_t steps, const Lanes<Item>& v, int64_t k, int64_t rows, const Lanes<Item>& d, int64_t j, int64_t cols,
           T* out, int64_t ldo) {
  constexpr int L = Simd<T>::kLanes;
  static_assert(K * J == L);
  Vec<T> acc[K * J];
#pragma GCC unroll 16
  for (int i = 0; i < K * J; ++i) acc[i] = Vec<T>{};
  const Item *a = v.data + k * v.ld, *b = d.data + j * d.ld;
  // beyond the edge the last row is repeated; its sums are not stored
  const int64_t last_row = rows - 1, last_col = cols - 1;
  for (int64_t t = 0; t < steps; ++t, a += v.step, b += d.step)
    for (int64_t lane = 0; lane < kTile; lane += L) {
      Vec<Item> x[K], s[J];
      for (int q = 0; q < K; ++q) x[q] = load(a + (q < last_row ? q : last_row) * v.ld + lane);
      for (int q = 0; q < J; ++q) s[q] = load(b + (q < last_col ? q : last_col) * d.ld + lane);
#pragma GCC unroll 4
      for (int p = 0; p < K; ++p)
#pragma GCC unroll 4
        for (int q = 0; q < J; ++q) acc[p * J + q] = add_products(x[p], s[q], acc[p * J + q]);
    }
  T sums[L];
  store(sums, lane_sums<T>(acc));
  if (rows >= K && cols >= J) {  // constant bounds: a row of sums is one vector
    for (int64_t p = 0; p < K; ++p)
#pragma GCC ivdep
      for (int64_t q = 0; q < J; ++q) out[p * ldo + q] += sums[p * J + q];
    return;
  }
  for (int64_t p = 0; p < min_of(K, rows); ++p)
    for (int64_t q = 0; q < min_of(J, cols); ++q) out[p * ldo + q] += sums[p * J + q];
}

// `steps`: items of steps.
template <class T, class Item>
void outer_products(int64_t steps, const Lanes<Item>& v, int64_t rows, const Lanes<Item>& d, int64_t cols, T* out,
                    int64_t ldo) {
  constexpr int L = Simd<T>::kLanes, K = L >= 8 ? 4 : 2, J = L / K;
  for (int64_t k = 0; k < rows; k += K)
    for (int64_t j = 0; j < cols; j += J)
      outer<T, Item, K, J>(steps, v, k, rows - k, d, j, cols - j, out + k * ldo + j, ldo);
}

// out[j] += Σ over steps and lanes of d[j]
template <class T, class S>
void totals(int64_t steps, const Lanes<S>& d, int64_t cols, T* out) {
  constexpr int L = Simd<T>::kLanes;
  for (int64_t j = 0; j < cols; j += L) {
    Vec<T> acc[L];
#pragma GCC unroll 16
    for (int q = 0; q < L; ++q) acc[q] = Vec<T>{};
    const int64_t last = cols - 1 - j;  // beyond the edge the last row is repeated; its sums are not stored
    for (int64_t t = 0; t < steps; ++t)
      for (int64_t lane = 0; lane < kTile; lane += L)
#pragma GCC unroll 16
        for (int q = 0; q < L; ++q)
          acc[q] += load_stored<T>(d.data + t * d.step + (j + (q < last ? q : last)) * d.ld + lane);
    T sums[L];
    store(sums, lane_sums<T>(acc));
    for (int q = 0; q < L && j + q < cols; ++q) out[j + q] += sums[q];
  }
}

struct WgradSizes {
  int64_t in, hidden, gates, tiles;
};
WgradSizes wgrad_sizes(const Call& call) {
  const auto& op = *static_cast<const RecurrentWgrad*>(call.op);
  const int64_t tiles = call.out[0].rows, in = call.in[0].cols / op.steps,
                hidden = tiles == 0 ? 0 : call.in[2].rows / (tiles * op.steps * saved_of(op.cell));
  return {in, hidden, gates_of(op.cell) * hidden, tiles};
}

int64_t wgrad_tiles(const Call& call) { return call.out[0].cols == 0 ? 0 : call.out[0].rows; }

template <class T>
int64_t wgrad_scratch_bytes(const Call& call) {
  const auto& op = *static_cast<const RecurrentWgrad*>(call.op);
  const WgradSizes s = wgrad_sizes(call);
  // wide copies of narrow tensors: states, reset states r⊙h, slopes
  const int64_t states = (call.in[2].narrow() ? 2 : 1) * s.hidden,
                slopes = call.in[3].narrow() ? slopes_of(op.cell) * s.hidden : 0;
  const int64_t copies = with_items<T>(op.factors, [&](auto item) {
    return CellFactors<T, decltype(item)>{op.factors}.copy_items(
        kBlock,
        kTile * (s.in + (op.cell == Cell::gru_reset_before ? 2 : 1) * s.hidden + slopes_of(op.cell) * s.hidden));
  });
  return static_cast<int64_t>(sizeof(T)) * (kBlock * kTile * (s.in + states + slopes) + s.in + copies) + 64;
}

// One saved part over n steps as T: in place, or widened into `buffer`.
template <class T, class S>
Lanes<T> part_of(const TileMajor<S>& saved, int64_t tile, int64_t t0, int64_t n, int64_t part, T* buffer) {
  if constexpr (kStoredAs<S> == Precision::fp32) {
    return {saved.at(tile, t0, part), saved.parts * saved.hidden * saved.ld, saved.ld};
  } else {
    const int64_t rows = saved.hidden;
    for (int64_t t = 0; t < n; ++t)
      for (int64_t u = 0; u < rows; ++u)
        for (int64_t l = 0; l < kTile; l += Simd<T>::kLanes)
          store(buffer + (t * rows + u) * kTile + l, load_stored<T>(saved.at(tile, t0 + t, part) + u * saved.ld + l));
    return {buffer, rows * kTile, kTile};
  }
}

// n steps of `rows` rows as the factors of sums over steps.
template <class T, class Item>
Lanes<Item> over_steps(const CellFactors<T, Item>& factors, const Lanes<T>& v, int64_t n, int64_t rows, Item* copy) {
  if constexpr (!kIsPair<Item>)
    if (!factors.copied()) return v;
  for (int64_t r = 0; r < rows; ++r)
    factors.across({v.data + r * v.ld, v.step}, n, kTile, copy + r * kTile, rows * kTile);
  return {copy, rows * kTile, kTile};
}

// The same for one saved part. `widened`: a buffer for it as T.
template <class T, class S, class Item>
Lanes<Item> over_steps(const CellFactors<T, Item>& factors, const TileMajor<S>& saved, int64_t tile, int64_t t0,
                       int64_t n, int64_t part, T* widened, Item* copy) {
  if constexpr (kIsPair<Item> && kStoredAs<S> == Precision::bf16) {
    static_assert(Simd<T>::kLanes == kTile);
    const int64_t rows = saved.hidden;
    for (int64_t t = 0; t < n; t += 2)
      for (int64_t u = 0; u < rows; ++u) {
        auto at = [&](int64_t step) { return saved.at(tile, t0 + step, part) + u * saved.ld; };
        store_pairs(copy + (t / 2 * rows + u) * kTile, at(t), t + 1 < n ? at(t + 1) : nullptr);
      }
    return {copy, rows * kTile, kTile};
  } else {
    return over_steps(factors, part_of(saved, tile, t0, n, part, widened), n, saved.hidden, copy);
  }
}

template <class T, class S, class Slope, class Item>
void wgrad_reading(const Call& call, int64_t tile, void* scratch) {
  const auto& op = *static_cast<const RecurrentWgrad*>(call.op);
  const Mat<T> out(call.out[0]);
  const View& x = call.in[0];
  const auto [in, H, gates, all] = wgrad_sizes(call);
  const Lengths length = lengths_of<T>(call.in[1], tile, x.rows, op.steps);
  const TileMajor<S> saved(call.in[2], op.steps, saved_of(op.cell), H);
  const TileMajor<Slope> slopes(call.in[3], op.steps, 1, slopes_of(op.cell) * H);  // all parts as one
  T *lanes = static_cast<T*>(scratch), *reset = lanes + kBlock * kTile * in, *zeros = reset + kBlock * kTile * H,
    *widened = zeros + in, *wide_slopes = widened + (call.in[2].narrow() ? kBlock * kTile * H : 0);
  const CellFactors<T, Item> factors{op.factors};
  Item *x_copy = reinterpret_cast<Item*>(wide_slopes + (call.in[3].narrow() ? kBlock * kTile * slopes.hidden : 0)),
       *h_copy = x_copy + factors.copy_items(kBlock, kTile * in),
       *d_copy = h_copy + factors.copy_items(kBlock, kTile * H),
       *reset_copy = d_copy + factors.copy_items(kBlock, kTile * slopes.hidden);
  for (int64_t k = 0; k < in; ++k) zeros[k] = T(0);
  T *d_wx = out.row(tile), *d_wh = d_wx + in * gates, *d_bx = d_wh + H * gates, *d_bh = d_bx + gates;
  for (int64_t k = 0; k < out.cols; ++k) d_wx[k] = T(0);

  const int64_t h_part = saved_of(op.cell) - 1;
  const int64_t blocks = (length.max + kBlock - 1) / kBlock;
  for (int64_t t0 = (blocks - 1) * kBlock; t0 >= 0; t0 -= kBlock) {
    const int64_t n = min_of(kBlock, length.max - t0);
    const T* values = lanes;
    for (int64_t t = 0; t < n; ++t) {
      const T* step = step_in_lanes(x, tile, t0 + t, in, length, zeros, lanes + t * in * kTile);
      if (t == 0) values = step;
    }
    const Lanes<T> v{values, in * kTile, kTile};
    const Lanes<Slope> d{slopes.at(tile, t0, 0), slopes.hidden * slopes.ld, slopes.ld};
    const int64_t steps = factors.items(n);
    const Lanes<Item> vs = over_steps(factors, v, n, in, x_copy),
                      hs = over_steps(factors, saved, tile, t0, n, h_part, widened, h_copy),
                      ds = over_steps(factors, slopes, tile, t0, n, 0, wide_slopes, d_copy);
    auto part = [](const auto& of, int64_t row) {
      auto from = of;
      from.data += row * of.ld;
      return from;
    };
    outer_products(steps, vs, in, ds, gates, d_wx, gates);
    totals<T>(n, d, gates, d_bx);
    if (op.cell == Cell::lstm) {
      outer_products(steps, hs, H, ds, gates, d_wh, gates);
    } else if (op.cell == Cell::gru) {
      outer_products(steps, hs, H, ds, 2 * H, d_wh, gates);
      outer_products(steps, hs, H, part(ds, 3 * H), H, d_wh + 2 * H, gates);
      totals<T>(n, part(d, 3 * H), H, d_bh + 2 * H);
    } else {
      const Lanes<T> gate = part_of(saved, tile, t0, n, 0, reset), h = part_of(saved, tile, t0, n, h_part, widened);
      for (int64_t t = 0; t < n; ++t)
        for (int64_t u = 0; u < H; ++u) {
          const T *r = gate.data + t * gate.step + u * gate.ld, *was = h.data + t * h.step + u * h.ld;
          for (int64_t l = 0; l < kTile; ++l) reset[(t * H + u) * kTile + l] = r[l] * was[l];
        }
      outer_products(steps, hs, H, ds, 2 * H, d_wh, gates);
      outer_products(steps, over_steps(factors, Lanes<T>{reset, H * kTile, kTile}, n, H, reset_copy), H,
                     part(ds, 2 * H), H, d_wh + 2 * H, gates);
    }
  }
  // A gate that adds its two biases first has one gradient for both.
  const int64_t shared_biases = op.cell == Cell::lstm ? gates : op.cell == Cell::gru ? 2 * H : 0;
  for (int64_t j = 0; j < shared_biases; ++j) d_bh[j] = d_bx[j];
}

template <class T>
void wgrad_run(const Call& call, int64_t tile, void* scratch) {
  as_stored<T>(call.in[2], [&](auto saved) {
    as_stored<T>(call.in[3], [&](auto slope) {
      with_items<T>(static_cast<const RecurrentWgrad*>(call.op)->factors, [&](auto item) {
        wgrad_reading<T, decltype(saved), decltype(slope), decltype(item)>(call, tile, scratch);
      });
    });
  });
}

}  // namespace

TESSERA_KERNEL(recurrent_grad, grad_tiles, grad_run<T>, grad_scratch_bytes<T>)
TESSERA_KERNEL(recurrent_input_grad, input_tiles, input_run<T>, input_scratch_bytes<T>)
TESSERA_KERNEL(recurrent_wgrad, wgrad_tiles, wgrad_run<T>, wgrad_scratch_bytes<T>)

}  // namespace tessera::TESSERA_ISA
