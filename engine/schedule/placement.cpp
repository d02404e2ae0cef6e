#include "engine/schedule/placement.h"

#include <algorithm>
#include <map>

#include "engine/schedule/cpu_recurrent_tiles.h"
#include "engine/schedule/levels.h"
#include "engine/schedule/update_order.h"

namespace tessera {
namespace {

constexpr int64_t kAlign = 64;
int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

std::vector<std::vector<int>> phases_in_order(const Plan& plan,
                                              const std::function<bool(const Node&, size_t)>& goes_on) {
  std::vector<std::vector<int>> phases;
  Levels levels(plan);
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    const Node& x = plan.nodes[n];
    int joined = -1;
    const auto on = [&](size_t i) {
      const bool goes = goes_on && goes_on(x, i);
      if (goes) joined = std::max(joined, levels.of(x.in[i]));
      return goes;
    };
    const int lowest = levels.lowest(x, levels.after_others(x), on);
    const int phase = joined == lowest ? lowest : std::max(lowest, static_cast<int>(phases.size()) - 1);
    if (phase >= static_cast<int>(phases.size())) phases.resize(static_cast<size_t>(phase) + 1);
    phases[static_cast<size_t>(phase)].push_back(static_cast<int>(n));
    levels.put(x, phase);
  }
  return phases;
}

namespace {

class Placer {
 public:
  // `over`: sums are written over their addends.
  Placer(const Plan& plan, int scalar_bytes, bool reuse, bool over)
      : plan_(plan), scalar_(scalar_bytes), reuse_(reuse), over_(over && reuse) {}

  Placement run(const std::vector<std::vector<int>>* given, const RowChains* chains = nullptr) {
    chains_ = chains;
    p_.slots.resize(plan_.values.size());
    p_.runs.assign(plan_.nodes.size(), true);
    parent_.resize(plan_.values.size());
    consumers_.resize(plan_.values.size());
    for (size_t n = 0; n < plan_.nodes.size(); ++n)
      for (const Id v : plan_.nodes[n].in)
        if (v != kNone) consumers_[static_cast<size_t>(v)].push_back(static_cast<int>(n));
    take_phases(given != nullptr ? *given : phases_in_order(plan_));
    place_leaves();
    for (size_t v = 0; chains != nullptr && v < chains->local.size(); ++v) {
      const Id id = static_cast<Id>(v);
      if (const LocalValue& l = chains->local[v]; l.offset >= 0) {
        slot(id) = {Slot::block, l.offset, l.pitch / item(id), -1, l.inside};
        if (is_view(plan_.maker(id)->op)) p_.runs[static_cast<size_t>(plan_[id].node)] = false;
      }
      if (chains->unread[v]) slot(id) = {Slot::unread, 0, plan_.shape(id).cols, -1};
    }
    adopt();
    if (over_) write_over();
    roots();
    return std::move(p_);
  }

 private:
  int64_t item(Id v) const { return item_bytes(plan_[v].dtype, scalar_); }
  const Node& node(int n) const { return plan_.nodes[static_cast<size_t>(n)]; }
  Slot& slot(Id v) { return p_.slots[static_cast<size_t>(v)]; }

  void take_phases(const std::vector<std::vector<int>>& given) {
    p_.phases = given;
    phase_of_.assign(plan_.nodes.size(), 0);
    for (size_t p = 0; p < given.size(); ++p)
      for (const int n : given[p]) phase_of_[static_cast<size_t>(n)] = static_cast<int>(p);
  }

  void place_leaves() {
    for (size_t i = 0; i < plan_.leaves.size(); ++i) {
      const Leaf& leaf = plan_.leaves[i];
      const Shape s = plan_.shape(leaf.value);
      if (leaf.kind == Leaf::bound) {
        slot(leaf.value) = {Slot::bound, 0, s.cols, static_cast<int>(i)};
        continue;
      }
      slot(leaf.value) = {Slot::state, p_.state_bytes, s.cols, static_cast<int>(i)};
      p_.state_bytes += aligned(s.count() * item(leaf.value));
    }
  }

  bool is_root(Id v) const {
    const Node* n = plan_.maker(v);
    if (n == nullptr || is_view(n->op)) return false;
    return plan_[v].output >= in_place(n->op);
  }

  // An input of a concatenation is computed in place if it is computed in this step, has no other use, and no reshape
  // needs it contiguous.
  void adopt() {
    for (int n = static_cast<int>(plan_.nodes.size()) - 1; n >= 0; --n) {
      const Node& x = node(n);
      const Move::Kind kind = move_of(x.op).kind;
      const bool by_rows = kind == Move::concat_rows, by_cols = kind == Move::concat_cols;
      if (!by_rows && !by_cols) continue;
      const Id out = x.out[0];
      int64_t start = 0;
      for (const Id part : x.in) {
        Id v = part;
        const Shape s = plan_.shape(part);
        if (by_cols && s.rows == 1)  // a flat set of gradients: values reshaped into it are placed in it
          while (plan_.maker(v) != nullptr && move_of(plan_.maker(v)->op).kind == Move::reshape)
            v = plan_.maker(v)->in[0];
        const bool contiguous = by_rows || plan_.shape(out).rows == 1;
        if (is_root(v) && parent_[static_cast<size_t>(v)].value == kNone && (contiguous || !reshaped(v)) &&
            (!by_rows || !reshaped(v) || plan_.shape(out).cols == s.cols))
          parent_[static_cast<size_t>(v)] = {out, by_rows ? start : 0, by_cols ? start : 0,
                                             v != part || (contiguous && by_cols)};
        start += by_rows ? s.rows : s.cols;
      }
    }
  }

  // A sum takes the memory of its addend if nothing else reads the addend, for example the gradients of a weight that
  // several products use.
  void write_over() {
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      const Node& x = plan_.nodes[n];
      const int over = traits(x).over;
      if (over < 0) continue;
      const Id v = x.in[static_cast<size_t>(over)], out = x.out[0];
      if (v == kNone || !is_root(v) || parent_[static_cast<size_t>(v)].value != kNone) continue;
      const bool here = slot(v).where == Slot::none && slot(out).where == Slot::none;  // neither in a block
      const bool before = phase_of_[static_cast<size_t>(plan_[v].node)] < phase_of_[n];
      const bool alone = consumers_[static_cast<size_t>(v)].size() == 1 && !is_output(v);
      if (here && before && alone && plan_.shape(v) == plan_.shape(out) && plan_[v].dtype == plan_[out].dtype)
        parent_[static_cast<size_t>(v)].value = out;
    }
  }

  bool is_output(Id v) const { return std::find(plan_.outputs.begin(), plan_.outputs.end(), v) != plan_.outputs.end(); }
  bool reshaped(Id v) const {
    for (const int c : consumers_[static_cast<size_t>(v)]) {
      const Node& x = node(c);
      if (move_of(x.op).kind == Move::reshape) return true;
      if (is_view(x.op) && reshaped(x.out[0])) return true;
    }
    return false;
  }

  struct Root {
    Id value;
    int64_t bytes;
    int first = 1 << 30, last = -1;  // phases
    int64_t offset = 0;
  };

  // The slot of a value in terms of its root: resolved from the outermost concatenation inwards, then through views.
  void resolve(Id v) {
    Slot& s = slot(v);
    if (s.where != Slot::none) return;
    const Node& n = *plan_.maker(v);
    const int made = plan_[v].node;
    const Move move = move_of(n.op);
    if (move.view()) {
      const Id from = n.in[0];
      resolve(from);
      const Slot f = slot(from);
      const Shape in = plan_.shape(from), out = plan_.shape(v);
      if (move.kind == Move::reshape && f.ld != in.cols && in.rows > 1) {
        new_root(v);  // not contiguous: copied
        return;
      }
      s = f;
      root_of_[v] = root_of_.count(from) != 0 ? root_of_[from] : kNone;
      if (move.kind == Move::reshape) s.ld = out.cols;
      else s.offset += move.start * (move.kind == Move::slice_rows ? f.ld : 1) * item(v);
      p_.runs[static_cast<size_t>(made)] = false;
      return;
    }
    if (together(v)) {
      s = slot(n.in[0]);
      s.ld = plan_.shape(v).cols;
      p_.runs[static_cast<size_t>(made)] = false;
      return;
    }
    if (plan_[v].output < in_place(n.op)) {
      const Id from = n.in[static_cast<size_t>(plan_[v].output)];
      resolve(from);
      s = slot(from);
      root_of_[v] = root_of_.count(from) != 0 ? root_of_[from] : kNone;
      return;
    }
    const Parent& p = parent_[static_cast<size_t>(v)];
    if (p.value == kNone) {
      new_root(v);
      return;
    }
    resolve(p.value);
    const Slot o = slot(p.value);
    s = o;
    s.offset += (p.row * o.ld + p.col) * item(v);
    s.ld = p.flat ? plan_.shape(v).cols : o.ld;
    root_of_[v] = root_of_[p.value];
  }

  // Whether v is a state reassembled from pieces that are adjacent in it.
  bool together(Id v) {
    const Node& n = *plan_.maker(v);
    if (move_of(n.op).kind != Move::concat_cols ||
        !std::all_of(n.in.begin(), n.in.end(), [&](Id part) { return updated_state(plan_, part); }))
      return false;
    int64_t at = -1;
    for (const Id part : n.in) {
      resolve(part);
      const Slot p = slot(part);
      if (plan_.shape(part).rows != 1 || (at >= 0 && p.offset != at)) return false;
      at = p.offset + plan_.shape(part).cols * item(part);
    }
    return true;
  }
  void new_root(Id v) {
    const Shape s = plan_.shape(v);
    slot(v) = {Slot::activation, 0, s.cols, -1};
    root_of_[v] = v;
    const bool lanes = chains_ != nullptr && chains_->lanes[static_cast<size_t>(v)];
    const int64_t rows = lanes ? sequence_tiles(s.rows) * kSequenceTile : s.rows;
    roots_[v] = {v, aligned(rows * s.cols * item(v)), 1 << 30, -1, 0};
  }

  void roots() {
    const int end = static_cast<int>(p_.phases.size());
    for (size_t v = 0; v < plan_.values.size(); ++v)
      if (plan_.values[v].node >= 0) resolve(static_cast<Id>(v));
    for (size_t v = 0; v < plan_.values.size(); ++v) {
      const Id id = static_cast<Id>(v);
      auto it = root_of_.find(id);
      if (it == root_of_.end() || it->second == kNone) continue;
      Root& r = roots_[it->second];
      const int made = phase_of_[static_cast<size_t>(plan_[id].node)];
      r.first = std::min(r.first, made);
      r.last = std::max(r.last, made);
      for (const int c : consumers_[v]) r.last = std::max(r.last, phase_of_[static_cast<size_t>(c)]);
      if (is_output(id)) r.last = end;
    }
    for (size_t n = 0; n < plan_.nodes.size(); ++n) p_.runs[n] = p_.runs[n] && !all_in_place(plan_.nodes[n]);
    // Largest first, each at the lowest offset that no root alive at the same time covers.
    std::vector<Root*> order, placed;
    for (auto& [id, r] : roots_) {
      order.push_back(&r);
      p_.unplaced_bytes += r.bytes;
    }
    std::stable_sort(order.begin(), order.end(), [](const Root* a, const Root* b) { return a->bytes > b->bytes; });
    for (Root* r : order) {
      std::vector<std::pair<int64_t, int64_t>> taken;
      for (const Root* q : placed)
        if (!reuse_ || (q->first <= r->last && r->first <= q->last))
          taken.emplace_back(q->offset, q->offset + q->bytes);
      std::sort(taken.begin(), taken.end());
      int64_t at = 0;
      for (const auto& [low, high] : taken) {
        if (low - at >= r->bytes) break;
        at = std::max(at, high);
      }
      r->offset = at;
      p_.activation_bytes = std::max(p_.activation_bytes, at + r->bytes);
      placed.push_back(r);
    }
    for (const auto& [id, root] : root_of_)
      if (root != kNone) slot(id).offset += roots_[root].offset;
  }

  // A concatenation whose parts were all computed in place needs no work.
  bool all_in_place(const Node& n) {
    if (!move_of(n.op).join()) return false;
    const bool by_rows = move_of(n.op).kind == Move::concat_rows;
    const Slot o = slot(n.out[0]);
    int64_t start = 0;
    for (const Id v : n.in) {
      const Slot s = slot(v);
      const Shape shape = plan_.shape(v);
      if (root_of_.count(v) == 0 || root_of_[v] != root_of_[n.out[0]] ||
          s.offset != o.offset + start * (by_rows ? o.ld : 1) * item(v))
        return false;
      if (shape.rows > 1 && s.ld != o.ld) return false;
      start += by_rows ? shape.rows : shape.cols;
    }
    return true;
  }

  struct Parent {
    Id value = kNone;
    int64_t row = 0, col = 0;
    bool flat = false;  // inside one row: keeps its own leading dimension
  };

  const Plan& plan_;
  int scalar_;
  bool reuse_, over_;
  const RowChains* chains_ = nullptr;
  Placement p_;
  std::vector<Parent> parent_;
  std::vector<std::vector<int>> consumers_;
  std::vector<int> phase_of_;
  std::map<Id, Root> roots_;
  std::map<Id, Id> root_of_;
};

}  // namespace

Placement place(const Plan& plan, int scalar_bytes, bool reuse, const std::vector<std::vector<int>>* phases) {
  return Placer(plan, scalar_bytes, reuse, false).run(phases);
}

Layout lay_out(const Plan& plan, int scalar_bytes, bool reuse) {
  Placement single = Placer(plan, scalar_bytes, reuse, true).run(nullptr);
  if (!plan.fuse || !reuse) return {{}, std::move(single)};
  const auto placed = [&](RowChains chains) {
    Placement where = Placer(plan, scalar_bytes, true, true).run(&chains.phases, &chains);
    return Layout{std::move(chains), std::move(where)};
  };
  RowChains rows = row_chains(plan, scalar_bytes);
  if (plan.row_cut.gain * static_cast<int64_t>(rows.phases.size()) > static_cast<int64_t>(single.phases.size())) {
    RowChains tiles = tile_chains(plan, scalar_bytes);
    return tiles.chains.empty() ? Layout{{}, std::move(single)} : placed(std::move(tiles));
  }
  if (rows.chains.empty()) return {{}, std::move(single)};
  const auto smaller = [](Layout a, Layout b) {
    return b.placement.activation_bytes < a.placement.activation_bytes ? std::move(b) : std::move(a);
  };
  const auto in_turn = [&](RowChains chains) {
    std::vector<std::vector<int>> phases = updates_in_turn(plan, chains);
    if (phases.empty()) return placed(std::move(chains));
    RowChains turned = chains;
    turned.phases = std::move(phases);
    Layout recorded = placed(std::move(chains)), reordered = placed(std::move(turned));
    // a little less memory is not worth more barriers with fewer tiles between them
    return 8 * reordered.placement.activation_bytes > 7 * recorded.placement.activation_bytes ? recorded : reordered;
  };
  Layout made = in_turn(std::move(rows));
  if (!sixteen_bits(plan.precision)) return made;
  // 16-bit weights take half the cache: chains with larger weights, if that lowers the memory of values between chains
  return smaller(std::move(made), in_turn(row_chains(plan, scalar_bytes, 2 * kLargestWeight)));
}

}  // namespace tessera
