// Blocks of a weight, owned; ops point into them (BlockMatmul).
#pragma once
#include <memory>
#include <vector>

#include "kernels/ops.h"

namespace tessera {

class Blocks {
 public:
  // Column c of a weight [depth, limits.size()] is nonzero in its first limits[c] rows only; limits ascend.
  static std::shared_ptr<const Blocks> staircase(int depth, const std::vector<int>& limits);
  // Products side by side: columns of the weight in groups; group j multiplies depth [rows·j, rows·(j + 1)).
  static std::shared_ptr<const Blocks> side_by_side(int rows, const std::vector<int>& widths);

  const BlockTable* table() const { return &table_; }
  Blocks(const Blocks&) = delete;

  // Blocks must lie in the weight and in the depth, and share no element.
  Blocks(int depth, int rows, int cols, std::vector<BlockTable::Item> items);

 private:
  std::vector<BlockTable::Item> items_, holes_;
  BlockTable table_;
};

}  // namespace tessera
