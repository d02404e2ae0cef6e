// Common parts of steps cut by rows (sharder.h) and by columns (engine/passes/columns/): a rank's view of the values of
// the whole plan, and sums that shards compute separately, added over all ranks.
#pragma once
#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/passes/batch/shard.h"
#include "engine/plan/op_rules.h"
#include "engine/plan/recorder.h"

namespace tessera {

// Part: a rank's view of a value. Kind `whole`: `value`, the same on every rank. Kind `sums`: `by_shard`, the summands
// of the rank's shards; `added` if one op adds shards, and then it may be one sum.
template <class Part>
class CutStep {
 public:
  CutStep(const Plan& plan, const RankCut& cut, Plan& next, Recorder& recorder)
      : old_(plan), cut_(cut), next_(next), r_(recorder) {}

 protected:
  using Kind = typename Part::Kind;

  void open_exchanges() { order_ = r_.state(kRankOrder, {1, 1}); }
  int first_shard() const { return cut_.rank * own_shards(); }
  int own_shards() const { return cut_.shards / cut_.ranks; }

  const Part* find(Id old) const {
    const auto at = parts_.find(old);
    return at == parts_.end() ? nullptr : &at->second;
  }
  const Part& part(Id old) const { return parts_.at(old); }
  bool is(Id old, Kind kind) const { return old != kNone && part(old).kind == kind; }
  void put(Id old, Part p) { parts_[old] = std::move(p); }
  void put_sums(Id old, std::vector<Var>&& sums) { put(old, {.kind = Part::sums, .by_shard = std::move(sums)}); }

  // Makes values whole: adds up their sums, all in one exchange.
  void make_whole(const std::vector<Id>& values) {
    std::vector<Id> open;
    for (const Id v : values)
      if (is(v, Part::sums) && std::find(open.begin(), open.end(), v) == open.end()) open.push_back(v);
    if (open.empty()) return;
    std::vector<std::vector<Var>> sums;
    for (const Id v : open) sums.push_back(part(v).by_shard);
    const std::vector<Var> totals = total(sums);
    for (size_t i = 0; i < open.size(); ++i) put(open[i], {.value = totals[i]});
  }

  // Whether this rank's shards are a subtree of the tree in which all shards are added: then the rank adds them itself
  // and sends their sum.
  bool adds_its_shards() const { return std::has_single_bit(static_cast<unsigned>(cut_.ranks)); }

  // Σ over all shards of several values at once. sums[i]: value i by shard of this rank, or their sum.
  //   Shards are added as neighbours, (s0 + s1) + (s2 + s3): the same bits for every number of ranks.
  std::vector<Var> total(const std::vector<std::vector<Var>>& sums) {
    std::vector<std::vector<Var>> sent(adds_its_shards() ? 1 : static_cast<size_t>(own_shards()));
    // the values that are added here are sent first, in one piece
    std::vector<size_t> order(sums.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto closed =
        std::stable_partition(order.begin(), order.end(), [&](size_t i) { return sums[i].size() > sent.size(); });
    if (closed != order.begin()) {
      std::vector<Var> pieces;
      for (size_t s = 0; s < static_cast<size_t>(own_shards()); ++s) {
        std::vector<Var> flat;
        for (auto i = order.begin(); i != closed; ++i) flat.push_back(flattened(sums[*i][s]));
        pieces.push_back(concat_cols(flat));
      }
      sent[0].push_back(added(pieces));
    }
    for (size_t k = 0; k < sent.size(); ++k)
      for (auto i = closed; i != order.end(); ++i) sent[k].push_back(flattened(sums[*i][k]));
    return unpacked(sums, order, exchanged(sent));
  }

  // The values that make(s) gives for each shard s of this rank, numbered within the rank.
  std::vector<Var> each_shard(const std::function<Var(int)>& make) const {
    std::vector<Var> out;
    for (int s = 0; s < own_shards(); ++s) out.push_back(make(s));
    return out;
  }

  static Var added(const std::vector<Var>& terms) { return added(terms, 0, terms.size()); }
  static Var flattened(Var v) { return reshape(v, {1, v.shape().count()}); }
  // The state that orders exchanges, after the last of them.
  Var order() {
    for (size_t n = next_.nodes.size(); n-- > 0;)
      if (is_exchange(next_.nodes[n].op)) return r_.var(next_.nodes[n].out[0]);
    return order_;
  }

  // The values sent by every rank, one row per rank.
  Var gathered(Var sent) { return r_.emit(AllGather{cut_.wires, cut_.ranks}, {order(), sent})[1]; }

  // Results of linear ops on open sums stay open, so that more of them share an exchange. Sums that an op has added up
  // may only be moved: a factor would change where they are rounded.
  bool stays_open(const Node& x) const {
    const Traits t = traits(x);
    const bool moves = t.move.kind == Move::reshape || t.move.kind == Move::slice_cols;
    const auto open = [&](Id v) {
      return is(v, Part::sums) && (moves || !part(v).added) && old_.shape(v) == old_.shape(x.in[0]);
    };
    return (t.linear || moves) && std::all_of(x.in.begin(), x.in.end(), open);
  }
  void on_sums(const Node& x) {
    const Part& first = part(x.in[0]);
    Part p{.kind = Part::sums, .added = first.added};
    for (size_t s = 0; s < first.by_shard.size(); ++s) {
      std::vector<Var> in;
      for (const Id v : x.in) in.push_back(part(v).by_shard[s]);
      p.by_shard.push_back(r_.emit1(x.op, in));
    }
    put(x.out[0], std::move(p));
  }

  const Plan& old_;
  const RankCut cut_;
  Plan& next_;
  Recorder& r_;
  std::map<Id, Part> parts_;

 private:
  static Var added(const std::vector<Var>& terms, size_t from, size_t end) {
    if (end - from == 1) return terms[from];
    const size_t half = from + (end - from) / 2;
    return added(terms, from, half) + added(terms, half, end);
  }
  // The sum over all ranks of the sums that each of them sends: one per rank, or one per shard. In pieces.
  std::vector<Var> exchanged(const std::vector<std::vector<Var>>& sent) {
    if (cut_.ranks == 1 && sent.size() == 1) return sent[0];
    std::vector<Var> rows;
    for (const std::vector<Var>& pieces : sent) rows.push_back(concat_cols(pieces));
    Var all = concat_rows(rows);
    const Shape own = all.shape();
    if (cut_.ranks > 1) all = reshape(gathered(flattened(all)), {cut_.ranks * own.rows, own.cols});
    rows.clear();
    for (int64_t k = 0; k < all.rows(); ++k) rows.push_back(slice_rows(all, k, 1));
    return {added(rows)};
  }
  // The values whose sums are in `pieces`, one after another.
  std::vector<Var> unpacked(const std::vector<std::vector<Var>>& sums, const std::vector<size_t>& order,
                            const std::vector<Var>& pieces) const {
    std::vector<Var> out(sums.size());
    size_t piece = 0;
    int64_t at = 0;
    for (const size_t i : order) {
      const Shape s = sums[i][0].shape();
      out[i] = reshape(slice_cols(pieces[piece], at, s.count()), s);
      at += s.count();
      if (at == pieces[piece].cols()) ++piece, at = 0;
    }
    return out;
  }

  Var order_;
};

}  // namespace tessera
