// recurrent: a layer of GRU or LSTM cells over time (formulae in ops.h). Tiles of 16 sequences run one after the other;
// a tile runs all its steps with its state in cache.
//   2·B·steps·(in + H)·gates·H FLOP and gates·B·steps·H sigmoids or tanhs; moves x, y and `saved` once, weights stay in
//   the cache · a step is one product of the weights with [x_t; h], then one pass over the units that computes all
//   gates and saves what the derivative needs · one sequence per lane: its bits do not depend on the rest of the batch
//   · padding is neither read nor written
#include "kernels/cpu/recurrent.h"
#include "kernels/cpu/tables.h"

namespace tessera::TESSERA_ISA {
namespace {

int64_t tiles(const Call& call) { return call.out[1].cols == 0 ? 0 : sequence_tiles(call.out[1].rows); }

template <class T>
int64_t scratch_bytes(const Call& call) {
  const auto& op = *static_cast<const Recurrent*>(call.op);
  const int64_t in = call.in[4].rows, hidden = call.in[5].rows, wide = in > hidden ? in : hidden,
                gates = call.in[5].cols;
  const int64_t copies = with_items<T>(op.factors, [&](auto item) {
    const CellFactors<T, decltype(item)> factors{op.factors};
    return factors.copy_items(in, gates + kTile) + factors.copy_items(hidden, gates + kTile);
  });
  return static_cast<int64_t>(sizeof(T)) * (kTile * (in + 7 * hidden) + wide + copies) + 64;
}

// Operands of a step, lane-major. S: in what it saves.
template <class T, class S, class Item>
struct Step {
  const T* h;
  T *next, *c, *a, *reset_h;  // next: the state after the step, may alias the state before it; reset_h: r⊙h
  S* saved;                   // nullptr: not needed
  bool non_temporal;
  int64_t ld, in, hidden;
  const T *b_x, *b_h;
  T forget_bias;
  CellFactors<T, Item> factors;
  Lines<Item> w_x, w_h, x_items;
  Item *x_copy, *h_copy;  // of the step's values

  Term<Item> of_x(int64_t column) const { return {{w_x.data + column, w_x.ld}, x_items, factors.items(in)}; }
  Term<Item> of_h(int64_t column, const T* h_lanes) const {
    return {
        {w_h.data + column, w_h.ld}, factors.across({h_lanes, kTile}, hidden, kTile, h_copy), factors.items(hidden)};
  }
};

// Saves what the derivative reads of unit u: values if the sequence has the step, else 0. If `saved` stays in the
// cache, the next step's lines are prefetched.
template <class T, bool kRagged, int parts, class S, class Item>
void save(const Step<T, S, Item>& s, int64_t u, int64_t lane, Vec<T> on, const Vec<T> (&values)[parts]) {
  if (s.saved == nullptr) return;
  S* const to = s.saved + u * s.ld + lane;
  const int64_t part = s.hidden * s.ld;
  const uintptr_t next = reinterpret_cast<uintptr_t>(to) + static_cast<uintptr_t>(parts * part) * sizeof(S);
  const bool first_of_line = next % 64 < sizeof(Vec<T>) / sizeof(T) * sizeof(S);
#pragma GCC unroll 8
  for (int k = 0; k < parts; ++k) {
    const Vec<T> value = kRagged ? where<T>(on, values[k], Vec<T>{}) : values[k];
    if (s.non_temporal) {
      if constexpr (kStoredAs<S> == Precision::fp32) store_non_temporal(to + k * part, value);
    } else {
      if (first_of_line)
        __builtin_prefetch(reinterpret_cast<const void*>(next + static_cast<uintptr_t>(k * part) * sizeof(S)), 1);
      store_stored<T>(to + k * part, value);
    }
  }
}

// bytes of a layer's `saved` above which none of it is still in a core's own cache when the derivative runs
constexpr int64_t kNonTemporalBytes = 1 << 20;

bool is_non_temporal(const View& saved) {
  return !saved.own && !saved.narrow() && saved.data != nullptr &&
         saved.rows * saved.ld * saved.item_bytes >= kNonTemporalBytes &&
         saved.ld * saved.item_bytes % kVectorBytes == 0 && reinterpret_cast<uintptr_t>(saved.data) % kVectorBytes == 0;
}

template <class T, bool kRagged, class S, class Item>
void gru_units(const Step<T, S, Item>& s, const Active<T>& active) {
  constexpr int L = Simd<T>::kLanes;
  const int64_t H = s.hidden, gate = H * kTile;
  for (int64_t u = 0; u < H; ++u)
    for (int64_t l = 0; l < kTile; l += L) {
      const T* a = s.a + u * kTile + l;
      const Vec<T> on = load(active.lane + l), was = load(s.h + u * kTile + l), q = load(a + 3 * gate);
      const Vec<T> r = sigmoid_of_lanes<T>(load(a)), z = sigmoid_of_lanes<T>(load(a + gate)),
                   n = tanh_of_lanes<T>(mul_add(r, q, load(a + 2 * gate)));
      const Vec<T> next = mul_add(z, was - n, n);
      save<T, kRagged, 5>(s, u, l, on, {r, z, n, q, was});
      store(s.next + u * kTile + l, kRagged ? where<T>(on, next, was) : next);
    }
}

template <class T, bool kRagged, class S, class Item>
void reset_before_units(const Step<T, S, Item>& s, const Active<T>& active) {
  constexpr int L = Simd<T>::kLanes;
  const int64_t H = s.hidden, gate = H * kTile;
  for (int64_t k = 0; k < gate; k += L) {
    const Vec<T> r = sigmoid_of_lanes<T>(load(s.a + k));
    store(s.a + k, r);
    store(s.reset_h + k, r * load(s.h + k));
  }
  const Term<Item> n_terms[2] = {s.of_x(2 * H), s.of_h(2 * H, s.reset_h)};
  product<T, false>(H, n_terms, 2, s.a + 2 * gate, kTile, s.b_x + 2 * H, nullptr, false);
  for (int64_t u = 0; u < H; ++u)
    for (int64_t l = 0; l < kTile; l += L) {
      const T* a = s.a + u * kTile + l;
      const Vec<T> on = load(active.lane + l), was = load(s.h + u * kTile + l), z = sigmoid_of_lanes<T>(load(a + gate)),
                   n = tanh_of_lanes<T>(load(a + 2 * gate)), next = mul_add(z, was - n, n);
      save<T, kRagged, 4>(s, u, l, on, {load(a), z, n, was});
      store(s.next + u * kTile + l, kRagged ? where<T>(on, next, was) : next);
    }
}

template <class T, bool kRagged, class S, class Item>
void lstm_units(const Step<T, S, Item>& s, const Active<T>& active) {
  constexpr int L = Simd<T>::kLanes;
  const int64_t H = s.hidden, gate = H * kTile;
  for (int64_t u = 0; u < H; ++u)
    for (int64_t l = 0; l < kTile; l += L) {
      const T* a = s.a + u * kTile + l;
      T* c = s.c + u * kTile + l;
      const Vec<T> on = load(active.lane + l), h_was = load(s.h + u * kTile + l), c_was = load(c);
      const Vec<T> i = sigmoid_of_lanes<T>(load(a)), f = sigmoid_of_lanes<T>(load(a + gate) + s.forget_bias),
                   g = tanh_of_lanes<T>(load(a + 2 * gate)), o = sigmoid_of_lanes<T>(load(a + 3 * gate));
      const Vec<T> c_next = mul_add(f, c_was, i * g), squashed = tanh_of_lanes<T>(c_next), h_next = o * squashed;
      save<T, kRagged, 7>(s, u, l, on, {i, f, g, o, squashed, c_was, h_was});
      store(c, kRagged ? where<T>(on, c_next, c_was) : c_next);
      store(s.next + u * kTile + l, kRagged ? where<T>(on, h_next, h_was) : h_next);
    }
}

template <class T, class S, class Item>
void run_saving(const Call& call, int64_t tile, void* scratch) {
  const auto& op = *static_cast<const Recurrent*>(call.op);
  const Mat<T> w_x(call.in[4]), w_h(call.in[5]), h_last(call.out[1]);
  const int64_t B = h_last.rows, in = w_x.rows, H = w_h.rows, wide = in > H ? in : H;
  const Lengths length = lengths_of<T>(call.in[1], tile, B, op.steps);
  const TileMajor<S> saved(call.out[2], op.steps, saved_of(op.cell), H);

  Step<T, S, Item> s{};
  T* x = static_cast<T*>(scratch);
  T* const state = x + in * kTile;
  s.c = state + H * kTile;
  s.a = s.c + H * kTile;
  s.reset_h = s.a + 4 * H * kTile;
  T* zeros = s.reset_h + H * kTile;
  for (int64_t k = 0; k < wide; ++k) zeros[k] = T(0);
  s.non_temporal = is_non_temporal(call.out[2]);
  s.ld = saved.ld, s.in = in, s.hidden = H;
  s.factors = {op.factors};
  s.x_copy = reinterpret_cast<Item*>(zeros + wide);
  s.h_copy = s.x_copy + s.factors.copy_items(in, kTile);
  Item* const weights = s.h_copy + s.factors.copy_items(H, kTile);
  s.w_x = s.factors.across({w_x.data, w_x.ld}, in, w_x.cols, weights);
  s.w_h = s.factors.across({w_h.data, w_h.ld}, H, w_h.cols, weights + s.factors.copy_items(in, w_x.cols));
  s.b_x = static_cast<const T*>(call.in[6].data), s.b_h = static_cast<const T*>(call.in[7].data);
  s.forget_bias = static_cast<T>(op.forget_bias);

  load_state(call.in[2], tile, B, H, zeros, state);
  s.h = state;
  if (op.cell == Cell::lstm) load_state(call.in[3], tile, B, H, zeros, s.c);
  for (int64_t t = 0; t < op.steps; ++t) {
    if (t >= length.max) {
      if (saved.data != nullptr) saved.clear(tile, t);
      for (int64_t k = 0; k < H * kTile; ++k) s.a[k] = T(0);
      store_step(call.out[0], tile, t, H, s.a);
      continue;
    }
    const Active<T> active(length, t);
    if (saved.data != nullptr) s.saved = saved.at(tile, t, 0);
    s.x_items =
        s.factors.across({step_in_lanes(call.in[0], tile, t, in, length, zeros, x), kTile}, in, kTile, s.x_copy);
    // the layer above may use the state in place
    T* const lanes = active.all ? lanes_at<T>(call.out[0], tile, t, H) : nullptr;
    s.next = lanes != nullptr ? lanes : state;
    const Term<Item> both[2] = {s.of_x(0), s.of_h(0, s.h)};
    if (op.cell == Cell::gru) {
      Term<Item> xn = both[0], hn = both[1];
      xn.w.data += 2 * H, hn.w.data += 2 * H;
      product<T, false>(2 * H, both, 2, s.a, kTile, s.b_x, s.b_h, false);
      product<T, false>(H, &xn, 1, s.a + 2 * H * kTile, kTile, s.b_x + 2 * H, nullptr, false);
      product<T, false>(H, &hn, 1, s.a + 3 * H * kTile, kTile, s.b_h == nullptr ? nullptr : s.b_h + 2 * H, nullptr,
                        false);
      active.all ? gru_units<T, false>(s, active) : gru_units<T, true>(s, active);
    } else if (op.cell == Cell::gru_reset_before) {
      product<T, false>(2 * H, both, 2, s.a, kTile, s.b_x, nullptr, false);
      active.all ? reset_before_units<T, false>(s, active) : reset_before_units<T, true>(s, active);
    } else {
      product<T, false>(4 * H, both, 2, s.a, kTile, s.b_x, s.b_h, false);
      active.all ? lstm_units<T, false>(s, active) : lstm_units<T, true>(s, active);
    }
    s.h = s.next;
    for (int64_t k = 0; k < H * kTile && !active.all; ++k) s.a[k] = active.lane[k % kTile] != T(0) ? s.h[k] : T(0);
    if (lanes == nullptr) store_step(call.out[0], tile, t, H, active.all ? s.h : s.a);
  }
  if (s.non_temporal) flush_stores();
  store_state(h_last, tile, H, s.h);
  if (op.cell == Cell::lstm) store_state(Mat<T>(call.out[3]), tile, H, s.c);
}

template <class T>
void run(const Call& call, int64_t tile, void* scratch) {
  as_stored<T>(call.out[2], [&](auto saved) {
    with_items<T>(static_cast<const Recurrent*>(call.op)->factors,
                  [&](auto item) { run_saving<T, decltype(saved), decltype(item)>(call, tile, scratch); });
  });
}

}  // namespace

TESSERA_KERNEL(recurrent, tiles, run<T>, scratch_bytes<T>)

}  // namespace tessera::TESSERA_ISA
