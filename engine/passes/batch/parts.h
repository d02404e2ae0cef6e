// The pieces of a batch, and a rank's (or micro-batch's) view of the values of a step.
#pragma once
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/plan/op_rules.h"
#include "engine/plan/recorder.h"

namespace tessera::batch_parts {

// A value's rows are joined from segments of the batch: the rows of each. Every segment is cut separately.
using Segments = std::vector<int64_t>;

inline int64_t sum_of(const Segments& rows) { return std::accumulate(rows.begin(), rows.end(), int64_t{0}); }

// This rank's view of a value of the whole plan.
struct Part {
  enum Kind {
    whole,  // all of it, the same on every rank
    rows,   // its own rows of each segment
    sums    // the summands of its shards
  } kind = whole;
  Var value{};
  Segments segments{};          // rows: those of the whole batch
  std::vector<Var> by_shard{};  // sums: of the shards of this rank, or one over all of them
  bool added = false;           // sums: computed by an op that adds shards itself
};

inline bool over_sequences(const Op& op) {
  return std::holds_alternative<Recurrent>(op) || std::holds_alternative<RecurrentGrad>(op) ||
         std::holds_alternative<RecurrentInputGrad>(op) || std::holds_alternative<RecurrentWgrad>(op);
}

// Rows that an op draws for each row of a batch; 0: none. A batch that is the first of compacted rows is drawn, too.
inline int64_t drawn_rows(const Plan& plan, const Node& x) {
  int64_t rows = 0;
  if (const auto* s = std::get_if<SliceRows>(&x.op))
    rows = s->start == 0 && plan.made_by<CompactRows>(x.in[0]) != nullptr ? s->rows : 0;
  if (const auto* r = std::get_if<Random>(&x.op)) rows = r->rows;
  if (const auto* d = std::get_if<DrawConditions>(&x.op)) rows = d->rows;
  return rows > 1 ? rows : 0;
}

// The number of pieces into which a batch can be cut without splitting a pack or a tile of sequences.
inline int64_t units_of(const Plan& plan) {
  int64_t units = 0;
  bool sequences = false;
  for (const Node& x : plan.nodes) {
    units = std::gcd(units, drawn_rows(plan, x));
    sequences = sequences || over_sequences(x.op);
  }
  if (!sequences) return units;
  return units % kSequenceTile == 0 ? units / kSequenceTile : 0;
}

}  // namespace tessera::batch_parts
