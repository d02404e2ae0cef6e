// gather: a product with rows of concatenated parts is the sum of the parts' products with their rows of the weight;
// for a one-hot part that product is a gather of weight rows, and its weight gradient a scatter (22 of 261 entries of a
// real row are not zero).
#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

struct Sparse {
  Var index, value;
  int64_t width, per;
};

// Rows that are sparse_dense, or a reshape of it that packs several rows into one.
std::optional<Sparse> sparse_form(Var v) {
  Var dense = v;
  if (made_by<Reshape>(v) != nullptr) dense = input_of(v, 0);
  const auto* made = made_by<SparseDense>(dense);
  if (made == nullptr || dense.rows() % v.rows() != 0) return std::nullopt;
  const SparseDense op = *made;  // a copy: the plan grows below
  const auto in = inputs_of(dense);
  const int64_t pac = dense.rows() / v.rows();
  auto packed = [&](Var x) { return x && pac > 1 ? reshape(x, {v.rows(), pac * x.cols()}) : x; };
  return Sparse{packed(in[0]), packed(in[1]), op.width, op.per};
}

void parts_of(Var v, std::vector<Var>& parts) {
  if (made_by<ConcatCols>(v) == nullptr) {
    parts.push_back(v);
    return;
  }
  for (const Var p : inputs_of(v)) parts_of(p, parts);
}

std::optional<std::vector<Var>> replace(Recorder& r, const Site& s) {
  const DenseProduct m = traits(s.node).product;
  if (!m.single() || m.trans_b) return std::nullopt;
  std::vector<Var> parts;
  parts_of(s.in[0], parts);
  if (parts.size() == 1 && !sparse_form(parts[0])) return std::nullopt;
  const Var b = s.in[1];
  int64_t start = 0;
  std::vector<Var> results;
  for (const Var part : parts) {
    const auto sparse = sparse_form(part);
    if (m.trans_a) {
      results.push_back(sparse
                            ? r.emit1(SparseWgrad{sparse->width, sparse->per, false}, {sparse->index, sparse->value, b})
                            : matmul(part, b, true));
    } else {
      const Var w = slice_rows(b, start, part.cols());
      results.push_back(
          sparse ? r.emit1(SparseMatmul{sparse->width, sparse->per, false}, {sparse->index, sparse->value, w})
                 : matmul(part, w));
    }
    start += part.cols();
  }
  if (m.trans_a) return std::vector<Var>{concat_rows(results)};
  Var sum = results[0];
  for (size_t i = 1; i < results.size(); ++i) sum = sum + results[i];
  return std::vector<Var>{sum};
}

}  // namespace

void gather(Plan& plan) { rewrite(plan, replace); }

}  // namespace tessera
