// stack: [x; y]·W = [x·W; y·W]. The critic sees real, fake and interpolated rows with one weight; products of 50 rows
// waste a core's registers and a GPU's tiles.
// Elementwise ops on all rows of a stack follow. Only products of few rows are stacked, and only those that do not
// depend on each other.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace tessera {
namespace {

constexpr int64_t kFewRows = 256;

class Stacker {
 public:
  explicit Stacker(Plan& plan) : plan_(plan) {}

  void run() {
    while (step()) {}
  }

 private:
  // Stacks one group, if there is one.
  bool step() {
    readers_ = readers_of(plan_);
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      std::vector<int> group = group_of(static_cast<int>(n));
      if (group.size() < 2) continue;
      merge(group);
      return true;
    }
    return false;
  }

  const Node& node(int n) const { return plan_.nodes[static_cast<size_t>(n)]; }
  int64_t rows(int n) const { return plan_.shape(node(n).out[0]).rows; }

  bool stackable(int n) const {
    const Node& x = node(n);
    const DenseProduct m = traits(x).product;
    if (m.pairs > 0)
      return m.pairs == 1 && !m.trans_a && rows(n) <= kFewRows && rows(n) > 1 &&
             (!m.addend || plan_.shape(x.in[2]).rows == 1);
    return elementwise(x);
  }

  // Whether the two ops can be one op on stacked rows.
  bool alike(int a, int b) const {
    const Node &x = node(a), &y = node(b);
    if (!(x.op == y.op) || plan_.shape(x.out[0]).cols != plan_.shape(y.out[0]).cols) return false;
    if (const DenseProduct m = traits(x).product; m.pairs > 0)
      return x.in[1] == y.in[1] && x.in[0] != y.in[0] && (!m.addend || x.in[2] == y.in[2]);
    // Elementwise ops follow an existing stack: their first inputs are adjacent slices of one value.
    const Id s = stack_of(x.in[0]), t = stack_of(y.in[0]);
    if (s == kNone || s != t || x.in[0] == y.in[0]) return false;
    return x.in.size() == 1 || shared(x.in[1], y.in[1]) || row_wise(a, b);
  }
  bool shared(Id p, Id q) const { return p == q && plan_.shape(p).rows == 1; }
  bool row_wise(int a, int b) const {
    const Shape p = plan_.shape(node(a).in[1]), q = plan_.shape(node(b).in[1]);
    return p.rows == rows(a) && q.rows == rows(b) && p.cols == q.cols;
  }
  Id stack_of(Id v) const {
    const Node* m = plan_.maker(v);
    if (m == nullptr || !std::holds_alternative<SliceRows>(m->op)) return kNone;
    const Node* parent = plan_.maker(m->in[0]);  // a slice of a weight or state is not a stack
    return parent == nullptr ? kNone : m->in[0];
  }
  int64_t start_of(Id v) const { return std::get<SliceRows>(plan_.maker(v)->op).start; }

  std::vector<int> group_of(int first) const {
    std::vector<int> group{first};
    if (!stackable(first)) return group;
    for (int n = first + 1; n < static_cast<int>(plan_.nodes.size()); ++n) {
      if (!alike(first, n) || !stackable(n)) continue;
      bool independent = true;
      for (const int g : group) independent = independent && !reaches(g, n);
      if (independent) group.push_back(n);
    }
    if (group.size() < 2 || !elementwise(node(first))) return group;
    // The slices must tile their stack, in order; then the op runs on the stack itself.
    std::sort(group.begin(), group.end(),
              [&](int a, int b) { return start_of(node(a).in[0]) < start_of(node(b).in[0]); });
    int64_t at = 0;
    for (const int g : group) {
      if (start_of(node(g).in[0]) != at) return {first};
      at += rows(g);
    }
    return at == plan_.shape(stack_of(node(first).in[0])).rows ? group : std::vector<int>{first};
  }

  // Whether b depends on a.
  bool reaches(int a, int b) const {
    std::vector<int> open{a};
    std::vector<char> seen(plan_.nodes.size(), 0);
    while (!open.empty()) {
      const int n = open.back();
      open.pop_back();
      if (n == b) return true;
      for (const Id v : node(n).out)
        for (const int r : readers_[static_cast<size_t>(v)])
          if (r <= b && !seen[static_cast<size_t>(r)]) {
            seen[static_cast<size_t>(r)] = 1;
            open.push_back(r);
          }
    }
    return false;
  }

  // Replaces the group by one op; the members' results become slices of its result. New nodes take the position of the
  // last member.
  void merge(const std::vector<int>& group) {
    const Node first = node(group[0]);
    std::vector<Node> made;
    auto value = [&](Shape shape, DType dtype) {
      plan_.values.push_back({shape, dtype, -1, 0});
      return static_cast<Id>(plan_.values.size() - 1);
    };
    auto emit = [&](const Op& op, std::vector<Id> in) {
      const Result r = infer(op, plan_, in)[0];
      made.push_back({op, std::move(in), {value(r.shape, r.dtype)}});
      return made.back().out[0];
    };
    auto stacked = [&](size_t i) {
      const Id stack = stack_of(first.in[i]);
      int64_t at = 0;
      std::vector<Id> parts;
      bool whole = stack != kNone;
      for (const int g : group) {
        const Id v = node(g).in[i];
        parts.push_back(v);
        whole = whole && stack_of(v) == stack && start_of(v) == at;
        at += plan_.shape(v).rows;
      }
      return whole && at == plan_.shape(stack).rows ? stack : emit(ConcatRows{}, parts);
    };
    std::vector<Id> in = first.in;
    in[0] = stacked(0);
    if (elementwise(first) && in.size() == 2 && !shared_by_all(group)) in[1] = stacked(1);
    const Id whole = emit(first.op, in);
    int64_t at = 0;
    for (const int g : group) {
      const Id old = node(g).out[0];
      made.push_back({SliceRows{at, rows(g)}, {whole}, {old}});
      at += rows(g);
    }
    const int last = *std::max_element(group.begin(), group.end());
    std::vector<Node> nodes;
    for (int n = 0; n < static_cast<int>(plan_.nodes.size()); ++n) {
      if (std::find(group.begin(), group.end(), n) == group.end()) nodes.push_back(node(n));
      if (n == last) nodes.insert(nodes.end(), made.begin(), made.end());
    }
    plan_.nodes = std::move(nodes);
    for (size_t n = 0; n < plan_.nodes.size(); ++n)
      for (size_t k = 0; k < plan_.nodes[n].out.size(); ++k) {
        Value& v = plan_.values[static_cast<size_t>(plan_.nodes[n].out[k])];
        v.node = static_cast<int>(n);
        v.output = static_cast<int>(k);
      }
    schedule(plan_);
  }
  bool shared_by_all(const std::vector<int>& group) const {
    for (const int g : group)
      if (!shared(node(g).in[1], node(group[0]).in[1])) return false;
    return true;
  }

  Plan& plan_;
  std::vector<std::vector<int>> readers_;
};

}  // namespace

void stack(Plan& plan) {
  schedule(plan);
  Stacker(plan).run();
}

}  // namespace tessera
