// accumulate: A·B + C·D is one product over the concatenated depth, and any other summand initializes it. A weight's
// gradient from real, fake and penalty rows is one pass over the weight; a bias costs nothing. Sparse products are
// cheap and come first.
#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

Matmul with(const Matmul& m, int pairs, bool addend) { return {m.trans_a, m.trans_b, pairs, addend}; }

// x + y; `own_x`, `own_y`: nothing else reads x, y. Empty if there is no product to add into.
std::optional<Var> join(Recorder& r, Var x, Var y, bool own_x, bool own_y) {
  const Matmul* a = own_x ? made_by<Matmul>(x) : nullptr;
  const Matmul* b = own_y ? made_by<Matmul>(y) : nullptr;
  const bool same = x.shape() == y.shape();
  if (a != nullptr && b != nullptr && a->trans_a == b->trans_a && a->trans_b == b->trans_b &&
      !(a->addend && b->addend)) {
    std::vector<Var> p = inputs_of(x), q = inputs_of(y);
    const Matmul op = with(*a, a->pairs + b->pairs, a->addend || b->addend);
    Var addend;
    if (a->addend) addend = p.back(), p.pop_back();
    if (b->addend) addend = q.back(), q.pop_back();
    p.insert(p.end(), q.begin(), q.end());
    if (op.addend) p.push_back(addend);
    return r.emit1(op, p);
  }
  // A sparse product joins an existing chain: at the front, after the sparse products already there.
  if (a != nullptr && a->addend && same && own_y && inputs_of(x).back().shape() == y.shape()) {
    if (const auto* s = made_by<SparseWgrad>(y); s != nullptr && !s->addend) {
      const Matmul op = *a;
      const SparseWgrad first{s->width, s->per, true};
      std::vector<Var> p = inputs_of(x), q = inputs_of(y);
      q.push_back(p.back());
      p.back() = r.emit1(first, q);
      return r.emit1(op, p);
    }
  }
  if (b != nullptr && b->addend && same && own_x && made_by<SparseWgrad>(x) != nullptr &&
      !made_by<SparseWgrad>(x)->addend)
    return join(r, y, x, own_y, own_x);
  if (a != nullptr && a->addend && y.rows() == 1 && !same) {
    // A bias goes to the front of the chain: into the sparse product that the dense ones are added to.
    std::vector<Var> p = inputs_of(x);
    const auto* s = made_by<SparseMatmul>(p.back());
    if (s != nullptr && !s->addend) {
      const Matmul op = *a;
      std::vector<Var> q = inputs_of(p.back());
      q.push_back(y);
      p.back() = r.emit1(SparseMatmul{s->width, s->per, true}, q);
      return r.emit1(op, p);
    }
  }
  if (a != nullptr && !a->addend && (same || y.rows() == 1) && y.cols() == x.cols()) {
    std::vector<Var> p = inputs_of(x);
    p.push_back(y);
    return r.emit1(with(*a, a->pairs, true), p);
  }
  if (b != nullptr && !b->addend && same) return join(r, y, x, own_y, own_x);
  if (const auto* s = own_x ? made_by<SparseMatmul>(x) : nullptr;
      s != nullptr && !s->addend && y.cols() == x.cols() && (same || y.rows() == 1)) {
    std::vector<Var> p = inputs_of(x);
    p.push_back(y);
    return r.emit1(SparseMatmul{s->width, s->per, true}, p);
  }
  if (const auto* s = own_x ? made_by<SparseWgrad>(x) : nullptr; s != nullptr && !s->addend && same) {
    std::vector<Var> p = inputs_of(x);
    p.push_back(y);
    return r.emit1(SparseWgrad{s->width, s->per, true}, p);
  }
  if (same && ((own_y && made_by<SparseMatmul>(y) != nullptr && !made_by<SparseMatmul>(y)->addend) ||
               (own_y && made_by<SparseWgrad>(y) != nullptr && !made_by<SparseWgrad>(y)->addend)))
    return join(r, y, x, own_y, own_x);
  return std::nullopt;
}

// Pieces of a concatenation along rows: sums of concatenations with the same split are computed piece by piece, and a
// product is split to match.
std::optional<std::vector<Var>> pieces(Var v, const std::vector<int64_t>& cuts, bool own) {
  std::vector<Var> out;
  if (made_by<ConcatRows>(v) != nullptr) {
    out = inputs_of(v);
    if (out.size() != cuts.size()) return std::nullopt;
    for (size_t i = 0; i < cuts.size(); ++i)
      if (out[i].rows() != cuts[i]) return std::nullopt;
    return out;
  }
  const Matmul* m = own ? made_by<Matmul>(v) : nullptr;
  if (m == nullptr || m->addend) return std::nullopt;
  const Matmul op = *m;
  int64_t start = 0;
  for (const int64_t rows : cuts) {
    std::vector<Var> in = inputs_of(v);
    for (int p = 0; p < op.pairs; ++p) {
      Var& a = in[static_cast<size_t>(2 * p)];
      a = op.trans_a ? slice_cols(a, start, rows) : slice_rows(a, start, rows);
    }
    out.push_back(v.r->emit1(op, in));
    start += rows;
  }
  return out;
}

std::optional<std::vector<Var>> add(Recorder& r, const Site& s) {
  const auto* op = std::get_if<Binary>(&s.node.op);
  if (op == nullptr || op->fn != Binary::add) return std::nullopt;
  const Var x = s.in[0], y = s.in[1];
  const bool own_x = s.sole(0), own_y = s.sole(1);
  const bool cut = x.shape() == y.shape() && (made_by<ConcatRows>(x) != nullptr || made_by<ConcatRows>(y) != nullptr);
  if (!cut) {
    const auto joined = join(r, x, y, own_x, own_y);
    return joined ? std::optional(std::vector<Var>{*joined}) : std::nullopt;
  }
  std::vector<int64_t> cuts;
  for (const Var part : inputs_of(made_by<ConcatRows>(x) != nullptr ? x : y)) cuts.push_back(part.rows());
  const auto p = pieces(x, cuts, own_x), q = pieces(y, cuts, own_y);
  if (!p || !q) return std::nullopt;
  std::vector<Var> sums;
  for (size_t i = 0; i < cuts.size(); ++i) {
    const auto joined = join(r, (*p)[i], (*q)[i], own_x, own_y);
    sums.push_back(joined ? *joined : (*p)[i] + (*q)[i]);
  }
  return std::vector<Var>{concat_rows(sums)};
}

}  // namespace

void accumulate(Plan& plan) { rewrite(plan, add); }

}  // namespace tessera
