// The level rule that every scheduler shares (gpu_fusion.h, cpu_row_fusion.h, cpu_recurrent_tiles.h, placement.h):
// an op is on the level of an input that it can continue from, one above any other input and the values it waits for,
// and above all readers of the memory it overwrites. Each scheduler defines what an op can continue from: the same
// rows, columns or elements of a block, or the same tile.
#pragma once
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/plan/op_rules.h"
#include "engine/plan/plan.h"

namespace tessera {

constexpr int kLeafLevel = -1;

// Elements begin … end − 1 of the state that a value refers to, through views and updates.
struct Extent {
  Id root;
  int64_t begin, end;
  bool meets(const Extent& o) const { return root == o.root && begin < o.end && o.begin < end; }
};

class Levels {
 public:
  explicit Levels(const Plan& plan);

  int of(Id v) const { return of_value_[static_cast<size_t>(v)]; }  // kLeafLevel: available before the step
  // The lowest level for x, at least `min_level`. goes_on(i): x may run right after the producer of its input i, on the
  // same level.
  template <class GoesOn>
  int lowest(const Node& x, int min_level, GoesOn&& goes_on) const {
    int level = std::max(min_level, 0);
    for (size_t i = 0; i < x.in.size(); ++i)
      if (x.in[i] != kNone && of(x.in[i]) != kLeafLevel) level = std::max(level, of(x.in[i]) + (goes_on(i) ? 0 : 1));
    return level;
  }
  // The lowest level on which all readers of the memory that x overwrites have finished, and the values it waits for
  // are computed.
  int after_others(const Node& x) const;
  // Puts x on that level: its inputs are read and its results computed there. A view of a leaf is a leaf: `made` says
  // so.
  void put(const Node& x, int level) { put(x, level, level); }
  void put(const Node& x, int level, int made);

  const Extent& extent(Id v) const { return extent_[static_cast<size_t>(v)]; }
  // Whether x reassembles a state from its updated pieces.
  bool updated_pieces(const Node& x) const;
  // A reshape of a value that is no longer contiguous is a copy.
  bool copies(const Node& x) const;

 private:
  struct Read {
    Extent what;
    int level;
  };
  const Plan& plan_;
  std::vector<int> of_value_;
  std::vector<Extent> extent_;
  std::map<Id, std::vector<Read>> reads_;  // by root
};

}  // namespace tessera
