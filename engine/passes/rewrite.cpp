#include "engine/passes/rewrite.h"

#include <algorithm>

namespace tessera {
namespace {

// An empty plan with the same tables and settings.
Plan empty_like(const Plan& plan) {
  Plan next;
  next.tables = plan.tables;
  next.fuse = plan.fuse, next.row_cut = plan.row_cut, next.precision = plan.precision;
  next.narrow = plan.narrow;
  return next;
}

}  // namespace

bool Site::kept(Id v) const { return std::find(old.outputs.begin(), old.outputs.end(), v) != old.outputs.end(); }

std::vector<std::vector<int>> readers_of(const Plan& plan) {
  std::vector<std::vector<int>> readers(plan.values.size());
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    for (const Id v : plan.nodes[n].in)
      if (v != kNone) readers[static_cast<size_t>(v)].push_back(static_cast<int>(n));
  return readers;
}

void rewrite(Plan& plan, const Rewrite& rule, bool share) {
  Plan next = empty_like(plan);
  Recorder r(next);
  r.share = share;
  const auto readers = readers_of(plan);
  std::vector<Id> now(plan.values.size(), kNone);
  for (const Leaf& leaf : plan.leaves)
    now[static_cast<size_t>(leaf.value)] =
        next.leaf(leaf.kind, leaf.name, plan.shape(leaf.value), plan[leaf.value].dtype);
  for (const Node& node : plan.nodes) {
    std::vector<Var> in;
    for (const Id v : node.in) in.push_back(v == kNone ? Var{} : r.var(now[static_cast<size_t>(v)]));
    const auto replaced = rule ? rule(r, Site{plan, node, in, readers}) : std::nullopt;
    const std::vector<Var> out = replaced ? *replaced : r.emit(node.op, in);
    for (size_t i = 0; i < node.out.size(); ++i) now[static_cast<size_t>(node.out[i])] = out[i].id;
  }
  for (const Id v : plan.outputs) next.outputs.push_back(now[static_cast<size_t>(v)]);
  for (const auto& [id, name] : plan.names)
    if (const Id v = now[static_cast<size_t>(id)]; v != kNone) next.names[v] = name;
  plan = std::move(next);
}

void drop_dead(Plan& plan) {
  std::vector<char> wanted(plan.values.size(), 0), keep(plan.nodes.size(), 0);
  for (const Id v : plan.outputs) wanted[static_cast<size_t>(v)] = 1;
  for (size_t n = plan.nodes.size(); n-- > 0;) {
    const Node& node = plan.nodes[n];
    bool live = in_place(node.op) > 0;
    for (const Id v : node.out) live = live || wanted[static_cast<size_t>(v)];
    if (!live) continue;
    keep[n] = 1;
    for (const Id v : node.in)
      if (v != kNone) wanted[static_cast<size_t>(v)] = 1;
  }
  Plan next = empty_like(plan);
  std::vector<Id> now(plan.values.size(), kNone);
  for (const Leaf& leaf : plan.leaves)
    now[static_cast<size_t>(leaf.value)] =
        next.leaf(leaf.kind, leaf.name, plan.shape(leaf.value), plan[leaf.value].dtype);
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    if (!keep[n]) continue;
    std::vector<Id> in;
    for (const Id v : plan.nodes[n].in) in.push_back(v == kNone ? kNone : now[static_cast<size_t>(v)]);
    const auto out = next.emit(plan.nodes[n].op, in);
    for (size_t i = 0; i < out.size(); ++i) {
      const Id was = plan.nodes[n].out[i];
      now[static_cast<size_t>(was)] = out[i];
      next.values[static_cast<size_t>(out[i])].dtype = plan[was].dtype;
    }
    for (const Id v : plan.nodes[n].after)
      if (const Id known = now[static_cast<size_t>(v)]; known != kNone) next.nodes.back().after.push_back(known);
  }
  for (const Id v : plan.outputs) next.outputs.push_back(now[static_cast<size_t>(v)]);
  for (const auto& [id, name] : plan.names)
    if (const Id v = now[static_cast<size_t>(id)]; v != kNone) next.names[v] = name;
  plan = std::move(next);
}

}  // namespace tessera
