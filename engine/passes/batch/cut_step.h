// What steps cut by rows (sharder.h) and by columns (engine/passes/columns/) share: the values of the whole plan as a
// rank has them, and sums that shards make apart, added up over all ranks.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "engine/passes/batch/shard.h"
#include "engine/plan/op_rules.h"
#include "engine/plan/recorder.h"

namespace tessera {

// Part: a value as a rank has it, of a kind. Of kind `whole` it is `value`, the same on every rank; of kind `sums` it
// is what each shard of the rank adds to it, `by_shard`.
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

  // Values as wholes: sums are added up, all that are asked for in one exchange.
  void settle(const std::vector<Id>& values) {
    std::vector<Id> open;
    for (const Id v : values)
      if (is(v, Part::sums) && std::find(open.begin(), open.end(), v) == open.end()) open.push_back(v);
    if (open.empty()) return;
    std::vector<std::vector<Var>> sums;
    for (const Id v : open) sums.push_back(part(v).by_shard);
    const std::vector<Var> totals = total(sums);
    for (size_t i = 0; i < open.size(); ++i) put(open[i], {.value = totals[i]});
  }

  // Σ over all shards, in their order, of several values at once. sums[i]: value i by shard of this rank.
  std::vector<Var> total(const std::vector<std::vector<Var>>& sums) {
    std::vector<Var> by_shard;
    for (size_t s = 0; s < sums[0].size(); ++s) {
      std::vector<Var> flat;
      for (const std::vector<Var>& value : sums) flat.push_back(reshape(value[s], {1, value[s].shape().count()}));
      by_shard.push_back(concat_cols(flat));
    }
    Var all = concat_rows(by_shard);
    if (cut_.ranks > 1) {
      const Shape own = all.shape();
      all = r_.emit(AllGather{cut_.wires, cut_.ranks}, {order(), reshape(all, {1, own.count()})})[1];
      all = reshape(all, {cut_.shards, own.cols});
    }
    const Var joined = cut_.shards == 1 ? all : sum_rows(all);
    std::vector<Var> out;
    int64_t at = 0;
    for (const std::vector<Var>& value : sums) {
      const Shape s = value[0].shape();
      out.push_back(reshape(slice_cols(joined, at, s.count()), s));
      at += s.count();
    }
    return out;
  }

  // What each shard of this rank makes, by its number among them.
  std::vector<Var> each_shard(const std::function<Var(int)>& make) const {
    std::vector<Var> out;
    for (int s = 0; s < own_shards(); ++s) out.push_back(make(s));
    return out;
  }

  // Linear ops on sums that are still open stay open, so that more of them share an exchange.
  bool stays_open(const Node& x) const {
    const Traits t = traits(x);
    const auto open = [&](Id v) { return is(v, Part::sums) && old_.shape(v) == old_.shape(x.in[0]); };
    return (t.linear || t.move.kind == Move::reshape || t.move.kind == Move::slice_cols) &&
           std::all_of(x.in.begin(), x.in.end(), open);
  }
  void on_sums(const Node& x) {
    put_sums(x.out[0], each_shard([&](int s) {
               std::vector<Var> in;
               for (const Id v : x.in) in.push_back(part(v).by_shard[static_cast<size_t>(s)]);
               return r_.emit1(x.op, in);
             }));
  }

  const Plan& old_;
  const RankCut cut_;
  Plan& next_;
  Recorder& r_;
  std::map<Id, Part> parts_;

 private:
  // The state that orders exchanges, as the last of them left it.
  Var order() {
    for (size_t n = next_.nodes.size(); n-- > 0;)
      if (std::holds_alternative<AllGather>(next_.nodes[n].op)) return r_.var(next_.nodes[n].out[0]);
    return order_;
  }

  Var order_;
};

}  // namespace tessera
