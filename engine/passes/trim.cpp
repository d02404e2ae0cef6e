// trim: rows and columns of A·B are products of rows of A and columns of B, and a slice of a sum is the sum of the
// slices; so gradients of concatenated inputs are computed only for the parts that are read (not for noise and
// conditions).
#include <algorithm>
#include <utility>

#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

// [start, start + count) of a value along rows or columns, pushed as far toward its inputs as possible.
Var take(Recorder& r, Var v, bool rows, int64_t start, int64_t count, bool may_split);

Var plain(Var v, bool rows, int64_t start, int64_t count) {
  return rows ? slice_rows(v, start, count) : slice_cols(v, start, count);
}

Var take(Recorder& r, Var v, bool rows, int64_t start, int64_t count, bool may_split) {
  if (start == 0 && count == (rows ? v.rows() : v.cols())) return v;
  const Node* node = r.plan.maker(v.id);
  if (node == nullptr) return plain(v, rows, start, count);
  const Op op = node->op;  // copies: the plan grows below
  std::vector<Var> in = inputs_of(v);
  if (const auto* s = std::get_if<SliceRows>(&op); s != nullptr && rows)
    return take(r, in[0], rows, s->start + start, count, false);
  if (const auto* s = std::get_if<SliceCols>(&op); s != nullptr && !rows)
    return take(r, in[0], rows, s->start + start, count, false);
  if (rows ? std::holds_alternative<ConcatRows>(op) : std::holds_alternative<ConcatCols>(op)) {
    std::vector<Var> parts;
    int64_t at = 0;
    for (const Var part : in) {
      const int64_t size = rows ? part.rows() : part.cols(), low = std::max(start, at),
                    high = std::min(start + count, at + size);
      if (low < high) parts.push_back(take(r, part, rows, low - at, high - low, may_split));
      at += size;
    }
    return rows ? concat_rows(parts) : concat_cols(parts);
  }
  if (!may_split) return plain(v, rows, start, count);
  if (in.size() == 2 && elementwise(op, 2) && in[0].shape() == in[1].shape()) {
    return r.emit1(op, {take(r, in[0], rows, start, count, true), take(r, in[1], rows, start, count, true)});
  }
  if (const DenseProduct m = traits(op, in.size()).product; m.pairs > 0) {
    for (int p = 0; p < m.pairs; ++p) {
      Var& x = in[static_cast<size_t>(2 * p + (rows ? 0 : 1))];
      x = take(r, x, rows ? !m.trans_a : m.trans_b, start, count, false);
    }
    if (m.addend && !(rows && in.back().rows() == 1)) in.back() = take(r, in.back(), rows, start, count, true);
    return r.emit1(op, in);
  }
  return plain(v, rows, start, count);
}

bool is_slice(const Op& op) { return std::holds_alternative<SliceRows>(op) || std::holds_alternative<SliceCols>(op); }

// Whether no op reads the whole of a value, so that computing it piece by piece repeats nothing.
bool only_sliced(const Site& s, Id v) {
  if (s.kept(v)) return false;
  for (const int n : s.readers[static_cast<size_t>(v)]) {
    const Node& reader = s.old.nodes[static_cast<size_t>(n)];
    const bool passes_on = reader.in.size() == 2 && elementwise(reader) &&
                           s.old.shape(reader.in[0]) == s.old.shape(reader.in[1]) && only_sliced(s, reader.out[0]);
    if (!is_slice(reader.op) && !passes_on) return false;
  }
  return true;
}

struct Columns {
  int64_t low, high;
};
// The range of columns of v that the plan reads, if v is read through slices only; else all columns.
Columns columns_read(const Site& s, Id v) {
  const Columns all{0, s.old.shape(v).cols};
  if (!only_sliced(s, v)) return all;
  Columns read{all.high, 0};
  for (const int n : s.readers[static_cast<size_t>(v)]) {
    const Node& reader = s.old.nodes[static_cast<size_t>(n)];
    if (std::holds_alternative<SliceRows>(reader.op)) return all;
    const auto* slice = std::get_if<SliceCols>(&reader.op);
    const int64_t start = slice != nullptr ? slice->start : 0;
    const Columns of = columns_read(s, reader.out[0]);
    read = {std::min(read.low, start + of.low), std::max(read.high, start + of.high)};
  }
  return read;
}

// Whether two slices divide a value whose columns are all read: cutting a product there would read its rows twice and
// save nothing.
bool cut_in_two(const Site& s, Id v) {
  const std::vector<int>& readers = s.readers[static_cast<size_t>(v)];
  if (readers.size() != 2) return false;
  const auto slice = [&](size_t i) { return std::get_if<SliceCols>(&s.old.nodes[static_cast<size_t>(readers[i])].op); };
  const SliceCols *left = slice(0), *right = slice(1);
  if (left == nullptr || right == nullptr) return false;
  if (right->start < left->start) std::swap(left, right);
  if (left->start != 0 || right->start != left->cols || left->cols + right->cols != s.old.shape(v).cols) return false;
  const Columns read = columns_read(s, v);  // last: it follows sums of as many terms as the table has columns
  return read.low == 0 && read.high == s.old.shape(v).cols;
}

}  // namespace

void trim(Plan& plan) {
  rewrite(plan, [](Recorder& r, const Site& s) -> std::optional<std::vector<Var>> {
    if (!is_slice(s.node.op)) return std::nullopt;
    const auto* rows = std::get_if<SliceRows>(&s.node.op);
    const auto* cols = std::get_if<SliceCols>(&s.node.op);
    const bool split = only_sliced(s, s.node.in[0]) && !cut_in_two(s, s.node.in[0]);
    return std::vector<Var>{rows != nullptr ? take(r, s.in[0], true, rows->start, rows->rows, split)
                                            : take(r, s.in[0], false, cols->start, cols->cols, split)};
  });
}

}  // namespace tessera
