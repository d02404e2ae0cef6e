#include "op_check.h"

namespace tessera::oracle {
namespace {

std::vector<Result> results_of(const Case& c) {
  Plan plan;
  std::vector<Id> ids;
  for (size_t i = 0; i < c.in.size(); ++i)
    ids.push_back(c.in[i].absent ? kNone
                                 : plan.leaf(Leaf::bound, "x" + std::to_string(i), c.in[i].shape, c.in[i].dtype));
  return infer(c.op, plan, ids);
}

// Sequence `from` of a matrix in tiles becomes sequence `to` of another; `per`: rows of a tile.
void copy_sequence(const Grid& tiles, int64_t per, int64_t from, Grid& other, int64_t to) {
  for (int64_t r = 0; r < per; ++r)
    other(to / kSequenceTile * per + r, to % kSequenceTile) =
        tiles(from / kSequenceTile * per + r, from % kSequenceTile);
}

// Row i of the batch in the outputs.
std::vector<double> row_of(const Case& c, const Ran& ran, int64_t batch, int64_t i) {
  std::vector<double> row;
  for (size_t k = 0; k < ran.out.size(); ++k) {
    const auto& all = ran.out[k];
    if (static_cast<int>(k) == c.tiled_output) {
      const size_t per = all.size() / static_cast<size_t>(sequence_tiles(batch)),
                   tile = static_cast<size_t>(i / kSequenceTile), lane = static_cast<size_t>(i % kSequenceTile);
      for (size_t at = tile * per + lane; at < (tile + 1) * per; at += kSequenceTile) row.push_back(all[at]);
    } else {
      const size_t width = all.size() / static_cast<size_t>(batch);
      row.insert(row.end(), all.begin() + static_cast<int64_t>(static_cast<size_t>(i) * width),
                 all.begin() + static_cast<int64_t>(static_cast<size_t>(i + 1) * width));
    }
  }
  return row;
}

// By bits: 0 and −0 differ; NaN is NaN.
bool same_row(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!(std::isnan(a[i]) && std::isnan(b[i])) && !(a[i] == b[i] && std::signbit(a[i]) == std::signbit(b[i])))
      return false;
  return true;
}

}  // namespace

void compare(const Grids& want, const Ran& got, double eps, double tiny, double units) {
  EXPECT_EQ(got.damage, "") << "wrote where it must not";
  ASSERT_EQ(got.out.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(got.out[k].size(), want[k].cells.size()) << "output " << k;
    for (size_t i = 0; i < want[k].cells.size(); ++i) {
      const Number w = want[k].cells[i];
      const double g = got.out[k][i], limit = units * eps * w.e + tiny;
      ASSERT_EQ(std::isfinite(g), std::isfinite(w.v))
          << "output " << k << " element " << i << ": " << g << " for " << w.v;
      if (!std::isfinite(w.v)) continue;
      const size_t width = static_cast<size_t>(want[k].cols);
      ASSERT_LE(std::fabs(g - w.v), limit)
          << "output " << k << " row " << i / width << " column " << i % width << ": " << g << " for " << w.v;
    }
  }
}

std::vector<const KernelTable*> float_tables() {
  std::vector<const KernelTable*> tables;
  for (const char* name : {"plain", "avx2", "avx512", "avx512_bf16", "amx_bf16"})
    if (const KernelTable* t = cpu_kernels(name)) tables.push_back(t);
  return tables;
}

void same_bits(const Ran& a, const Ran& b, const std::string& what) {
  for (size_t k = 0; k < a.out.size(); ++k) {
    ASSERT_EQ(a.out[k].size(), b.out[k].size()) << what;
    for (size_t i = 0; i < a.out[k].size(); ++i)
      ASSERT_TRUE(a.out[k][i] == b.out[k][i] || (std::isnan(a.out[k][i]) && std::isnan(b.out[k][i])))
          << what << ": output " << k << " element " << i << ": " << a.out[k][i] << " and " << b.out[k][i];
  }
}

int64_t batch_rows(const Case& c) {
  return std::visit(
      [&](const auto& op) {
        if constexpr (requires { op.sequences; }) return op.sequences;
        else return results_of(c)[0].shape.rows;
      },
      c.op);
}

Batch picked(const Case& c, const Grids& in, const std::vector<int64_t>& picks) {
  const int64_t rows = batch_rows(c), n = static_cast<int64_t>(picks.size());
  const Follows follows = traits(c.op, c.in.size()).rows;
  Batch b{c, in};
  for (size_t i = 0; i < c.in.size(); ++i) {
    const Input& input = c.in[i];
    const bool tiles = input.lies == Input::in_tiles;
    if (input.absent || input.lies == Input::whole || (!tiles && (input.shape.rows != rows || !follows.input(i))))
      continue;
    const int64_t per = tiles ? input.shape.rows / sequence_tiles(rows) : 1;
    b.c.in[i].shape.rows = tiles ? sequence_tiles(n) * per : n;
    b.in[i] = Grid(b.c.in[i].shape.rows, input.shape.cols);
    for (int64_t r = 0; r < n; ++r) {
      const int64_t from = picks[static_cast<size_t>(r)];
      if (tiles) copy_sequence(in[i], per, from, b.in[i], r);
      else
        for (int64_t k = 0; k < input.shape.cols; ++k) b.in[i](r, k) = in[i](from, k);
    }
  }
  std::visit(
      [&](auto& op) {
        if constexpr (requires { op.sequences; }) op.sequences = n;
        else if constexpr (requires { op.rows; }) op.rows = n;
      },
      b.c.op);
  return b;
}

void rows_have_their_bits_anywhere(const Case& c, const Grids& in, const std::vector<int64_t>& sizes,
                                   const RunBatch& run, const std::string& what) {
  if (!c.by_rows) return;
  const int64_t rows = batch_rows(c), kinds = std::min<int64_t>(rows, 6);
  std::vector<std::vector<double>> alone;
  auto kind = [&](int64_t k) { return k * rows / kinds; };
  // of a batch of more than two rows: wide rows need no more, their tiles are cut across
  constexpr int64_t kMaxElements = 1 << 15;
  int64_t width = 0;
  for (const Input& i : c.in) width += i.absent ? 0 : i.shape.cols;
  for (int64_t k = 0; k < kinds; ++k) {
    const Batch b = picked(c, in, {kind(k)});
    alone.push_back(row_of(b.c, run(b.c, b.in, {}), 1, 0));
  }
  for (size_t s = 0; s < sizes.size(); ++s) {
    const int64_t n = sizes[s];
    if (n > 2 && n * (width + static_cast<int64_t>(alone[0].size())) > kMaxElements) continue;
    std::vector<int64_t> kinds_of, picks;
    for (int64_t i = 0; i < n; ++i) kinds_of.push_back((i * 5 + n) % kinds), picks.push_back(kind(kinds_of.back()));
    const Batch b = picked(c, in, picks);
    const int64_t offset = static_cast<int64_t>(s % 16);
    const Ran ran = run(b.c, b.in, {static_cast<int64_t>(s % 4), offset, static_cast<int>(s % 3)});
    for (int64_t i = 0; i < n; ++i)
      ASSERT_TRUE(same_row(alone[static_cast<size_t>(kinds_of[static_cast<size_t>(i)])], row_of(b.c, ran, n, i)))
          << what << ": row " << i << " of " << n << ", " << offset
          << " elements from an aligned address, is not what it is by itself";
  }
}

}  // namespace tessera::oracle
