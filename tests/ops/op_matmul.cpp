// matmul: NN, NT, TN, TT, several pairs, with and without addend. sharded_wgrad: all shards of a batch, and some.
#include "kernels/shards.h"
#include "op_run.h"

namespace tessera::oracle {
namespace {

Grids reference(const Matmul& op, const Grids& in) {
  const Grid &a0 = in[0], &b0 = in[1];
  return {grid(op.trans_a ? a0.cols : a0.rows, op.trans_b ? b0.rows : b0.cols, [&](int64_t i, int64_t j) {
    Number s;
    for (int p = 0; p < op.pairs; ++p) {
      const Grid &a = in[static_cast<size_t>(2 * p)], &b = in[static_cast<size_t>(2 * p + 1)];
      for (int64_t k = 0; k < (op.trans_a ? a.rows : a.cols); ++k)
        s += (op.trans_a ? a(k, i) : a(i, k)) * (op.trans_b ? b(j, k) : b(k, j));
    }
    if (op.addend) s += in.back().wide(i, j);
    return s;
  })};
}

Case product(const char* note, Matmul op, int64_t m, int64_t n, std::vector<int64_t> depths, int64_t addend_rows = 0) {
  Case c{note, op, {}, [op](const Grids& in) { return reference(op, in); }};
  for (const int64_t k : depths) {
    c.in.push_back(op.trans_a ? real(k, m) : real(m, k));
    c.in.push_back(op.trans_b ? real(n, k) : real(k, n));
  }
  if (op.addend) c.in.push_back(real(addend_rows, n));
  c.by_rows = !op.trans_a;
  return c;
}

// Rows of the pairs: `rows` for each unit that the rank has.
Case sharded(const char* note, ShardedWgrad op, int64_t m, int64_t n, std::vector<int64_t> rows) {
  Case c{note, op, {}, [op](const Grids& in) { return reference({true, false, op.pairs, op.addend}, in); }};
  const int64_t units = shard_units(op, op.count);
  for (const int64_t r : rows) c.in.insert(c.in.end(), {real(units * r, m), real(units * r, n)});
  if (op.addend) c.in.push_back(real(m, n));
  c.derived = false;
  return c;
}

void sharded_cases(Cases& cases) {
  cases.push_back(sharded("one shard", {1, false, 5, 1, 0, 1}, 31, 33, {3}));
  cases.push_back(sharded("all of two, with a matrix", {1, true, 5, 2, 0, 2}, 7, 65, {3}));
  cases.push_back(sharded("all of eight", {1, false, 50, 8, 0, 8}, 61, 33, {1}));
  cases.push_back(sharded("the last three of six, two pairs", {2, true, 13, 6, 3, 3}, 15, 9, {4, 1}));
  cases.push_back(sharded("deeper than a block", {1, false, 4, 4, 0, 4}, 9, 37, {300}));
  cases.push_back(sharded("larger than a tile", {2, true, 8, 4, 0, 2}, 130, 290, {2, 3}));
  cases.push_back(sharded("shards of several lengths, ragged", {3, true, 11, 3, 0, 3}, 59, 49, {3, 1, 2}));
}

}  // namespace

void linear_cases(Cases& cases) {
  sharded_cases(cases);
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const Matmul op{ta, tb, 1, false};
      for (const auto& [m, n, k] : {std::tuple{1, 1, 1},
                                    {2, 1, 31},
                                    {1, 33, 2},
                                    {31, 33, 65},
                                    {65, 31, 7},
                                    {13, 17, 257},
                                    {113, 65, 3},
                                    {150, 2, 129}})
        cases.push_back(product("ragged", op, m, n, {k}));
      cases.push_back(product("two pairs and a matrix", {ta, tb, 2, true}, 29, 37, {11, 300}, 29));
      cases.push_back(product("three pairs and a row", {ta, tb, 3, true}, 7, 67, {2, 1, 31}, 1));
    }
  // Gradients of small weights over many rows.
  cases.push_back(product("deep and small", {true, false, 1, false}, 24, 23, {1300}));
  cases.push_back(product("deep and small", {true, false, 3, true}, 32, 5, {700, 0, 2500}, 32));
  // Whole tiles, in both directions and in several slices: one tile more would be one too many.
  cases.push_back(product("whole tiles", {false, true, 1, false}, 128, 64, {32}));
  cases.push_back(product("whole tiles", {true, false, 1, false}, 64, 128, {512}));
  cases.push_back(
      product("as many pairs as a launch on a device takes", {false, false, 6, true}, 9, 33, {3, 1, 40, 2, 5, 8}, 1));
  cases.push_back(product("deeper than two blocks, wider than a tile", {false, false, 1, true}, 15, 261, {530}, 1));
  cases.push_back(product("one column, in slices", {false, false, 2, true}, 9, 1, {530, 70}, 1));
  cases.push_back(product("one column, in slices", {false, true, 1, true}, 7, 1, {700}, 7));
  // Small integers: every sum is exact, so every element must be.
  Case whole = product("integers", {false, false, 1, false}, 33, 35, {63});
  std::mt19937_64 random(5);
  for (Input& i : whole.in)
    for (int64_t k = 0; k < i.shape.count(); ++k) i.values.push_back(std::uniform_int_distribution<int>(-8, 8)(random));
  whole.laws.push_back({"integer sums are exact", [reference = whole.reference](const Grids& in, const Grids& out) {
                          const Grids want = reference(in);
                          double wrong = 0;
                          for (size_t i = 0; i < want[0].cells.size(); ++i)
                            wrong += want[0].cells[i].v != out[0].cells[i].v;
                          return wrong;
                        }});
  cases.push_back(whole);
  for (const Precision to : {Precision::bf16, Precision::fp16})
    for (const auto& [r, c] : {std::pair{1, 1}, {2, 31}, {33, 65}, {5, 96}, {1, 8200}}) {
      const DType type = to == Precision::bf16 ? DType::bf16 : DType::fp16;
      cases.push_back({"16 bits", Narrow{to}, {real(r, c).constant()}, [type](const Grids& in) {
                         return Grids{grid(in[0].rows, in[0].cols, [&](int64_t i, int64_t k) {
                           return Number(narrow_value(narrow_bits(in[0](i, k).v, type), type));
                         })};
                       }});
      cases.back().by_rows = true;
      cases.back().derived = false;
    }
  cases.push_back(product("no depth", {false, false, 1, false}, 3, 5, {0}));
}

}  // namespace tessera::oracle
