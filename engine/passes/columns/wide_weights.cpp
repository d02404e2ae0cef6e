#include "engine/passes/columns/wide_weights.h"

#include <algorithm>

#include "base/error.h"
#include "engine/plan/op_rules.h"

namespace tessera::column_parts {

WideWeights::WideWeights(const Plan& plan, const SpanShares& shares) : plan_(plan), shares_(shares) {
  find_sets();
  find_wide_outputs();
  find_wide_inputs();
}

Id WideWeights::base(Id value) const {
  const auto at = base_.find(value);
  return at == base_.end() ? value : at->second;
}

void WideWeights::find_sets() {
  for (const Node& x : plan_.nodes)
    for (size_t k = 0; k < static_cast<size_t>(in_place(x.op)); ++k) base_[x.out[k]] = base(x.in[k]);
  std::set<Id> states;
  for (const Leaf& leaf : plan_.leaves)
    if (leaf.kind == Leaf::state && plan_.shape(leaf.value).rows == 1) states.insert(leaf.value);
  for (const Node& x : plan_.nodes) {
    const Move move = move_of(x.op);
    if (move.kind == Move::slice_cols && states.count(base(x.in[0])) > 0)
      sets_[base(x.in[0])].emplace(move.start, WideWeight{plan_.shape(x.out[0]), {}, {}});
    if (move.kind == Move::reshape)
      if (const auto v = view(x.in[0])) sets_.at(v->set).at(v->offset).shape = plan_.shape(x.out[0]);
  }
  // Operands of an update that are as long as the set have its layout: moments, averages.
  for (const Node& x : plan_.nodes) {
    if (in_place(x.op) == 0) continue;
    std::vector<Id> alike;
    for (const Id v : x.in)
      if (v != kNone && states.count(base(v)) > 0 && plan_.shape(v) == plan_.shape(x.in[0])) alike.push_back(base(v));
    const auto set = std::find_if(alike.begin(), alike.end(), [&](Id v) { return sets_.count(v) > 0; });
    for (const Id v : alike)
      if (set != alike.end() && v != *set) like_[v] = *set;
  }
}

std::optional<WideWeights::View> WideWeights::view(Id value) const {
  const Node* x = plan_.maker(value);
  if (x != nullptr && move_of(x->op).kind == Move::reshape) x = plan_.maker(x->in[0]);
  if (x == nullptr) return {};
  const Move move = move_of(x->op);
  if (move.kind != Move::slice_cols || sets_.count(base(x->in[0])) == 0) return {};
  return View{base(x->in[0]), move.start};
}

void WideWeights::claim(Id weight, const Axis& rows, const Axis& cols) {
  const auto v = view(weight);
  if (!v) return;
  WideWeight& w = sets_.at(v->set).at(v->offset);
  const bool other = (w.cut() && (w.rows != rows || w.cols != cols)) ||
                     (!rows.empty() && size_of(rows) != w.shape.rows) ||
                     (!cols.empty() && size_of(cols) != w.shape.cols);
  if (other)
    throw Error(ErrorCode::unsupported,
                "This step cannot be cut by the columns of its table: a weight meets them in two ways.\n"
                "  Train it with `parallel=data`.");
  w.rows = rows, w.cols = cols;
}

void WideWeights::find_wide_outputs() {
  std::map<Id, Axis> wanted;
  for (size_t n = plan_.nodes.size(); n-- > 0;) {
    const Node& x = plan_.nodes[n];
    const Traits t = traits(x);
    for (size_t i = 0; i < x.in.size(); ++i) {
      if (t.wide.has(i)) wanted[x.in[i]] = shares_.data();
      if (t.numbers.has(i) && x.in[i] != kNone) claim(x.in[i], {}, shares_.numbers());
    }
    const auto at = wanted.find(x.out.empty() ? kNone : x.out[0]);
    if (at == wanted.end()) continue;
    const Axis axis = at->second;
    if (std::holds_alternative<Random>(x.op)) wide_draws_.insert(x.out[0]);
    for (size_t i = 0; i < x.in.size(); ++i) {
      const Id v = x.in[i];
      if (!t.cols.input(i) || v == kNone || plan_.shape(v).cols != size_of(axis)) continue;
      wanted[v] = axis;
      claim(v, {}, axis);
    }
  }
}

bool WideWeights::rows_of_table(Id value) const {
  const Node* x = plan_.maker(value);
  const auto* s = x == nullptr ? nullptr : std::get_if<SparseDense>(&x->op);
  const int64_t entries = size_of(shares_.spans());
  return s != nullptr && s->width == size_of(shares_.data()) && s->per == entries &&
         plan_.shape(x->in[0]).cols == entries;
}

Axis WideWeights::beside(Id value) const {
  const int64_t cols = plan_.shape(value).cols, width = size_of(shares_.conditions());
  Id from = value;
  for (const Node* x = plan_.maker(from); x != nullptr && move_of(x->op).kind == Move::reshape; x = plan_.maker(from))
    from = x->in[0];
  const auto* s = plan_.made_by<SparseDense>(from);
  const bool condition = s != nullptr && width > 0 && s->width == width && s->per == 1 && cols % width == 0;
  return condition ? repeated(shares_.conditions(), cols / width) : Axis{{0, cols}};
}

// The columns of an op's result that correspond to columns of the table; none: they do not.
Axis WideWeights::forward(const Node& x, const std::map<Id, Axis>& cols) const {
  const auto axis = [&](Id v) {
    const auto at = cols.find(v);
    return at == cols.end() ? Axis{} : at->second;
  };
  const Traits t = traits(x);
  const int64_t width = plan_.shape(x.out[0]).cols;
  if (rows_of_table(x.out[0]) || (t.wide.any() && width == size_of(shares_.data()))) return shares_.data();
  if (t.move.kind == Move::reshape) return repeated(axis(x.in[0]), width / plan_.shape(x.in[0]).cols);
  if (t.move.kind != Move::concat_cols) {
    for (size_t i = 0; i < x.in.size(); ++i)
      if (t.cols.input(i) && x.in[i] != kNone && plan_.shape(x.in[i]).cols == width && !axis(x.in[i]).empty())
        return axis(x.in[i]);
    return {};
  }
  bool any = false;
  Axis all;
  for (const Id v : x.in) {
    Axis part = axis(v);
    any = any || !part.empty();
    if (part.empty()) part = beside(v);
    all.insert(all.end(), part.begin(), part.end());
  }
  return any ? all : Axis{};
}

void WideWeights::find_wide_inputs() {
  std::map<Id, Axis> cols;
  for (const Node& x : plan_.nodes) {
    if (x.out.empty()) continue;
    if (Axis axis = forward(x, cols); !axis.empty()) cols[x.out[0]] = std::move(axis);
    const DenseProduct product = traits(x).product;
    if (!product.single() || product.trans_a || product.trans_b) continue;
    if (const auto at = cols.find(x.in[0]); at != cols.end()) claim(x.in[1], at->second, {});
  }
}

std::optional<Id> WideWeights::set_of(Id value) const {
  Id leaf = base(value);
  if (const auto at = like_.find(leaf); at != like_.end()) leaf = at->second;
  const auto set = sets_.find(leaf);
  if (set == sets_.end()) return {};
  for (const auto& [offset, weight] : set->second)
    if (weight.cut()) return leaf;
  return {};
}

int64_t WideWeights::own_count(const WideWeight& w) const {
  const int64_t rows = w.rows.empty() ? w.shape.rows : shares_.own_size(w.rows);
  return rows * (w.cols.empty() ? w.shape.cols : shares_.own_size(w.cols));
}

int64_t WideWeights::own_before(Id set, int64_t offset) const {
  int64_t own = offset;
  for (const auto& [start, weight] : sets_.at(set))
    if (start < offset) own -= weight.shape.count() - own_count(weight);
  return own;
}

std::vector<StateStretch> WideWeights::stretches(Id set) const {
  std::vector<StateStretch> out;
  const auto add = [&](int64_t start, int64_t count) {
    if (count == 0) return;
    if (!out.empty() && out.back().start + out.back().count == start) out.back().count += count;
    else out.push_back({start, count});
  };
  int64_t end = 0;
  for (const auto& [start, w] : sets_.at(set)) {
    add(end, start - end);  // weights that the step does not use
    end = start + w.shape.count();
    const Axis rows = w.rows.empty() ? Axis{{shares_.first_shard(), w.shape.rows}} : w.rows;
    int64_t row = 0;
    for (const Stretch& r : rows) {
      if (w.cols.empty() && shares_.own(r.shard)) add(start + row * w.shape.cols, r.size * w.shape.cols);
      for (int64_t k = row; !w.cols.empty() && k < row + r.size; ++k) {
        int64_t col = start + k * w.shape.cols;
        for (const Stretch& c : w.cols) {
          if (shares_.own(c.shard)) add(col, c.size);
          col += c.size;
        }
      }
      row += r.size;
    }
  }
  add(end, plan_.shape(set).cols - end);
  return out;
}

}  // namespace tessera::column_parts
