// Who the rows of a batch are, as plans read it: the bound "rows" [batch, 3].
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "models/method/method.h"

namespace tessera {

// The lower and upper half of each candidate's row, and its attempt; beyond the list the last one is repeated.
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
