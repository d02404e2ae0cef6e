// sparse_dense, sparse_pick, sparse_slice, sparse_matmul, sparse_wgrad: rows of few entries; packed rows (several
// blocks), repeated and absent entries, with and without values.
#include "op_case.h"

namespace tessera::oracle {
namespace {

struct Entries {
  int64_t rows, blocks, per, width;
  int64_t entries() const { return blocks * per; }
  int64_t dense() const { return blocks * width; }
  // Indices from −1: a negative one is no entry.
  Input indices() const { return index(rows, entries(), -1, static_cast<int>(width) - 1); }
  Input values(bool given) const { return given ? real(rows, entries()) : none(); }
};

// f(row, dense column, weight) for every entry.
template <class F>
void each(const Entries& e, const Grid& index, const Grid& value, F&& f) {
  for (int64_t r = 0; r < e.rows; ++r)
    for (int64_t j = 0; j < e.entries(); ++j)
      if (index(r, j).v >= 0)
        f(r, j / e.per * e.width + static_cast<int64_t>(index(r, j).v), value.cells.empty() ? Number(1) : value(r, j),
          j);
}

}  // namespace

void sparse_cases(Cases& cases) {
  // the last two: more entries than lanes in a warp; a block of so many entries that a device divides them among warps
  for (const Entries e : {Entries{1, 1, 1, 1}, Entries{31, 1, 1, 7}, Entries{33, 1, 5, 29}, Entries{17, 3, 4, 13},
                          Entries{5, 10, 2, 65}, Entries{6, 9, 8, 11}, Entries{33, 1, 63, 9}})
    for (const bool given : {true, false}) {
      const char* note = given ? "with values" : "ones";
      cases.push_back({note, SparseDense{e.width, e.per}, {e.indices(), e.values(given)}, [e](const Grids& in) {
                         Grid y(e.rows, e.dense());
                         each(e, in[0], in[1], [&](int64_t r, int64_t c, Number v, int64_t) { y(r, c) += v; });
                         return Grids{y};
                       }});
      cases.back().by_rows = true;
      for (const int64_t n : {1, 33, 128, 130}) {
        if (n == 128 && e.rows > 6) continue;
        for (const int64_t addend : {int64_t{0}, int64_t{1}, e.rows}) {
          Case x{note,
                 SparseMatmul{e.width, e.per, addend > 0},
                 {e.indices(), e.values(given), real(e.dense(), n)},
                 [e, n](const Grids& in) {
                   Grid y(e.rows, n);
                   if (in.size() == 4) y = grid(e.rows, n, [&](int64_t r, int64_t k) { return in[3].wide(r, k); });
                   each(e, in[0], in[1], [&](int64_t r, int64_t c, Number v, int64_t) {
                     for (int64_t k = 0; k < n; ++k) y(r, k) += v * in[2](c, k);
                   });
                   for (Number& sum : y.cells) sum.e += std::fabs(sum.v);
                   return Grids{y};
                 }};
          if (addend > 0) x.in.push_back(real(addend, n));
          x.by_rows = e.dense() != e.rows;  // else a part of the rows would take a part of the weight
          cases.push_back(x);
        }
        for (const bool addend : {false, true}) {
          Case x{note,
                 SparseWgrad{e.width, e.per, addend},
                 {e.indices(), e.values(given), real(e.rows, n)},
                 [e, n](const Grids& in) {
                   Grid y(e.dense(), n);
                   if (in.size() == 4)
                     y = grid(e.dense(), n, [&](int64_t r, int64_t k) { return rounded(in[3](r, k).v, 0); });
                   each(e, in[0], in[1], [&](int64_t r, int64_t c, Number v, int64_t) {
                     for (int64_t k = 0; k < n; ++k) y(c, k) += v * in[2](r, k);
                   });
                   return Grids{y};
                 }};
          if (addend) x.in.push_back(real(e.dense(), n));
          cases.push_back(x);
        }
      }
      if (given) continue;
      cases.push_back(
          {"picks", SparsePick{e.width, e.per}, {e.indices(), real(e.rows, e.dense())}, [e](const Grids& in) {
             Grid y(e.rows, e.entries());
             each(e, in[0], Grid(), [&](int64_t r, int64_t c, Number, int64_t j) { y(r, j) = in[1](r, c); });
             return Grids{y};
           }});
      cases.back().by_rows = true;
      for (const SparseSlice& op : {SparseSlice{0, e.width}, SparseSlice{e.width / 3, (e.width + 1) / 2}}) {
        cases.push_back({"columns of sparse rows", op, {e.indices()}, [op, e](const Grids& in) {
                           return Grids{grid(e.rows, e.entries(), [&](int64_t r, int64_t j) {
                             const double i = in[0](r, j).v - static_cast<double>(op.start);
                             return Number(i >= 0 && i < static_cast<double>(op.width) ? i : -1);
                           })};
                         }});
        cases.back().by_rows = true;
      }
    }
}

}  // namespace tessera::oracle
