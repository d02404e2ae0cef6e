#include "engine/fusion.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "engine/rules.h"
#include "engine/split_updates.h"
#include "kernels/slices.h"

namespace tessera {
namespace {

// A product whose weight is larger than this is made tile by tile, by as many blocks as there are: in a chain every block would read all of it.
constexpr int64_t kChainWeight = 1 << 17;
constexpr int64_t kDeep = 384;  // from this depth on the tiles' blocks are too few, and slices get blocks of their own
constexpr int kLeaf = -1;

// How the rows of a value lie in units: `segments` times, one unit after the other, `run` rows a unit.
struct RowLayout {
  int64_t run = 0, segments = 0;
  bool operator==(const RowLayout&) const = default;
  bool known() const { return run > 0; }
};

enum class Cut { none, rows, cols, flat, tile };  // none: of a leaf, or made in a way no chain can follow · tile: a large product, made tile by tile

// What makes a chain one of cells (kernels/fused.h): packed rows cut into `parts` of `width` columns.
struct Cells {
  int64_t parts = 0, width = 0;
  bool operator==(const Cells&) const = default;
};

// Elements begin … end − 1 of the state that a value shows, through views and from update to update.
struct Extent {
  Id root;
  int64_t begin, end;
  bool meets(const Extent& o) const { return root == o.root && begin < o.end && o.begin < end; }
};

// Where a value is made.
struct Made {
  int level = kLeaf;
  Cut cut = Cut::none;
  int64_t width = 0;  // cols: columns; flat: elements
  RowLayout rows;
  int node = -1;  // the node to chain to; views pass their maker's on
};

template <class... T>
bool is(const Op& op) {
  return (std::holds_alternative<T>(op) || ...);
}
class Fuser {
 public:
  explicit Fuser(const Plan& plan)
      : plan_(plan), made_(plan.values.size()), level_of_(plan.nodes.size(), kLeaf), chain_(plan.nodes.size()), cells_(plan.nodes.size()), placed_(plan.nodes.size()) {
    std::iota(chain_.begin(), chain_.end(), 0);
  }

  Fusion run() {
    find_units();
    find_extents();
    for (size_t n = 0; n < plan_.nodes.size(); ++n) place(static_cast<int>(n));
    return collect();
  }

 private:
  struct Placed {
    enum How { nothing, chained, tile, alone } how = nothing;
    Cut cut = Cut::none;
    int64_t width = 0;
    RowLayout rows;
    bool sliced = false;
    int slices_at = 0;
    int slices_with = -1;  // the node whose chain of cells makes the slices; −1: tiles of their own
  };
  const Node& node(int n) const { return plan_.nodes[static_cast<size_t>(n)]; }
  Made& made(Id v) { return made_[static_cast<size_t>(v)]; }
  Shape shape(Id v) const { return plan_.shape(v); }

  // The unit: the rows of the smallest thing all batch-like values consist of.
  void find_units() {
    for (const Node& n : plan_.nodes) {
      const auto* m = std::get_if<Matmul>(&n.op);
      if (!(m != nullptr && !m->trans_a) && !is<SparseMatmul, Random, DrawConditions, GatherRows, SpanActivation, SpanReconstruction>(n.op)) continue;
      if (const int64_t r = shape(n.out[0]).rows; r > 1) unit_ = std::gcd(unit_, r);
    }
  }

  // What each value shows of a state: parts of a flat set are told apart, so that one can be updated while another is still read.
  void find_extents() {
    for (size_t v = 0; v < made_.size(); ++v) extent_.push_back({static_cast<Id>(v), 0, shape(static_cast<Id>(v)).count()});
    for (const Node& n : plan_.nodes) {
      for (int k = 0; k < in_place(n.op); ++k) extent(n.out[static_cast<size_t>(k)]) = extent(n.in[static_cast<size_t>(k)]);
      if (is_view(n.op)) {
        const Extent from = extent(n.in[0]);
        Extent& to = extent(n.out[0]);
        to = from;
        const Shape a = shape(n.in[0]), b = shape(n.out[0]);
        if (from.end - from.begin != a.count()) continue;  // columns of several rows: taken for all of them
        if (const auto* s = std::get_if<SliceRows>(&n.op)) to = {from.root, from.begin + s->start * a.cols, from.begin + s->start * a.cols + b.count()};
        if (const auto* s = std::get_if<SliceCols>(&n.op); s != nullptr && a.rows == 1) to = {from.root, from.begin + s->start, from.begin + s->start + b.count()};
      }
      if (updated_pieces(n)) extent(n.out[0]) = {extent(n.in[0]).root, extent(n.in.front()).begin, extent(n.in.back()).end};
    }
  }
  // A state put together again from its updated pieces.
  bool updated_pieces(const Node& n) const {
    if (!is<ConcatCols>(n.op) || shape(n.out[0]).rows != 1) return false;
    for (Id v : n.in) {
      while (plan_.made_by<Reshape>(v) != nullptr) v = plan_.maker(v)->in[0];
      const Node* maker = plan_.maker(v);
      if (maker == nullptr || plan_[v].output >= in_place(maker->op)) return false;
    }
    return true;
  }
  Extent& extent(Id v) { return extent_[static_cast<size_t>(v)]; }

  // A recurrent layer's rows are its sequences. What its derivative reads holds them as lanes of tiles: row b is lane b mod kSequenceTile of a tile, in any cut.
  static bool is_recurrent(const Op& op) { return is<Recurrent, RecurrentGrad, RecurrentInputGrad>(op); }
  static bool in_lanes(const Op& op, size_t i) { return (is<RecurrentGrad>(op) && i == 1) || (is<RecurrentInputGrad>(op) && i == 0); }
  // The rows that a chain cuts.
  int64_t rows_of(const Node& x) const { return shape(x.out[is<RecurrentGrad>(x.op) ? 1 : 0]).rows; }
  int64_t rows_of_input(const Node& x, size_t i) const { return in_lanes(x.op, i) ? rows_of(x) : shape(x.in[i]).rows; }

  // ---- what an op needs to be cut in a way: the inputs that must be cut alike (the others must have been finished before) -----------------------------
  static bool along_rows(const Op& op, size_t i) {
    if (is<Recurrent>(op)) return i < 4;
    if (is<RecurrentGrad>(op)) return i != 2;
    if (is<RecurrentInputGrad>(op)) return i == 0;
    if (is<GatherSequences>(op)) return i == 3;
    if (is<Matmul>(op)) {
      const auto& m = std::get<Matmul>(op);
      return i % 2 == 0 || i >= static_cast<size_t>(2 * m.pairs);
    }
    if (is<SparseMatmul>(op)) return i != 2;
    if (is<GatherRows>(op)) return i == 2;
    if (is<DrawConditions>(op)) return i == 4;
    if (is<MixtureDraw>(op)) return i < 2;
    if (is<SpanReconstruction, SpanReconstructionGrad>(op)) return i != 3;
    return true;
  }
  bool can_rows(const Node& n) const {
    if (unit_ <= 1 || rows_of(n) % unit_ != 0) return false;
    if (is_recurrent(n.op)) return recurrent_units(n) <= kFusedFloats;  // a sequence's state must find room beside the tiles of products
    if (const auto* m = std::get_if<Matmul>(&n.op)) return !m->trans_a && weight_of(n) <= kChainWeight;
    return is<Random, Fill, DrawConditions, GatherRows, GatherSequences, SparseDense, SparsePick, SparseMatmul, Unary, Binary, LerpRows, Broadcast, SumCols, RowDot, ConcatRows, ConcatCols, SpanActivation,
              SpanActivationGrad, SpanCrossEntropy, SpanCrossEntropyGrad, SpanReconstruction, SpanReconstructionGrad, MixtureDraw>(n.op);
  }
  // Values of a sequence that a block holds while it goes through a layer's steps.
  int64_t recurrent_units(const Node& n) const {
    if (is<Recurrent>(n.op)) return recurrent_floats(shape(n.in[4]).rows, shape(n.in[5]).rows);
    return is<RecurrentGrad>(n.op) ? recurrent_grad_floats(shape(n.in[2]).rows) : 0;
  }
  static bool along_cols(const Op& op, size_t i) {
    if (is<RecurrentWgrad>(op)) return false;
    if (const auto* m = std::get_if<Matmul>(&op)) return i >= static_cast<size_t>(2 * m->pairs) || (i % 2 == 1 && !m->trans_b);
    return true;
  }
  bool can_cols(const Node& n) const {
    if (is<Adam>(n.op) && n.in.size() > 4) return false;  // decided on in the step: a launch of its own
    if (const auto* m = std::get_if<Matmul>(&n.op)) return !m->trans_a && weight_of(n) <= kChainWeight;
    return is<RecurrentWgrad, BatchNorm, BatchNormGrad, RunningStats, SumRows, Unary, Binary, Fill, Broadcast, Report, Adam, Average, ClampRange>(n.op);
  }
  int64_t depth_of(const Node& n) const {
    const auto& m = std::get<Matmul>(n.op);
    int64_t depth = 0;
    for (int p = 0; p < m.pairs; ++p) {
      const Shape a = shape(n.in[static_cast<size_t>(2 * p)]);
      depth += m.trans_a ? a.rows : a.cols;
    }
    return depth;
  }
  int64_t weight_of(const Node& n) const { return depth_of(n) * shape(n.out[0]).cols; }

  // The lowest level on which all who read what this op overwrites are done.
  int after_readers(const Node& n, int self) {
    int level = 0;
    for (int k = 0; k < in_place(n.op); ++k) {
      const Extent mine = extent(n.in[static_cast<size_t>(k)]);
      for (const auto& [reader, read] : readers_[mine.root])
        if (reader != self && read.meets(mine)) level = std::max(level, level_of_[static_cast<size_t>(reader)] + 1);
    }
    return level;
  }

  // ---- placing one op ---------------------------------------------------------------------------------------------------------------
  void place(int n) {
    const Node& x = node(n);
    if (is_view(x.op) && (!copies(x) || follows(x))) return view(n);
    const int least = after_readers(x, n);
    struct Choice {
      int level = 1 << 30;
      Placed placed;
      std::vector<int> with;
    } best;
    auto offer = [&](int level, const Placed& p, std::vector<int> with) {
      if (level < best.level) best = {level, p, std::move(with)};
    };
    // Ties go to the first offer: products that are normalised are cut by columns, single rows too; everything else by rows; updates by elements.
    const bool cols_first = shape(x.out[0]).rows == 1 || normalised(x);
    const bool gated = is<Adam>(x.op) && x.in.size() > 4;
    if (is<Adam, Average, ClampRange>(x.op) && !gated) {
      try_flat(x, least, offer);
      try_tile(x, least, offer);
    }
    if (cols_first) try_cols(x, least, offer);
    if (can_rows(x)) try_rows(x, least, offer);
    if (!cols_first) try_cols(x, least, offer);
    const int next = std::max(least, highest(x) + 1);
    if (best.level > next) {
      const bool tile = is<Matmul, SparseWgrad>(x.op);
      if (is<ConcatRows, ConcatCols>(x.op)) {  // a move: where placement leaves something to move, it is moved right after what it moves
        finish(n, std::max(highest(x), 0), {Placed::alone, Cut::none, 0, {}, false});
        return;
      }
      Placed p{tile ? Placed::tile : Placed::alone, Cut::none, 0, {}, false};
      if (const auto* m = std::get_if<Matmul>(&x.op); m != nullptr && !m->trans_a && depth_of(x) >= kDeep) {
        const RowLayout rows = layout_of_output(x);
        if (rows.known()) {  // the slices now, their sum, with the addend, in a chain of a later launch
          p.sliced = true;
          p.rows = rows;
          int level = least;
          for (size_t i = 0; i < static_cast<size_t>(2 * m->pairs); ++i) level = std::max(level, made(x.in[i]).level + 1);
          if (m->pairs == 1 && made(x.in[0]).level + 1 == level && made(x.in[1]).level + 1 < level && slice_in_cells(x, least)) {
            p.slices_with = made(x.in[0]).node;
            --level;
          }
          p.slices_at = level++;
          if (m->addend) {
            const Made& more = made(x.in.back());
            const bool alike = more.cut == Cut::rows && more.rows == rows && shape(x.in.back()).rows == shape(x.out[0]).rows;
            level = std::max(level, alike ? more.level : more.level + 1);
            if (alike && more.level == level) join(n, more.node);
          }
          finish(n, level, p);
          set_made(n, level, Cut::rows, 0, rows);
          return;
        }
      }
      finish(n, next, p);
      set_made(n, next, tile && !p.sliced ? Cut::tile : Cut::none, 0, {});
      return;
    }
    for (const int other : best.with) join(n, other);
    finish(n, best.level, best.placed);
    set_made(n, best.level, best.placed.cut, best.placed.width, best.placed.rows);
  }

  void finish(int n, int level, const Placed& p) {
    level_of_[static_cast<size_t>(n)] = level;
    placed_[static_cast<size_t>(n)] = p;
    const Node& x = node(n);
    for (size_t i = static_cast<size_t>(in_place(x.op)); i < x.in.size(); ++i)  // whoever overwrites what this op overwrites needs its result
      if (x.in[i] != kNone) readers_[extent(x.in[i]).root].emplace_back(n, extent(x.in[i]));
    for (const Id v : node(n).out) made(v) = {level, Cut::none, 0, {}, n};
  }
  void set_made(int n, int level, Cut cut, int64_t width, RowLayout rows) {
    for (const Id v : node(n).out) made(v) = {level, cut, width, rows, n};
  }
  int highest(const Node& x) const {
    int level = kLeaf;
    for (const Id v : x.in)
      if (v != kNone) level = std::max(level, made_[static_cast<size_t>(v)].level);
    return level;
  }

  // Levels for a cut where fits(i, made) says that input i is cut alike.
  template <class Fits, class Offer>
  void try_cut(const Node& x, int least, const Placed& p, Fits&& fits, Offer&& offer) {
    int level = std::max(least, 0);
    for (size_t i = 0; i < x.in.size(); ++i) {
      if (x.in[i] == kNone) continue;
      const Made& m = made(x.in[i]);
      level = std::max(level, m.level == kLeaf ? 0 : fits(i, m) ? m.level : m.level + 1);
    }
    std::vector<int> with;
    for (const Id v : x.in)
      if (v != kNone && made(v).level == level && made(v).node >= 0) with.push_back(made(v).node);
    if (!joinable(p, with)) ++level, with.clear();
    offer(level, p, with);
  }

  // ---- chains of cells ----------------------------------------------------------------------------------------------------------------
  Cells& cells_of(int n) { return cells_[static_cast<size_t>(root(n))]; }

  // Whether the chain of a node is one of such cells, or can become one: rows of one place in a pack each, or a single large product of packed rows.
  bool can_be(int n, const Cells& c) {
    if (cells_of(n).parts > 0) return cells_of(n) == c;
    const int level = level_of_[static_cast<size_t>(n)];
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const int k = static_cast<int>(i);
      if (level_of_[i] != level || root(k) != root(n) || is_view(node(k).op)) continue;
      const Placed& p = placed_[i];
      const Shape s = shape(node(k).out[0]);
      const auto* m = std::get_if<Matmul>(&node(k).op);
      const bool packed = p.how == Placed::tile && m != nullptr && !m->trans_a && s.rows == unit_ && (c.parts - 1) * c.width < s.cols && s.cols <= c.parts * c.width;
      const bool apart = p.how == Placed::chained && p.cut == Cut::rows && p.rows == RowLayout{c.parts, 1};
      if (p.sliced || !(packed || apart)) return false;
    }
    return true;
  }
  // Whether an op so placed can join these chains.
  bool joinable(const Placed& p, const std::vector<int>& with) {
    Cells cells;
    for (const int n : with) {
      if (p.cut == Cut::tile && root(n) != root(with[0])) return false;
      if (cells_of(n).parts > 0) cells = cells_of(n);
    }
    if (cells.parts == 0) return true;
    return p.cut == Cut::rows && p.rows == RowLayout{cells.parts, 1} && std::all_of(with.begin(), with.end(), [&](int n) { return can_be(n, cells); });
  }
  // Whether the slices of a product can be made in the chain that makes its packed rows.
  bool slice_in_cells(const Node& x, int least) {
    const Made a = made(x.in[0]);
    if (a.level < least || a.node < 0 || !(a.cut == Cut::tile || (a.cut == Cut::rows && a.rows == RowLayout{1, 1})) || shape(x.out[0]).rows != unit_) return false;
    const Slices s = slices_of(depth_of(x), std::get<Matmul>(x.op).cut);
    const Cells cells{s.count, s.length};
    if (s.count < 2 || !can_be(a.node, cells)) return false;
    cells_of(a.node) = cells;
    return true;
  }

  bool normalised(const Node& x) const {
    if (!is<Matmul>(x.op)) return false;
    for (const Node& n : plan_.nodes)
      if (is<BatchNorm, BatchNormGrad>(n.op) && std::find(n.in.begin(), n.in.end(), x.out[0]) != n.in.end()) return true;
    return false;
  }

  RowLayout layout_of_output(const Node& x) {
    const int64_t rows = rows_of(x);
    if (unit_ <= 1 || rows % unit_ != 0) return {};
    if (is<ConcatRows>(x.op)) {
      RowLayout all{0, 0};
      for (const Id v : x.in) {
        RowLayout l = made(v).rows;
        if (!l.known()) l = default_layout(v);
        if (!l.known() || (all.run > 0 && all.run != l.run)) return {};
        all = {l.run, all.segments + l.segments};
      }
      return all;
    }
    for (size_t i = 0; i < x.in.size(); ++i)
      if (x.in[i] != kNone && along_rows(x.op, i) && rows_of_input(x, i) == rows && made(x.in[i]).rows.known()) return made(x.in[i]).rows;
    return {rows / unit_, 1};
  }
  RowLayout default_layout(Id v) const {
    const int64_t rows = shape(v).rows;
    return rows % unit_ == 0 ? RowLayout{rows / unit_, 1} : RowLayout{};
  }

  template <class Offer>
  void try_rows(const Node& x, int least, Offer&& offer) {
    const RowLayout rows = layout_of_output(x);
    if (!rows.known()) return;
    const int64_t out_rows = rows_of(x);
    try_cut(x, least, {Placed::chained, Cut::rows, 0, rows, false},
            [&](size_t i, const Made& m) {
              if (m.cut != Cut::rows || !along_rows(x.op, i)) return false;
              if (is<ConcatRows>(x.op)) return m.rows.run == rows.run;
              return m.rows == rows && rows_of_input(x, i) == out_rows;
            },
            offer);
  }
  template <class Offer>
  void try_cols(const Node& x, int least, Offer&& offer) {
    if (!can_cols(x)) return;
    const int64_t width = is<Report>(x.op) ? 1 : shape(x.out[0]).cols;
    try_cut(x, least, {Placed::chained, Cut::cols, width, {}, false},
            [&](size_t i, const Made& m) { return m.cut == Cut::cols && m.width == width && along_cols(x.op, i) && shape(x.in[i]).cols == width; }, offer);
  }
  template <class Offer>
  void try_flat(const Node& x, int least, Offer&& offer) {
    const int64_t width = shape(x.out[0]).count();
    try_cut(x, least, {Placed::chained, Cut::flat, width, {}, false}, [&](size_t i, const Made& m) { return m.cut == Cut::flat && m.width == width && shape(x.in[i]).count() == width; }, offer);
  }
  // The update of a parameter goes on where its gradient's tiles were made.
  template <class Offer>
  void try_tile(const Node& x, int least, Offer&& offer) {
    const Shape s = shape(x.out[0]);
    if (std::none_of(x.in.begin(), x.in.end(), [&](Id v) { return made(v).cut == Cut::tile; })) return;
    try_cut(x, least, {Placed::chained, Cut::tile, 0, {}, false}, [&](size_t i, const Made& m) { return m.cut == Cut::tile && shape(x.in[i]) == s && cells_of(m.node).parts == 0; }, offer);
  }

  // A reshape of what is no longer in one piece is a copy.
  bool copies(const Node& x) const {
    if (!is<Reshape>(x.op) || shape(x.in[0]).rows == 1) return false;
    for (const Node* from = plan_.maker(x.in[0]); from != nullptr && is_view(from->op); from = plan_.maker(from->in[0]))
      if (is<SliceCols>(from->op)) return true;
    return false;
  }

  // How the rows of a reshaped value lie in units: not known where a row would be of two.
  RowLayout reshaped(const Node& x) {
    const RowLayout from = made(x.in[0]).rows;
    const int64_t a = shape(x.in[0]).rows, b = shape(x.out[0]).rows;
    if (made(x.in[0]).cut != Cut::rows || !from.known() || a != from.segments * from.run * unit_ || from.run * b % a != 0) return {};
    return {from.run * b / a, from.segments};
  }
  // A copy that goes on in the chain of what it copies.
  bool follows(const Node& x) { return reshaped(x).known(); }

  // A view lies where its input lies. Where it cannot be followed in a chain, or turns out to be a copy, it is done after that launch.
  void view(int n) {
    const Node& x = node(n);
    const Made from = made(x.in[0]);
    const Shape a = shape(x.in[0]), b = shape(x.out[0]);
    Made to = from;
    Placed p{Placed::alone, Cut::none, 0, {}, false};
    if (from.cut == Cut::rows && from.rows.known()) {
      RowLayout rows;
      if (is<Reshape>(x.op)) rows = reshaped(x);
      if (const auto* s = std::get_if<SliceRows>(&x.op)) {
        const int64_t segment = unit_ * from.rows.run;
        if (s->start % segment == 0 && s->rows % segment == 0) rows = {from.rows.run, s->rows / segment};
      }
      if (is<SliceCols>(x.op)) rows = from.rows;
      to.rows = rows;
      if (!rows.known()) to.cut = Cut::none;
      else p = {Placed::chained, Cut::rows, 0, rows, false};
    } else if (from.cut == Cut::tile && is<Reshape>(x.op) && a.rows == unit_ && unit_ > 1 && b.rows % unit_ == 0 && b.rows > unit_ && can_be(from.node, {b.rows / unit_, b.cols})) {
      cells_of(from.node) = {b.rows / unit_, b.cols};  // packed rows taken apart again
      to.cut = Cut::rows;
      to.rows = {b.rows / unit_, 1};
      p = {Placed::chained, Cut::rows, 0, to.rows, false};
    } else if (from.cut == Cut::cols) {
      if (!(is<SliceRows>(x.op) || a == b)) to.cut = Cut::none;
    } else {
      to.cut = Cut::none;
      if (from.level == kLeaf) to.rows = {};
      if (const Node* pieces = plan_.maker(x.in[0]); is<SliceCols>(x.op) && pieces != nullptr && updated_pieces(*pieces)) {
        to.level = kLeaf;  // of the pieces that it shows, the last
        for (const Id piece : pieces->in)
          if (extent(piece).meets(extent(x.out[0]))) to.level = std::max(to.level, made(piece).level);
      }
    }
    finish(n, std::max(to.level, 0), p);
    if (p.how == Placed::chained) join(n, from.node);
    to.node = p.how == Placed::chained ? n : from.node;
    made(x.out[0]) = to;
    if (from.level == kLeaf) level_of_[static_cast<size_t>(n)] = kLeaf;
  }

  int root(int n) {
    while (chain_[static_cast<size_t>(n)] != n) n = chain_[static_cast<size_t>(n)];
    return n;
  }
  void join(int a, int b) {
    const Cells one = cells_of(a), other = cells_of(b);
    chain_[static_cast<size_t>(root(a))] = root(b);
    cells_of(b) = one.parts > 0 ? one : other;
  }

  // ---- launches -----------------------------------------------------------------------------------------------------------------------
  Fusion collect() {
    int levels = 0;
    for (const int l : level_of_) levels = std::max(levels, l + 1);
    Fusion all(static_cast<size_t>(levels));
    std::map<std::pair<int, int>, size_t> group_of;  // (level, root) → chain
    const auto group = [&](int level, int n, FusedChain::Cut cut, int64_t units) -> FusedGroup& {
      std::vector<FusedGroup>& chains = all[static_cast<size_t>(level)].chains;
      auto [it, fresh] = group_of.emplace(std::pair{level, root(n)}, chains.size());
      const Cells c = cells_of(n);
      if (fresh) chains.push_back(c.parts > 0 && cut != FusedChain::cols && cut != FusedChain::flat ? FusedGroup{FusedChain::cells, unit_, c.parts, c.width, {}} : FusedGroup{cut, units, 0, 0, {}});
      return chains[it->second];
    };
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const int n = static_cast<int>(i), level = level_of_[i];
      const Placed& p = placed_[i];
      if (level == kLeaf) continue;
      if (p.how == Placed::alone) all[static_cast<size_t>(level)].alone.push_back(n);
      if (p.sliced) {
        if (p.slices_with >= 0) group(p.slices_at, p.slices_with, FusedChain::rows, unit_).nodes.push_back({n, FusedStep::slices, 1, 0});
        else all[static_cast<size_t>(p.slices_at)].chains.push_back({FusedChain::tiles, 0, 0, 0, {{n, FusedStep::slices, 0, 0}}});
        group(level, n, FusedChain::rows, unit_).nodes.push_back({n, FusedStep::sum, p.rows.run, p.rows.segments > 1 ? unit_ * p.rows.run : 0});
      } else if (p.how == Placed::tile) {
        group(level, n, FusedChain::tiles, 0).nodes.push_back({n, FusedStep::all, 1, 0});
      } else if (p.how == Placed::chained) {
        const FusedChain::Cut cut = p.cut == Cut::rows ? FusedChain::rows : p.cut == Cut::cols ? FusedChain::cols : p.cut == Cut::tile ? FusedChain::tiles : FusedChain::flat;
        group(level, n, cut, p.cut == Cut::rows ? unit_ : p.width).nodes.push_back({n, FusedStep::all, p.rows.run, p.rows.segments > 1 ? unit_ * p.rows.run : 0});
      }
    }
    for (FusedLaunch& l : all)
      for (FusedGroup& g : l.chains) refine(g);
    std::erase_if(all, [](const FusedLaunch& l) { return l.chains.empty() && l.alone.empty(); });
    return all;
  }

  // A chain of values with several rows a unit has smaller units.
  static void refine(FusedGroup& g) {
    if (g.cut != FusedChain::rows) return;
    int64_t common = 0;
    for (const FusedNode& n : g.nodes) common = n.apart > 0 ? 1 : std::gcd(common, n.run);
    for (const FusedNode& n : g.nodes)
      if (n.apart > 0) common = 1;
    if (common <= 1) return;
    g.units *= common;
    for (FusedNode& n : g.nodes) n.run /= common;
  }

  const Plan& plan_;
  int64_t unit_ = 0;
  std::vector<Made> made_;
  std::vector<int> level_of_;
  std::vector<int> chain_;   // union-find over nodes
  std::vector<Cells> cells_;  // of a chain, by its root
  std::vector<Placed> placed_;
  std::vector<Extent> extent_;
  std::map<Id, std::vector<std::pair<int, Extent>>> readers_;  // by root
};

}  // namespace

Fusion fuse(Plan& plan) {
  split_updates(plan);
  return Fuser(plan).run();
}

std::vector<std::vector<int>> phases_of(const Fusion& fusion) {
  std::vector<std::vector<int>> phases;
  for (const FusedLaunch& l : fusion) {
    std::vector<int> nodes = l.alone;
    for (const FusedGroup& g : l.chains)
      for (const FusedNode& n : g.nodes)
        if (n.part != FusedStep::slices) nodes.push_back(n.node);
    std::sort(nodes.begin(), nodes.end());
    phases.push_back(std::move(nodes));
  }
  return phases;
}

}  // namespace tessera
