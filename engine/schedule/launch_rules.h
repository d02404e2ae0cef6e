// What a chain of a launch can compute, and how a chain goes on: the rules that fuse() chooses by and that
// build_launches() checks (gpu_fusion.h).
#pragma once
#include <vector>

#include "engine/plan/plan.h"
#include "engine/schedule/levels.h"
#include "kernels/fused.h"

namespace tessera {

constexpr auto kNoCut = static_cast<FusedChain::Cut>(-1);

// How the rows of a value are arranged in units: `segments` times, one unit after the other, `run` rows per unit.
struct RowUnits {
  int64_t run = 0, segments = 0;
  bool operator==(const RowUnits&) const = default;
  bool known() const { return run > 0; }
};

// How the blocks of a chain divide a value. kNoCut: of a leaf, or computed in a way no chain can continue.
struct Division {
  FusedChain::Cut cut = kNoCut;
  int64_t width = 0;  // cols: columns; flat: elements
  RowUnits rows;
  int node = -1;  // the node to chain to; views inherit that of their source
};

class LaunchRules {
 protected:
  explicit LaunchRules(const Plan& plan);

  const Node& node(int n) const { return plan_.nodes[static_cast<size_t>(n)]; }
  Division& made(Id v) { return made_[static_cast<size_t>(v)]; }
  const Division& made(Id v) const { return made_[static_cast<size_t>(v)]; }
  Shape shape(Id v) const { return plan_.shape(v); }

  static bool made_by_tiles(const Node& x) { return (parts_of(x.op) & Parts::tiles) != 0; }
  // Whether x updates a state in place: parameter sets, [1, n], are updated element by element.
  static bool updates(const Node& x) { return in_place(x.op) > 0; }
  // How many slices a deep product has: with more than one, blocks of their own can compute them.
  int64_t slices(const Node& x) const;

  // How a chain with this cut divides the result of x; kNoCut if kernels, shapes or shared memory forbid it. Tiles: as
  // a step after the product.
  Division as(const Node& x, FusedChain::Cut cut) const;
  // The same for the first step of a chain of tiles. The blocks of a recurrent layer's weights are not rectangles.
  static Division tile_of(const Node& x) { return {traits(x).tiles.shares ? kNoCut : FusedChain::tiles, 0, {}}; }
  // Whether x, divided like `to`, needs only the part of its input i that its block computed.
  bool continues(const Node& x, size_t i, const Division& to) const;
  RowUnits layout_of_output(const Node& x) const;

  // Views need no launch, and neither do copies that continue in the chain of their source.
  bool moves_along(const Node& x) const { return is_view(x.op) && (!levels_.copies(x) || reshaped(x).known()); }
  // Where one of those is: with its source. If a chain cannot continue from it, or it turns out to be a copy, it runs
  // after that launch.
  struct Seen {
    bool chained;
    int level, source;  // the launch, kLeafLevel: before the step; the node whose chain it is in
  };
  Seen see(int n);

  // n is computed in that launch.
  void finish(int n, int level, Division to);

  const Plan& plan_;
  Levels levels_;
  int64_t unit_ = 0;  // the greatest common divisor of the row counts of all batch-like values

 private:
  int64_t rows_of(const Node& x) const;
  int64_t rows_of_input(const Node& x, size_t i) const;
  bool sums_shares(const Node& x) const;
  RowUnits default_layout(Id v) const;
  RowUnits reshaped(const Node& x) const;

  std::vector<Division> made_;
};

}  // namespace tessera
