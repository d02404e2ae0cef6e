// The identity of a batch's rows as input of plans: the bound "rows" [batch, 3].
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "models/method/method.h"

namespace tessera {

// The lower and upper half of each candidate's row number, and its try; the last candidate is repeated to fill the
// batch.
inline void identify(std::span<const Candidate> candidates, std::vector<int32_t>& rows) {
  for (size_t i = 0; i < rows.size() / 3; ++i) {
    const Candidate& c = candidates[std::min(i, candidates.size() - 1)];
    const auto id = static_cast<uint64_t>(c.row);
    rows[3 * i] = static_cast<int32_t>(static_cast<uint32_t>(id));
    rows[3 * i + 1] = static_cast<int32_t>(static_cast<uint32_t>(id >> 32));
    rows[3 * i + 2] = c.attempt;
  }
}

}  // namespace tessera
