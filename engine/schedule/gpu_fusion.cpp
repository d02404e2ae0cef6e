#include "engine/schedule/gpu_fusion.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "engine/schedule/levels.h"
#include "engine/schedule/split_optimizer.h"
#include "kernels/split_k.h"

namespace tessera {
namespace {

// A product whose weight is larger than this is computed tile by tile by all blocks: in a chain every block would read
// the whole weight, and the few blocks of a chain would multiply it. On an H100 a step of CTGAN at Adult's size takes
// 960 µs in 14 launches with chains of up to 2^17, 771 in 26 launches with this
// (bench/results/h100_2026-11-26.md).
constexpr int64_t kChainWeight = (1 << 15) - 1;
// From this depth on the gradient of a weight is split: with fewer slices its sum and update in the next launch would
// cost as much as they save.
constexpr int64_t kDeepGradient = 1024;

// How the rows of a value are arranged in units: `segments` times, one unit after the other, `run` rows per unit.
struct RowLayout {
  int64_t run = 0, segments = 0;
  bool operator==(const RowLayout&) const = default;
  bool known() const { return run > 0; }
};

// none: of a leaf, or computed in a way no chain can continue · tile: a large product, computed tile by tile
enum class Partition { none, rows, cols, flat, tile };

// Where a value is computed.
struct Made {
  Partition cut = Partition::none;
  int64_t width = 0;  // cols: columns; flat: elements
  RowLayout rows;
  int node = -1;  // the node to chain to; views inherit that of their source
};

// Changes that fuse() tries, and keeps if they add no launch.
struct Tried {
  std::set<int> sliced;     // gradients of weights whose slices run in the launch before their sum
  std::set<int> postponed;  // ops that would join chains of columns, moved to the next launch instead
};

class Fuser {
 public:
  Fuser(const Plan& plan, const Tried& tried)
      : plan_(plan),
        tried_(tried),
        levels_(plan),
        made_(plan.values.size()),
        level_of_(plan.nodes.size(), kLeafLevel),
        chain_(plan.nodes.size()),
        placed_(plan.nodes.size()) {
    std::iota(chain_.begin(), chain_.end(), 0);
  }

  Fusion run() {
    find_units();
    for (size_t n = 0; n < plan_.nodes.size(); ++n) place(static_cast<int>(n));
    return collect();
  }
  // Ops that join chains of columns, each with a product or a norm: the running statistics of two batches would
  // serialise these on the few blocks of a column chain.
  const std::vector<int>& joining() const { return joining_; }

 private:
  struct Placed {
    enum How { nothing, chained, tile, alone } how = nothing;
    Partition cut = Partition::none;
    int64_t width = 0;
    RowLayout rows;
    bool sliced = false;  // of rows, or, with Partition::tile, of a weight's gradient
    int slices_at = 0;
  };
  const Node& node(int n) const { return plan_.nodes[static_cast<size_t>(n)]; }
  Made& made(Id v) { return made_[static_cast<size_t>(v)]; }
  Shape shape(Id v) const { return plan_.shape(v); }

  // The unit: the greatest common divisor of the row counts of all batch-like values.
  void find_units() {
    for (const Node& n : plan_.nodes)
      if (const int64_t r = shape(n.out[0]).rows; r > 1 && traits(n).batch) unit_ = std::gcd(unit_, r);
  }

  // The rows that a chain partitions. A lane-major value holds one sequence per lane: row b is lane b mod kSequenceTile
  // of a tile, in any partition.
  int64_t rows_of(const Node& x) const {
    const OperandSet tiled = traits(x).tiles.tiled_out;
    return shape(x.out[tiled.has(0) ? 1 : 0]).rows;
  }
  int64_t rows_of_input(const Node& x, size_t i) const {
    return traits(x).tiles.tiled_in.has(i) ? rows_of(x) : shape(x.in[i]).rows;
  }

  // ---- which partitions the kernels and traits of an op allow -------------------------------------------------------
  static bool made_by_tiles(const Node& x) { return (parts_of(x.op) & Parts::tiles) != 0; }
  // Elements of the weights of a product.
  int64_t weight_of(const Node& x) const {
    int64_t weight = 0;
    for (size_t i = 0; i < x.in.size() && made_by_tiles(x); ++i)
      if (!traits(x).rows.input(i)) weight += shape(x.in[i]).count();
    return weight;
  }
  bool can_rows(const Node& x) const {
    if ((parts_of(x.op) & Parts::rows) == 0 || !traits(x).rows || unit_ <= 1 || rows_of(x) % unit_ != 0) return false;
    return weight_of(x) <= kChainWeight &&
           row_floats_of(plan_, x) <= kFusedFloats;  // a sequence's state must fit beside the tiles of products
  }
  bool can_cols(const Node& x) const {
    return (parts_of(x.op) & Parts::cols) != 0 && traits(x).cols && weight_of(x) <= kChainWeight;
  }
  // Whether x updates a state in place: parameter sets, [1, n], are updated element by element.
  static bool updates(const Node& x) { return in_place(x.op) > 0; }
  // The sum of the shares of a recurrent layer's gradients, of so few rows that a thread adds those of an element: the
  // update follows in the same chain.
  bool sums_shares(const Node& x) const {
    constexpr int64_t kFewRows = 32;
    const bool adds = (parts_of(x.op) & Parts::elements) != 0 && traits(x).sums.has(0);
    if (!adds || shape(x.in[0]).rows > kFewRows) return false;
    return std::any_of(plan_.nodes.begin(), plan_.nodes.end(),
                       [&](const Node& n) { return traits(n).tiles.shares && n.out[0] == x.in[0]; });
  }
  static bool can_elements(const Node& x) { return (parts_of(x.op) & Parts::elements) != 0 && traits(x).elements; }
  // Whether a product of rows is split: its slices are then computed by separate blocks, and added in the next launch.
  bool sliced(const Node& x) const {
    const DenseProduct m = traits(x).product;
    int64_t slices = 0;
    for (int p = 0; !m.trans_a && p < m.pairs; ++p)
      slices += slices_of(shape(x.in[static_cast<size_t>(2 * p)]).cols, m.cut).count;
    return worth_cutting(slices, shape(x.out[0]).rows, shape(x.out[0]).cols);
  }

  // ---- placing one op ---------------------------------------------------------------------------
  struct Choice {
    int level = 1 << 30;
    Placed placed;
    std::vector<int> with;
  };
  void place(int n) {
    const Node& x = node(n);
    if (is_view(x.op) && (!levels_.copies(x) || follows(x))) return view(n);
    const int min_level = levels_.after_others(x);
    Choice best = chained(x, min_level);
    if (best.level > std::max(min_level, highest(x) + 1)) return place_unchained(n, min_level);
    if (best.placed.cut == Partition::cols && best.with.size() > 1 && chains_of_batches(best.with) > 1) {
      joining_.push_back(n);
      if (tried_.postponed.contains(n)) ++best.level, best.with.clear();
    }
    for (const int other : best.with) join(n, other);
    finish(n, best.level, best.placed);
    set_made(n, best.placed.cut, best.placed.width, best.placed.rows);
  }

  // The lowest level on which a chain can compute x. Ties go to the partition tried first: products that are normalized
  // and single rows by columns, updates by elements, everything else by rows.
  Choice chained(const Node& x, int min_level) {
    Choice best;
    auto offer = [&](int level, const Placed& p, std::vector<int> with) {
      if (level < best.level) best = {level, p, std::move(with)};
    };
    const bool cols_first = shape(x.out[0]).rows == 1 || normalized(x);
    if (sums_shares(x)) try_flat(x, min_level, offer);
    if (can_elements(x)) {
      if (updates(x)) try_flat(x, min_level, offer);
      try_tile(x, min_level, offer);
    }
    if (cols_first) try_cols(x, min_level, offer);
    if (can_rows(x)) try_rows(x, min_level, offer);
    if (!cols_first) try_cols(x, min_level, offer);
    return best;
  }

  // The nodes of the launch that are in n's chain.
  std::vector<int> chain_of(int n) {
    std::vector<int> chain;
    for (size_t i = 0; i < plan_.nodes.size(); ++i)
      if (level_of_[i] == level_of_[static_cast<size_t>(n)] && root(static_cast<int>(i)) == root(n))
        chain.push_back(static_cast<int>(i));
    return chain;
  }
  static bool reads_a_batch(const Node& x) { return made_by_tiles(x) || traits(x).normalizes; }
  // How many chains with such an op these nodes belong to.
  size_t chains_of_batches(const std::vector<int>& with) {
    std::set<int> roots;
    for (const int n : with)
      for (const int k : chain_of(n))
        if (placed_[static_cast<size_t>(k)].how == Placed::chained && reads_a_batch(node(k))) roots.insert(root(n));
    return roots.size();
  }

  // An op outside the ordinary chains: by tiles, by slices, or by its own launch.
  void place_unchained(int n, int min_level) {
    const Node& x = node(n);
    if (move_of(x.op).join())  // an input that placement does not compute in place is moved right after its source
      return finish(n, std::max(highest(x), 0), {Placed::alone, Partition::none, 0, {}, false});
    if (tried_.sliced.contains(n)) return place_gradient_slices(n, min_level);
    if (sliced(x) && layout_of_output(x).known()) return place_slices(n, min_level);
    const bool tile = made_by_tiles(x);
    finish(n, std::max(min_level, highest(x) + 1),
           {tile ? Placed::tile : Placed::alone, Partition::none, 0, {}, false});
    // the blocks of a recurrent layer's weights are not rectangles of the value
    set_made(n, tile && !traits(x).tiles.shares ? Partition::tile : Partition::none, 0, {});
  }

  // A deep product of rows: the slices in this launch; their sum, with the addend, in a chain of a later launch.
  void place_slices(int n, int min_level) {
    const Node& x = node(n);
    const DenseProduct m = traits(x).product;
    Placed p{Placed::tile, Partition::none, 0, layout_of_output(x), true};
    int level = min_level;
    for (size_t i = 0; i < static_cast<size_t>(2 * m.pairs); ++i) level = std::max(level, levels_.of(x.in[i]) + 1);
    p.slices_at = level++;
    if (m.addend) {
      const Id addend = x.in.back();
      const Made& more = made(addend);
      const bool alike =
          more.cut == Partition::rows && more.rows == p.rows && shape(addend).rows == shape(x.out[0]).rows;
      level = std::max(level, levels_.of(addend) + (alike ? 0 : 1));
      if (alike && levels_.of(addend) == level) join(n, more.node);
    }
    finish(n, level, p);
    set_made(n, Partition::rows, 0, p.rows);
  }

  // A deep gradient of a weight: the slices in this launch; their sum, with its addend and the update, in the next.
  void place_gradient_slices(int n, int min_level) {
    const Node& x = node(n);
    const DenseProduct m = traits(x).product;
    Placed p{Placed::tile, Partition::tile, 0, {}, true};
    p.slices_at = min_level;
    for (size_t i = 0; i < static_cast<size_t>(2 * m.pairs); ++i)
      p.slices_at = std::max(p.slices_at, levels_.of(x.in[i]) + 1);
    finish(n, std::max(p.slices_at, m.addend ? levels_.of(x.in.back()) : 0) + 1, p);
    set_made(n, Partition::tile, 0, {});
  }

  void finish(int n, int level, const Placed& p) {
    level_of_[static_cast<size_t>(n)] = level;
    placed_[static_cast<size_t>(n)] = p;
    levels_.put(node(n), level);
    set_made(n, Partition::none, 0, {});
  }
  void set_made(int n, Partition cut, int64_t width, RowLayout rows) {
    for (const Id v : node(n).out) made(v) = {cut, width, rows, n};
  }
  int highest(const Node& x) const {
    int level = kLeafLevel;
    for (const Id v : x.in)
      if (v != kNone) level = std::max(level, levels_.of(v));
    return level;
  }

  // Levels for a partition where fits(i, made) tells whether input i has the same one.
  template <class Fits, class Offer>
  void try_cut(const Node& x, int min_level, const Placed& p, Fits&& fits, Offer&& offer) {
    int level = levels_.lowest(x, min_level, [&](size_t i) { return fits(i, made(x.in[i])); });
    std::vector<int> with;
    for (const Id v : x.in)
      if (v != kNone && levels_.of(v) == level && made(v).node >= 0) with.push_back(made(v).node);
    if (!joinable(p, with)) ++level, with.clear();
    if (p.cut != Partition::tile || !with.empty()) offer(level, p, with);  // tiles begin with ops computed by tiles
  }

  // Whether an op with this placement can join these chains: a block has the tiles of one product.
  bool joinable(const Placed& p, const std::vector<int>& with) {
    return p.cut != Partition::tile ||
           std::all_of(with.begin(), with.end(), [&](int n) { return root(n) == root(with[0]); });
  }

  bool normalized(const Node& x) const {
    if (!made_by_tiles(x)) return false;
    for (const Node& n : plan_.nodes)
      if (traits(n).normalizes && std::find(n.in.begin(), n.in.end(), x.out[0]) != n.in.end()) return true;
    return false;
  }

  RowLayout layout_of_output(const Node& x) {
    const int64_t rows = rows_of(x);
    if (unit_ <= 1 || rows % unit_ != 0) return {};
    if (move_of(x.op).kind == Move::concat_rows) {
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
      if (x.in[i] != kNone && traits(x).rows.input(i) && rows_of_input(x, i) == rows && made(x.in[i]).rows.known())
        return made(x.in[i]).rows;
    return {rows / unit_, 1};
  }
  RowLayout default_layout(Id v) const {
    const int64_t rows = shape(v).rows;
    return rows % unit_ == 0 ? RowLayout{rows / unit_, 1} : RowLayout{};
  }

  template <class Offer>
  void try_rows(const Node& x, int min_level, Offer&& offer) {
    const RowLayout rows = layout_of_output(x);
    if (!rows.known()) return;
    const int64_t out_rows = rows_of(x);
    try_cut(
        x, min_level, {Placed::chained, Partition::rows, 0, rows, false},
        [&](size_t i, const Made& m) {
          if (m.cut != Partition::rows || !traits(x).rows.input(i)) return false;
          if (move_of(x.op).kind == Move::concat_rows) return m.rows.run == rows.run;
          return m.rows == rows && rows_of_input(x, i) == out_rows;
        },
        offer);
  }
  template <class Offer>
  void try_cols(const Node& x, int min_level, Offer&& offer) {
    if (!can_cols(x)) return;
    const int64_t width = traits(x).scalars ? 1 : shape(x.out[0]).cols;
    try_cut(
        x, min_level, {Placed::chained, Partition::cols, width, {}, false},
        [&](size_t i, const Made& m) {
          return m.cut == Partition::cols && m.width == width && traits(x).cols.input(i) &&
                 shape(x.in[i]).cols == width;
        },
        offer);
  }
  template <class Offer>
  void try_flat(const Node& x, int min_level, Offer&& offer) {
    const int64_t width = shape(x.out[0]).count();
    try_cut(
        x, min_level, {Placed::chained, Partition::flat, width, {}, false},
        [&](size_t i, const Made& m) {
          return m.cut == Partition::flat && m.width == width && shape(x.in[i]).count() == width;
        },
        offer);
  }
  // The update of a parameter continues in the tiles of its gradient, and a function of a product in the product's.
  template <class Offer>
  void try_tile(const Node& x, int min_level, Offer&& offer) {
    const Shape s = shape(x.out[0]);
    if (std::none_of(x.in.begin(), x.in.end(), [&](Id v) { return made(v).cut == Partition::tile; })) return;
    try_cut(
        x, min_level, {Placed::chained, Partition::tile, 0, {}, false},
        [&](size_t i, const Made& m) { return m.cut == Partition::tile && shape(x.in[i]) == s; }, offer);
  }

  // How the rows of a reshaped value are arranged in units: unknown if a row would span two units.
  RowLayout reshaped(const Node& x) {
    const RowLayout from = made(x.in[0]).rows;
    const int64_t a = shape(x.in[0]).rows, b = shape(x.out[0]).rows;
    if (made(x.in[0]).cut != Partition::rows || !from.known() || a != from.segments * from.run * unit_ ||
        from.run * b % a != 0)
      return {};
    return {from.run * b / a, from.segments};
  }
  // A copy that continues in the chain of its source.
  bool follows(const Node& x) { return reshaped(x).known(); }

  // A view has the position of its input. If a chain cannot continue from it, or it turns out to be a copy, it runs
  // after that launch.
  void view(int n) {
    const Node& x = node(n);
    const Move move = move_of(x.op);
    const Made from = made(x.in[0]);
    const int was = levels_.of(x.in[0]);
    int level = was;
    const Shape a = shape(x.in[0]), b = shape(x.out[0]);
    Made to = from;
    Placed p{Placed::alone, Partition::none, 0, {}, false};
    if (from.cut == Partition::rows && from.rows.known()) {
      RowLayout rows;
      if (move.kind == Move::reshape) rows = reshaped(x);
      if (move.kind == Move::slice_rows) {
        const int64_t segment = unit_ * from.rows.run;
        if (move.start % segment == 0 && b.rows % segment == 0) rows = {from.rows.run, b.rows / segment};
      }
      if (move.kind == Move::slice_cols) rows = from.rows;
      to.rows = rows;
      if (!rows.known()) to.cut = Partition::none;
      else p = {Placed::chained, Partition::rows, 0, rows, false};
    } else if (from.cut == Partition::cols) {
      if (!(move.kind == Move::slice_rows || a == b)) to.cut = Partition::none;
    } else {
      to.cut = Partition::none;
      if (was == kLeafLevel) to.rows = {};
      if (const Node* pieces = plan_.maker(x.in[0]);
          move.kind == Move::slice_cols && pieces != nullptr && levels_.updated_pieces(*pieces)) {
        level = kLeafLevel;  // of the last piece that it overlaps
        for (const Id piece : pieces->in)
          if (levels_.extent(piece).meets(levels_.extent(x.out[0]))) level = std::max(level, levels_.of(piece));
      }
    }
    if (p.how == Placed::chained) join(n, from.node);
    to.node = p.how == Placed::chained ? n : from.node;
    made(x.out[0]) = to;
    placed_[static_cast<size_t>(n)] = p;
    level_of_[static_cast<size_t>(n)] = was == kLeafLevel ? kLeafLevel : std::max(level, 0);
    levels_.put(x, level_of_[static_cast<size_t>(n)], level);
  }

  int root(int n) {
    while (chain_[static_cast<size_t>(n)] != n) n = chain_[static_cast<size_t>(n)];
    return n;
  }
  void join(int a, int b) { chain_[static_cast<size_t>(root(a))] = root(b); }

  // ---- launches ---------------------------------------------------------------------------------
  Fusion collect() {
    int levels = 0;
    for (const int l : level_of_) levels = std::max(levels, l + 1);
    Fusion all(static_cast<size_t>(levels));
    std::map<std::pair<int, int>, size_t> group_of;  // (level, root) → chain
    const auto group = [&](int level, int n, FusedChain::Cut cut, int64_t units) -> FusedGroup& {
      std::vector<FusedGroup>& chains = all[static_cast<size_t>(level)].chains;
      auto [it, fresh] = group_of.emplace(std::pair{level, root(n)}, chains.size());
      if (fresh) chains.push_back({cut, units, {}});
      return chains[it->second];
    };
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const int n = static_cast<int>(i), level = level_of_[i];
      const Placed& p = placed_[i];
      if (level == kLeafLevel) continue;
      if (p.how == Placed::alone) all[static_cast<size_t>(level)].alone.push_back(n);
      if (p.sliced) {
        all[static_cast<size_t>(p.slices_at)].chains.push_back({FusedChain::tiles, 0, {{n, FusedStep::slices, 0, 0}}});
        if (p.cut == Partition::tile) group(level, n, FusedChain::tiles, 0).nodes.push_back({n, FusedStep::sum, 1, 0});
        else
          group(level, n, FusedChain::rows, unit_)
              .nodes.push_back({n, FusedStep::sum, p.rows.run, p.rows.segments > 1 ? unit_ * p.rows.run : 0});
      } else if (p.how == Placed::tile) {
        group(level, n, FusedChain::tiles, 0).nodes.push_back({n, FusedStep::all, 1, 0});
      } else if (p.how == Placed::chained) {
        const FusedChain::Cut cut = p.cut == Partition::rows   ? FusedChain::rows
                                    : p.cut == Partition::cols ? FusedChain::cols
                                    : p.cut == Partition::tile ? FusedChain::tiles
                                                               : FusedChain::flat;
        group(level, n, cut, p.cut == Partition::rows ? unit_ : p.width)
            .nodes.push_back({n, FusedStep::all, p.rows.run, p.rows.segments > 1 ? unit_ * p.rows.run : 0});
      }
    }
    for (FusedLaunch& l : all)
      for (FusedGroup& g : l.chains) refine(g);
    std::erase_if(all, [](const FusedLaunch& l) { return l.chains.empty() && l.alone.empty(); });
    return all;
  }

  // A chain of values with several rows per unit has smaller units. Views in it have no work.
  void refine(FusedGroup& g) const {
    if (g.cut != FusedChain::rows) return;
    const auto works = [&](const FusedNode& n) { return !is_view(node(n.node).op) || levels_.copies(node(n.node)); };
    int64_t common = 0;
    for (const FusedNode& n : g.nodes)
      if (works(n)) common = n.stride > 0 ? 1 : std::gcd(common, n.run);
    for (const FusedNode& n : g.nodes)
      if (n.stride > 0) common = 1;
    if (common <= 1) return;
    g.units *= common;
    for (FusedNode& n : g.nodes) n.run = works(n) ? n.run / common : 1;
  }

  const Plan& plan_;
  const Tried& tried_;
  std::vector<int> joining_;
  Levels levels_;
  int64_t unit_ = 0;
  std::vector<Made> made_;
  std::vector<int> level_of_;
  std::vector<int> chain_;  // union-find over nodes
  std::vector<Placed> placed_;
};

// Gradients of weights: products that reduce over the batch, of which one block would compute many slices in series.
bool deep_gradient(const Plan& plan, const Node& x) {
  const DenseProduct m = traits(x).product;
  int64_t depth = 0, slices = 0;
  for (int p = 0; m.trans_a && p < m.pairs; ++p) {
    const int64_t rows = plan.shape(x.in[static_cast<size_t>(2 * p)]).rows;
    depth += rows;
    slices += slices_of(rows, m.cut).count;
  }
  const Shape out = plan.shape(x.out[0]);
  return depth >= kDeepGradient && worth_cutting(slices, out.rows, out.cols);
}

}  // namespace

Fusion fuse(Plan& plan) {
  split_updates(plan);
  Tried tried;
  Fuser first(plan, tried);
  Fusion best = first.run();
  const auto attempt = [&](std::set<int>& choice, int n) {
    choice.insert(n);
    if (Fusion with = Fuser(plan, tried).run(); with.size() <= best.size()) best = std::move(with);
    else choice.erase(n);
  };
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    if (deep_gradient(plan, plan.nodes[n])) attempt(tried.sliced, static_cast<int>(n));
  for (const int n : first.joining()) attempt(tried.postponed, n);
  return best;
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
