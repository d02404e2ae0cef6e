// Empty places of a batch on the processor. A plan has a fixed number of places, of which a step with a random number
// of rows uses the first ones: chains and sums over rows end at the last row, and skip the places after it.
//   the identity: the rows of empty places have the weight 0, so all their summands are zeros
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/schedule/cpu_row_fusion.h"

namespace tessera {

// The name of a count of compacted rows whose first ones are a batch, where nothing of an empty place is added to a sum
// or read after the step.
inline constexpr const char* kBatchRows = "rows of the batch";

struct LiveRows {
  Id count = kNone;                // [1, 1]
  int maker = -1;                  // the node that computes it
  int64_t places = 0;              // of the batch
  std::vector<int64_t> per_place;  // by value: its rows for each place; 0: it does not depend on the batch row by row
  std::vector<int64_t> of_chain;   // by chain: its rows for each place; 0: all of them are computed
};

// Nothing without a count of that name, or if an op reads rows of the batch otherwise than row by row or in a sum.
std::optional<LiveRows> live_rows(const Plan& plan, const RowChains& chains);

}  // namespace tessera
