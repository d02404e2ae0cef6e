// reshape, slice_rows, slice_cols, concat_rows, concat_cols: they move elements and compute nothing.
#pragma once
#include "engine/ops/rule.h"

namespace tessera {

template <>
struct Rule<Reshape> : Free {
  static constexpr Traits traits{.rows = Follows::never(),
                                 .cols = Follows::never(),
                                 .elements = Follows::each(),
                                 .move = {Move::reshape},
                                 .zero = {Zero::if_all, {0}}};
  static std::vector<Result> infer(const Reshape& op, const Shapes& in) {
    require(in[0].count() == op.rows * op.cols, "reshape");
    return {{{op.rows, op.cols}}};
  }
  static std::vector<Var> vjp(Recorder&, const Reshape&, const Vjp& v) {
    return {reshape(v.d_out[0], v.in[0].shape())};
  }
};

template <>
struct Rule<SliceRows> : Free {
  static Traits traits(const SliceRows& op, size_t) {
    return {.rows = Follows::never(),
            .cols = Follows::each(),
            .elements = Follows::never(),
            .move = {Move::slice_rows, op.start},
            .zero = {Zero::if_all, {0}}};
  }
  static std::vector<Result> infer(const SliceRows& op, const Shapes& in) {
    require(op.start >= 0 && op.start + op.rows <= in[0].rows, "slice_rows");
    return {{{op.rows, in[0].cols}}};
  }
  static std::vector<Var> vjp(Recorder& r, const SliceRows& op, const Vjp& v) {
    const Shape s = v.in[0].shape();
    std::vector<Var> parts;
    if (op.start > 0) parts.push_back(fill(r, {op.start, s.cols}, 0));
    parts.push_back(v.d_out[0]);
    if (op.start + op.rows < s.rows) parts.push_back(fill(r, {s.rows - op.start - op.rows, s.cols}, 0));
    return {concat_rows(parts)};
  }
};

template <>
struct Rule<SliceCols> : Free {
  static Traits traits(const SliceCols& op, size_t) {
    return {.rows = Follows::each(),
            .cols = Follows::never(),
            .elements = Follows::never(),
            .move = {Move::slice_cols, op.start},
            .zero = {Zero::if_all, {0}}};
  }
  static std::vector<Result> infer(const SliceCols& op, const Shapes& in) {
    require(op.start >= 0 && op.start + op.cols <= in[0].cols, "slice_cols");
    return {{{in[0].rows, op.cols}}};
  }
  static std::vector<Var> vjp(Recorder& r, const SliceCols& op, const Vjp& v) {
    const Shape s = v.in[0].shape();
    std::vector<Var> parts;
    if (op.start > 0) parts.push_back(fill(r, {s.rows, op.start}, 0));
    parts.push_back(v.d_out[0]);
    if (op.start + op.cols < s.cols) parts.push_back(fill(r, {s.rows, s.cols - op.start - op.cols}, 0));
    return {concat_cols(parts)};
  }
};

template <>
struct Rule<ConcatRows> : Free {
  static constexpr Traits traits{.rows = Follows::each(),
                                 .cols = Follows::each(),
                                 .elements = Follows::never(),
                                 .move = {Move::concat_rows},
                                 .zero = {Zero::if_all, OperandSet::all()}};
  static std::vector<Result> infer(const ConcatRows&, const Shapes& in) {
    Shape s{0, in[0].cols};
    for (const Shape& x : in) {
      require(x.cols == s.cols, "concat_rows");
      s.rows += x.rows;
    }
    return {{s}};
  }
  static std::vector<Var> vjp(Recorder&, const ConcatRows&, const Vjp& v) {
    std::vector<Var> g;
    int64_t start = 0;
    for (const Var& x : v.in) {
      g.push_back(slice_rows(v.d_out[0], start, x.rows()));
      start += x.rows();
    }
    return g;
  }
};

template <>
struct Rule<ConcatCols> : Free {
  static constexpr Traits traits{.rows = Follows::each(),
                                 .cols = Follows::never(),
                                 .elements = Follows::never(),
                                 .move = {Move::concat_cols},
                                 .zero = {Zero::if_all, OperandSet::all()}};
  static std::vector<Result> infer(const ConcatCols&, const Shapes& in) {
    Shape s{in[0].rows, 0};
    for (const Shape& x : in) {
      require(x.rows == s.rows, "concat_cols");
      s.cols += x.cols;
    }
    return {{s}};
  }
  static std::vector<Var> vjp(Recorder&, const ConcatCols&, const Vjp& v) {
    std::vector<Var> g;
    int64_t start = 0;
    for (const Var& x : v.in) {
      g.push_back(slice_cols(v.d_out[0], start, x.cols()));
      start += x.cols();
    }
    return g;
  }
};

}  // namespace tessera
