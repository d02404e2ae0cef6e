// On the processor: ops that work row by row on the batch are done one after the other on a block of its rows, while
// the block is in the cache, and what only they see never leaves it. An op joins the chain of what it reads if it can
// go on with the same rows (engine/schedule/levels.h).
//   the identity: a row's bits do not depend on the rows beside it, so any cut of the rows gives the same values
#pragma once
#include <cstdint>
#include <vector>

#include "engine/plan/plan.h"

namespace tessera {

struct RowChain {
  int64_t rows = 0;        // of tiles (engine/schedule/cpu_recurrent_tiles.h): their number, a block each
  std::vector<int> nodes;  // in order
  int64_t row_bytes = 0;   // a block's own memory, for each of its rows
  bool tiles = false;
};

// A value that its chain alone sees: where it lies in the block's own memory. Row i of the block is at
// block_rows·offset + i·pitch.
struct LocalValue {
  int64_t offset = -1;  // bytes for each row of the block; −1: it lies in an arena
  int64_t pitch = 0;    // bytes from row to row
};

struct RowChains {
  std::vector<std::vector<int>> phases;  // all nodes; for place()
  std::vector<RowChain> chains;
  std::vector<int> chain_of;      // by node; −1: by itself
  std::vector<LocalValue> local;  // by value
  std::vector<bool> lanes;        // by value: View::lanes; empty: none
  std::vector<bool> unread;       // by value: nobody reads it, and its op leaves it out; empty: none
};

RowChains row_chains(const Plan& plan, int scalar_bytes);

// A value of a chain's own, wanted from its link `first` to its link `last`.
struct Life {
  Id value;
  int64_t bytes, offset;
  size_t first, last;
};
// Offsets for values that share memory as they live and die; returns the bytes all take.
int64_t settle(std::vector<Life>& lives);

// Ops whose row i reads row i of the inputs `along_rows`, and the other inputs whole.
bool row_local(const Node& x);
bool along_rows(const Node& x, size_t input);

// Rows of a block: whole register blocks of the matrix product, enough of them that each of the threads gets as many
// blocks as the others.
int64_t block_rows(const Plan& plan, int64_t rows, int threads);

}  // namespace tessera
