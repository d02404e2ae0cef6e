// recurrent, recurrent_grad, recurrent_input_grad, recurrent_wgrad: the cells as the papers write them, sequence by
// sequence, against kernels that take sixteen at a time.
#include "op_case.h"

namespace tessera::oracle {
namespace {

constexpr int64_t kLanes = kSequenceTile;

Number sigmoid(Number x) { return Number(1) / (Number(1) + exp(-x)); }
Number sigmoid_slope(Number y) { return y * (Number(1) - y); }
Number square(Number x) { return x * x; }

struct Sizes {
  int64_t sequences, steps, in, hidden;
  int64_t tile_rows(int64_t parts) const { return sequence_tiles(sequences) * steps * parts * hidden; }
};

// The position of (sequence, step, part, unit) in a tile-major matrix.
struct Place {
  int64_t row, col;
};
Place place(const Sizes& s, int64_t parts, int64_t b, int64_t t, int64_t part, int64_t u) {
  return {((b / kLanes * s.steps + t) * parts + part) * s.hidden + u, b % kLanes};
}

bool active(const Grid& length, int64_t b, int64_t t) {
  return length.cells.empty() || static_cast<double>(t) < length(b, 0).v;
}

Number product(Number a, Number b, Precision factors) { return rounded(a, factors) * rounded(b, factors); }

Grids forward(const Recurrent& op, const Sizes& s, const Grids& in) {
  const Grid &x = in[0], &length = in[1], &w_x = in[4], &w_h = in[5], &b_x = in[6], &b_h = in[7];
  // Σ_k v(k)·w(k, column)
  auto dot = [&](const std::vector<Number>& v, const Grid& w, int64_t column) {
    Number sum;
    for (size_t k = 0; k < v.size(); ++k) sum += product(v[k], w(static_cast<int64_t>(k), column), op.factors);
    return sum;
  };
  const int64_t H = s.hidden, parts = saved_of(op.cell);
  Grid y(s.sequences, s.steps * H), h_last(s.sequences, H), saved(s.tile_rows(parts), kLanes), c_last(s.sequences, H);
  for (int64_t b = 0; b < s.sequences; ++b) {
    std::vector<Number> h(static_cast<size_t>(H)), c(static_cast<size_t>(H));
    for (int64_t u = 0; u < H; ++u) {
      if (!in[2].cells.empty()) h[static_cast<size_t>(u)] = in[2](b, u);
      if (!in[3].cells.empty()) c[static_cast<size_t>(u)] = in[3](b, u);
    }
    for (int64_t t = 0; t < s.steps && active(length, b, t); ++t) {
      std::vector<Number> now;
      for (int64_t k = 0; k < s.in; ++k) now.push_back(x(b, t * s.in + k));
      auto of_x = [&](int64_t gate, int64_t u) { return dot(now, w_x, gate * H + u) + b_x(0, gate * H + u); };
      auto of_h = [&](int64_t gate, int64_t u) { return dot(h, w_h, gate * H + u) + b_h(0, gate * H + u); };
      auto keep = [&](int64_t u, const std::vector<Number>& all) {
        for (size_t p = 0; p < all.size(); ++p) {
          const Place at = place(s, parts, b, t, static_cast<int64_t>(p), u);
          saved(at.row, at.col) = all[p];
        }
      };
      std::vector<Number> next(h.size());
      std::vector<Number> reset;
      for (int64_t u = 0; u < H && op.cell == Cell::gru_reset_before; ++u)
        reset.push_back(sigmoid(of_x(0, u) + dot(h, w_h, u)));
      std::vector<Number> reset_h;
      for (size_t u = 0; u < reset.size(); ++u) reset_h.push_back(reset[u] * h[u]);
      for (int64_t u = 0; u < H; ++u) {
        const size_t i = static_cast<size_t>(u);
        if (op.cell == Cell::lstm) {
          const Number in_gate = sigmoid(of_x(0, u) + of_h(0, u)),
                       forget = sigmoid(of_x(1, u) + of_h(1, u) + Number(op.forget_bias)),
                       g = tanh(of_x(2, u) + of_h(2, u)), out = sigmoid(of_x(3, u) + of_h(3, u));
          const Number cell = forget * c[i] + in_gate * g, squashed = tanh(cell);
          keep(u, {in_gate, forget, g, out, squashed, c[i], h[i]});
          c[i] = cell;
          next[i] = out * squashed;
        } else if (op.cell == Cell::gru) {
          const Number r = sigmoid(of_x(0, u) + of_h(0, u)), z = sigmoid(of_x(1, u) + of_h(1, u)), q = of_h(2, u),
                       n = tanh(of_x(2, u) + r * q);
          keep(u, {r, z, n, q, h[i]});
          next[i] = (Number(1) - z) * n + z * h[i];
        } else {
          const Number z = sigmoid(of_x(1, u) + dot(h, w_h, H + u)),
                       n = tanh(of_x(2, u) + dot(reset_h, w_h, 2 * H + u));
          keep(u, {reset[i], z, n, h[i]});
          next[i] = (Number(1) - z) * n + z * h[i];
        }
      }
      h = next;
      for (int64_t u = 0; u < H; ++u) y(b, t * H + u) = h[static_cast<size_t>(u)];
    }
    for (int64_t u = 0; u < H; ++u) h_last(b, u) = h[static_cast<size_t>(u)], c_last(b, u) = c[static_cast<size_t>(u)];
  }
  Grids out{y, h_last, saved};
  if (op.cell == Cell::lstm) out.push_back(c_last);
  return out;
}

Grids backward(const RecurrentGrad& op, const Sizes& s, const Grids& in) {
  const Grid &length = in[0], &saved = in[1], &w_h = in[2], &d_y = in[3];
  const int64_t H = s.hidden, parts = slopes_of(op.cell);
  Grid slopes(s.tile_rows(parts), kLanes), d_h0(s.sequences, H), d_c0(s.sequences, H);
  for (int64_t b = 0; b < s.sequences; ++b) {
    std::vector<Number> d_h(static_cast<size_t>(H)), d_c(static_cast<size_t>(H));
    for (int64_t u = 0; u < H; ++u) {
      if (!in[4].cells.empty()) d_h[static_cast<size_t>(u)] = in[4](b, u);
      if (!in[5].cells.empty()) d_c[static_cast<size_t>(u)] = in[5](b, u);
    }
    for (int64_t t = s.steps - 1; t >= 0; --t) {
      if (!active(length, b, t)) continue;
      auto was = [&](int64_t part, int64_t u) {
        const Place at = place(s, saved_of(op.cell), b, t, part, u);
        return saved(at.row, at.col);
      };
      auto slope = [&](int64_t part, int64_t u) -> Number& {
        const Place at = place(s, parts, b, t, part, u);
        return slopes(at.row, at.col);
      };
      // Σ_j w_h(u, j)·(slope of the gate's units), over one gate.
      auto through = [&](int64_t gate, int64_t part, int64_t u) {
        Number sum;
        for (int64_t j = 0; j < H; ++j) sum += product(w_h(u, gate * H + j), slope(part, j), op.factors);
        return sum;
      };
      std::vector<Number> before(static_cast<size_t>(H));
      for (int64_t u = 0; u < H; ++u) {
        const size_t i = static_cast<size_t>(u);
        const Number d = d_y.cells.empty() ? d_h[i] : d_h[i] + d_y(b, t * H + u);
        if (op.cell == Cell::lstm) {
          const Number e = d_c[i] + d * was(3, u) * (Number(1) - square(was(4, u)));
          slope(0, u) = e * was(2, u) * sigmoid_slope(was(0, u));
          slope(1, u) = e * was(5, u) * sigmoid_slope(was(1, u));
          slope(2, u) = e * was(0, u) * (Number(1) - square(was(2, u)));
          slope(3, u) = d * was(4, u) * sigmoid_slope(was(3, u));
          d_c[i] = e * was(1, u);
          continue;
        }
        const Number z = was(1, u), n = was(2, u), h = was(op.cell == Cell::gru ? 4 : 3, u),
                     d_n = d * (Number(1) - z) * (Number(1) - square(n));
        slope(1, u) = d * (h - n) * sigmoid_slope(z);
        slope(2, u) = d_n;
        before[i] = d * z;
        if (op.cell == Cell::gru)
          slope(0, u) = d_n * was(3, u) * sigmoid_slope(was(0, u)), slope(3, u) = d_n * was(0, u);
      }
      if (op.cell == Cell::gru_reset_before)
        for (int64_t u = 0; u < H; ++u) {
          const Number d_s = through(2, 2, u);
          slope(0, u) = d_s * was(3, u) * sigmoid_slope(was(0, u));
          before[static_cast<size_t>(u)] = before[static_cast<size_t>(u)] + d_s * was(0, u);
        }
      for (int64_t u = 0; u < H; ++u) {
        Number sum = before[static_cast<size_t>(u)];
        if (op.cell == Cell::lstm) sum = through(0, 0, u) + through(1, 1, u) + through(2, 2, u) + through(3, 3, u);
        else sum = sum + through(0, 0, u) + through(1, 1, u) + (op.cell == Cell::gru ? through(2, 3, u) : Number());
        d_h[static_cast<size_t>(u)] = sum;
      }
    }
    for (int64_t u = 0; u < H; ++u) d_h0(b, u) = d_h[static_cast<size_t>(u)], d_c0(b, u) = d_c[static_cast<size_t>(u)];
  }
  Grids out{slopes, d_h0};
  if (op.cell == Cell::lstm) out.push_back(d_c0);
  return out;
}

Grids towards_input(const RecurrentInputGrad& op, const Sizes& s, const Grids& in) {
  return {grid(s.sequences, s.steps * s.in, [&](int64_t b, int64_t c) {
    const int64_t t = c / s.in, k = c % s.in;
    Number sum;
    for (int64_t g = 0; g < gates_of(op.cell); ++g)
      for (int64_t u = 0; u < s.hidden; ++u) {
        const Place at = place(s, slopes_of(op.cell), b, t, g, u);
        sum += product(in[1](k, g * s.hidden + u), in[0](at.row, at.col), op.factors);
      }
    return sum;
  })};
}

Grids towards_weights(const RecurrentWgrad& op, const Sizes& s, const Grids& in) {
  const Grid &x = in[0], &length = in[1], &saved = in[2], &slopes = in[3];
  const int64_t H = s.hidden, gates = gates_of(op.cell) * H, biases = op.cell == Cell::gru_reset_before ? 1 : 2;
  Grid out(sequence_tiles(s.sequences), (s.in + H + biases) * gates);
  // All of a tile, until its longest sequence ends.
  for (int64_t tile = 0; tile < out.rows; ++tile)
    for (int64_t t = 0; t < s.steps; ++t) {
      bool any = false;
      for (int64_t b = tile * kLanes; b < std::min(s.sequences, (tile + 1) * kLanes); ++b)
        any = any || active(length, b, t);
      for (int64_t b = tile * kLanes; b < (tile + 1) * kLanes && any; ++b)
        for (int64_t g = 0; g < gates_of(op.cell); ++g)
          for (int64_t u = 0; u < H; ++u) {
            auto kept = [&](int64_t part, int64_t unit) {
              const Place at = place(s, saved_of(op.cell), b, t, part, unit);
              return saved(at.row, at.col);
            };
            auto slope = [&](int64_t part) {
              const Place at = place(s, slopes_of(op.cell), b, t, part, u);
              return slopes(at.row, at.col);
            };
            const Number d = slope(g), d_of_h = slope(op.cell == Cell::gru && g == 2 ? 3 : g);
            const int64_t column = g * H + u;
            const bool there = b < s.sequences && active(length, b, t);
            for (int64_t k = 0; k < s.in; ++k)
              out(tile, k * gates + column) += product(there ? x(b, t * s.in + k) : Number(), d, op.factors);
            for (int64_t k = 0; k < H; ++k) {
              Number h = kept(saved_of(op.cell) - 1, k);
              if (op.cell == Cell::gru_reset_before && g == 2) h = kept(0, k) * h;
              out(tile, (s.in + k) * gates + column) += product(h, d_of_h, op.factors);
            }
            out(tile, (s.in + H) * gates + column) += d;
            if (biases == 2) out(tile, (s.in + H + 1) * gates + column) += d_of_h;
          }
    }
  return {out};
}

// The values of a tile-major matrix: 0 outside of sequences, as the producing ops leave them.
std::vector<double> tiled(const Sizes& s, int64_t parts, const std::vector<double>& length, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<double> v(static_cast<size_t>(s.tile_rows(parts) * kLanes), 0);
  for (int64_t b = 0; b < s.sequences; ++b)
    for (int64_t t = 0; t < s.steps; ++t)
      for (int64_t p = 0; p < parts; ++p)
        for (int64_t u = 0; u < s.hidden; ++u) {
          const Place at = place(s, parts, b, t, p, u);
          if (length.empty() || static_cast<double>(t) < length[static_cast<size_t>(b)])
            v[static_cast<size_t>(at.row * kLanes + at.col)] = static_cast<double>(uniform(random));
        }
  return v;
}

template <class Op, class Reference>
void add(Cases& cases, const std::string& note, const Op& op, const Sizes& s, std::vector<Input> in, Reference f) {
  cases.push_back({note, op, std::move(in), [=](const Grids& given) { return f(op, s, given); }});
  cases.back().of_rounded = [=](const Grids& given, Precision factors) {
    Op like = op;
    like.factors = factors;
    return f(like, s, given);
  };
}

void add_cell(Cases& cases, Cell cell, const Sizes& s, bool ragged, bool with_states, bool only_weights = false) {
  const int64_t B = s.sequences, T = s.steps, H = s.hidden, gates = gates_of(cell) * H;
  const bool lstm = cell == Cell::lstm, two_biases = cell != Cell::gru_reset_before;
  std::vector<double> lengths;  // all from none to all steps, and one beyond
  for (int64_t b = 0; b < B && ragged; ++b) lengths.push_back(static_cast<double>(b * 7 % (T + 2)));
  const Input length = ragged ? real(B, 1).of(lengths).constant() : none();
  const Input w_x = real(s.in, gates).range(-1, 1).lying(Input::whole),
              w_h = real(H, gates).range(-1, 1).lying(Input::whole),
              bias = real(1, gates).range(-1, 1).lying(Input::whole);
  const Input state = with_states ? real(B, H) : none();
  const std::string note = std::string(lstm         ? "lstm"
                                       : two_biases ? "gru"
                                                    : "gru_reset_before") +
                           (ragged ? ", ragged" : "") + (with_states ? ", from a state" : "");

  auto in_tiles = [&](int64_t parts, unsigned seed) {
    return real(s.tile_rows(parts), kLanes).of(tiled(s, parts, lengths, seed)).lying(Input::in_tiles);
  };
  const Input saved = in_tiles(saved_of(cell), 5), slopes = in_tiles(slopes_of(cell), 6);
  const RecurrentWgrad to_weights{cell, T};
  // Slopes past the end are 0 by the contract of the op; it does not check that.
  add(cases, note, to_weights, s,
      {real(B, T * s.in), length, ragged ? saved.constant() : saved, ragged ? slopes.constant() : slopes},
      towards_weights);
  if (only_weights) return;

  auto by_sequence = [&](int tiled_output) { cases.back().by_rows = true, cases.back().tiled_output = tiled_output; };
  const Recurrent layer{cell, T, lstm ? 0.75 : 0};
  add(cases, note, layer, s,
      {real(B, T * s.in), length, state, lstm ? state : none(), w_x, w_h, bias, two_biases ? bias : none()}, forward);
  by_sequence(2);
  if (ragged)
    cases.back().laws.push_back({"outputs past the end are 0", [=](const Grids& in, const Grids& out) {
                                   double worst = 0;
                                   for (int64_t b = 0; b < B; ++b)
                                     for (int64_t c = 0; c < T * H; ++c)
                                       if (!active(in[1], b, c / H)) worst = std::max(worst, std::fabs(out[0](b, c).v));
                                   return worst;
                                 }});

  const RecurrentGrad grad{cell, T, B};
  add(cases, note, grad, s, {length, saved, w_h, real(B, T * H), state, lstm ? state : none()}, backward);
  by_sequence(0);
  if (!with_states) {
    add(cases, note + ", only the last state is wanted", grad, s,
        {length, saved, w_h, none(), real(B, H), lstm ? real(B, H) : none()}, backward);
    by_sequence(0);
  }

  const RecurrentInputGrad to_input{cell, T, B};
  add(cases, note, to_input, s, {slopes, w_x}, towards_input);
  by_sequence(-1);
}

}  // namespace

void recurrent_cases(Cases& cases) {
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm}) {
    add_cell(cases, cell, {1, 1, 1, 1}, false, false);
    add_cell(cases, cell, {3, 3, 2, 3}, true, true);
    add_cell(cases, cell, {16, 1, 5, 7}, false, true);
    add_cell(cases, cell, {18, 2, 2, 2}, true, false);
    add_cell(cases, cell, {2, 34, 1, 2}, true, false, true);  // more steps than a block of the weights' kernel holds
    add_cell(cases, cell, {130, 2, 1, 2}, true, false);       // more sequences than a GPU gives blocks of their own
    add_cell(cases, cell, {3, 2, 3, 27}, true, true);         // more units than few threads hold weights of
    add_cell(cases, cell, {5, 2, 3, 41}, false, true);        // more units than threads hold weights of
  }
}

}  // namespace tessera::oracle
