// recurrent and its derivative in three ops. The compositions work on the lanes of a tile, [units, kSequenceTile], as
// the kernels do.
#pragma once
#include "engine/ops/rule.h"

namespace tessera {

// Rows of sequences as the lanes of a tile, and back, in ops.
struct Lanes {
  Recorder& r;
  int64_t sequences, tile;
  int64_t count() const { return std::min(kSequenceTile, sequences - tile * kSequenceTile); }

  static Var transposed(Var x) {
    std::vector<Var> rows;
    for (int64_t j = 0; j < x.cols(); ++j) rows.push_back(reshape(slice_cols(x, j, 1), {1, x.rows()}));
    return concat_rows(rows);
  }
  Var padded(Var x) const {
    return count() == kSequenceTile ? x : concat_cols({x, fill(r, {x.rows(), kSequenceTile - count()}, 0)});
  }
  // Columns [start, start + width) of the tile's rows: [width, kSequenceTile].
  Var of(Var x, int64_t start, int64_t width) const {
    return padded(transposed(slice_cols(slice_rows(x, tile * kSequenceTile, count()), start, width)));
  }
  Var of_state(Var state, int64_t width) const {
    return state ? of(state, 0, width) : fill(r, {width, kSequenceTile}, 0);
  }
  Var rows(Var lanes) const { return transposed(slice_cols(lanes, 0, count())); }  // [count, units]
  // [1, kSequenceTile]: 1 where the sequence has step t.
  Var active(Var length, int64_t t) const {
    if (!length) return padded(fill(r, {1, count()}, 1));
    return step(of(length, 0, 1) + -(static_cast<double>(t) + 0.5));
  }
};

// Part `part` of step t of a tile.
inline Var part_of(Var parts, int64_t tile, int64_t t, int64_t steps, int64_t count, int64_t part, int64_t hidden) {
  return slice_rows(parts, ((tile * steps + t) * count + part) * hidden, hidden);
}

inline Var column(Var row) { return reshape(row, {row.cols(), 1}); }

inline double recurrent_flops(Cell cell, int64_t sequences, int64_t steps, int64_t depth, int64_t hidden) {
  return 2.0 * static_cast<double>(sequences * steps) * static_cast<double>(depth * gates_of(cell) * hidden);
}

template <>
struct Rule<Recurrent> {
  enum In { x, length, h0, c0, w_x, w_h, b_x, b_h };
  enum Out { y, h_last, saved, c_last };
  static constexpr Traits traits{.rows = Follows::of({x, length, h0, c0}),
                                 .cols = Follows::never(),
                                 .elements = Follows::never(),
                                 .narrow_out = {saved},
                                 .tiles = {.inputs = {x, length, h0, c0},
                                           .lanes_in = {x},
                                           .lanes_out = {y},
                                           .tiled_out = {saved},
                                           .derivative = {saved}}};
  static int64_t sequences(const Recurrent&, const Shapes& in) { return in[x].rows; }
  static int64_t row_floats(const Recurrent&, const Shapes& in) { return recurrent_floats(in[w_x].rows, in[w_h].rows); }
  static std::vector<Result> infer(const Recurrent& op, const Shapes& in) {
    const int64_t B = in[x].rows, H = in[w_h].rows, gates = gates_of(op.cell) * H;
    require(in.size() == 8 && op.steps > 0 && H > 0 && in[x].cols == op.steps * in[w_x].rows && in[w_x].cols == gates &&
                in[w_h].cols == gates,
            "recurrent");
    require(in[b_x] == Shape{1, gates} && in[b_h] == (op.cell == Cell::gru_reset_before ? Shape{} : Shape{1, gates}),
            "recurrent biases");
    require((in[length] == Shape{} || in[length] == Shape{B, 1}) && (in[h0] == Shape{} || in[h0] == Shape{B, H}) &&
                (in[c0] == Shape{} || in[c0] == Shape{B, H}),
            "recurrent states");
    std::vector<Result> out{
        {{B, op.steps * H}}, {{B, H}}, {{sequence_tiles(B) * op.steps * saved_of(op.cell) * H, kSequenceTile}}};
    if (op.cell == Cell::lstm) out.push_back({{B, H}});
    return out;
  }

  static std::vector<Var> vjp(Recorder& r, const Recurrent& op, const Vjp& v) {
    if (v.d_out[saved]) {  // a second derivative: the values kept for the first are differentiated
      const std::vector<Var> all = compose(r, op, v.in);
      std::vector<Var> outputs, seeds, wrt, d_in;
      for (size_t i = 0; i < all.size(); ++i)
        if (v.d_out[i]) outputs.push_back(all[i]), seeds.push_back(v.d_out[i]);
      for (const Var i : v.in)
        if (i) wrt.push_back(i);
      const std::vector<Var> some = pullback(r, outputs, seeds, wrt);
      size_t k = 0;
      for (const Var i : v.in) d_in.push_back(i ? some[k++] : Var{});
      return d_in;
    }
    const bool lstm = op.cell == Cell::lstm;
    const int64_t B = v.in[x].rows(), in = v.in[w_x].rows(), H = v.in[w_h].rows(), gates = v.in[w_h].cols();
    const auto back = r.emit(RecurrentGrad{op.cell, op.steps, B}, {v.in[length], v.out[saved], v.in[w_h], v.d_out[y],
                                                                   v.d_out[h_last], lstm ? v.d_out[c_last] : Var{}});
    const Var d_x = r.emit1(RecurrentInputGrad{op.cell, op.steps, B}, {back[0], v.in[w_x]});
    const Var weights =
        sum_rows(r.emit1(RecurrentWgrad{op.cell, op.steps}, {v.in[x], v.in[length], v.out[saved], back[0]}));
    int64_t at = 0;
    auto next = [&](Shape s) {
      const Var part = reshape(slice_cols(weights, at, s.count()), s);
      at += s.count();
      return part;
    };
    const Var d_w_x = next({in, gates}), d_w_h = next({H, gates}), d_b_x = next({1, gates});
    return {d_x, Var{}, back[1], lstm ? back[2] : Var{}, d_w_x, d_w_h, d_b_x, v.in[b_h] ? next({1, gates}) : Var{}};
  }

  static std::vector<Var> compose(Recorder& r, const Recurrent& op, const std::vector<Var>& in) {
    const int64_t B = in[x].rows(), width = in[w_x].rows(), H = in[w_h].rows();
    auto gate = [&](Var a, int64_t g) { return slice_rows(a, g * H, H); };
    std::vector<Var> ys, hs, kept, cs;
    for (int64_t tile = 0; tile < sequence_tiles(B); ++tile) {
      const Lanes lanes{r, B, tile};
      Var h = lanes.of_state(in[h0], H), c = op.cell == Cell::lstm ? lanes.of_state(in[c0], H) : Var{};
      std::vector<Var> steps;
      for (int64_t t = 0; t < op.steps; ++t) {
        const Var on = lanes.active(in[length], t);
        const Var ax = matmul(in[w_x], lanes.of(in[x], t * width, width) * on, true) + column(in[b_x]);
        const Var was = h, c_was = c;
        std::vector<Var> parts;
        if (op.cell == Cell::lstm) {
          const Var a = ax + (matmul(in[w_h], h, true) + column(in[b_h]));
          const Var i = sigmoid(gate(a, 0)), f = sigmoid(gate(a, 1) + op.forget_bias), g = tanh(gate(a, 2)),
                    o = sigmoid(gate(a, 3));
          const Var next = f * c + i * g, squashed = tanh(next);
          parts = {i, f, g, o, squashed, c_was, was};
          c = c + (next - c) * on;
          h = h + (o * squashed - h) * on;
        } else if (op.cell == Cell::gru) {
          const Var ah = matmul(in[w_h], h, true) + column(in[b_h]), q = gate(ah, 2);
          const Var reset = sigmoid(gate(ax, 0) + gate(ah, 0)), z = sigmoid(gate(ax, 1) + gate(ah, 1)),
                    n = tanh(gate(ax, 2) + reset * q);
          parts = {reset, z, n, q, was};
          h = h + (n + z * (h - n) - h) * on;
        } else {
          const Var a = slice_rows(ax, 0, 2 * H) + matmul(slice_cols(in[w_h], 0, 2 * H), h, true),
                    reset = sigmoid(gate(a, 0)), z = sigmoid(gate(a, 1));
          const Var n = tanh(gate(ax, 2) + matmul(slice_cols(in[w_h], 2 * H, H), reset * h, true));
          parts = {reset, z, n, was};
          h = h + (n + z * (h - n) - h) * on;
        }
        for (const Var p : parts) kept.push_back(p * on);
        steps.push_back(lanes.rows(h * on));
      }
      ys.push_back(concat_cols(steps));
      hs.push_back(lanes.rows(h));
      if (c) cs.push_back(lanes.rows(c));
    }
    std::vector<Var> out{concat_rows(ys), concat_rows(hs), concat_rows(kept)};
    if (!cs.empty()) out.push_back(concat_rows(cs));
    return out;
  }

  static double flops(const Recurrent& op, const Shapes& in, const Shapes& out) {
    return recurrent_flops(op.cell, in[x].rows, op.steps, in[w_x].rows + in[w_h].rows, in[w_h].rows) +
           24 * static_cast<double>(gates_of(op.cell) * out[y].count());
  }
};

template <>
struct Rule<RecurrentGrad> {
  enum In { length, saved, w_h, d_y, d_h_last, d_c_last };
  static constexpr Traits traits{
      .rows = Follows::of(OperandSet::but({w_h})),
      .cols = Follows::never(),
      .elements = Follows::never(),
      .narrow = {saved},
      .narrow_out = {0},
      .tiles = {.inputs = OperandSet::but({w_h}), .lanes_in = {d_y}, .tiled_in = {saved}, .tiled_out = {0}}};
  static int64_t sequences(const RecurrentGrad& op, const Shapes&) { return op.sequences; }
  static int64_t row_floats(const RecurrentGrad&, const Shapes& in) { return recurrent_grad_floats(in[w_h].rows); }
  static std::vector<Result> infer(const RecurrentGrad& op, const Shapes& in) {
    const int64_t H = in[w_h].rows, rows = sequence_tiles(op.sequences) * op.steps * H;
    const Shape state{op.sequences, H};
    require(in.size() == 6 && in[saved] == Shape{rows * saved_of(op.cell), kSequenceTile} &&
                in[w_h].cols == gates_of(op.cell) * H,
            "recurrent_grad");
    require((in[d_y] == Shape{} || in[d_y] == Shape{op.sequences, op.steps * H}) &&
                (in[d_h_last] == Shape{} || in[d_h_last] == state) &&
                (in[d_c_last] == Shape{} || in[d_c_last] == state),
            "recurrent_grad");
    std::vector<Result> out{{{rows * slopes_of(op.cell), kSequenceTile}}, {state}};
    if (op.cell == Cell::lstm) out.push_back({state});
    return out;
  }

  static std::vector<Var> compose(Recorder& r, const RecurrentGrad& op, const std::vector<Var>& in) {
    const int64_t H = in[w_h].rows(), parts = saved_of(op.cell);
    std::vector<Var> slopes, hs, cs;
    auto slope = [](Var y) { return y * (1.0 - y); };  // of the sigmoid
    for (int64_t tile = 0; tile < sequence_tiles(op.sequences); ++tile) {
      const Lanes lanes{r, op.sequences, tile};
      Var d_h = lanes.of_state(in[d_h_last], H), d_c = op.cell == Cell::lstm ? lanes.of_state(in[d_c_last], H) : Var{};
      std::vector<Var> steps(static_cast<size_t>(op.steps));
      for (int64_t t = op.steps - 1; t >= 0; --t) {
        const Var on = lanes.active(in[length], t), off = 1.0 - on;
        auto part = [&](int64_t p) { return part_of(in[saved], tile, t, op.steps, parts, p, H); };
        const Var d = (in[d_y] ? d_h + lanes.of(in[d_y], t * H, H) : d_h) * on, held = d_h * off;
        if (op.cell == Cell::lstm) {
          const Var i = part(0), f = part(1), g = part(2), o = part(3), squashed = part(4), c = part(5);
          const Var e = (d_c * on) + d * o * (1.0 - squashed * squashed);
          const Var all =
              concat_rows({e * g * slope(i), e * c * slope(f), e * i * (1.0 - g * g), d * squashed * slope(o)});
          steps[static_cast<size_t>(t)] = all;
          d_c = e * f + d_c * off;
          d_h = matmul(in[w_h], all) + held;
          continue;
        }
        const Var reset = part(0), z = part(1), n = part(2), h = part(op.cell == Cell::gru ? 4 : 3);
        const Var d_n = d * (1.0 - z) * (1.0 - n * n), d_z = d * (h - n) * slope(z);
        if (op.cell == Cell::gru) {
          const Var d_r = d_n * part(3) * slope(reset), d_q = d_n * reset;
          steps[static_cast<size_t>(t)] = concat_rows({d_r, d_z, d_n, d_q});
          d_h = d * z + matmul(in[w_h], concat_rows({d_r, d_z, d_q})) + held;
        } else {
          const Var d_s = matmul(slice_cols(in[w_h], 2 * H, H), d_n), d_r = d_s * h * slope(reset);
          steps[static_cast<size_t>(t)] = concat_rows({d_r, d_z, d_n});
          d_h = d * z + d_s * reset + matmul(slice_cols(in[w_h], 0, 2 * H), concat_rows({d_r, d_z})) + held;
        }
      }
      slopes.insert(slopes.end(), steps.begin(), steps.end());
      hs.push_back(lanes.rows(d_h));
      if (d_c) cs.push_back(lanes.rows(d_c));
    }
    std::vector<Var> out{concat_rows(slopes), concat_rows(hs)};
    if (!cs.empty()) out.push_back(concat_rows(cs));
    return out;
  }

  static double flops(const RecurrentGrad& op, const Shapes& in, const Shapes&) {
    return recurrent_flops(op.cell, op.sequences, op.steps, in[w_h].rows, in[w_h].rows);
  }
};

template <>
struct Rule<RecurrentInputGrad> {
  enum In { slopes, w_x };
  static constexpr Traits traits{.rows = Follows::of({slopes}),
                                 .cols = Follows::never(),
                                 .elements = Follows::never(),
                                 .narrow = {slopes},
                                 .tiles = {.inputs = {slopes}, .lanes_out = {0}, .tiled_in = {slopes}}};
  static int64_t sequences(const RecurrentInputGrad& op, const Shapes&) { return op.sequences; }
  static int64_t row_floats(const RecurrentInputGrad&, const Shapes& in) {
    return recurrent_input_floats(in[w_x].cols, 4);  // of four steps
  }
  static std::vector<Result> infer(const RecurrentInputGrad& op, const Shapes& in) {
    const int64_t H = in[1].cols / gates_of(op.cell);
    require(in[0] == Shape{sequence_tiles(op.sequences) * op.steps * slopes_of(op.cell) * H, kSequenceTile},
            "recurrent_input_grad");
    return {{{op.sequences, op.steps * in[1].rows}}};
  }
  static std::vector<Var> compose(Recorder& r, const RecurrentInputGrad& op, const std::vector<Var>& in) {
    const int64_t gates = in[1].cols(), H = gates / gates_of(op.cell), parts = slopes_of(op.cell);
    std::vector<Var> tiles;
    for (int64_t tile = 0; tile < sequence_tiles(op.sequences); ++tile) {
      std::vector<Var> steps;
      for (int64_t t = 0; t < op.steps; ++t)
        steps.push_back(Lanes{r, op.sequences, tile}.rows(
            matmul(in[1], slice_rows(in[0], (tile * op.steps + t) * parts * H, gates))));
      tiles.push_back(concat_cols(steps));
    }
    return {concat_rows(tiles)};
  }
  static double flops(const RecurrentInputGrad& op, const Shapes& in, const Shapes&) {
    return recurrent_flops(op.cell, op.sequences, op.steps, in[1].rows, in[1].cols / gates_of(op.cell));
  }
};

template <>
struct Rule<RecurrentWgrad> {
  enum In { x, length, saved, slopes };
  static constexpr Traits traits{
      .rows = Follows::never(),
      .cols = Follows::alone(),
      .elements = Follows::never(),
      .narrow = {saved, slopes},
      .tiles = {.inputs = OperandSet::all(), .lanes_in = {x}, .tiled_in = {saved, slopes}, .shares = true}};
  static int64_t sequences(const RecurrentWgrad&, const Shapes& in) { return in[x].rows; }
  static int64_t hidden(const RecurrentWgrad& op, Shape x_shape, Shape saved_shape) {
    return saved_shape.rows / (std::max<int64_t>(sequence_tiles(x_shape.rows), 1) * op.steps * saved_of(op.cell));
  }
  static std::vector<Result> infer(const RecurrentWgrad& op, const Shapes& in) {
    const int64_t tiles = sequence_tiles(in[x].rows), H = hidden(op, in[x], in[saved]),
                  biases = op.cell == Cell::gru_reset_before ? 1 : 2;
    require(in.size() == 4 && in[x].cols % op.steps == 0 &&
                in[slopes] == Shape{tiles * op.steps * slopes_of(op.cell) * H, kSequenceTile},
            "recurrent_wgrad");
    return {{{tiles, (in[x].cols / op.steps + H + biases) * gates_of(op.cell) * H}}};
  }
  static std::vector<Var> compose(Recorder& r, const RecurrentWgrad& op, const std::vector<Var>& in) {
    const int64_t B = in[x].rows(), width = in[x].cols() / op.steps, H = hidden(op, in[x].shape(), in[saved].shape());
    const int64_t parts = slopes_of(op.cell);
    auto flat = [](Var v) { return reshape(v, {1, v.shape().count()}); };
    std::vector<Var> tiles;
    for (int64_t tile = 0; tile < sequence_tiles(B); ++tile) {
      const Lanes lanes{r, B, tile};
      Var total;
      for (int64_t t = 0; t < op.steps; ++t) {
        auto slope = [&](int64_t part, int64_t count) {
          return slice_rows(in[slopes], ((tile * op.steps + t) * parts + part) * H, count * H);
        };
        auto kept = [&](int64_t part) { return part_of(in[saved], tile, t, op.steps, saved_of(op.cell), part, H); };
        const Var v = lanes.of(in[x], t * width, width) * lanes.active(in[length], t), h = kept(saved_of(op.cell) - 1),
                  d = slope(0, gates_of(op.cell));
        std::vector<Var> all{flat(matmul(v, d, false, true))};
        if (op.cell == Cell::gru_reset_before) {
          all.push_back(
              flat(concat_cols({matmul(h, slope(0, 2), false, true), matmul(kept(0) * h, slope(2, 1), false, true)})));
          all.push_back(flat(sum_cols(d)));
        } else {
          const Var of_h = op.cell == Cell::gru ? concat_rows({slope(0, 2), slope(3, 1)}) : d;
          all.push_back(flat(matmul(h, of_h, false, true)));
          all.push_back(flat(sum_cols(d)));
          all.push_back(flat(sum_cols(of_h)));
        }
        const Var step = concat_cols(all);
        total = total ? total + step : step;
      }
      tiles.push_back(total);
    }
    return {concat_rows(tiles)};
  }
  static double flops(const RecurrentWgrad& op, const Shapes& in, const Shapes&) {
    const int64_t H = hidden(op, in[x], in[saved]);
    return recurrent_flops(op.cell, in[x].rows, op.steps, in[x].cols / op.steps + H, H);
  }
};

}  // namespace tessera
