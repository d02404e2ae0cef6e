#include "engine/row_chains.h"

#include <algorithm>
#include <map>

#include "engine/rules.h"
#include "engine/tile_chains.h"

namespace tessera {
namespace {

constexpr int64_t kLine = 64;
// Products with larger weights are left to their own tiles: every block would pack all of them.
constexpr int64_t kLargestWeight = 1 << 16;
constexpr int64_t kRegisterRows = 14, kMostRows = 9 * kRegisterRows, kFewestBlockRows = 2 * kRegisterRows;
constexpr int kLeaf = -1;

int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <class... T>
bool is(const Op& op) {
  return (std::holds_alternative<T>(op) || ...);
}

class Chainer {
 public:
  Chainer(const Plan& plan, int scalar_bytes) : plan_(plan), scalar_(scalar_bytes), level_(plan.nodes.size(), 0), made_(plan.values.size()), consumers_(plan.values.size()) {
    c_.chain_of.assign(plan.nodes.size(), -1);
    c_.local.resize(plan.values.size());
    shows_.resize(plan.values.size());
  }

  RowChains run() {
    for (size_t v = 0; v < shows_.size(); ++v) shows_[v] = static_cast<Id>(v);
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      for (const Id v : node(n).in)
        if (v != kNone) consumers_[static_cast<size_t>(v)].push_back(static_cast<int>(n));
      place(static_cast<int>(n));
    }
    sink();
    collect();
    for (size_t i = 0; i < c_.chains.size(); ++i) settle(static_cast<int>(i));
    add_tile_chains(plan_, scalar_, c_);
    return std::move(c_);
  }

 private:
  struct Made {
    int level = kLeaf;
    int64_t rows = 0;    // > 0: in a chain over that many rows
    bool moved = false;  // made by a move, which comes last on its level
  };
  const Node& node(size_t n) const { return plan_.nodes[n]; }
  Made& made(Id v) { return made_[static_cast<size_t>(v)]; }
  Shape shape(Id v) const { return plan_.shape(v); }

  bool can_chain(const Node& x) const {
    const int64_t rows = shape(x.out[0]).rows;
    if (rows < plan_.row_cut.fewest_rows || !row_local(x.op)) return false;
    for (const Id v : x.out)
      if (shape(v).rows != rows) return false;
    for (size_t i = 0; i < x.in.size(); ++i)
      if (x.in[i] != kNone && along_rows(x.op, i) && shape(x.in[i]).rows != rows && shape(x.in[i]).rows != 1) return false;
    if (const auto* m = std::get_if<Matmul>(&x.op)) {
      int64_t weights = 0;
      for (int p = 0; p < m->pairs; ++p) weights += shape(x.in[static_cast<size_t>(2 * p + 1)]).count();
      return weights <= kLargestWeight;
    }
    return true;
  }

  // A reshape of what is no longer in one piece is a copy.
  bool copies(const Node& x) const {
    if (!is<Reshape>(x.op) || shape(x.in[0]).rows == 1) return false;
    for (const Node* from = plan_.maker(x.in[0]); from != nullptr && is_view(from->op); from = plan_.maker(from->in[0]))
      if (is<SliceCols>(from->op)) return true;
    return false;
  }

  // The lowest level above all readers of the state that this op overwrites.
  int after_readers(int n) const {
    int level = 0;
    const Node& x = node(static_cast<size_t>(n));
    for (int k = 0; k < in_place(x.op); ++k) {
      const auto it = read_at_.find(shows_[static_cast<size_t>(x.in[static_cast<size_t>(k)])]);
      if (it != read_at_.end()) level = std::max(level, it->second + 1);
    }
    return level;
  }

  void place(int n) {
    const Node& x = node(static_cast<size_t>(n));
    int level = after_readers(n);
    int64_t rows = 0;
    const bool moves = is<ConcatRows>(x.op) || (is_view(x.op) && copies(x));
    if (is_view(x.op) || moves) {  // lies where its input lies, or is moved right after it was made
      for (const Id v : x.in) level = std::max(level, made(v).level + (moves && made(v).moved ? 1 : 0));
      if (is_view(x.op)) shows_[static_cast<size_t>(x.out[0])] = shows_[static_cast<size_t>(x.in[0])];
      if (is<SliceCols>(x.op) && made(x.in[0]).level >= 0) rows = made(x.in[0]).rows;
      if (moves) moved_.push_back(n);
    } else {
      const bool chains = can_chain(x);
      rows = chains ? shape(x.out[0]).rows : 0;
      for (size_t i = 0; i < x.in.size(); ++i) {
        if (x.in[i] == kNone) continue;
        const Made& m = made(x.in[i]);
        const bool goes_on = goes_on_by_tile(plan_, x, i) || (chains && m.rows == rows && along_rows(x.op, i) && shape(x.in[i]).rows == rows);
        level = std::max(level, m.level == kLeaf || goes_on ? m.level : m.level + 1);
      }
      level = std::max(level, 0);
    }
    level_[static_cast<size_t>(n)] = level;
    rows_.push_back(rows);
    for (const Id v : x.in)
      if (v != kNone) {
        int& last = read_at_.try_emplace(shows_[static_cast<size_t>(v)], 0).first->second;
        last = std::max(last, level);
      }
    for (const Id v : x.out) made(v) = {is_view(x.op) && !moves && made(x.in[0]).level == kLeaf ? kLeaf : level, rows, moves || (is_view(x.op) && made(x.in[0]).moved)};
  }

  // What is drawn or gathered from tables alone is made on the level where it is wanted first: it need not wait in memory, and a chain that wants it keeps it to itself.
  void sink() {
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      const Node& x = node(n);
      int level = 1 << 30;
      for (const Id v : x.in)
        if (v != kNone && (plan_.maker(v) != nullptr || !bound(v))) level = 0;
      for (const Id v : x.out) {
        if (consumers_[static_cast<size_t>(v)].empty()) level = 0;
        for (const int c : consumers_[static_cast<size_t>(v)]) {
          const Node& reader = node(static_cast<size_t>(c));
          if (is_view(reader.op) || is<ConcatRows, ConcatCols>(reader.op)) level = 0;
          bool goes_on = rows_[n] > 0 && rows_[static_cast<size_t>(c)] == rows_[n];
          for (size_t i = 0; i < reader.in.size(); ++i) goes_on = goes_on && (reader.in[i] != v || along_rows(reader.op, i));
          level = std::min(level, level_[static_cast<size_t>(c)] - (goes_on ? 0 : 1));
        }
      }
      if (level != 1 << 30) level_[n] = std::max(level_[n], level);
    }
  }
  bool bound(Id v) const {
    return std::any_of(plan_.leaves.begin(), plan_.leaves.end(), [v](const Leaf& l) { return l.value == v && l.kind == Leaf::bound; });
  }

  // Each level is two phases: its chains and single ops, then what is moved after them.
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

  bool seen_by_chain_only(Id v, int chain) const {
    if (std::find(plan_.outputs.begin(), plan_.outputs.end(), v) != plan_.outputs.end()) return false;
    for (const int c : consumers_[static_cast<size_t>(v)]) {
      const Op& op = node(static_cast<size_t>(c)).op;
      if (c_.chain_of[static_cast<size_t>(c)] != chain || is_view(op) || is<ConcatCols>(op)) return false;
    }
    return true;
  }

  // Values that the chain alone sees share a block's own memory as they live and die.
  void settle(int chain) {
    std::vector<Life> lives;
    RowChain& c = c_.chains[static_cast<size_t>(chain)];
    std::map<int, size_t> at;
    for (size_t i = 0; i < c.nodes.size(); ++i) at[c.nodes[i]] = i;
    for (size_t i = 0; i < c.nodes.size(); ++i) {
      const Node& x = node(static_cast<size_t>(c.nodes[i]));
      if (is_view(x.op) || is<ConcatCols>(x.op)) continue;  // their parts may lie in them
      for (const Id v : x.out) {
        if (!seen_by_chain_only(v, chain)) continue;
        const int64_t item = plan_[v].dtype == DType::index ? 4 : scalar_;
        Life life{v, div_up(shape(v).cols * item, kLine) * kLine, 0, i, i};
        for (const int reader : consumers_[static_cast<size_t>(v)]) life.last = std::max(life.last, at.at(reader));
        lives.push_back(life);
      }
    }
    c.row_bytes = tessera::settle(lives);
    for (const Life& l : lives) c_.local[static_cast<size_t>(l.value)] = {l.offset, l.bytes};
  }

  const Plan& plan_;
  int scalar_;
  RowChains c_;
  std::vector<int> level_;
  std::vector<int64_t> rows_;  // by node: of its chain
  std::vector<int> moved_;
  std::vector<Made> made_;
  std::vector<std::vector<int>> consumers_;
  std::vector<Id> shows_;  // the value a view shows
  std::map<Id, int> read_at_;  // the last level on which a value is read
};

}  // namespace

bool row_local(const Op& op) {
  if (const auto* m = std::get_if<Matmul>(&op)) return !m->trans_a;
  return is<Random, Fill, DrawConditions, GatherRows, MixtureDraw, SparseDense, SparsePick, SparseMatmul, Unary, Binary, LerpRows, Broadcast, SumCols, RowDot, ConcatCols, SpanActivation, SpanActivationGrad,
            SpanCrossEntropy, SpanCrossEntropyGrad, SpanReconstruction, SpanReconstructionGrad, SpanReduce, SpanSpread, SpanSample, NormEval>(op);
}

bool along_rows(const Op& op, size_t i) {
  if (const auto* m = std::get_if<Matmul>(&op)) return i % 2 == 0 || i >= static_cast<size_t>(2 * m->pairs);
  if (is<SparseMatmul>(op)) return i != 2;
  if (is<GatherRows>(op)) return i == 2;
  if (is<DrawConditions>(op)) return i == 4;
  if (is<MixtureDraw>(op)) return i < 2;
  if (is<SpanReconstruction, SpanReconstructionGrad>(op)) return i != 3;
  if (is<NormEval>(op)) return i == 0;
  return true;
}

int64_t block_rows(const Plan& plan, int64_t rows, int threads) {
  if (plan.row_cut.block_rows > 0) return plan.row_cut.block_rows;
  const int64_t rounds = std::max<int64_t>(1, div_up(rows, kMostRows * threads));
  const int64_t each = div_up(div_up(rows, rounds * threads), kRegisterRows) * kRegisterRows;
  return std::clamp(each, kFewestBlockRows, kMostRows);
}

int64_t settle(std::vector<Life>& lives) {
  std::stable_sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  int64_t most = 0;
  for (size_t i = 0; i < lives.size(); ++i) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t j = 0; j < i; ++j)
      if (lives[j].first <= lives[i].last && lives[i].first <= lives[j].last) taken.emplace_back(lives[j].offset, lives[j].offset + lives[j].bytes);
    std::sort(taken.begin(), taken.end());
    for (const auto& [low, high] : taken) {
      if (low - lives[i].offset >= lives[i].bytes) break;
      lives[i].offset = std::max(lives[i].offset, high);
    }
    most = std::max(most, lives[i].offset + lives[i].bytes);
  }
  return most;
}

RowChains row_chains(const Plan& plan, int scalar_bytes) { return Chainer(plan, scalar_bytes).run(); }

}  // namespace tessera
