#include "engine/schedule/split_optimizer.h"

#include <algorithm>

#include "engine/plan/op_rules.h"

namespace tessera {
namespace {

class Splitter {
 public:
  explicit Splitter(Plan& plan) : plan_(plan) {}

  void run() {
    for (const Node& n : std::vector<Node>(std::move(plan_.nodes))) {
      if (std::holds_alternative<Adam>(n.op)) adam(n);
      else if (std::holds_alternative<Average>(n.op)) average(n);
      else if (std::holds_alternative<ClampRange>(n.op)) clamp(n);
      else append(n);
    }
    drop_unread();
  }

 private:
  struct Piece {  // of a flat value [1, n]: elements start and on, as [rows, cols]
    int64_t start;
    Id value;
  };
  using Pieces = std::vector<Piece>;

  void append(Node n) { plan_.append(std::move(n)); }
  std::vector<Id> emit(const Op& op, const std::vector<Id>& in) { return plan_.emit(op, in); }
  Shape shape(Id v) const { return plan_.shape(v); }  // a copy: emit() moves the values
  Id reshaped(Id v, Shape s) { return shape(v) == s ? v : emit(Reshape{s.rows, s.cols}, {v})[0]; }
  int64_t size(Id v) const { return shape(v).count(); }

  // The elements at a piece's position in another flat value.
  Id at(Id flat, const Piece& p) {
    if (auto known = pieces_.find(flat); known != pieces_.end())
      for (const Piece& q : known->second)
        if (q.start == p.start && shape(q.value) == shape(p.value)) return q.value;
    return reshaped(emit(SliceCols{p.start, size(p.value)}, {flat})[0], shape(p.value));
  }

  // The pieces of a gradient: the parts of its column concatenation, and of their row concatenations.
  void parts_of(Id v, int64_t& start, Pieces& parts) const {
    const Node* n = plan_.maker(v);
    if (n != nullptr && shape(v).rows == 1 && std::holds_alternative<Reshape>(n->op))
      return parts_of(n->in[0], start, parts);
    if (n != nullptr &&
        (shape(v).rows == 1 ? std::holds_alternative<ConcatCols>(n->op) : std::holds_alternative<ConcatRows>(n->op))) {
      for (const Id part : n->in) parts_of(part, start, parts);
      return;
    }
    parts.push_back({start, v});
    start += size(v);
  }

  // From here on, the flat value `whole` is the concatenation of its pieces.
  void whole(Id flat, const Pieces& pieces) {
    std::vector<Id> in;
    for (const Piece& p : pieces) in.push_back(reshaped(p.value, {1, size(p.value)}));
    append(Node{ConcatCols{}, std::move(in), {flat}});
    pieces_[flat] = pieces;
  }

  void adam(const Node& n) {
    Pieces grads;
    int64_t start = 0;
    parts_of(n.in[3], start, grads);
    // The update of a scaled loss waits for all gradients anyway.
    if (n.in.size() > 6 || shape(n.in[0]).rows != 1 || grads.size() < 2) return append(n);
    Pieces next[3];
    for (const Piece& g : grads) {
      std::vector<Id> in{at(n.in[0], g), at(n.in[1], g), at(n.in[2], g), g.value};
      in.insert(in.end(), n.in.begin() + 4, n.in.end());  // the gate
      const auto out = emit(n.op, in);
      for (size_t k = 0; k < 3; ++k) next[k].push_back({g.start, out[k]});
    }
    for (size_t k = 0; k < 3; ++k) whole(n.out[k], next[k]);
  }

  void average(const Node& n) {
    auto params = pieces_.find(n.in[1]);
    if (params == pieces_.end()) return append(n);
    Pieces next;
    for (const Piece& p : Pieces(params->second)) next.push_back({p.start, emit(n.op, {at(n.in[0], p), p.value})[0]});
    whole(n.out[0], next);
  }

  void clamp(const Node& n) {
    auto params = pieces_.find(n.in[0]);
    if (params == pieces_.end()) return append(n);
    const ClampRange op = std::get<ClampRange>(n.op);
    Pieces next = params->second;
    for (Piece& p : next) {
      const int64_t low = std::max(op.start, p.start), high = std::min(op.start + op.count, p.start + size(p.value));
      if (low < high)
        p.value =
            emit(ClampRange{low - p.start, high - low, op.low, op.high}, {reshaped(p.value, {1, size(p.value)})})[0];
    }
    whole(n.out[0], next);
  }

  // Removes flat gradients and states between two updates that are no longer read. Value numbers do not change.
  void drop_unread() {
    std::vector<char> read(plan_.values.size(), 0);
    for (const Id v : plan_.outputs) read[static_cast<size_t>(v)] = 1;
    for (const auto& [v, name] : plan_.names) read[static_cast<size_t>(v)] = 1;
    std::vector<Node> kept;
    for (size_t n = plan_.nodes.size(); n-- > 0;) {
      Node& x = plan_.nodes[n];
      if (in_place(x.op) == 0 &&
          std::none_of(x.out.begin(), x.out.end(), [&](Id v) { return read[static_cast<size_t>(v)] != 0; })) {
        for (const Id v : x.out) plan_.values[static_cast<size_t>(v)].node = -1;
        continue;
      }
      for (const Id v : x.in)
        if (v != kNone) read[static_cast<size_t>(v)] = 1;
      kept.push_back(std::move(x));
    }
    plan_.nodes.clear();
    std::reverse(kept.begin(), kept.end());
    for (Node& x : kept) append(std::move(x));
  }

  Plan& plan_;
  std::map<Id, Pieces> pieces_;
};

}  // namespace

void split_updates(Plan& plan) { Splitter(plan).run(); }

}  // namespace tessera
