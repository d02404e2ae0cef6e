#include "engine/run/live_rows.h"

#include <algorithm>

#include "engine/plan/op_rules.h"

namespace tessera {
namespace {

class Search {
 public:
  Search(const Plan& plan, const RowChains& chains) : plan_(plan), chains_(chains) {
    live_.per_place.assign(plan.values.size(), 0);
    live_.of_chain.assign(chains.chains.size(), 0);
  }

  std::optional<LiveRows> run() {
    live_.count = plan_.find(kBatchRows);
    if (live_.count == kNone || chains_.chains.empty()) return {};
    live_.maker = plan_[live_.count].node;
    if (!find_batch()) return {};
    while (spread()) {}
    for (const Node& x : plan_.nodes)
      if (!ends_with_the_batch(x)) return {};
    for (const Id v : plan_.outputs)
      if (per_place(v) > 0) return {};
    return std::move(live_);
  }

 private:
  int64_t& per_place(Id v) { return live_.per_place[static_cast<size_t>(v)]; }
  int chain_of(const Node& x) const { return chains_.chain_of[static_cast<size_t>(plan_[x.out[0]].node)]; }
  bool reads_batch(const Node& x) {
    return std::any_of(x.in.begin(), x.in.end(), [this](Id v) { return v != kNone && per_place(v) > 0; });
  }

  // Whether an op in no chain computes each row from that row of the batch.
  bool row_by_row(const Node& x) const {
    const int64_t rows = plan_.shape(x.out[0]).rows;
    for (const Id v : x.out)
      if (plan_.shape(v).rows != rows) return false;
    for (size_t i = 0; i < x.in.size(); ++i) {
      const Id v = x.in[i];
      if (v != kNone && live_.per_place[static_cast<size_t>(v)] > 0 &&
          !(along_rows(x, i) && plan_.shape(v).rows == rows))
        return false;
    }
    return in_place(x.op) == 0;
  }

  // The first of the compacted rows, which no other op reads.
  bool find_batch() {
    const std::vector<Id>& compact = plan_.maker(live_.count)->out;
    for (const Node& x : plan_.nodes) {
      const bool reads = std::any_of(x.in.begin(), x.in.end(), [&](Id v) {
        return std::find(compact.begin(), compact.end(), v) != compact.end();
      });
      if (!reads) continue;
      const Move move = move_of(x.op);
      const int64_t rows = plan_.shape(x.out[0]).rows;
      if (move.kind != Move::slice_rows || move.start != 0 || (live_.places > 0 && rows != live_.places)) return false;
      live_.places = rows, per_place(x.out[0]) = 1;
    }
    return live_.places > 1;
  }

  // Marks what depends on the batch row by row; false: nothing new was marked.
  bool spread() {
    bool more = false;
    for (const Node& x : plan_.nodes) {
      const int chain = chain_of(x);
      if (!(chain >= 0 && live_.of_chain[static_cast<size_t>(chain)] > 0) && !reads_batch(x)) continue;
      const int64_t rows = plan_.shape(x.out[0]).rows;
      if ((chain < 0 && move_of(x.op).kind == Move::none && !row_by_row(x)) || rows % live_.places != 0) continue;
      for (const Id v : x.out) more = more || per_place(v) == 0, per_place(v) = rows / live_.places;
      if (chain >= 0) live_.of_chain[static_cast<size_t>(chain)] = rows / live_.places;
    }
    return more;
  }

  // Whether x reads rows of the batch only for rows of the same places, or all of them for a sum.
  bool ends_with_the_batch(const Node& x) {
    const int chain = chain_of(x);
    const bool live = chain >= 0 && live_.of_chain[static_cast<size_t>(chain)] > 0;
    if (!live && !reads_batch(x)) return true;
    if (live && chains_.chains[static_cast<size_t>(chain)].tiles) return false;
    const Move::Kind moves = move_of(x.op).kind;
    if (!live && moves != Move::none)  // rows stay in their places
      return moves == Move::reshape || moves == Move::slice_cols || moves == Move::concat_cols;
    if (!live && per_place(x.out[0]) > 0) return row_by_row(x);
    const OperandSet sums = traits(x).sums;
    const int64_t rows = plan_.shape(live ? x.out[0] : x.in[0]).rows;
    for (size_t i = 0; i < x.in.size(); ++i) {
      if (x.in[i] == kNone || per_place(x.in[i]) == 0) continue;
      if (plan_.shape(x.in[i]).rows != rows || !(live ? along_rows(x, i) : sums.has(i))) return false;
    }
    return true;
  }

  const Plan& plan_;
  const RowChains& chains_;
  LiveRows live_;
};

}  // namespace

std::optional<LiveRows> live_rows(const Plan& plan, const RowChains& chains) { return Search(plan, chains).run(); }

}  // namespace tessera
