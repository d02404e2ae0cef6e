#include "engine/plan/plan.h"

#include <algorithm>
#include <queue>

#include "base/error.h"
#include "engine/plan/op_rules.h"

namespace tessera {

Spans::Spans(const std::vector<Item>& items) {
  table_ = {};
  for (const Item& item : items) {
    if (item.start != table_.width || item.width < 1)
      throw Error(ErrorCode::internal, "spans must be adjacent and at least one column wide");
    items_.push_back({item.start, item.width, item.softmax ? 1 : 0, item.cond_start,
                      item.softmax ? table_.softmaxes : table_.tanhs});
    (item.softmax ? table_.softmaxes : table_.tanhs) += 1;
    table_.width += item.width;
    if (item.cond_start < 0) continue;
    table_.cond_width = std::max(table_.cond_width, item.cond_start + item.width);
    cond_span_.resize(static_cast<size_t>(table_.cond_width), 0);
    for (int k = 0; k < item.width; ++k)
      cond_span_[static_cast<size_t>(item.cond_start + k)] = static_cast<int>(items_.size()) - 1;
  }
  table_.items = items_.data();
  table_.cond_span = cond_span_.data();
  table_.count = static_cast<int>(items_.size());
}

Id Plan::leaf(Leaf::Kind kind, const std::string& name, Shape shape, DType dtype) {
  const Id id = static_cast<Id>(values.size());
  values.push_back({shape, dtype, -1, 0});
  leaves.push_back({kind, name, id});
  names[id] = name;
  return id;
}

Id Plan::find_leaf(const std::string& name) const {
  for (const Leaf& l : leaves)
    if (l.name == name) return l.value;
  return kNone;
}

Id Plan::find(const std::string& name) const {
  Id found = kNone;
  for (const auto& [id, n] : names)
    if (n == name) found = std::max(found, id);
  return found;
}

std::vector<Id> Plan::emit(const Op& op, const std::vector<Id>& in, bool share) {
  // A random op's purpose makes it unique already; an op that changes state is never shared.
  share = share && in_place(op) == 0;
  auto key = std::make_pair(op.index(), in);
  if (share)
    if (auto it = made_.find(key); it != made_.end())
      for (const int n : it->second)
        if (nodes[static_cast<size_t>(n)].op == op) return nodes[static_cast<size_t>(n)].out;
  Node node{op, in, {}};
  const int number = static_cast<int>(nodes.size());
  int output = 0;
  for (const Result& r : infer(op, *this, in)) {
    node.out.push_back(static_cast<Id>(values.size()));
    values.push_back({r.shape, r.dtype, number, output++});
  }
  nodes.push_back(node);
  if (share) made_[key].push_back(number);
  return node.out;
}

void Plan::append(Node node) {
  for (size_t k = 0; k < node.out.size(); ++k) {
    Value& v = values[static_cast<size_t>(node.out[k])];
    v.node = static_cast<int>(nodes.size());
    v.output = static_cast<int>(k);
  }
  nodes.push_back(std::move(node));
}

void schedule(Plan& plan) {
  const int n = static_cast<int>(plan.nodes.size());
  std::vector<std::vector<int>> after(static_cast<size_t>(n));
  std::vector<int> waits(static_cast<size_t>(n), 0);
  auto edge = [&](int from, int to) {
    if (from == to) return;
    after[static_cast<size_t>(from)].push_back(to);
    ++waits[static_cast<size_t>(to)];
  };
  // The elements of a state version that a value refers to: itself, or through views the leaf (or in-place output)
  // below.
  struct StateRange {
    Id version;
    int64_t begin, end;
  };
  std::vector<StateRange> ranges;
  for (size_t v = 0; v < plan.values.size(); ++v)
    ranges.push_back({static_cast<Id>(v), 0, plan.shape(static_cast<Id>(v)).count()});
  std::map<Id, std::vector<std::pair<int, StateRange>>> readers;
  for (int i = 0; i < n; ++i) {
    const Node& node = plan.nodes[static_cast<size_t>(i)];
    if (!is_view(node.op)) continue;
    const StateRange from = ranges[static_cast<size_t>(node.in[0])];
    const Shape whole = plan.shape(node.in[0]);
    StateRange& part = ranges[static_cast<size_t>(node.out[0])];
    part = from;
    if (from.end - from.begin != whole.count()) continue;  // columns of several rows: taken for all of them
    const Move move = move_of(node.op);
    const int64_t count = plan.shape(node.out[0]).count();
    if (move.kind == Move::slice_rows) part.begin += move.start * whole.cols;
    else if (move.kind == Move::slice_cols && whole.rows == 1) part.begin += move.start;
    else continue;
    part.end = part.begin + count;
  }
  for (int i = 0; i < n; ++i)
    for (const Id v : plan.nodes[static_cast<size_t>(i)].in) {
      if (v == kNone) continue;
      if (plan[v].node >= 0) edge(plan[v].node, i);
      const StateRange& what = ranges[static_cast<size_t>(v)];
      readers[what.version].emplace_back(i, what);
    }
  for (int i = 0; i < n; ++i)
    for (const Id v : plan.nodes[static_cast<size_t>(i)].after)
      if (plan[v].node >= 0) edge(plan[v].node, i);
  for (int i = 0; i < n; ++i) {
    const Node& node = plan.nodes[static_cast<size_t>(i)];
    for (int k = 0; k < in_place(node.op); ++k) {
      const StateRange& changed = ranges[static_cast<size_t>(node.in[static_cast<size_t>(k)])];
      for (const auto& [reader, read] : readers[changed.version])
        if (read.begin < changed.end && changed.begin < read.end) edge(reader, i);
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < n; ++i)
    if (waits[static_cast<size_t>(i)] == 0) ready.push(i);
  std::vector<Node> order;
  std::vector<int> place(static_cast<size_t>(n), -1);
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    place[static_cast<size_t>(i)] = static_cast<int>(order.size());
    order.push_back(std::move(plan.nodes[static_cast<size_t>(i)]));
    for (const int j : after[static_cast<size_t>(i)])
      if (--waits[static_cast<size_t>(j)] == 0) ready.push(j);
  }
  if (static_cast<int>(order.size()) != n) throw Error(ErrorCode::internal, "cycle in the plan");
  plan.nodes = std::move(order);
  for (Value& v : plan.values)
    if (v.node >= 0) v.node = place[static_cast<size_t>(v.node)];
}

}  // namespace tessera
