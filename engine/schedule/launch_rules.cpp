#include "engine/schedule/launch_rules.h"

#include <algorithm>
#include <numeric>

#include "kernels/split_k.h"

namespace tessera {

LaunchRules::LaunchRules(const Plan& plan) : plan_(plan), levels_(plan), made_(plan.values.size()) {
  for (const Node& n : plan_.nodes)
    if (const int64_t r = shape(n.out[0]).rows; r > 1 && traits(n).batch) unit_ = std::gcd(unit_, r);
}

// The rows that a chain partitions. A lane-major value holds one sequence per lane: row b is lane b mod kSequenceTile
// of a tile, in any partition.
int64_t LaunchRules::rows_of(const Node& x) const {
  const OperandSet tiled = traits(x).tiles.tiled_out;
  return shape(x.out[tiled.has(0) ? 1 : 0]).rows;
}
int64_t LaunchRules::rows_of_input(const Node& x, size_t i) const {
  return traits(x).tiles.tiled_in.has(i) ? rows_of(x) : shape(x.in[i]).rows;
}

// The sum of the shares of a recurrent layer's gradients, of so few rows that a thread adds those of an element: the
// update follows in the same chain.
bool LaunchRules::sums_shares(const Node& x) const {
  constexpr int64_t kFewRows = 32;
  const bool adds = (parts_of(x.op) & Parts::elements) != 0 && traits(x).sums.has(0);
  if (!adds || shape(x.in[0]).rows > kFewRows) return false;
  return std::any_of(plan_.nodes.begin(), plan_.nodes.end(),
                     [&](const Node& n) { return traits(n).tiles.shares && n.out[0] == x.in[0]; });
}

int64_t LaunchRules::slices(const Node& x) const {
  const DenseProduct m = traits(x).product;
  int64_t count = 0;
  for (int p = 0; p < m.pairs; ++p) {
    const Shape a = shape(x.in[static_cast<size_t>(2 * p)]);
    count += slices_of(m.trans_a ? a.rows : a.cols, m.cut).count;
  }
  return count;
}

Division LaunchRules::as(const Node& x, FusedChain::Cut cut) const {
  const int parts = parts_of(x.op);
  const bool elements = (parts & Parts::elements) != 0 && traits(x).elements;
  switch (cut) {
    case FusedChain::rows: {
      if ((parts & Parts::rows) == 0 || !traits(x).rows || unit_ <= 1 || rows_of(x) % unit_ != 0) return {};
      if (row_floats_of(plan_, x) > kFusedFloats)
        return {};  // a sequence's state must fit beside the tiles of products
      const RowUnits rows = layout_of_output(x);
      return rows.known() ? Division{cut, 0, rows} : Division{};
    }
    case FusedChain::cols:
      if ((parts & Parts::cols) == 0 || !traits(x).cols) return {};
      return {cut, traits(x).scalars ? 1 : shape(x.out[0]).cols, {}};
    case FusedChain::flat:
      if (!sums_shares(x) && !(elements && updates(x))) return {};
      return {cut, shape(x.out[0]).count(), {}};
    case FusedChain::tiles: return elements ? Division{cut, 0, {}} : Division{};
  }
  return {};
}

bool LaunchRules::continues(const Node& x, size_t i, const Division& to) const {
  const Division& m = made(x.in[i]);
  if (m.cut != to.cut || m.cut == kNoCut) return false;
  switch (to.cut) {
    case FusedChain::rows:
      if (!traits(x).rows.input(i)) return false;
      if (move_of(x.op).kind == Move::concat_rows) return m.rows.run == to.rows.run;
      return m.rows == to.rows && rows_of_input(x, i) == rows_of(x);
    case FusedChain::cols: return m.width == to.width && traits(x).cols.input(i) && shape(x.in[i]).cols == to.width;
    case FusedChain::flat: return m.width == to.width && shape(x.in[i]).count() == to.width;
    // The update of a parameter continues in the tiles of its gradient, and a function of a product in the product's.
    case FusedChain::tiles: return shape(x.in[i]) == shape(x.out[0]);
  }
  return false;
}

RowUnits LaunchRules::layout_of_output(const Node& x) const {
  const int64_t rows = rows_of(x);
  if (unit_ <= 1 || rows % unit_ != 0) return {};
  if (move_of(x.op).kind == Move::concat_rows) {
    RowUnits all{0, 0};
    for (const Id v : x.in) {
      RowUnits l = made(v).rows;
      if (!l.known()) l = default_layout(v);
      if (!l.known() || (all.run > 0 && all.run != l.run)) return {};
      all = {l.run, all.segments + l.segments};
    }
    return all;
  }
  for (size_t i = 0; i < x.in.size(); ++i)
    if (x.in[i] != kNone && traits(x).rows.input(i) && rows_of_input(x, i) == rows && made(x.in[i]).rows.known())
      return made(x.in[i]).rows;
  return {rows / unit_, 1};
}
RowUnits LaunchRules::default_layout(Id v) const {
  const int64_t rows = shape(v).rows;
  return rows % unit_ == 0 ? RowUnits{rows / unit_, 1} : RowUnits{};
}

// How the rows of a reshaped value are arranged in units: unknown if a row would span two units.
RowUnits LaunchRules::reshaped(const Node& x) const {
  const RowUnits from = made(x.in[0]).rows;
  const int64_t a = shape(x.in[0]).rows, b = shape(x.out[0]).rows;
  if (made(x.in[0]).cut != FusedChain::rows || !from.known() || a != from.segments * from.run * unit_ ||
      from.run * b % a != 0)
    return {};
  return {from.run * b / a, from.segments};
}

LaunchRules::Seen LaunchRules::see(int n) {
  const Node& x = node(n);
  const Move move = move_of(x.op);
  const Division from = made(x.in[0]);
  const int was = levels_.of(x.in[0]);
  int level = was;
  const Shape a = shape(x.in[0]), b = shape(x.out[0]);
  Division to = from;
  bool chained = false;
  if (from.cut == FusedChain::rows && from.rows.known()) {
    RowUnits rows;
    if (move.kind == Move::reshape) rows = reshaped(x);
    if (move.kind == Move::slice_rows) {
      const int64_t segment = unit_ * from.rows.run;
      if (move.start % segment == 0 && b.rows % segment == 0) rows = {from.rows.run, b.rows / segment};
    }
    if (move.kind == Move::slice_cols) rows = from.rows;
    to.rows = rows;
    chained = rows.known();
    if (!chained) to.cut = kNoCut;
  } else if (from.cut == FusedChain::cols) {
    if (!(move.kind == Move::slice_rows || a == b)) to.cut = kNoCut;
  } else {
    to.cut = kNoCut;
    if (was == kLeafLevel) to.rows = {};
    if (const Node* pieces = plan_.maker(x.in[0]);
        move.kind == Move::slice_cols && pieces != nullptr && levels_.updated_pieces(*pieces)) {
      level = kLeafLevel;  // of the last piece that it overlaps
      for (const Id piece : pieces->in)
        if (levels_.extent(piece).meets(levels_.extent(x.out[0]))) level = std::max(level, levels_.of(piece));
    }
  }
  to.node = chained ? n : from.node;
  made(x.out[0]) = to;
  const int launch = was == kLeafLevel ? kLeafLevel : std::max(level, 0);
  levels_.put(x, launch, level);
  return {chained, launch, from.node};
}

void LaunchRules::finish(int n, int level, Division to) {
  levels_.put(node(n), level);
  to.node = n;
  for (const Id v : node(n).out) made(v) = to;
}

}  // namespace tessera
