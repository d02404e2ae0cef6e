// all_gather: what the ranks exchange within a step (engine/passes/batch/shard.h puts it into a plan).
#pragma once
#include "engine/ops/rule.h"

namespace tessera {

template <>
struct Rule<AllGather> : NoGradient, Free {
  static constexpr Traits traits{
      .rows = Follows::never(), .cols = Follows::never(), .elements = Follows::never(), .in_place = 1};
  static std::vector<Result> infer(const AllGather& op, const Shapes& in) {
    require(in.size() == 2 && in[0] == Shape{1, 1} && in[1].rows == 1 && op.ranks > 0, "all_gather");
    return {{in[0]}, {{op.ranks, in[1].cols}}};
  }
};

}  // namespace tessera
