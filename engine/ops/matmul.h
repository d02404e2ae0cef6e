// matmul, block_matmul, sharded_wgrad, narrow and the sparse products.
#pragma once
#include "engine/ops/rule.h"
#include "kernels/shards.h"

namespace tessera {

template <>
struct Rule<Matmul> {
  // Rows of the result are rows of the left factors, columns those of the right ones. A product with a transposed left
  // factor is computed whole or tile by tile, and so is a sum of more products than an OperandSet can distinguish.
  static Traits traits(const Matmul& op, size_t inputs) {
    const OperandSet addend = OperandSet{}.with(static_cast<size_t>(2 * op.pairs));
    const Follows none = Follows::never();
    const bool cut = !op.trans_a && inputs < OperandSet::kBits;
    return {.rows = cut ? Follows::of(addend.with(0, 2)) : none,
            .cols = cut ? Follows::of(op.trans_b ? addend : addend.with(1, 2)) : none,
            .elements = none,
            .batch = !op.trans_a,
            .sums = op.trans_a && !op.trans_b ? factors(op.pairs) : OperandSet{},
            .product = {op.pairs, op.trans_a, op.trans_b, op.addend, op.cut},
            .over = op.addend && op.cut == 0 ? 2 * op.pairs : -1,
            .narrow = factors(op.pairs)};
  }
  // Pairs with a zero factor are dropped.
  static Var fold(Recorder& r, const Matmul& op, const std::vector<Var>& in) {
    std::vector<Var> left;
    for (int p = 0; p < op.pairs; ++p) {
      const Var a = in[static_cast<size_t>(2 * p)], b = in[static_cast<size_t>(2 * p) + 1];
      if (!is_zero(a) && !is_zero(b)) left.insert(left.end(), {a, b});
    }
    if (left.size() == static_cast<size_t>(2 * op.pairs)) return {};
    if (left.empty()) {
      const Shape out = out_shape(op, in[0].shape(), in[1].shape());
      return op.addend ? broadcast(in.back(), out) : fill(r, out, 0);
    }
    const int pairs = static_cast<int>(left.size() / 2);
    if (op.addend) left.push_back(in.back());
    return r.emit1(Matmul{op.trans_a, op.trans_b, pairs, op.addend, op.cut}, left);
  }
  static Shape out_shape(const Matmul& op, Shape a, Shape b) {
    return {op.trans_a ? a.cols : a.rows, op.trans_b ? b.rows : b.cols};
  }
  static OperandSet factors(int pairs) {
    OperandSet a;
    for (int i = 0; i < 2 * pairs; ++i) a = a.with(static_cast<size_t>(i), OperandSet::kBits);
    return a;
  }
  static int64_t depth(const Matmul& op, const Shapes& in, int pair) {
    const Shape a = in[static_cast<size_t>(2 * pair)];
    return op.trans_a ? a.rows : a.cols;
  }
  static std::vector<Result> infer(const Matmul& op, const Shapes& in) {
    require(in.size() == static_cast<size_t>(2 * op.pairs + (op.addend ? 1 : 0)), "matmul inputs");
    const Shape out = out_shape(op, in[0], in[1]);
    for (int p = 0; p < op.pairs; ++p) {
      const Shape a = in[static_cast<size_t>(2 * p)], b = in[static_cast<size_t>(2 * p + 1)];
      require(depth(op, in, p) == (op.trans_b ? b.cols : b.rows), "matmul depth");
      require(out_shape(op, a, b) == out, "matmul pairs");
    }
    if (op.addend)
      require(in.back().cols == out.cols && (in.back().rows == out.rows || in.back().rows == 1), "matmul addend");
    return {{out}};
  }
  static std::vector<Var> vjp(Recorder&, const Matmul& op, const Vjp& v) {
    const Var d = v.d_out[0];
    std::vector<Var> g;
    for (int p = 0; p < op.pairs; ++p) {
      const Var a = v.in[static_cast<size_t>(2 * p)], b = v.in[static_cast<size_t>(2 * p + 1)];
      g.push_back(op.trans_a ? matmul(b, d, op.trans_b, true) : matmul(d, b, false, !op.trans_b));
      g.push_back(op.trans_b ? matmul(d, a, true, op.trans_a) : matmul(a, d, !op.trans_a, false));
    }
    if (op.addend) g.push_back(sum_to(d, v.in.back().shape()));
    return g;
  }
  static double flops(const Matmul& op, const Shapes& in, const Shapes& out) {
    double k = 0;
    for (int p = 0; p < op.pairs; ++p) k += static_cast<double>(depth(op, in, p));
    return 2 * k * static_cast<double>(out[0].count());
  }
};

template <>
struct Rule<BlockMatmul> {
  static Traits traits(const BlockMatmul& op, size_t) {
    const bool rows = op.form != BlockMatmul::weight;
    return {.rows = rows ? Follows::of({0, 2}) : Follows::never(),
            .cols = Follows::never(),
            .elements = Follows::never(),
            .batch = rows,
            .sums = rows ? OperandSet{} : OperandSet{0, 1},
            .narrow = {0, 1}};
  }
  static std::vector<Result> infer(const BlockMatmul& op, const Shapes& in) {
    const BlockTable& b = *op.blocks;
    const Shape weight{b.rows, b.cols};
    require(in.size() == (op.addend ? 3u : 2u) && (!op.addend || op.form == BlockMatmul::forward),
            "block_matmul inputs");
    require(in[0].cols == (op.form == BlockMatmul::input ? b.cols : b.depth), "block_matmul depth");
    if (op.form == BlockMatmul::weight) {
      require(in[1] == Shape{in[0].rows, b.cols}, "block_matmul columns");
      return {{weight}};
    }
    require(in[1] == weight, "block_matmul weight");
    const Shape out{in[0].rows, op.form == BlockMatmul::forward ? b.cols : b.depth};
    if (op.addend)
      require(in[2].cols == out.cols && (in[2].rows == out.rows || in[2].rows == 1), "block_matmul addend");
    return {{out}};
  }
  // The three forms are the derivatives of one trilinear function of x, the weight and the result.
  static std::vector<Var> vjp(Recorder&, const BlockMatmul& op, const Vjp& v) {
    const Var d = v.d_out[0], a = v.in[0], b = v.in[1];
    switch (op.form) {
      case BlockMatmul::forward: {
        std::vector<Var> g{block_matmul(BlockMatmul::input, op.blocks, d, b),
                           block_matmul(BlockMatmul::weight, op.blocks, a, d)};
        if (op.addend) g.push_back(sum_to(d, v.in[2].shape()));
        return g;
      }
      case BlockMatmul::input:
        return {block_matmul(BlockMatmul::forward, op.blocks, d, b),
                block_matmul(BlockMatmul::weight, op.blocks, d, a)};
      case BlockMatmul::weight:
        return {block_matmul(BlockMatmul::input, op.blocks, b, d), block_matmul(BlockMatmul::forward, op.blocks, a, d)};
    }
    return {};
  }
  static double elements(const BlockTable& blocks) {
    double n = 0;
    for (int k = 0; k < blocks.count; ++k) n += static_cast<double>(blocks.items[k].rows) * blocks.items[k].cols;
    return n;
  }
  static double flops(const BlockMatmul& op, const Shapes& in, const Shapes&) {
    return 2 * static_cast<double>(in[0].rows) * elements(*op.blocks);
  }
};

// Inserted after differentiation (engine/passes/batch/shard.h).
template <>
struct Rule<ShardedWgrad> : NoGradient {
  static Traits traits(const ShardedWgrad& op, size_t) {
    return {.rows = Follows::never(),
            .cols = Follows::never(),
            .elements = Follows::never(),
            .over = op.addend && op.blocks == nullptr ? 2 * op.pairs : -1,
            .narrow = Rule<Matmul>::factors(op.pairs)};
  }
  static std::vector<Result> infer(const ShardedWgrad& op, const Shapes& in) {
    require(op.pairs > 0 && in.size() == static_cast<size_t>(2 * op.pairs + (op.addend ? 1 : 0)),
            "sharded_wgrad inputs");
    require(op.blocks == nullptr || (op.pairs == 1 && !op.addend), "sharded_wgrad of blocks");
    const int64_t own = shard_units(op, op.count);
    for (size_t p = 0; p < static_cast<size_t>(2 * op.pairs); p += 2) {
      require(in[p].rows == in[p + 1].rows && own > 0 && in[p].rows % own == 0, "sharded_wgrad rows");
      require(in[p].cols == in[0].cols && in[p + 1].cols == in[1].cols, "sharded_wgrad pairs");
    }
    const Shape out = op.blocks != nullptr ? Shape{op.blocks->rows, op.blocks->cols} : Shape{in[0].cols, in[1].cols};
    require(op.blocks == nullptr || (in[0].cols == op.blocks->depth && in[1].cols == op.blocks->cols),
            "sharded_wgrad columns");
    require(!op.addend || in.back() == out, "sharded_wgrad addend");
    return {{out}};
  }
  static double flops(const ShardedWgrad& op, const Shapes& in, const Shapes& out) {
    double rows = 0;
    for (int p = 0; p < op.pairs; ++p) rows += static_cast<double>(in[static_cast<size_t>(2 * p)].rows);
    return 2 * rows *
           (op.blocks != nullptr ? Rule<BlockMatmul>::elements(*op.blocks) : static_cast<double>(out[0].count()));
  }
};

// Inserted after differentiation (engine/passes/narrow.cpp).
template <>
struct Rule<Narrow> : Light, NoGradient {
  static constexpr Traits traits{.rows = Follows::each(), .cols = Follows::each(), .elements = Follows::each()};
  static std::vector<Result> infer(const Narrow& op, const Shapes& in) { return {{in[0], narrow_type(op.to)}}; }
};

template <>
struct Rule<SparseDense> : Light {
  static constexpr Traits traits{.rows = Follows::each(), .cols = Follows::never(), .elements = Follows::never()};
  static std::vector<Result> infer(const SparseDense& op, const Shapes& in) {
    return {{{in[0].rows, in[0].cols / op.per * op.width}}};
  }
  static std::vector<Var> vjp(Recorder& r, const SparseDense& op, const Vjp& v) {
    return {Var{}, v.in[1] ? r.emit1(SparsePick{op.width, op.per}, {v.in[0], v.d_out[0]}) : Var{}};
  }
};

template <>
struct Rule<SparsePick> : Light {
  static constexpr Traits traits{
      .rows = Follows::each(), .cols = Follows::never(), .elements = Follows::never(), .gathers = {1}};
  static std::vector<Result> infer(const SparsePick&, const Shapes& in) { return {{in[0]}}; }
  static std::vector<Var> vjp(Recorder& r, const SparsePick& op, const Vjp& v) {
    return {Var{}, r.emit1(SparseDense{op.width, op.per}, {v.in[0], v.d_out[0]})};
  }
};

template <>
struct Rule<SparseSlice> : Free, NoGradient {
  static constexpr Traits traits{.rows = Follows::each(), .cols = Follows::each(), .elements = Follows::each()};
  static std::vector<Result> infer(const SparseSlice&, const Shapes& in) { return {{in[0], DType::index}}; }
};

template <>
struct Rule<SparseMatmul> {
  static constexpr Traits traits{.rows = Follows::of(OperandSet::but({2})),
                                 .cols = Follows::of({2, 3}),
                                 .elements = Follows::never(),
                                 .batch = true};
  static std::vector<Result> infer(const SparseMatmul& op, const Shapes& in) {
    require(in[2].rows == in[0].cols / op.per * op.width, "sparse_matmul weight");
    return {{{in[0].rows, in[2].cols}}};
  }
  static std::vector<Var> vjp(Recorder& r, const SparseMatmul& op, const Vjp& v) {
    const Var d = v.d_out[0];
    std::vector<Var> g{
        Var{}, v.in[1] ? r.emit1(SparsePick{op.width, op.per}, {v.in[0], matmul(d, v.in[2], false, true)}) : Var{},
        r.emit1(SparseWgrad{op.width, op.per, false}, {v.in[0], v.in[1], d})};
    if (op.addend) g.push_back(sum_to(d, v.in[3].shape()));
    return g;
  }
  static std::vector<Var> compose(Recorder&, const SparseMatmul& op, const std::vector<Var>& in) {
    const Var y = matmul(sparse_dense(in[0], in[1], op.width, op.per), in[2]);
    return {op.addend ? y + in[3] : y};
  }
  static double flops(const SparseMatmul&, const Shapes& in, const Shapes& out) {
    return 2 * static_cast<double>(in[0].cols * out[0].count());
  }
};

template <>
struct Rule<SparseWgrad> {
  static Traits traits(const SparseWgrad& op, size_t) {
    return {.rows = Follows::never(),
            .cols = Follows::of({2, 3}),
            .elements = Follows::never(),
            .zero = {op.addend ? Zero::unknown : Zero::if_any, {2}},
            .sums = {0, 1, 2},
            .over = op.addend ? 3 : -1,
            .narrow = {2}};
  }
  static Var fold(Recorder&, const SparseWgrad& op, const std::vector<Var>& in) {
    return op.addend && is_zero(in[2]) ? in[3] : Var{};
  }
  static std::vector<Result> infer(const SparseWgrad& op, const Shapes& in) {
    return {{{in[0].cols / op.per * op.width, in[2].cols}}};
  }
  static std::vector<Var> vjp(Recorder& r, const SparseWgrad& op, const Vjp& v) {
    const Var d = v.d_out[0];
    std::vector<Var> g{
        Var{}, v.in[1] ? r.emit1(SparsePick{op.width, op.per}, {v.in[0], matmul(v.in[2], d, false, true)}) : Var{},
        r.emit1(SparseMatmul{op.width, op.per, false}, {v.in[0], v.in[1], d})};
    if (op.addend) g.push_back(d);
    return g;
  }
  static std::vector<Var> compose(Recorder&, const SparseWgrad& op, const std::vector<Var>& in) {
    const Var y = matmul(sparse_dense(in[0], in[1], op.width, op.per), in[2], true);
    return {op.addend ? y + in[3] : y};
  }
  static double flops(const SparseWgrad&, const Shapes& in, const Shapes&) {
    return 2 * static_cast<double>(in[0].count() * in[2].cols);
  }
};

}  // namespace tessera
