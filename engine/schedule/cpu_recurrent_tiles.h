// CPU: recurrent ops are fused per tile of kSequenceTile sequences, layer after layer; backwards, the gradient, input
// and weight ops of a layer run together. Gate gradients and inter-layer tensors stay in the cache of the thread that
// owns the tile. `saved` is omitted if nothing is differentiated. Inter-layer activations and gradients stay lane-major
// (View::lanes): one sequence per SIMD lane.
//   the identity: a tile's bits do not depend on other tiles; a tile's share of the weights' gradients is a separate
//       value
#pragma once
#include "engine/schedule/cpu_row_fusion.h"

namespace tessera {

// Chains of tiles only; none if a plan has no recurrent op. A value's own memory is that of one tile; its pitch is the
// length of a row.
RowChains tile_chains(const Plan& plan, int scalar_bytes);
// Adds chains of the recurrent ops of each of its phases.
void add_tile_chains(const Plan& plan, int scalar_bytes, RowChains& chains);
// Whether an op may continue with a tile of its input i in the same chain.
bool goes_on_by_tile(const Plan& plan, const Node& node, size_t i);

// Tiles of an op that works tile by tile; 0: another op.
int64_t tiles_of(const Plan& plan, const Node& node);
// Bytes of one tile of a value that such an op computes; the op's kernel addresses it by its offset in the whole.
int64_t tile_bytes(const Plan& plan, Id value, int64_t item);

}  // namespace tessera
