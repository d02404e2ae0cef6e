#include "engine/schedule/cpu_recurrent_tiles.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "engine/plan/op_rules.h"
#include "engine/schedule/placement.h"

namespace tessera {
namespace {

bool kept_for_derivative(const Plan& plan, Id v) {
  const Node* x = plan.maker(v);
  return x != nullptr && traits(*x).tiles.derivative.has(static_cast<size_t>(plan[v].output));
}
// Steps of sequences that an op computes lane-major.
bool gives_lanes(const Plan& plan, Id v) {
  const Node* x = plan.maker(v);
  return x != nullptr && traits(*x).tiles.lanes_out.has(static_cast<size_t>(plan[v].output));
}

}  // namespace

int64_t tiles_of(const Plan& plan, const Node& x) { return sequence_tiles(sequences_of(plan, x)); }

int64_t tile_bytes(const Plan& plan, Id value, int64_t item) {
  const Node& x = *plan.maker(value);
  const Shape shape = plan.shape(value);
  const bool tiled = traits(x).tiles.tiled_out.has(static_cast<size_t>(plan[value].output));  // else rows of sequences
  return (tiled ? shape.rows / tiles_of(plan, x) : kSequenceTile) * shape.cols * item;
}

bool goes_on_by_tile(const Plan& plan, const Node& x, size_t i) {
  const Node* from = plan.maker(x.in[i]);
  if (from == nullptr || !traits(x).tiles.inputs.has(i)) return false;
  const int64_t own = tiles_of(plan, x);
  return own > 0 && tiles_of(plan, *from) == own;
}

RowChains tile_chains(const Plan& plan, int scalar_bytes) {
  if (std::all_of(plan.nodes.begin(), plan.nodes.end(), [&](const Node& x) { return tiles_of(plan, x) == 0; }))
    return {};
  RowChains c;
  c.phases = phases_in_order(plan, [&](const Node& x, size_t i) { return goes_on_by_tile(plan, x, i); });
  c.local.resize(plan.values.size());
  c.chain_of.assign(plan.nodes.size(), -1);
  add_tile_chains(plan, scalar_bytes, c);
  return c;
}

void add_tile_chains(const Plan& plan, int scalar_bytes, RowChains& c) {
  const auto maker = [&](Id v) { return v == kNone ? -1 : plan[v].node; };
  const auto item = [&](Id v) { return item_bytes(plan[v].dtype, scalar_bytes); };
  std::vector<int64_t> tiles;
  for (const Node& x : plan.nodes) tiles.push_back(tiles_of(plan, x));
  std::vector<int> phase(plan.nodes.size()), with(plan.nodes.size());
  for (size_t p = 0; p < c.phases.size(); ++p)
    for (const int n : c.phases[p]) phase[static_cast<size_t>(n)] = static_cast<int>(p);
  std::iota(with.begin(), with.end(), 0);
  const auto root = [&](int n) {
    while (with[static_cast<size_t>(n)] != n) n = with[static_cast<size_t>(n)];
    return n;
  };
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    for (size_t i = 0; i < plan.nodes[n].in.size(); ++i)
      if (goes_on_by_tile(plan, plan.nodes[n], i) && phase[n] == phase[static_cast<size_t>(maker(plan.nodes[n].in[i]))])
        with[static_cast<size_t>(root(static_cast<int>(n)))] = root(maker(plan.nodes[n].in[i]));

  std::map<int, int> chain_at;  // by root
  std::vector<size_t> link(plan.nodes.size(), 0);
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    if (tiles[n] == 0) continue;
    const auto [it, fresh] = chain_at.emplace(root(static_cast<int>(n)), static_cast<int>(c.chains.size()));
    if (fresh) c.chains.push_back({tiles[n], {}, 0, true});
    RowChain& chain = c.chains[static_cast<size_t>(it->second)];
    c.chain_of[n] = it->second;
    link[n] = chain.nodes.size();
    chain.nodes.push_back(static_cast<int>(n));
  }

  std::vector<std::vector<int>> readers(plan.values.size());
  for (size_t n = 0; n < plan.nodes.size(); ++n)
    for (const Id v : plan.nodes[n].in)
      if (v != kNone) readers[static_cast<size_t>(v)].push_back(static_cast<int>(n));
  const auto is_output = [&](Id v) {
    return std::find(plan.outputs.begin(), plan.outputs.end(), v) != plan.outputs.end();
  };
  c.lanes.resize(plan.values.size());
  c.unread.resize(plan.values.size());
  for (size_t v = 0; v < plan.values.size(); ++v) {
    const Id id = static_cast<Id>(v);
    const auto passes_on = [&](int n) {
      const Node& x = plan.nodes[static_cast<size_t>(n)];
      for (size_t i = 0; i < x.in.size(); ++i)
        if (x.in[i] == id && !traits(x).tiles.lanes_in.has(i)) return false;
      return true;
    };
    c.unread[v] = kept_for_derivative(plan, id) && readers[v].empty() && !is_output(id);
    c.lanes[v] =
        gives_lanes(plan, id) && !is_output(id) && std::all_of(readers[v].begin(), readers[v].end(), passes_on);
  }
  for (RowChain& chain : c.chains) {
    if (!chain.tiles) continue;
    std::vector<Life> lives;
    for (const int n : chain.nodes) {
      const Node& x = plan.nodes[static_cast<size_t>(n)];
      for (const Id v : x.out) {
        const auto& who = readers[static_cast<size_t>(v)];
        const bool own = !is_output(v) && std::all_of(who.begin(), who.end(), [&](int r) {
          return c.chain_of[static_cast<size_t>(r)] == c.chain_of[static_cast<size_t>(n)];
        });
        if (!own || c.unread[static_cast<size_t>(v)] || traits(x).tiles.shares) continue;
        Life life{v, (tile_bytes(plan, v, item(v)) + kCacheLine - 1) / kCacheLine * kCacheLine, 0,
                  link[static_cast<size_t>(n)], link[static_cast<size_t>(n)]};
        for (const int r : who) life.last = std::max(life.last, link[static_cast<size_t>(r)]);
        lives.push_back(life);
      }
    }
    chain.row_bytes = assign_offsets(lives);
    for (const Life& l : lives)
      c.local[static_cast<size_t>(l.value)] = {l.offset, plan.shape(l.value).cols * item(l.value)};
  }
}

}  // namespace tessera
