#include "engine/schedule/levels.h"

namespace tessera {

// Pieces of a flat set are tracked separately, so that one can be updated while another is still read.
Levels::Levels(const Plan& plan) : plan_(plan), of_value_(plan.values.size(), kLeafLevel) {
  for (size_t v = 0; v < plan.values.size(); ++v)
    extent_.push_back({static_cast<Id>(v), 0, plan.shape(static_cast<Id>(v)).count()});
  auto at = [&](Id v) -> Extent& { return extent_[static_cast<size_t>(v)]; };
  for (const Node& x : plan.nodes) {
    for (int k = 0; k < in_place(x.op); ++k) at(x.out[static_cast<size_t>(k)]) = at(x.in[static_cast<size_t>(k)]);
    if (const Move move = move_of(x.op); move.view()) {
      const Extent from = at(x.in[0]);
      Extent& to = at(x.out[0]);
      to = from;
      const Shape a = plan.shape(x.in[0]), b = plan.shape(x.out[0]);
      if (from.end - from.begin != a.count()) continue;  // columns of several rows: taken for all of them
      if (move.kind == Move::slice_rows)
        to = {from.root, from.begin + move.start * a.cols, from.begin + move.start * a.cols + b.count()};
      if (move.kind == Move::slice_cols && a.rows == 1)
        to = {from.root, from.begin + move.start, from.begin + move.start + b.count()};
    }
    if (updated_pieces(x)) at(x.out[0]) = {at(x.in[0]).root, at(x.in.front()).begin, at(x.in.back()).end};
  }
}

bool Levels::updated_pieces(const Node& x) const {
  if (move_of(x.op).kind != Move::concat_cols || plan_.shape(x.out[0]).rows != 1) return false;
  return std::all_of(x.in.begin(), x.in.end(), [&](Id v) { return updated_state(plan_, v); });
}

bool Levels::copies(const Node& x) const {
  if (move_of(x.op).kind != Move::reshape || plan_.shape(x.in[0]).rows == 1) return false;
  for (const Node* from = plan_.maker(x.in[0]); from != nullptr && is_view(from->op); from = plan_.maker(from->in[0]))
    if (move_of(from->op).kind == Move::slice_cols) return true;
  return false;
}

int Levels::after_others(const Node& x) const {
  int level = 0;
  for (const Id v : x.after) level = std::max(level, of(v) + 1);
  for (int k = 0; k < in_place(x.op); ++k) {
    const Extent& mine = extent(x.in[static_cast<size_t>(k)]);
    const auto reads = reads_.find(mine.root);
    if (reads == reads_.end()) continue;
    for (const Read& read : reads->second)
      if (read.what.meets(mine)) level = std::max(level, read.level + 1);
  }
  return level;
}

void Levels::put(const Node& x, int level, int made) {
  for (size_t i = static_cast<size_t>(in_place(x.op)); i < x.in.size();
       ++i)  // an op that overwrites the same memory needs its result
    if (x.in[i] != kNone) reads_[extent(x.in[i]).root].push_back({extent(x.in[i]), level});
  for (const Id v : x.out) of_value_[static_cast<size_t>(v)] = made;
}

}  // namespace tessera
