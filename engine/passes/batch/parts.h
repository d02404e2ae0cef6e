// What a batch is cut into, and the values of a step as a rank, or a micro-batch, has them.
#pragma once
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/plan/op_rules.h"
#include "engine/plan/recorder.h"

namespace tessera::batch_parts {

// Rows of each stretch of the batch that a value was put together from: every stretch is cut by itself.
using Stretches = std::vector<int64_t>;

inline int64_t sum_of(const Stretches& rows) { return std::accumulate(rows.begin(), rows.end(), int64_t{0}); }

// A value of the whole plan as this rank has it.
struct Part {
  enum Kind {
    whole,  // all of it, the same on every rank
    rows,   // its own rows of each stretch
    sums    // what each of its shards adds to it
  } kind = whole;
  Var value{};
  Stretches stretches{};        // rows: those of the whole batch
  std::vector<Var> by_shard{};  // sums: of the shards of this rank, or one of all of them
  bool added = false;           // sums: by an op that adds shards itself
};

inline bool over_sequences(const Op& op) {
  return std::holds_alternative<Recurrent>(op) || std::holds_alternative<RecurrentGrad>(op) ||
         std::holds_alternative<RecurrentInputGrad>(op) || std::holds_alternative<RecurrentWgrad>(op);
}

// Rows that an op draws for each row of a batch; 0: none.
inline int64_t drawn_rows(const Node& x) {
  int64_t rows = 0;
  if (const auto* r = std::get_if<Random>(&x.op)) rows = r->rows;
  if (const auto* d = std::get_if<DrawConditions>(&x.op)) rows = d->rows;
  return rows > 1 ? rows : 0;
}

// The pieces that a batch can be cut into without a pack or a tile of sequences in two of them.
inline int64_t units_of(const Plan& plan) {
  int64_t units = 0;
  bool sequences = false;
  for (const Node& x : plan.nodes) {
    units = std::gcd(units, drawn_rows(x));
    sequences = sequences || over_sequences(x.op);
  }
  if (!sequences) return units;
  return units % kSequenceTile == 0 ? units / kSequenceTile : 0;
}

}  // namespace tessera::batch_parts
