// On the processor: recurrent ops are done one after the other on a tile of sequences (kSequenceTile), layer after
// layer, and backwards gradient, input and weights at once;
// slopes, and what one layer hands to the next, stay in the cache of the thread that has the tile. `saved` is left out
// where nothing is differentiated. And what passes between them alone, outputs on their way up and gradients on their
// way down, stays as they work on it: sequences as lanes (View::lanes), not rows.
//   the identity: a tile's bits do not depend on the tiles beside it; a tile's share of the weights' gradients is a
//       value of its own
#pragma once
#include "engine/schedule/cpu_row_fusion.h"

namespace tessera {

// Chains of tiles alone; none where a plan has no recurrent op. A value's own memory is that of one tile; its pitch is
// the length of a row, as everywhere.
RowChains tile_chains(const Plan& plan, int scalar_bytes);
// The recurrent ops of each of its phases, in chains beside those that are there.
void add_tile_chains(const Plan& plan, int scalar_bytes, RowChains& chains);
// Whether an op may go on with a tile of its input i right after that was made.
bool goes_on_by_tile(const Plan& plan, const Node& node, size_t i);

// Tiles of an op that works tile by tile; 0: another op.
int64_t tiles_of(const Plan& plan, const Node& node);
// Bytes of one tile of a value that such an op makes: by its place in the whole the op's kernel finds it.
int64_t tile_bytes(const Plan& plan, Id value, int64_t item);

}  // namespace tessera
