// Whether a placement is right, by carrying the plan out symbolically: memory holds the names of elements, every op
// checks that it finds the names it expects and writes its own. Ops of one phase may run in any order, so none may
// write what another one reads or writes.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/plan/op_rules.h"
#include "engine/schedule/placement.h"

namespace tessera::sandbox {

class PlacementCheck {
 public:
  PlacementCheck(const Plan& plan, Placement placement, int scalar_bytes)
      : plan_(plan), p_(std::move(placement)), scalar_(scalar_bytes) {
    memory_[Slot::state].resize(static_cast<size_t>(p_.state_bytes / 4), 0);
    memory_[Slot::activation].resize(static_cast<size_t>(p_.activation_bytes / 4), 0);
  }
  const Placement& placement() const { return p_; }

  // The first error; empty: none.
  std::string wrong() {
    names_.resize(plan_.values.size());
    for (const Leaf& leaf : plan_.leaves) {
      names_of(leaf.value) = fresh(leaf.value);
      if (leaf.kind == Leaf::state) write(leaf.value, -1);
    }
    for (const Node& n : plan_.nodes) expect(n);
    for (size_t phase = 0; phase < p_.phases.size() && wrong_.empty(); ++phase) {
      readers_.clear();
      writers_.clear();
      for (const int n : p_.phases[phase])
        if (p_.runs[static_cast<size_t>(n)])
          for (const Id v : plan_.nodes[static_cast<size_t>(n)].in) read(v, n);
      for (const int n : p_.phases[phase])
        if (p_.runs[static_cast<size_t>(n)])
          for (const Id v : plan_.nodes[static_cast<size_t>(n)].out) write(v, n);
    }
    for (const Id v : plan_.outputs) read(v, -1);
    return wrong_;
  }

 private:
  using Names = std::vector<int64_t>;
  Names& names_of(Id v) { return names_[static_cast<size_t>(v)]; }
  Names fresh(Id v) {
    Names n(static_cast<size_t>(plan_.shape(v).count()));
    for (int64_t& name : n) name = ++last_;
    return n;
  }

  // The names a node's outputs hold: its own, or for moves those of what it moves.
  void expect(const Node& n) {
    for (const Id v : n.out) names_of(v) = fresh(v);
    Names& out = names_of(n.out.empty() ? plan_.leaves[0].value : n.out[0]);
    auto from = [&](Id v, int64_t r, int64_t c) {
      return names_of(v)[static_cast<size_t>(r * plan_.shape(v).cols + c)];
    };
    if (std::holds_alternative<Reshape>(n.op)) out = names_of(n.in[0]);
    const bool rows = std::holds_alternative<SliceRows>(n.op) || std::holds_alternative<ConcatRows>(n.op),
               cols = std::holds_alternative<SliceCols>(n.op) || std::holds_alternative<ConcatCols>(n.op);
    if (!rows && !cols) return;
    const auto* sr = std::get_if<SliceRows>(&n.op);
    const auto* sc = std::get_if<SliceCols>(&n.op);
    const Shape s = plan_.shape(n.out[0]);
    for (int64_t r = 0; r < s.rows; ++r)
      for (int64_t c = 0; c < s.cols; ++c) {
        int64_t i = r + (sr != nullptr ? sr->start : 0), k = c + (sc != nullptr ? sc->start : 0);
        size_t part = 0;
        while (rows && sr == nullptr && i >= plan_.shape(n.in[part]).rows) i -= plan_.shape(n.in[part++]).rows;
        while (cols && sc == nullptr && k >= plan_.shape(n.in[part]).cols) k -= plan_.shape(n.in[part++]).cols;
        out[static_cast<size_t>(r * s.cols + c)] = from(n.in[part], i, k);
      }
  }

  // f(place, word of memory, name) for every element of a value in an arena.
  template <class F>
  void elements(Id v, F&& f) {
    if (v == kNone || !wrong_.empty()) return;
    const Slot& s = p_.slots[static_cast<size_t>(v)];
    if (s.where == Slot::bound) return;
    const Shape shape = plan_.shape(v);
    const int64_t item = item_bytes(plan_[v].dtype, scalar_);
    auto& memory = memory_[s.where];
    for (int64_t r = 0; r < shape.rows; ++r)
      for (int64_t c = 0; c < shape.cols; ++c)
        for (int64_t word = 0; word < item / 4; ++word) {
          const int64_t at = (s.offset + (r * s.ld + c) * item) / 4 + word;
          if (s.where == Slot::none || at < 0 || at >= static_cast<int64_t>(memory.size())) {
            fail(v, "lies outside its arena");
            return;
          }
          f(at * 2 + (s.where == Slot::state ? 1 : 0), memory[static_cast<size_t>(at)],
            names_of(v)[static_cast<size_t>(r * shape.cols + c)]);
        }
  }
  void read(Id v, int node) {
    elements(v, [&](int64_t at, int64_t held, int64_t name) {
      if (held != name)
        fail(v,
             node < 0 ? "is not there at the end" : "was overwritten before node " + std::to_string(node) + " read it");
      readers_[at].push_back(node);
    });
  }
  void write(Id v, int node) {
    elements(v, [&](int64_t at, int64_t& held, int64_t name) {
      for (const int other : readers_[at])
        if (other != node && held != name)
          fail(v, "is written by node " + std::to_string(node) + " while node " + std::to_string(other) +
                      " reads what was there");
      auto [it, first] = writers_.emplace(at, node);
      if (!first && it->second != node && held != name) fail(v, "is written by two nodes of a phase");
      held = name;
    });
    if (node < 0) writers_.clear();
  }
  void fail(Id v, const std::string& what) {
    const Node* maker = plan_.maker(v);
    if (wrong_.empty())
      wrong_ = "value " + std::to_string(v) + " (" + (maker == nullptr ? "a leaf" : op_name(maker->op)) + ") " + what;
  }

  const Plan& plan_;
  Placement p_;
  int64_t scalar_, last_ = 0;
  std::map<int, std::vector<int64_t>> memory_;
  std::vector<Names> names_;
  std::unordered_map<int64_t, std::vector<int>> readers_;  // of this phase, by place
  std::unordered_map<int64_t, int> writers_;
  std::string wrong_;
};

// Errors in a plan's placement, for both scalars, with and without reuse of memory; empty: none.
inline std::string misplaced(const Plan& plan) {
  for (const int scalar : {4, 8})
    for (const bool reuse : {true, false}) {
      PlacementCheck check(plan, place(plan, scalar, reuse), scalar);
      if (std::string w = check.wrong(); !w.empty())
        return w + (reuse ? "" : ", memory not reused") + ", scalars of " + std::to_string(scalar) + " bytes";
      if (check.placement().activation_bytes > check.placement().unplaced_bytes)
        return "placed, a plan takes more than its values together";
    }
  return "";
}

}  // namespace tessera::sandbox
