// Sums that the shards of a step make apart, added up over all ranks: the one exchange of cut steps (sharder.h,
// engine/passes/columns/).
#pragma once
#include <vector>

#include "engine/passes/batch/shard.h"
#include "engine/plan/recorder.h"

namespace tessera {

class RankSums {
 public:
  RankSums(const RankCut& cut, Plan& plan, Recorder& recorder) : cut_(cut), plan_(plan), r_(recorder) {}

  void open() { order_ = r_.state(kRankOrder, {1, 1}); }
  int first_shard() const { return cut_.rank * own_shards(); }
  int own_shards() const { return cut_.shards / cut_.ranks; }

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

 private:
  // The state that orders exchanges, as the last of them left it.
  Var order() {
    for (size_t n = plan_.nodes.size(); n-- > 0;)
      if (std::holds_alternative<AllGather>(plan_.nodes[n].op)) return r_.var(plan_.nodes[n].out[0]);
    return order_;
  }

  const RankCut cut_;
  Plan& plan_;
  Recorder& r_;
  Var order_;
};

}  // namespace tessera
