#include "engine/passes/columns/column_cutter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/plan/op_rules.h"

namespace tessera::column_parts {
namespace {

// The spans that an op works on; null: none.
const SpanTable* spans_of(const Op& op) {
  return std::visit(
      [](const auto& x) -> const SpanTable* {
        if constexpr (requires { x.spans; }) return x.spans;
        else return nullptr;
      },
      op);
}
Op with_spans(Op op, const SpanTable* spans) {
  std::visit(
      [&](auto& x) {
        if constexpr (requires { x.spans; }) x.spans = spans;
      },
      op);
  return op;
}

// The spans of a row that a step activates or compares.
const SpanTable& spans_of_step(const Plan& plan) {
  for (const Node& x : plan.nodes)
    if (traits(x).wide.any()) return *spans_of(x.op);
  throw Error(ErrorCode::unsupported,
              "`parallel=model` cuts rows of a table by their columns, which this method does not have.\n"
              "  Train it with `parallel=data`.");
}

Axis part_of(const Axis& axis, int64_t start, int64_t size) {
  Axis out;
  int64_t at = 0;
  for (const Stretch& s : axis) {
    if (at >= start && at + s.size <= start + size) out.push_back(s);
    at += s.size;
  }
  return size_of(out) == size ? out : Axis{};
}

}  // namespace

ColumnCutter::ColumnCutter(const Plan& plan, const RankCut& cut, Plan& next, Recorder& recorder)
    : CutStep(plan, cut, next, recorder), shares_(spans_of_step(plan), cut), weights_(plan, shares_) {}

StateCuts ColumnCutter::run() {
  next_.tables.push_back(shares_.own_spans());
  for (const Leaf& leaf : old_.leaves) put_leaf(leaf);
  open_exchanges();
  for (const Node& x : old_.nodes) take(x);
  finish();
  StateCuts cuts;
  for (const Leaf& leaf : old_.leaves)
    if (is(leaf.value, Part::flat))
      cuts[leaf.name] = {old_.shape(leaf.value).cols, weights_.stretches(*weights_.set_of(leaf.value))};
  return cuts;
}

void ColumnCutter::put_leaf(const Leaf& leaf) {
  Shape shape = old_.shape(leaf.value);
  const auto set = leaf.kind == Leaf::state ? weights_.set_of(leaf.value) : std::nullopt;
  if (set) shape.cols = weights_.own_before(*set, shape.cols);
  const Var value = r_.var(next_.leaf(leaf.kind, leaf.name, shape, old_[leaf.value].dtype));
  put(leaf.value, {.kind = set ? Part::flat : Part::whole, .value = value});
}

void ColumnCutter::finish() {
  make_whole(old_.outputs);
  for (const Id v : old_.outputs) {
    if (is(v, Part::cut)) refuse(*old_.maker(v), "a value of every column is needed as a whole");
    next_.outputs.push_back(part(v).value.id);
  }
  for (const auto& [id, name] : old_.names)
    if (const auto at = parts_.find(id); at != parts_.end() && at->second.kind != Part::sums)
      next_.names[at->second.value.id] = name;
  next_.row_cut = old_.row_cut;
}

void ColumnCutter::refuse(const Node& x, const std::string& why) const {
  throw Error(ErrorCode::unsupported, "This step cannot be cut by the columns of its table: " + why + " (" +
                                          op_name(x.op) + ").\n  Train it with `parallel=data`.");
}

// ---- values -------------------------------------------------------------------------------------
void ColumnCutter::put_cut(Id old, Var value, Axis rows, Axis cols) {
  put(old, {.kind = rows.empty() && cols.empty() ? Part::whole : Part::cut,
            .value = value,
            .rows = std::move(rows),
            .cols = std::move(cols)});
}

Var ColumnCutter::whole(const Node& x, Id old) const {
  if (old == kNone) return {};
  if (!is(old, Part::whole)) refuse(x, "an op reads columns of other ranks");
  return part(old).value;
}

std::vector<std::pair<int64_t, Stretch>> ColumnCutter::own_stretches(const Axis& axis, bool in_whole) const {
  std::vector<std::pair<int64_t, Stretch>> out;
  int64_t at = 0;
  for (const Stretch& s : axis) {
    const bool own = shares_.own(s.shard);
    if (own) out.emplace_back(at, s);
    at += own || in_whole ? s.size : 0;
  }
  return out;
}

// Entries of sparse rows in the rank's columns.
Var ColumnCutter::shard_index(Var index, const Axis& axis) {
  return r_.emit1(SparseSlice{shares_.own_start(axis), shares_.own_size(axis)}, {index});
}

// The rank's columns of a value with one column per span.
Var ColumnCutter::own_spans(Var all) const {
  return slice_cols(all, shares_.own_start(shares_.spans()), shares_.own_size(shares_.spans()));
}

// A one-hot condition is computed again for the rank's columns only, packed like `made`.
Var ColumnCutter::own_condition(const Node& made, const Axis& cols) {
  const Node* x = &made;
  while (move_of(x->op).kind == Move::reshape) x = old_.maker(x->in[0]);
  const int64_t width = shares_.own_size(shares_.conditions());
  const Var dense = sparse_dense(shard_index(whole(*x, x->in[0]), shares_.conditions()), Var{}, width, 1);
  const int64_t rows = old_.shape(made.out[0]).rows;
  return reshape(dense, {rows, shares_.own_size(cols)});
}

Var ColumnCutter::own(const Node& x, Id old, const Axis& rows, const Axis& cols) {
  const Part& p = part(old);
  if (p.kind == Part::cut) {
    if (p.rows != rows || p.cols != cols) refuse(x, "its inputs are cut in different ways");
    return p.value;
  }
  Var all = whole(x, old);
  const int64_t own_rows = rows.empty() ? all.rows() : shares_.own_size(rows);
  const int64_t own_cols = cols.empty() ? all.cols() : shares_.own_size(cols);
  if (const auto one = constant_value(all)) return fill(r_, {own_rows, own_cols}, *one);
  if (rows.empty() && !cols.empty() && !shares_.conditions().empty() && old_.maker(old) != nullptr &&
      weights_.beside(old) == cols && cols.front().size != all.cols() && own_cols > 0)
    return own_condition(*old_.maker(old), cols);
  std::vector<Var> parts;
  for (const auto& [start, s] : own_stretches(rows, true)) parts.push_back(slice_rows(all, start, s.size));
  if (!rows.empty()) all = parts.empty() ? fill(r_, {0, all.cols()}, 0) : concat_rows(parts);
  parts.clear();
  for (const auto& [start, s] : own_stretches(cols, true)) parts.push_back(slice_cols(all, start, s.size));
  if (!cols.empty()) all = parts.empty() ? fill(r_, {own_rows, 0}, 0) : concat_cols(parts);
  return all;
}

std::vector<Var> ColumnCutter::by_shard(const std::function<Var(int shard)>& make) const {
  return each_shard([&](int s) { return make(first_shard() + s); });
}

// A shard's columns of a value of this rank; none: it has none.
Var ColumnCutter::shard_cols(Var own, const Axis& cols, int shard) const {
  std::vector<Var> parts;
  for (const auto& [start, s] : own_stretches(cols, false))
    if (s.shard == shard) parts.push_back(slice_cols(own, start, s.size));
  return parts.empty() ? Var{} : concat_cols(parts);
}
Var ColumnCutter::shard_rows(Var own, const Axis& rows, int shard) const {
  std::vector<Var> parts;
  for (const auto& [start, s] : own_stretches(rows, false))
    if (s.shard == shard) parts.push_back(slice_rows(own, start, s.size));
  return parts.empty() ? Var{} : concat_rows(parts);
}

// ---- ops ----------------------------------------------------------------------------------------
bool ColumnCutter::cut_input(const Node& x) const {
  return std::any_of(x.in.begin(), x.in.end(), [&](Id v) { return is(v, Part::cut) || is(v, Part::flat); });
}

void ColumnCutter::take(const Node& x) {
  if (takes_sources(x)) return;
  if (stays_open(x)) return on_sums(x);
  make_whole(x.in);
  const Traits t = traits(x);
  if (t.wide.any()) return on_spans(x);
  if (!cut_input(x)) return keep(x);
  switch (t.move.kind) {
    case Move::reshape: return reshape_part(x);
    case Move::slice_cols: return slice_cols_of(x, t.move.start);
    case Move::concat_cols: return concat_cols_of(x);
    default: break;
  }
  if (t.in_place > 0) return on_flat(x);
  if (t.product.pairs > 0) return multiply(x, t.product);
  if (t.sums.any() && !part(x.in[0]).rows.empty()) return sum_over_rows(x);
  if (t.adds_cols.any()) return sum_over_cols(x);
  follow(x);
}

void ColumnCutter::keep(const Node& x) {
  std::vector<Var> in;
  for (const Id v : x.in) in.push_back(whole(x, v));
  const std::vector<Var> out = r_.emit(x.op, in);
  for (size_t k = 0; k < out.size(); ++k) put(x.out[k], {.value = out[k]});
}

// Rows of the table, and noise of the same width.
bool ColumnCutter::takes_sources(const Node& x) {
  const Axis& data = shares_.data();
  if (const auto* random = std::get_if<Random>(&x.op); random != nullptr && weights_.drawn_by_columns(x.out[0])) {
    if (x.in[0] != kNone) refuse(x, "its rows are given from outside");
    const int64_t start = shares_.own_start(data), width = shares_.own_size(data);
    Random op = *random;
    op.block = start / 4;
    op.cols = start % 4 + width;
    put_cut(x.out[0], slice_cols(r_.emit1(op, {Var{}}), start % 4, width), {}, data);
    return true;
  }
  if (!weights_.rows_of_table(x.out[0])) return false;
  const Var index = shard_index(own_spans(whole(x, x.in[0])), data);
  const Var value = x.in[1] == kNone ? Var{} : own_spans(whole(x, x.in[1]));
  put_cut(x.out[0], sparse_dense(index, value, shares_.own_size(data), index.cols()), {}, data);
  return true;
}

// Ops on spans work on the rank's spans: inputs and results as wide as a row, as the spans, or as their numbers.
void ColumnCutter::on_spans(const Node& x) {
  const SpanTable& all = *spans_of(x.op);
  const Axis &data = shares_.data(), &spans = shares_.spans();
  const Traits t = traits(x);
  std::vector<Var> in;
  for (size_t i = 0; i < x.in.size(); ++i) {
    const Id v = x.in[i];
    const bool index = v != kNone && old_[v].dtype == DType::index,
               by_span = v != kNone && old_.shape(v).cols == all.count;
    if (t.wide.has(i)) in.push_back(own(x, v, {}, data));
    else if (t.numbers.has(i)) in.push_back(v == kNone ? Var{} : own(x, v, {}, shares_.numbers()));
    else if (index && !by_span) in.push_back(shard_index(whole(x, v), shares_.conditions()));
    else if (index) in.push_back(shard_index(own_spans(whole(x, v)), data));
    else if (by_span) in.push_back(is(v, Part::cut) ? own(x, v, {}, spans) : own_spans(whole(x, v)));
    else in.push_back(whole(x, v));
  }
  const std::vector<Var> out = r_.emit(with_spans(x.op, shares_.own_spans()->table()), in);
  for (size_t k = 0; k < out.size(); ++k) {
    const int64_t cols = old_.shape(x.out[k]).cols;
    if (k == 0 && cols == all.width) put_cut(x.out[k], out[k], {}, data);
    else if (k > 0) put_cut(x.out[k], out[k], {}, shares_.numbers());
    else if (cols == all.count) put_cut(x.out[k], out[k], {}, spans);
    else put_sums_of_rank(x.out[k], out[k]);
  }
}

// A condition belongs to one span: the other ranks add 0.
void ColumnCutter::put_sums_of_rank(Id old, Var value) {
  put_sums(old, by_shard([&](int s) { return s == shares_.first_shard() ? value : fill(r_, value.shape(), 0); }));
}

// A product along the columns of the table is a sum with one summand per shard; any other product is cut as the rows
// and columns of its factors are.
void ColumnCutter::multiply(const Node& x, const DenseProduct& op) {
  if (!op.single()) refuse(x, "it is a sum of products");
  const auto rows = [&](Id v) { return is(v, Part::cut) ? part(v).rows : Axis{}; };
  const auto cols = [&](Id v) { return is(v, Part::cut) ? part(v).cols : Axis{}; };
  const Id a = x.in[0], b = x.in[1];
  const Axis depth_a = op.trans_a ? rows(a) : cols(a), depth_b = op.trans_b ? cols(b) : rows(b);
  const Axis out_rows = op.trans_a ? cols(a) : rows(a), out_cols = op.trans_b ? rows(b) : cols(b);
  if (depth_a.empty() && depth_b.empty()) {
    const Var own_a = is(a, Part::cut) ? part(a).value : whole(x, a);
    const Var own_b = is(b, Part::cut) ? part(b).value : whole(x, b);
    return put_cut(x.out[0], r_.emit1(x.op, {own_a, own_b}), out_rows, out_cols);
  }
  if (!out_rows.empty() || !out_cols.empty()) refuse(x, "it goes along columns of the table and makes some");
  const Axis depth = depth_a.empty() ? depth_b : depth_a;
  const Var own_a = op.trans_a ? own(x, a, depth, {}) : own(x, a, {}, depth);
  const Var own_b = op.trans_b ? own(x, b, {}, depth) : own(x, b, depth, {});
  put_sums(x.out[0], by_shard([&](int shard) {
             Var sum;  // becomes one product (engine/passes/accumulate.cpp)
             for (const auto& [start, s] : own_stretches(depth, false)) {
               if (s.shard != shard) continue;
               const Var left = op.trans_a ? slice_rows(own_a, start, s.size) : slice_cols(own_a, start, s.size);
               const Var right = op.trans_b ? slice_cols(own_b, start, s.size) : slice_rows(own_b, start, s.size);
               const Var product = r_.emit1(x.op, {left, right});
               sum = sum ? sum + product : product;
             }
             return sum ? sum : fill(r_, old_.shape(x.out[0]), 0);
           }));
}

// An op whose rows and columns follow those of its inputs computes the rank's part from the rank's parts.
void ColumnCutter::follow(const Node& x) {
  const Traits t = traits(x);
  const Shape shape = old_.shape(x.out[0]);
  Axis rows, cols;
  for (const Id v : x.in) {
    if (!is(v, Part::cut)) continue;
    if (old_.shape(v).rows == shape.rows && !part(v).rows.empty()) rows = part(v).rows;
    if (old_.shape(v).cols == shape.cols && !part(v).cols.empty()) cols = part(v).cols;
  }
  if (x.out.size() > 1 || (!rows.empty() && !t.rows) || (!cols.empty() && !t.cols))
    refuse(x, "an op joins columns of different ranks");
  std::vector<Var> in;
  for (const Id v : x.in) {
    const Shape s = old_.shape(v);
    in.push_back(own(x, v, s.rows == shape.rows ? rows : Axis{}, s.cols == shape.cols ? cols : Axis{}));
  }
  Op op = x.op;
  if (auto* b = std::get_if<Broadcast>(&op)) {
    if (!rows.empty()) b->rows = shares_.own_size(rows);
    if (!cols.empty()) b->cols = shares_.own_size(cols);
  }
  put_cut(x.out[0], r_.emit1(op, in), rows, cols);
}

void ColumnCutter::sum_over_rows(const Node& x) {
  const Part p = part(x.in[0]);
  if (p.rows.empty()) return put_cut(x.out[0], r_.emit1(x.op, {p.value}), {}, p.cols);
  if (!p.cols.empty()) refuse(x, "it is cut twice");
  put_sums(x.out[0], by_shard([&](int s) {
             const Var own = shard_rows(p.value, p.rows, s);
             return own ? r_.emit1(x.op, {own}) : fill(r_, old_.shape(x.out[0]), 0);
           }));
}

void ColumnCutter::sum_over_cols(const Node& x) {
  Axis rows, cols;
  for (const Id v : x.in)
    if (is(v, Part::cut)) rows = part(v).rows, cols = part(v).cols;
  std::vector<Var> in;
  for (const Id v : x.in) in.push_back(own(x, v, rows, cols));
  if (cols.empty()) return put_cut(x.out[0], r_.emit1(x.op, in), rows, {});
  if (!rows.empty()) refuse(x, "it is cut twice");
  put_sums(x.out[0], by_shard([&](int s) {
             std::vector<Var> of_shard;
             for (const Var v : in) of_shard.push_back(shard_cols(v, cols, s));
             return of_shard[0] ? r_.emit1(x.op, of_shard) : fill(r_, old_.shape(x.out[0]), 0);
           }));
}

// Updates of a flat set: elementwise, on the rank's elements.
void ColumnCutter::on_flat(const Node& x) {
  if (!traits(x).elements) refuse(x, "it reads weights of all columns");
  Op op = x.op;
  const auto own_range = [&](auto& range) {
    const Id set = *weights_.set_of(x.in[0]);
    const int64_t end = weights_.own_before(set, range.start + range.count);
    range.start = weights_.own_before(set, range.start);
    range.count = end - range.start;
    return range.count > 0;
  };
  const bool any = std::visit(
      [&](auto& o) {
        if constexpr (requires { o.start, o.count; }) return own_range(o);
        else return true;
      },
      op);
  if (!any) return put(x.out[0], part(x.in[0]));
  std::vector<Var> in;
  for (const Id v : x.in) in.push_back(v == kNone ? Var{} : part(v).value);
  const std::vector<Var> out = r_.emit(op, in);
  for (size_t k = 0; k < out.size(); ++k) put(x.out[k], {.kind = Part::flat, .value = out[k]});
}

// ---- moves --------------------------------------------------------------------------------------
void ColumnCutter::view_of_set(const Node& x, Id set, int64_t offset) {
  const WideWeight& w = weights_.weight(set, offset);
  const int64_t rows = w.rows.empty() ? w.shape.rows : shares_.own_size(w.rows);
  const int64_t cols = w.cols.empty() ? w.shape.cols : shares_.own_size(w.cols);
  if (rows * cols == 0) return put_cut(x.out[0], fill(r_, {rows, cols}, 0), w.rows, w.cols);
  const Var row = slice_cols(part(x.in[0]).value, weights_.own_before(set, offset), rows * cols);
  put_cut(x.out[0], reshape(row, {rows, cols}), w.rows, w.cols);
}

void ColumnCutter::slice_cols_of(const Node& x, int64_t first) {
  const Part p = part(x.in[0]);
  if (p.kind == Part::flat) return view_of_set(x, *weights_.set_of(x.in[0]), first);
  if (p.cols.empty()) return put_cut(x.out[0], r_.emit1(x.op, {p.value}), p.rows, {});
  const Axis taken = part_of(p.cols, first, old_.shape(x.out[0]).cols);
  if (taken.empty()) refuse(x, "an op takes a part of a column");
  int64_t start = 0, at = 0;
  for (const Stretch& s : p.cols) {
    if (at < first && shares_.own(s.shard)) start += s.size;
    at += s.size;
  }
  const int64_t count = shares_.own_size(taken);
  put_cut(x.out[0], count > 0 ? slice_cols(p.value, start, count) : fill(r_, {p.value.rows(), 0}, 0), p.rows, taken);
}

void ColumnCutter::reshape_part(const Node& x) {
  const Part p = part(x.in[0]);
  const Shape from = old_.shape(x.in[0]), to = old_.shape(x.out[0]);
  const Node* slice = old_.maker(x.in[0]);
  if (from.rows == 1 && slice != nullptr && move_of(slice->op).kind == Move::slice_cols &&
      weights_.set_of(slice->in[0]))
    return put(x.out[0], p);  // a weight: it got its shape when it was taken from its set
  if (to.rows == 1) return put(x.out[0], {.kind = Part::flat, .value = reshape(p.value, {1, p.value.shape().count()})});
  if (!p.rows.empty() || (to.cols % from.cols != 0 && from.cols % to.cols != 0))
    refuse(x, "an op joins columns of different ranks");
  Axis cols = to.cols >= from.cols ? repeated(p.cols, to.cols / from.cols) : part_of(p.cols, 0, to.cols);
  if (cols.empty() || (to.cols < from.cols && repeated(cols, from.cols / to.cols) != p.cols))
    refuse(x, "an op joins columns of different ranks");
  put_cut(x.out[0], reshape(p.value, {to.rows, shares_.own_size(cols)}), {}, cols);
}

void ColumnCutter::concat_cols_of(const Node& x) {
  const auto flat = [&](Id v) { return is(v, Part::flat) || old_.shape(v).rows == 1; };
  std::vector<Var> parts;
  if (std::all_of(x.in.begin(), x.in.end(), flat)) {  // gradients of a set's weights, concatenated
    for (const Id v : x.in)
      if (part(v).value.cols() > 0) parts.push_back(part(v).value);
    return put(x.out[0], {.kind = Part::flat, .value = concat_cols(parts)});
  }
  Axis cols;
  for (const Id v : x.in) {
    const Axis of_part = is(v, Part::cut) ? part(v).cols : weights_.beside(v);
    if (is(v, Part::cut) && !part(v).rows.empty()) refuse(x, "an op joins columns of different ranks");
    if (shares_.own_size(of_part) > 0) parts.push_back(own(x, v, {}, of_part));
    cols.insert(cols.end(), of_part.begin(), of_part.end());
  }
  put_cut(x.out[0], concat_cols(parts), {}, cols);
}

}  // namespace tessera::column_parts
