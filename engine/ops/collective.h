// all_gather, reduce_parts, gather_parts: the exchanges of ranks within a step (engine/passes/batch/shard.h inserts
// them into a plan). All of them take and return the state that orders them.
#pragma once
#include "engine/ops/rule.h"

namespace tessera {

inline Traits exchange_of(int in_place, int sends, int64_t to_each) {
  return {.rows = Follows::never(),
          .cols = Follows::never(),
          .elements = Follows::never(),
          .in_place = in_place,
          .sends = sends,
          .sent_to_each = to_each};
}

template <>
struct Rule<AllGather> : NoGradient, Free {
  static Traits traits(const AllGather&, size_t) { return exchange_of(1, 1, 0); }
  static std::vector<Result> infer(const AllGather& op, const Shapes& in) {
    require(in.size() == 2 && in[0] == Shape{1, 1} && in[1].rows == 1 && op.ranks > 0, "all_gather");
    return {{in[0]}, {{op.ranks, in[1].cols}}};
  }
};

template <>
struct Rule<ReduceParts> : NoGradient {
  static Traits traits(const ReduceParts& op, size_t) { return exchange_of(1, 1, op.part); }
  static std::vector<Result> infer(const ReduceParts& op, const Shapes& in) {
    require(in.size() == 2 && in[0] == Shape{1, 1} && in[1].rows == 1, "reduce_parts");
    require(op.ranks > 0 && op.ranks <= kMaxRanks && op.rank < op.ranks, "reduce_parts ranks");
    require(op.part * (op.ranks - 1) < in[1].cols && in[1].cols <= op.part * op.ranks, "reduce_parts parts");
    return {{in[0]}, {{1, owned_by(in[1].cols, op.part, op.rank)}}};
  }
  static double flops(const ReduceParts& op, const Shapes&, const Shapes& out) {
    return static_cast<double>((op.ranks - 1) * out[1].count());
  }
};

template <>
struct Rule<GatherParts> : NoGradient, Free {
  static Traits traits(const GatherParts& op, size_t) {
    return exchange_of(static_cast<int>(op.ranks) + 1, static_cast<int>(op.rank) + 1, 0);
  }
  static std::vector<Result> infer(const GatherParts& op, const Shapes& in) {
    require(in.size() == static_cast<size_t>(op.ranks) + 1 && in[0] == Shape{1, 1}, "gather_parts");
    std::vector<Result> out;
    for (size_t i = 0; i < in.size(); ++i) {
      require(in[i].rows == 1 && (i < 2 || (in[i].cols <= in[1].cols && in[i - 1] == in[1])), "gather_parts parts");
      out.push_back({in[i]});
    }
    return out;
  }
};

}  // namespace tessera
