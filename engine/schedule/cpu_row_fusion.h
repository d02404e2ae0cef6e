// CPU: ops that work row by row on the batch are fused into chains. A thread runs a chain on one block of rows while
// the block is in its cache; intermediate values stay there. An op joins the chain of its input if it can continue with
// the same rows (engine/schedule/levels.h).
//   the identity: a row's bits do not depend on other rows, so any partition of the rows gives the same values
#pragma once
#include <cstdint>
#include <vector>

#include "engine/plan/plan.h"

namespace tessera {

constexpr int64_t kCacheLine = 64;  // bytes; memory that one thread writes begins on one

struct RowChain {
  int64_t rows = 0;        // a chain of tiles (engine/schedule/cpu_recurrent_tiles.h): their number, one block per tile
  std::vector<int> nodes;  // in order
  int64_t row_bytes = 0;   // a block's own memory, for each of its rows
  bool tiles = false;
};

// A value private to its chain: its position in the block's own memory. Row i of the block is at block_rows·offset +
// i·pitch + inside.
struct LocalValue {
  int64_t offset = -1;  // bytes for each row of the block; −1: in an arena
  int64_t pitch = 0;    // bytes from row to row
  int64_t inside = 0;   // columns of another local value: bytes of a row before them
};

struct RowChains {
  std::vector<std::vector<int>> phases;  // all nodes; for place()
  std::vector<RowChain> chains;
  std::vector<int> chain_of;      // by node; −1: by itself
  std::vector<LocalValue> local;  // by value
  std::vector<bool> lanes;        // by value: View::lanes; empty: none
  std::vector<bool> unread;       // by value: never read, and its op omits it; empty: none
};

// Products with larger weights (elements) are left to their own tiles: every block would pack all of them.
constexpr int64_t kLargestWeight = 1 << 16;
RowChains row_chains(const Plan& plan, int scalar_bytes, int64_t largest_weight = kLargestWeight);

// A value private to a chain, live from its link `first` to its link `last`.
struct Life {
  Id value;
  int64_t bytes, offset;
  size_t first, last;
};
// Assigns offsets to values by their lifetimes; returns the total bytes.
int64_t assign_offsets(std::vector<Life>& lives);

// Ops whose row i reads row i of the inputs `along_rows`, and the other inputs whole.
bool row_local(const Node& x);
bool along_rows(const Node& x, size_t input);

// Rows of a block: whole register blocks of the matrix product, such that all threads get the same number of blocks.
int64_t block_rows(const Plan& plan, int64_t rows, int threads);

}  // namespace tessera
