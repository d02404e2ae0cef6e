#include "engine/schedule/gpu_fusion.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "engine/schedule/launch_rules.h"
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
// A shallower one is split too if that saves its launch this many stages (32 of k) of 64 × 32 tiles: twice what adding
// the slices takes.
constexpr double kSavedStages = 2;

// Changes that fuse() tries, and keeps if they add no launch.
struct Tried {
  std::set<int> sliced;     // gradients of weights whose slices run in the launch before their sum
  std::set<int> postponed;  // ops that would join chains of columns, moved to the next launch instead
};

class Fuser : LaunchRules {
 public:
  Fuser(const Plan& plan, const Tried& tried)
      : LaunchRules(plan),
        tried_(tried),
        level_of_(plan.nodes.size(), kLeafLevel),
        chain_(plan.nodes.size()),
        placed_(plan.nodes.size()) {
    std::iota(chain_.begin(), chain_.end(), 0);
  }

  Fusion run() {
    for (size_t n = 0; n < plan_.nodes.size(); ++n) place(static_cast<int>(n));
    return collect();
  }
  // Ops that join chains of columns, each with a product or a norm: the running statistics of two batches would
  // serialise these on the few blocks of a column chain.
  const std::vector<int>& joining() const { return joining_; }
  // Gradients of weights: products that reduce over the batch, of which one block would compute many slices in series.
  std::vector<int> deep_gradients() const {
    std::vector<int> deep;
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      const Node& x = plan_.nodes[n];
      const DenseProduct m = traits(x).product;
      int64_t depth = 0;
      for (int p = 0; m.trans_a && p < m.pairs; ++p) depth += shape(x.in[static_cast<size_t>(2 * p)]).rows;
      if (depth >= kDeepGradient && worth_cutting(slices(x), shape(x.out[0]).rows, shape(x.out[0]).cols))
        deep.push_back(static_cast<int>(n));
    }
    return deep;
  }
  // Others that slices of their own would spread over more multiprocessors.
  std::vector<int> shallow_gradients() const {
    std::vector<int> shallow;
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      const Node& x = plan_.nodes[n];
      if (tried_.sliced.contains(static_cast<int>(n)) || !traits(x).product.trans_a || slices(x) < 2) continue;
      if (product_blocks(1, shape(x.out[0]).rows, shape(x.out[0]).cols, 32) < kFullGrid)
        shallow.push_back(static_cast<int>(n));
    }
    return shallow;
  }
  // The products' part of a step's time, in stages of 64 × 32: of each launch what the busiest multiprocessor has, if
  // tiles are dealt out, the longest first.
  double stages(const Fusion& all) const {
    double sum = 0;
    for (const FusedLaunch& launch : all) {
      std::vector<std::pair<double, int64_t>> tiles;
      for (const FusedGroup& g : launch.chains)
        if (const FusedNode& n = g.nodes[0]; g.cut == FusedChain::tiles && n.part != FusedStep::sum)
          if (traits(node(n.node)).product.pairs > 0) tiles.push_back(tiles_of(node(n.node), n.part));
      sum += busiest(std::move(tiles));
    }
    return sum;
  }

 private:
  // The stages of a tile of a product, and how many tiles it has. A stage of 32 × 32, on the FMA units only, takes 0.6
  // of the time of one of 64 × 32, and a tile's first data as long as one (bench/predict.py).
  std::pair<double, int64_t> tiles_of(const Node& x, FusedStep::Part part) const {
    const DenseProduct m = traits(x).product;
    const int64_t parts = part == FusedStep::slices ? slices(x) : 1, rows = shape(x.out[0]).rows,
                  cols = shape(x.out[0]).cols;
    int64_t depth = 0;
    for (int p = 0; p < m.pairs; ++p) {
      const Shape& a = shape(x.in[static_cast<size_t>(2 * p)]);
      depth += m.trans_a ? a.rows : a.cols;
    }
    const auto blocks = [&](int64_t down) { return product_blocks(parts, rows, cols, down); };
    const auto in_series = [&](int64_t down) { return (2 * blocks(down) + kFullGrid - 1) / kFullGrid; };
    const auto* dense = std::get_if<Matmul>(&x.op);
    const bool low = dense != nullptr && dense->factors == Precision::fp32 && 2 * in_series(32) < 3 * in_series(64);
    const double length = static_cast<double>(depth) / static_cast<double>(32 * parts);
    return {(1 + length) * (low ? 0.6 : 1), blocks(low ? 32 : 64)};
  }
  static double busiest(std::vector<std::pair<double, int64_t>> tiles) {
    std::sort(tiles.begin(), tiles.end(), std::greater<>());
    std::vector<double> busy(kFullGrid);  // a heap, the least busy one first
    double everywhere = 0;
    for (const auto& [length, count] : tiles) {
      const int64_t rounds = count / kFullGrid;
      everywhere += length * static_cast<double>(rounds);
      for (int64_t i = 0; i < count % kFullGrid; ++i) {
        std::pop_heap(busy.begin(), busy.end(), std::greater<>());
        busy.back() += length;
        std::push_heap(busy.begin(), busy.end(), std::greater<>());
      }
    }
    return everywhere + *std::max_element(busy.begin(), busy.end());
  }

  struct Placed {
    enum How { nothing, chained, tile, alone } how = nothing;
    Division to;
    bool sliced = false;  // of rows, or, with tiles, of a weight's gradient
    int slices_at = 0;
  };

  // Elements of the weights of a product.
  int64_t weight_of(const Node& x) const {
    int64_t weight = 0;
    for (size_t i = 0; i < x.in.size() && made_by_tiles(x); ++i)
      if (x.in[i] != kNone && !traits(x).rows.input(i)) weight += shape(x.in[i]).count();
    return weight;
  }
  // Whether a product of rows is split: its slices are then computed by separate blocks, and added in the next launch.
  bool sliced(const Node& x) const {
    return !traits(x).product.trans_a && worth_cutting(slices(x), shape(x.out[0]).rows, shape(x.out[0]).cols);
  }

  // ---- placing one op ---------------------------------------------------------------------------
  struct Choice {
    int level = 1 << 30;
    Division to;
    std::vector<int> with;
  };
  void place(int n) {
    const Node& x = node(n);
    if (moves_along(x)) {
      const Seen seen = see(n);
      level_of_[static_cast<size_t>(n)] = seen.level;
      if (seen.chained) join(n, seen.source);
      return;
    }
    const int min_level = levels_.after_others(x);
    Choice best = chained(x, min_level);
    if (best.level > std::max(min_level, highest(x) + 1)) return place_unchained(n, min_level);
    if (best.to.cut == FusedChain::cols && best.with.size() > 1 && chains_of_batches(best.with) > 1) {
      joining_.push_back(n);
      if (tried_.postponed.contains(n)) ++best.level, best.with.clear();
    }
    for (const int other : best.with) join(n, other);
    put(n, best.level, {Placed::chained, best.to});
  }
  void put(int n, int level, const Placed& p) {
    level_of_[static_cast<size_t>(n)] = level;
    placed_[static_cast<size_t>(n)] = p;
    finish(n, level, p.to);
  }

  // The lowest level on which a chain can compute x. Ties go to the cut tried first: products that are normalized and
  // single rows by columns, updates by elements, everything else by rows.
  Choice chained(const Node& x, int min_level) {
    Choice best;
    const auto attempt = [&](FusedChain::Cut cut) {
      if (Choice c = lowest(x, min_level, as(x, cut)); c.level < best.level) best = std::move(c);
    };
    const bool cols_first = shape(x.out[0]).rows == 1 || normalized(x), products = weight_of(x) <= kChainWeight;
    attempt(FusedChain::flat);
    attempt(FusedChain::tiles);
    if (cols_first && products) attempt(FusedChain::cols);
    if (products) attempt(FusedChain::rows);
    if (!cols_first && products) attempt(FusedChain::cols);
    return best;
  }
  Choice lowest(const Node& x, int min_level, const Division& to) {
    if (to.cut == kNoCut) return {};
    int level = levels_.lowest(x, min_level, [&](size_t i) { return continues(x, i, to); });
    std::vector<int> with;
    for (const Id v : x.in)
      if (v != kNone && levels_.of(v) == level && made(v).node >= 0) with.push_back(made(v).node);
    if (to.cut == FusedChain::tiles) {  // a block has the tiles of one product, and begins with them
      const auto other = [&](int n) { return root(n) != root(with[0]); };
      if (std::any_of(with.begin(), with.end(), other)) with.clear();
      if (with.empty()) return {};
    }
    return {level, to, std::move(with)};
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
      return put(n, std::max(highest(x), 0), {Placed::alone, {}});
    if (tried_.sliced.contains(n)) return place_gradient_slices(n, min_level);
    if (sliced(x) && layout_of_output(x).known()) return place_slices(n, min_level);
    const bool tile = made_by_tiles(x);
    put(n, std::max(min_level, highest(x) + 1), {tile ? Placed::tile : Placed::alone, tile ? tile_of(x) : Division{}});
  }

  // A deep product of rows: the slices in this launch; their sum, with the addend, in a chain of a later launch.
  void place_slices(int n, int min_level) {
    const Node& x = node(n);
    const DenseProduct m = traits(x).product;
    Placed p{Placed::tile, {FusedChain::rows, 0, layout_of_output(x)}, true};
    int level = min_level;
    for (size_t i = 0; i < static_cast<size_t>(2 * m.pairs); ++i) level = std::max(level, levels_.of(x.in[i]) + 1);
    p.slices_at = level++;
    if (m.addend) {
      const Id addend = x.in.back();
      const bool alike = continues(x, x.in.size() - 1, p.to);
      level = std::max(level, levels_.of(addend) + (alike ? 0 : 1));
      if (alike && levels_.of(addend) == level) join(n, made(addend).node);
    }
    put(n, level, p);
  }

  // A deep gradient of a weight: the slices in this launch; their sum, with its addend and the update, in the next.
  void place_gradient_slices(int n, int min_level) {
    const Node& x = node(n);
    const DenseProduct m = traits(x).product;
    Placed p{Placed::tile, tile_of(x), true, min_level};
    for (size_t i = 0; i < static_cast<size_t>(2 * m.pairs); ++i)
      p.slices_at = std::max(p.slices_at, levels_.of(x.in[i]) + 1);
    put(n, std::max(p.slices_at, m.addend ? levels_.of(x.in.back()) : 0) + 1, p);
  }

  int highest(const Node& x) const {
    int level = kLeafLevel;
    for (const Id v : x.in)
      if (v != kNone) level = std::max(level, levels_.of(v));
    return level;
  }

  bool normalized(const Node& x) const {
    if (!made_by_tiles(x)) return false;
    for (const Node& n : plan_.nodes)
      if (traits(n).normalizes && std::find(n.in.begin(), n.in.end(), x.out[0]) != n.in.end()) return true;
    return false;
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
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const int n = static_cast<int>(i);
      const Placed& p = placed_[i];
      if (p.how == Placed::nothing) continue;  // moves along with its source
      FusedLaunch& launch = all[static_cast<size_t>(level_of_[i])];
      if (p.how == Placed::alone) {
        launch.alone.push_back(n);
        continue;
      }
      if (p.sliced)
        all[static_cast<size_t>(p.slices_at)].chains.push_back({FusedChain::tiles, 0, {{n, FusedStep::slices, 0, 0}}});
      const auto [it, fresh] = group_of.emplace(std::pair{level_of_[i], root(n)}, launch.chains.size());
      if (fresh) launch.chains.push_back({p.to.cut == kNoCut ? FusedChain::tiles : p.to.cut, 0, {}});
      launch.chains[it->second].nodes.push_back({n, p.sliced ? FusedStep::sum : FusedStep::all, 0, 0});
    }
    std::erase_if(all, [](const FusedLaunch& l) { return l.chains.empty() && l.alone.empty(); });
    return all;
  }

  const Tried& tried_;
  std::vector<int> joining_;
  std::vector<int> level_of_;
  std::vector<int> chain_;  // union-find over nodes
  std::vector<Placed> placed_;
};

}  // namespace

Fusion fuse(Plan& plan) {
  split_updates(plan);
  if (plan.fusion) return build_launches(plan, *plan.fusion);
  Tried tried;
  Fuser first(plan, tried);
  Fusion best = first.run();
  const auto attempt = [&](std::set<int>& choice, int n) {
    choice.insert(n);
    if (Fusion with = Fuser(plan, tried).run(); with.size() <= best.size()) best = std::move(with);
    else choice.erase(n);
  };
  for (const int n : first.deep_gradients()) attempt(tried.sliced, n);
  for (const int n : first.joining()) attempt(tried.postponed, n);
  for (const int n : Fuser(plan, tried).shallow_gradients()) {
    tried.sliced.insert(n);
    Fusion with = Fuser(plan, tried).run();
    if (with.size() <= best.size() && first.stages(with) + kSavedStages <= first.stages(best)) best = std::move(with);
    else tried.sliced.erase(n);
  }
  return build_launches(plan, std::move(best));
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
