#include "engine/schedule/cpu_row_fusion.h"

#include <algorithm>
#include <map>

#include "engine/schedule/cpu_recurrent_tiles.h"
#include "engine/schedule/levels.h"
#include "kernels/table.h"

namespace tessera {
namespace {

constexpr int kNever = 1 << 30;  // a level
constexpr int64_t kMaxBlockRows = 10 * kRegisterRows, kMinBlockRows = 2 * kRegisterRows;

int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

class Chainer {
 public:
  Chainer(const Plan& plan, int scalar_bytes, int64_t largest_weight)
      : plan_(plan),
        scalar_(scalar_bytes),
        largest_weight_(largest_weight),
        levels_(plan),
        level_(plan.nodes.size(), 0),
        made_(plan.values.size()),
        consumers_(plan.values.size()) {
    c_.chain_of.assign(plan.nodes.size(), -1);
    c_.local.resize(plan.values.size());
  }

  RowChains run() {
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      for (const Id v : node(n).in)
        if (v != kNone) consumers_[static_cast<size_t>(v)].push_back(static_cast<int>(n));
      place(static_cast<int>(n));
    }
    sink();
    collect();
    for (size_t i = 0; i < c_.chains.size(); ++i) place_locals(static_cast<int>(i));
    add_tile_chains(plan_, scalar_, c_);
    return std::move(c_);
  }

 private:
  struct Made {
    int64_t rows = 0;    // > 0: in a chain over that many rows
    bool moved = false;  // computed by a move, which comes last on its level
  };
  const Node& node(size_t n) const { return plan_.nodes[n]; }
  Made& made(Id v) { return made_[static_cast<size_t>(v)]; }
  Shape shape(Id v) const { return plan_.shape(v); }

  bool can_chain(const Node& x) const {
    const int64_t rows = shape(x.out[0]).rows;
    if (rows < plan_.row_cut.min_rows || !row_local(x)) return false;
    for (const Id v : x.out)
      if (shape(v).rows != rows) return false;
    for (size_t i = 0; i < x.in.size(); ++i)
      if (x.in[i] != kNone && along_rows(x, i) && shape(x.in[i]).rows != rows && shape(x.in[i]).rows != 1) return false;
    int64_t weights = 0;
    for (size_t i = 0; i < x.in.size() && traits(x).product.pairs > 0; ++i)
      if (x.in[i] != kNone && !along_rows(x, i)) weights += shape(x.in[i]).count();
    return weights <= largest_weight_;
  }

  // Whether x, in a chain over `rows`, continues with the rows of its input i.
  bool goes_on(const Node& x, size_t i, int64_t rows) {
    return goes_on_by_tile(plan_, x, i) ||
           (rows > 0 && made(x.in[i]).rows == rows && along_rows(x, i) && shape(x.in[i]).rows == rows);
  }

  void place(int n) {
    const Node& x = node(static_cast<size_t>(n));
    const Move move = move_of(x.op);
    const bool moves = move.kind == Move::concat_rows || levels_.copies(x);
    int level = levels_.after_others(x), was = kLeafLevel;
    int64_t rows = 0;
    if (move.view() || moves) {  // a view of its input, or moved right after its input was computed
      for (const Id v : x.in) was = std::max(was, levels_.of(v) + (moves && made(v).moved ? 1 : 0));
      level = std::max(level, was);
      if (move.kind == Move::slice_cols && was >= 0) rows = made(x.in[0]).rows;
      if (moves) moved_.push_back(n);
    } else {
      rows = can_chain(x) ? shape(x.out[0]).rows : 0;
      level = levels_.lowest(x, level, [&](size_t i) { return goes_on(x, i, rows); });
    }
    level_[static_cast<size_t>(n)] = level;
    rows_.push_back(rows);
    levels_.put(x, level, move.view() && !moves && was == kLeafLevel ? kLeafLevel : level);
    for (const Id v : x.out) made(v) = {rows, moves || (move.view() && made(x.in[0]).moved)};
  }

  // Values drawn at random or gathered from tables, and elementwise functions of values that exist anyway (the slope of
  // a KL term from the mean), are computed on the level of their first use: they need not stay in memory, and can be
  // private to the chain that reads them.
  void sink() {
    for (size_t n = plan_.nodes.size(); n-- > 0;) {
      const Node& x = node(n);
      if (is_view(x.op) || in_place(x.op) > 0) continue;
      int level = kNever;
      for (const Id v : x.out) level = std::min(level, first_use(n, v));
      const bool there = std::all_of(x.in.begin(), x.in.end(), [&](Id v) {
        return v == kNone || bound(v) || (elementwise(x) && read_again(n, v, level));
      });
      if (level != kNever && there) level_[n] = std::max(level_[n], level);
    }
  }
  // The level on which node n can compute v for its readers; 0: undetermined.
  int first_use(size_t n, Id v) const {
    int level = consumers_[static_cast<size_t>(v)].empty() ? 0 : kNever;
    for (const int c : consumers_[static_cast<size_t>(v)]) {
      const Node& reader = node(static_cast<size_t>(c));
      if (move_of(reader.op).kind != Move::none) return 0;
      bool goes_on = rows_[n] > 0 && rows_[static_cast<size_t>(c)] == rows_[n];
      for (size_t i = 0; i < reader.in.size(); ++i) goes_on = goes_on && (reader.in[i] != v || along_rows(reader, i));
      level = std::min(level, level_[static_cast<size_t>(c)] - (goes_on ? 0 : 1));
    }
    return level;
  }
  // Whether an op other than n reads v on that level or later.
  bool read_again(size_t n, Id v, int level) const {
    const Node* maker = plan_.maker(v);
    if (maker == nullptr || is_view(maker->op) || in_place(maker->op) > 0) return false;
    const std::vector<int>& readers = consumers_[static_cast<size_t>(v)];
    return std::any_of(readers.begin(), readers.end(), [&](int c) {
      return c != static_cast<int>(n) && move_of(node(static_cast<size_t>(c)).op).kind == Move::none &&
             level_[static_cast<size_t>(c)] >= level;
    });
  }
  bool bound(Id v) const {
    return std::any_of(plan_.leaves.begin(), plan_.leaves.end(),
                       [v](const Leaf& l) { return l.value == v && l.kind == Leaf::bound; });
  }

  // Each level is two phases: its chains and single ops, then the moves of their results.
  void collect() {
    int levels = 0;
    for (const int l : level_) levels = std::max(levels, l + 1);
    c_.phases.resize(static_cast<size_t>(2 * levels));
    std::map<std::pair<int, int64_t>, int> chain_at;
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      const bool moves = std::find(moved_.begin(), moved_.end(), static_cast<int>(n)) != moved_.end();
      c_.phases[static_cast<size_t>(2 * level_[n] + (moves ? 1 : 0))].push_back(static_cast<int>(n));
      if (rows_[n] == 0) continue;
      const auto [it, fresh] = chain_at.emplace(std::pair{level_[n], rows_[n]}, static_cast<int>(c_.chains.size()));
      if (fresh) c_.chains.push_back({rows_[n], {}, 0});
      c_.chain_of[n] = it->second;
      c_.chains[static_cast<size_t>(it->second)].nodes.push_back(static_cast<int>(n));
    }
    std::erase_if(c_.phases, [](const std::vector<int>& nodes) { return nodes.empty(); });
  }

  // A view, or a concatenation whose parts may be computed in place.
  static bool lies_elsewhere(const Op& op) { return move_of(op).view() || move_of(op).kind == Move::concat_cols; }
  static bool slices(const Op& op) { return move_of(op).kind == Move::slice_cols; }
  bool seen_by_chain_only(Id v, int chain) const {
    if (std::find(plan_.outputs.begin(), plan_.outputs.end(), v) != plan_.outputs.end()) return false;
    for (const int c : consumers_[static_cast<size_t>(v)]) {
      const Node& reader = node(static_cast<size_t>(c));
      if (c_.chain_of[static_cast<size_t>(c)] != chain) return false;
      if (slices(reader.op) ? !seen_by_chain_only(reader.out[0], chain) : lies_elsewhere(reader.op)) return false;
    }
    return true;
  }
  // The last link that reads v or columns of it.
  size_t last_reader(Id v, const std::map<int, size_t>& at, size_t last) const {
    for (const int c : consumers_[static_cast<size_t>(v)]) {
      const Node& reader = node(static_cast<size_t>(c));
      last = std::max(last, slices(reader.op) ? last_reader(reader.out[0], at, last) : at.at(c));
    }
    return last;
  }
  void put_local(Id v, const LocalValue& where) {
    c_.local[static_cast<size_t>(v)] = where;
    for (const int c : consumers_[static_cast<size_t>(v)]) {
      const Node& reader = node(static_cast<size_t>(c));
      if (!slices(reader.op)) continue;
      LocalValue columns = where;
      columns.inside += move_of(reader.op).start * item(reader.out[0]);
      put_local(reader.out[0], columns);
    }
  }
  int64_t item(Id v) const { return item_bytes(plan_[v].dtype, scalar_); }

  // Values private to the chain share a block's own memory according to their lifetimes.
  void place_locals(int chain) {
    std::vector<Life> lives;
    RowChain& c = c_.chains[static_cast<size_t>(chain)];
    std::map<int, size_t> at;
    for (size_t i = 0; i < c.nodes.size(); ++i) at[c.nodes[i]] = i;
    for (size_t i = 0; i < c.nodes.size(); ++i) {
      const Node& x = node(static_cast<size_t>(c.nodes[i]));
      if (lies_elsewhere(x.op)) continue;  // their parts may be computed in place
      for (const Id v : x.out) {
        if (!seen_by_chain_only(v, chain)) continue;
        lives.push_back({v, div_up(shape(v).cols * item(v), kCacheLine) * kCacheLine, 0, i, last_reader(v, at, i)});
      }
    }
    c.row_bytes = assign_offsets(lives);
    for (const Life& l : lives) put_local(l.value, {l.offset, l.bytes});
  }

  const Plan& plan_;
  int scalar_;
  int64_t largest_weight_;
  RowChains c_;
  Levels levels_;
  std::vector<int> level_;
  std::vector<int64_t> rows_;  // by node: of its chain
  std::vector<int> moved_;
  std::vector<Made> made_;
  std::vector<std::vector<int>> consumers_;
};

}  // namespace

bool row_local(const Node& x) { return (parts_of(x.op) & Parts::blocks) != 0 && traits(x).rows; }
bool along_rows(const Node& x, size_t i) { return traits(x).rows.input(i); }

int64_t block_rows(const Plan& plan, int64_t rows, int threads) {
  if (plan.row_cut.block_rows > 0) return plan.row_cut.block_rows;
  const int64_t rounds = std::max<int64_t>(1, div_up(rows, kMaxBlockRows * threads));
  const int64_t each = div_up(div_up(rows, rounds * threads), kRegisterRows) * kRegisterRows;
  return std::clamp(each, kMinBlockRows, kMaxBlockRows);
}

int64_t assign_offsets(std::vector<Life>& lives) {
  std::stable_sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  int64_t total = 0;
  for (size_t i = 0; i < lives.size(); ++i) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t j = 0; j < i; ++j)
      if (lives[j].first <= lives[i].last && lives[i].first <= lives[j].last)
        taken.emplace_back(lives[j].offset, lives[j].offset + lives[j].bytes);
    std::sort(taken.begin(), taken.end());
    for (const auto& [low, high] : taken) {
      if (low - lives[i].offset >= lives[i].bytes) break;
      lives[i].offset = std::max(lives[i].offset, high);
    }
    total = std::max(total, lives[i].offset + lives[i].bytes);
  }
  return total;
}

RowChains row_chains(const Plan& plan, int scalar_bytes, int64_t largest_weight) {
  return Chainer(plan, scalar_bytes, largest_weight).run();
}

}  // namespace tessera
