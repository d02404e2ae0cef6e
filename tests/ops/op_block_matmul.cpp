// block_matmul: its three forms, and sharded_wgrad, over staircases, over products side by side and over blocks with
// gaps between them.
#include "engine/plan/blocks.h"
#include "op_case.h"

namespace tessera::oracle {
namespace {

using Item = BlockTable::Item;
using Form = BlockMatmul::Form;

// f(row of the weight, column, depth) for each element of the blocks.
template <class F>
void each_element(const BlockTable& t, F&& f) {
  for (int k = 0; k < t.count; ++k) {
    const Item& b = t.items[k];
    for (int r = 0; r < b.rows; ++r)
      for (int c = 0; c < b.cols; ++c) f(b.row + r, b.col + c, b.from + r);
  }
}

Grids reference(const BlockMatmul& op, const Grids& in) {
  const BlockTable& t = *op.blocks;
  const Grid &a = in[0], &b = in[1];
  const int64_t M = a.rows;
  Grid out = op.form == BlockMatmul::weight ? Grid(t.rows, t.cols)
                                            : Grid(M, op.form == BlockMatmul::forward ? t.cols : t.depth);
  each_element(t, [&](int64_t row, int64_t col, int64_t depth) {
    for (int64_t i = 0; i < M; ++i) {
      if (op.form == BlockMatmul::forward) out(i, col) += a(i, depth) * b(row, col);
      else if (op.form == BlockMatmul::input) out(i, depth) += a(i, col) * b(row, col);
      else out(row, col) += a(i, depth) * b(i, col);
    }
  });
  for (int64_t i = 0; i < M && op.addend; ++i)
    for (int64_t c = 0; c < t.cols; ++c) out(i, c) += in[2].wide(i, c);
  return {out};
}

Case product(const char* note, std::shared_ptr<const Blocks> blocks, Form form, int64_t rows, int64_t addend_rows = 0) {
  const BlockTable* t = blocks->table();
  const BlockMatmul op{form, t, addend_rows > 0};
  Case c{note, op, {}, [op](const Grids& in) { return reference(op, in); }};
  c.in.push_back(real(rows, form == BlockMatmul::input ? t->cols : t->depth));
  c.in.push_back(form == BlockMatmul::weight ? real(rows, t->cols) : real(t->rows, t->cols).lying(Input::whole));
  if (op.addend) c.in.push_back(real(addend_rows, t->cols));
  c.by_rows = form != BlockMatmul::weight;
  c.tables = blocks;
  if (form == BlockMatmul::weight)
    c.laws.push_back({"outside the blocks there is nothing", [t](const Grids&, const Grids& out) {
                        Grid inside(t->rows, t->cols);
                        each_element(*t, [&](int64_t row, int64_t col, int64_t) { inside(row, col).v = 1; });
                        double most = 0;
                        for (size_t i = 0; i < inside.cells.size(); ++i)
                          if (inside.cells[i].v == 0) most = std::max(most, std::fabs(out[0].cells[i].v));
                        return most;
                      }});
  return c;
}

}  // namespace

void block_matmul_cases(Cases& cases) {
  std::vector<int> stairs, wide;
  for (int c = 0; c < 37; ++c) stairs.push_back(c / 5 * 4);
  for (int c = 0; c < 70; ++c) wide.push_back(c < 40 ? 0 : 300);
  const std::vector<std::pair<const char*, std::shared_ptr<const Blocks>>> all{
      {"one element", Blocks::staircase(1, {1})},
      {"stairs", Blocks::staircase(31, stairs)},
      {"a step of more than a panel", Blocks::staircase(300, wide)},
      {"nothing", Blocks::staircase(3, {0, 0})},
      {"side by side", Blocks::side_by_side(7, {3, 1, 41, 2})},
      {"gaps, out of order",
       std::make_shared<const Blocks>(9, 6, 8, std::vector<Item>{{3, 2, 5, 3, 0}, {0, 4, 1, 2, 5}, {0, 1, 6, 1, 8}})}};
  for (const auto& [note, blocks] : all)
    for (const Form form : {BlockMatmul::forward, BlockMatmul::input, BlockMatmul::weight})
      for (const int64_t rows : {1, 29, 131}) cases.push_back(product(note, blocks, form, rows));
  for (const auto& [note, blocks] : all) {
    Case c = product(note, blocks, BlockMatmul::weight, 29);
    c.op = ShardedWgrad{1, false, 29, 4, 0, 4, blocks->table()};
    c.derived = false;
    cases.push_back(c);
  }
  cases.push_back(product("a row added", all[1].second, BlockMatmul::forward, 33, 1));
  cases.push_back(product("a matrix added", all[4].second, BlockMatmul::forward, 33, 33));
}

}  // namespace tessera::oracle
