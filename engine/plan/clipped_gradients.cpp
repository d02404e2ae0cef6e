#include "engine/plan/clipped_gradients.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "base/error.h"
#include "engine/plan/blocks.h"
#include "engine/plan/op_rules.h"

namespace tessera {
namespace {

// A part of a parameter's gradient: an op that sums over rows, by the number of its factors.
struct Term {
  enum Kind {
    sum = 1,      // Σ dᵢ
    product = 2,  // Σ aᵢᵀ·dᵢ; with blocks: the elements in them
    scatter = 3   // Σ valueᵢ·dᵢ at rows `a` of the parameter; several entries for each row of the batch
  } kind;
  Op op;
  Var a, value, d;
  const BlockTable* blocks = nullptr;
};

[[noreturn]] void refuse(const Recorder& r, Id v) {
  const Node* made = r.plan.maker(v);
  throw Error(ErrorCode::internal, std::string("there are no gradients of single rows through ") +
                                       (made == nullptr ? "a leaf" : op_name(made->op)));
}

void find_terms(Recorder& r, Var gradient, int64_t rows, std::vector<Term>& out) {
  const Node* made = r.plan.maker(gradient.id);
  if (made == nullptr) refuse(r, gradient.id);
  const Node node = *made;  // a copy: the plan grows
  std::vector<Var> in;
  for (const Id id : node.in) in.push_back(id == kNone ? Var{} : r.var(id));
  if (const auto* b = std::get_if<Binary>(&node.op); b != nullptr && b->fn == Binary::add) {
    for (const Var x : in) find_terms(r, x, rows, out);
    return;
  }
  if (move_of(node.op).kind == Move::reshape) return find_terms(r, in[0], rows, out);
  const Traits t = traits(node);
  bool sums = !in.empty() && in.size() <= Term::scatter;
  for (size_t i = 0; i < in.size(); ++i) sums = sums && t.sums.has(i);
  const auto* blocks = std::get_if<BlockMatmul>(&node.op);
  const bool scatters = in.size() == Term::scatter;
  if (!sums || (scatters ? in[0].cols() != 1 || in[0].rows() % rows != 0 : in[0].rows() != rows))
    refuse(r, gradient.id);
  if (in.size() == Term::sum && !(r.plan.maker(sum_rows(in[0]).id)->op == node.op)) refuse(r, gradient.id);  // a scale
  out.push_back({static_cast<Term::Kind>(in.size()), node.op, in.size() > 1 ? in[0] : Var{}, scatters ? in[1] : Var{},
                 in.back(), blocks != nullptr ? blocks->blocks : nullptr});
}

Var span_dot(Var x, Var y, const Spans& spans) { return x.r->emit1(SpanReduce{spans.table(), false}, {x, y}); }

// The ranges between the edges of blocks, along the depth and along the columns, and which of them meet in a block.
struct BlockGroups {
  std::shared_ptr<const Spans> depth, cols;
  std::shared_ptr<const Blocks> blocks;  // of groups
  bool diagonal = false;                 // group k meets group k alone

  // `known`: by their edges, so that layers of equal blocks share sums.
  using Known = std::map<std::set<int>, std::shared_ptr<const Spans>>;
  BlockGroups(const BlockTable& t, Known& known) {
    std::set<int> depths{0, t.depth}, columns{0, t.cols};
    for (int k = 0; k < t.count; ++k) {
      const BlockTable::Item& b = t.items[k];
      depths.insert({b.from, b.from + b.rows}), columns.insert({b.col, b.col + b.cols});
    }
    depth = between(depths, known), cols = between(columns, known);
    const auto place = [](const std::set<int>& edges, int at) {
      return static_cast<int>(std::distance(edges.begin(), edges.find(at)));
    };
    std::vector<BlockTable::Item> items;
    diagonal = depth->table()->count == t.count && cols->table()->count == t.count;
    for (int k = 0; k < t.count; ++k) {
      const BlockTable::Item& b = t.items[k];
      const int row = place(depths, b.from), col = place(columns, b.col);
      const int height = place(depths, b.from + b.rows) - row, width = place(columns, b.col + b.cols) - col;
      diagonal = diagonal && row == col && height == 1 && width == 1;
      items.push_back({row, height, col, width, row});
    }
    const int n = depth->table()->count;
    if (!diagonal) blocks = std::make_shared<const Blocks>(n, n, cols->table()->count, std::move(items));
  }
  static std::shared_ptr<const Spans> between(const std::set<int>& edges, Known& known) {
    std::shared_ptr<const Spans>& spans = known[edges];
    if (spans) return spans;
    std::vector<Spans::Item> items;
    for (auto end = std::next(edges.begin()); end != edges.end(); ++end)
      items.push_back({*std::prev(end), *end - *std::prev(end), true, -1});
    return spans = std::make_shared<const Spans>(items);
  }
};

class Clipping {
 public:
  Clipping(Recorder& r, int64_t rows) : r_(r), rows_(rows) {}

  // ⟨gradient of term s, gradient of term t⟩ of each row [rows, 1].
  Var inner(const Term& s, const Term& t) {
    if (s.kind != t.kind || s.blocks != t.blocks) refuse(r_, s.d.id);
    switch (s.kind) {
      case Term::sum: {
        const auto squares = squares_.find(s.d.id);  // of the layer whose bias this is
        return s.d.id == t.d.id && squares != squares_.end() ? sum_cols(squares->second) : row_dot(s.d, t.d);
      }
      case Term::product: return s.blocks == nullptr ? of_inputs(s.a, t.a) * row_dot(s.d, t.d) : in_blocks(s, t);
      case Term::scatter: break;
    }
    if (s.d.id != t.d.id) refuse(r_, s.d.id);  // two gathers of one weight may meet in its rows
    const int64_t entries = s.d.rows() / rows_;
    if (!s.value) {
      const Var d = reshape(s.d, {rows_, entries * s.d.cols()});
      return row_dot(d, d);
    }
    const Var d = s.d * s.value;
    return sum_cols(reshape(row_dot(d, d), {rows_, entries}));
  }

  // Σ over rows of share·gradient. A layer's weights and bias read the same scaled d.
  Var scaled(const Term& t, Var share) {
    switch (t.kind) {
      case Term::sum: return sum_rows(t.d * share);
      case Term::product: return r_.emit1(t.op, {t.a, t.d * share});
      case Term::scatter: break;
    }
    const int64_t entries = t.d.rows() / rows_;
    const Var each = reshape(broadcast(share, {rows_, entries}), {rows_ * entries, 1});
    return r_.emit1(t.op, {t.a, t.value ? t.value * each : each, t.d});
  }

 private:
  // Rows of one-hot parts have their entries at distinct places.
  Var of_inputs(Var a, Var b) {
    if (a.id == b.id && r_.plan.made_by<SparseDense>(a.id) != nullptr) {
      const Var value = r_.var(r_.plan.maker(a.id)->in[1]);
      return row_dot(value, value);
    }
    return row_dot(a, b);
  }
  Var in_blocks(const Term& s, const Term& t) {
    const BlockTable& table = *s.blocks;
    if (table.count == 1 && table.hole_count == 0 && table.items[0].rows == table.depth)
      return row_dot(s.a, t.a) * row_dot(s.d, t.d);
    auto& groups = groups_[s.blocks];
    if (!groups) {
      groups.emplace(table, known_);
      for (const std::shared_ptr<const void>& owned :
           {std::shared_ptr<const void>(groups->depth), std::shared_ptr<const void>(groups->cols),
            std::shared_ptr<const void>(groups->blocks)})
        r_.plan.tables.push_back(owned);
    }
    const Var a = span_dot(s.a, t.a, *groups->depth), d = span_dot(s.d, t.d, *groups->cols);
    if (s.d.id == t.d.id) squares_.emplace(s.d.id, d);
    if (groups->diagonal) return row_dot(a, d);
    const BlockTable* small = groups->blocks->table();
    return row_dot(block_matmul(BlockMatmul::forward, small, a, fill(r_, {small->rows, small->cols}, 1)), d);
  }

  Recorder& r_;
  const int64_t rows_;
  std::map<const BlockTable*, std::optional<BlockGroups>> groups_;
  BlockGroups::Known known_;
  std::map<Id, Var> squares_;  // by d: sums of its squares over groups of columns
};

}  // namespace

ClippedGradients clipped_gradients(Recorder& r, Var losses, Var weight, double bound,
                                   const std::vector<const ParameterSet*>& sets) {
  const int64_t rows = losses.rows();
  std::vector<Var> wrt;
  for (const ParameterSet* set : sets)
    for (const Parameter& p : set->parameters) wrt.push_back(r(*set, p.name));
  // The sum of the losses: its gradients are sums over rows, whose terms are found in the plan.
  const std::vector<Var> whole = pullback(r, {losses}, {fill(r, losses.shape(), 1)}, wrt);
  const bool before = r.share;
  r.share = true;
  Clipping clipping(r, rows);
  std::vector<std::vector<Term>> terms(whole.size());
  ClippedGradients out;
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!whole[i]) continue;
    std::vector<Term> found;
    find_terms(r, whole[i], rows, found);
    for (const Term& t : found) {  // of biases, one
      const auto first =
          std::find_if(terms[i].begin(), terms[i].end(), [](const Term& x) { return x.kind == Term::sum; });
      if (t.kind == Term::sum && first != terms[i].end()) first->d = first->d + t.d;
      else terms[i].push_back(t);
    }
    for (size_t s = 0; s < terms[i].size(); ++s)
      for (size_t t = s; t < terms[i].size(); ++t) {
        const Var own = clipping.inner(terms[i][s], terms[i][t]), both = s == t ? own : 2.0 * own;
        out.square = out.square ? out.square + both : both;
      }
  }
  if (!out.square) out.square = fill(r, {rows, 1}, 0);
  out.share = weight * clamp(bound * rsqrt(out.square), 0, 1);
  for (size_t i = 0; i < whole.size(); ++i) {
    Var sum;
    for (const Term& t : terms[i]) {
      const Var part = clipping.scaled(t, out.share);
      sum = sum ? sum + part : part;
    }
    out.sums.push_back(sum ? reshape(sum, wrt[i].shape()) : fill(r, wrt[i].shape(), 0));
  }
  r.share = before;
  return out;
}

}  // namespace tessera
