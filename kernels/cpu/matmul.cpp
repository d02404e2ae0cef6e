// matmul, block_matmul, sharded_wgrad, narrow.
//   matmul: out [M, N] = Σ_i op(A_i)·op(B_i) (+ addend). NN forward, NT toward the input, TN toward the weights;
//   every product accumulates in k order. 2·M·N·K FLOP; compute-bound for M ≥ ~30. A tile of the output is one product
//   of product.h, its factors as they are or rounded.
//   block_matmul: products with a weight that is nonzero in blocks only, one product per block. 2·M FLOP per element of
//   the blocks, in every form. A row's sum starts with the addend or 0 and takes the blocks in their order; of the form
//   `weight` a tile is a block, or zeros everything outside.
//   sharded_wgrad: TN by shards of the rows, which are added tile by tile while the tile is in the cache: the FLOP and
//   bytes of one product, and an addition an element for each further shard.
//   narrow: 6 bytes an element, bandwidth-bound; whole rows.
#include "kernels/cpu/product.h"
#if defined(TESSERA_AMX)
#include "kernels/cpu/product_amx.h"
#endif
#include "kernels/cpu/tables.h"
#include "kernels/shards.h"

namespace tessera::TESSERA_ISA {
namespace {

struct Tiling {
  int64_t rows, cols, across;  // of a tile; tiles side by side
  int64_t tiles(int64_t m) const { return div_up(m, rows) * across; }
};

template <class T>
Tiling tiling(const Call& call) {
  using S = Shape<T>;
  const View& out = call.out[0];
  // one thread computes a block of rows, and copies its rows once for all columns
  const int64_t wanted = call.block ? 1 : 4;
  const int64_t down = div_up(out.rows, S::kTileRows);  // tiles of equal height, in whole blocks of the micro-kernel
  Tiling t{min_of(out.rows, div_up(div_up(out.rows, down), S::kMr) * S::kMr),
           min_of(div_up(out.cols, S::kNr) * S::kNr, S::kTileCols), 1};
  auto count = [&] { return div_up(out.rows, t.rows) * div_up(out.cols, t.cols); };
  while (count() < wanted && t.cols > 2 * S::kNr) t.cols = div_up(t.cols / 2, S::kNr) * S::kNr;
  t.across = div_up(out.cols, t.cols);
  return t;
}

template <class T>
int64_t scratch_bytes(const Call&) {
  return kProductScratch<T>;
}

template <class T>
int64_t tiles(const Call& call) {
  return call.out[0].rows == 0 || call.out[0].cols == 0 ? 0 : tiling<T>(call).tiles(call.out[0].rows);
}

template <class T, class F>
void run_with(const Call& call, const Matmul& op, int64_t tile, void* scratch) {
  const Tiling t = tiling<T>(call);
  const Mat<T> out(call.out[0]), addend(op.addend ? call.in[2 * op.pairs] : View{});
  const Range rows = piece(tile / t.across, t.rows, out.rows), cols = piece(tile % t.across, t.cols, out.cols);
  for (int pair = 0; pair < op.pairs; ++pair) {
    multiply<T, F>({call.in[2 * pair], call.in[2 * pair + 1], out, op.trans_a, op.trans_b, addend}, rows, cols,
                   pair == 0, scratch);
  }
}

// f(the factors that an op asks for).
template <class T, class Do>
void with_factors(Precision factors, Do&& f) {
  switch (factors) {
    case Precision::fp32: return f(Exact<T>{});
    case Precision::tf32: return f(Rounded<T, Precision::tf32>{});
    case Precision::bf16: return f(Bf16<T>{});
    case Precision::fp16: return f(Rounded<T, Precision::fp16>{});
  }
}

template <class T>
void run(const Call& call, int64_t tile, void* scratch) {
  const auto& op = *static_cast<const Matmul*>(call.op);
  with_factors<T>(op.factors, [&](auto kind) { run_with<T, decltype(kind)>(call, op, tile, scratch); });
}

using Item = BlockTable::Item;

// Rows [row, row + rows) and columns [col, col + cols) of a view.
inline View part(View v, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  v.data = static_cast<char*>(v.data) + (row * v.ld + col) * v.item_bytes;
  v.rows = rows, v.cols = cols;
  return v;
}

template <class T, class F>
void add_product(const Product<T>& p, const Range& rows, bool first, void* scratch) {
  for (int64_t c = 0; c < p.out.cols; c += Shape<T>::kTileCols)
    multiply<T, F>(p, rows, {c, min_of(c + Shape<T>::kTileCols, p.out.cols)}, first, scratch);
}

template <class T>
constexpr int64_t kBlockRows = 8 * Shape<T>::kMr;  // of a tile that computes whole rows

template <class T, class F>
void along_rows_run(const Call& call, const BlockMatmul& op, int64_t tile, void* scratch) {
  const View &left = call.in[0], &weight = call.in[1], &out = call.out[0];
  const Mat<T> to(out), addend(op.addend ? call.in[2] : View{});
  const Range rows = call.block ? Range{0, out.rows} : piece(tile, kBlockRows<T>, out.rows);
  const size_t bytes = static_cast<size_t>(out.cols) * sizeof(T);
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    if (addend) memcpy(to.row(i), addend.row(addend.rows == 1 ? 0 : i), bytes);
    else memset(to.row(i), 0, bytes);
  }
  const int64_t M = out.rows;
  const Mat<T> none(View{});
  for (int k = 0; k < op.blocks->count; ++k) {
    const Item& b = op.blocks->items[k];
    const View w = part(weight, b.row, b.rows, b.col, b.cols);
    if (op.form == BlockMatmul::forward)
      add_product<T, F>(
          {part(left, 0, M, b.from, b.rows), w, Mat<T>(part(out, 0, M, b.col, b.cols)), false, false, none}, rows,
          false, scratch);
    else
      add_product<T, F>(
          {part(left, 0, M, b.col, b.cols), w, Mat<T>(part(out, 0, M, b.from, b.rows)), false, true, none}, rows, false,
          scratch);
  }
}

template <class T>
void clear_holes(const BlockTable& blocks, const View& out) {
  for (int k = 0; k < blocks.hole_count; ++k) {
    const Item& h = blocks.holes[k];
    const Mat<T> to(part(out, h.row, h.rows, h.col, h.cols));
    for (int64_t i = 0; i < h.rows; ++i) memset(to.row(i), 0, static_cast<size_t>(h.cols) * sizeof(T));
  }
}

template <class T, class F>
void weight_run(const Call& call, const BlockTable& blocks, int64_t tile, void* scratch) {
  const View &x = call.in[0], &d = call.in[1], &out = call.out[0];
  if (tile < blocks.count) {
    const Item& b = blocks.items[tile];
    add_product<T, F>({part(x, 0, x.rows, b.from, b.rows), part(d, 0, d.rows, b.col, b.cols),
                       Mat<T>(part(out, b.row, b.rows, b.col, b.cols)), true, false, Mat<T>(View{})},
                      {0, b.rows}, true, scratch);
    return;
  }
  clear_holes<T>(blocks, out);
}

template <class T, class F>
void block_run_with(const Call& call, const BlockMatmul& op, int64_t tile, void* scratch) {
  if (op.form == BlockMatmul::weight) weight_run<T, F>(call, *op.blocks, tile, scratch);
  else along_rows_run<T, F>(call, op, tile, scratch);
}

template <class T>
void block_run(const Call& call, int64_t tile, void* scratch) {
  const auto& op = *static_cast<const BlockMatmul*>(call.op);
  with_factors<T>(op.factors, [&](auto kind) { block_run_with<T, decltype(kind)>(call, op, tile, scratch); });
}

template <class T>
int64_t block_tiles(const Call& call) {
  const auto& op = *static_cast<const BlockMatmul*>(call.op);
  const View& out = call.out[0];
  if (op.form == BlockMatmul::weight) return op.blocks->count + (op.blocks->hole_count > 0 ? 1 : 0);
  return call.block ? 1 : div_up(out.rows, kBlockRows<T>);
}

// ---- sharded_wgrad ------------------------------------------------------------------------------
template <class T>
constexpr int64_t kShardRows = 8 * Shape<T>::kMr;  // of a tile: its sums stay in a second-level cache

// A weight, or one of its blocks: where it begins in the result, and its columns of A and B.
struct WeightPart {
  int64_t row, rows, col, cols, a_from, b_from;
};
inline WeightPart weight_part(const Call& call, const ShardedWgrad& op, int64_t number) {
  if (op.blocks == nullptr) return {0, call.out[0].rows, 0, call.out[0].cols, 0, 0};
  const Item& b = op.blocks->items[number];
  return {b.row, b.rows, b.col, b.cols, b.from, b.col};
}
template <class T>
int64_t tiles_of(const WeightPart& w) {
  return div_up(w.rows, kShardRows<T>) * div_up(w.cols, Shape<T>::kTileCols);
}

// The sums of shards of one tile of a weight.
template <class T, class F>
class ShardTile {
 public:
  ShardTile(const Call& call, const ShardedWgrad& op, const WeightPart& w, int64_t tile, void* scratch)
      : call_(call), op_(op), w_(w), scratch_(scratch) {
    const int64_t across = div_up(w.cols, Shape<T>::kTileCols);
    rows_ = piece(tile / across, kShardRows<T>, w.rows), cols_ = piece(tile % across, Shape<T>::kTileCols, w.cols);
  }
  void run() {
    const View& out = call_.out[0];
    add_up(0, op_.count, part(out, w_.row + rows_.begin, height(), w_.col + cols_.begin, width()),
           reinterpret_cast<T*>(static_cast<char*>(scratch_) + kProductScratch<T>));
  }

 private:
  int64_t height() const { return rows_.end - rows_.begin; }
  int64_t width() const { return cols_.end - cols_.begin; }

  // `to` = Σ of shards [from, end). `pending`: scratch for the sums that wait to be added.
  void add_up(int from, int end, const View& to, T* pending) {
    if (end - from == 1) return shard(from, to, true);
    const int half = from + (end - from) / 2;
    add_up(from, half, to, pending);
    if (end - half == 1 && is_one_chain(half)) return shard(half, to, false);
    const View other{pending, height(), width(), width(), sizeof(T)};
    add_up(half, end, other, pending + kShardRows<T> * Shape<T>::kTileCols);
    const Mat<T> sum(to), more(other);
    for (int64_t i = 0; i < height(); ++i) {
      T* row = sum.row(i);
      const T* added = more.row(i);
      for (int64_t j = 0; j < width(); ++j) row[j] += added[j];
    }
  }
  // Whether a shard's sum is one chain of additions over k. Then adding it to other sums in place keeps its bits.
  bool is_one_chain(int s) const {
    const int64_t rows = call_.in[0].rows;
    return op_.pairs == 1 &&
           shard_begin(op_, rows, s + 1) - shard_begin(op_, rows, s) <= Shape<T>::kDepth * F::kFactors;
  }
  void shard(int s, const View& to, bool first) {
    const bool added = op_.addend && s == 0;
    const Mat<T> none(View{}), addend(added ? part(call_.in[2 * op_.pairs], w_.row, w_.rows, w_.col, w_.cols) : View{});
    for (int p = 0; p < op_.pairs; ++p, first = false) {
      const View &a = call_.in[2 * p], &b = call_.in[2 * p + 1];
      const int64_t begin = shard_begin(op_, a.rows, s), rows = shard_begin(op_, a.rows, s + 1) - begin;
      multiply<T, F>({part(a, begin, rows, w_.a_from, w_.rows), part(b, begin, rows, w_.b_from, w_.cols), Mat<T>(to),
                      true, false, p == 0 ? addend : none, rows_.begin, cols_.begin},
                     rows_, cols_, first, scratch_);
    }
  }

  const Call& call_;
  const ShardedWgrad& op_;
  const WeightPart w_;
  Range rows_{}, cols_{};
  void* scratch_;
};

inline int64_t parts_of_weight(const ShardedWgrad& op) { return op.blocks == nullptr ? 1 : op.blocks->count; }

template <class T>
void sharded_run(const Call& call, int64_t tile, void* scratch) {
  const auto& op = *static_cast<const ShardedWgrad*>(call.op);
  for (int64_t k = 0; k < parts_of_weight(op); ++k) {
    const WeightPart w = weight_part(call, op, k);
    if (const int64_t own = tiles_of<T>(w); tile >= own) {
      tile -= own;
      continue;
    }
    return with_factors<T>(op.factors,
                           [&](auto kind) { ShardTile<T, decltype(kind)>(call, op, w, tile, scratch).run(); });
  }
  clear_holes<T>(*op.blocks, call.out[0]);
}

template <class T>
int64_t sharded_tiles(const Call& call) {
  const auto& op = *static_cast<const ShardedWgrad*>(call.op);
  int64_t tiles = op.blocks != nullptr && op.blocks->hole_count > 0 ? 1 : 0;
  for (int64_t k = 0; k < parts_of_weight(op); ++k) tiles += tiles_of<T>(weight_part(call, op, k));
  return tiles;
}

template <class T>
int64_t sharded_scratch(const Call& call) {
  const auto& op = *static_cast<const ShardedWgrad*>(call.op);
  return kProductScratch<T> +
         pending_shards(op.count) * kShardRows<T> * Shape<T>::kTileCols * static_cast<int64_t>(sizeof(T));
}

// ---- narrow -------------------------------------------------------------------------------------
constexpr int64_t kNarrowed = 8192;  // elements of a tile, in whole rows

int64_t narrow_rows(const View& out) { return out.cols >= kNarrowed ? 1 : div_up(kNarrowed, out.cols); }
int64_t narrow_tiles(const Call& call) {
  const View& out = call.out[0];
  return out.cols == 0 ? 0 : div_up(out.rows, narrow_rows(out));
}

template <class T>
void narrow_run(const Call& call, int64_t tile, void*) {
  const Mat<T> x(call.in[0]);
  const Mat<uint16_t> out(call.out[0]);
  const Range rows = piece(tile, narrow_rows(call.out[0]), out.rows);
  const int64_t together = contiguous(call.in[0], call.out[0]) ? rows.end - rows.begin : 1;
  for (int64_t i = rows.begin; i < rows.end; i += together)
    narrow_to(x.row(i), together * out.cols, static_cast<const Narrow*>(call.op)->to, out.row(i));
}

}  // namespace

TESSERA_KERNEL(matmul, tiles<T>, run<T>, scratch_bytes<T>)
TESSERA_KERNEL(block_matmul, block_tiles<T>, block_run<T>, scratch_bytes<T>)
TESSERA_KERNEL(sharded_wgrad, sharded_tiles<T>, sharded_run<T>, sharded_scratch<T>)
TESSERA_KERNEL(narrow, narrow_tiles, narrow_run<T>, nullptr)

}  // namespace tessera::TESSERA_ISA
