// What a step exchanges of bytes that ranks share out, over any transport.
#pragma once
#include <gtest/gtest.h>

#include <vector>

#include "engine/comm/communicator.h"

namespace tessera {

// Numbers of every rank, of which this one gets its part from all; then each part from its owner. In turn small and
// large, as the exchanges of a step are, so that memory is shared anew.
inline void expect_parts(Communicator& c) {
  const Wires& w = *c.wires();
  constexpr int64_t kItem = sizeof(float);
  const auto number = [](int rank, int64_t i) { return static_cast<float>(rank * 1000003 + i); };
  for (const int64_t total : {int64_t{c.size()}, int64_t{70}, int64_t{16}, int64_t{50001}, int64_t{70}}) {
    const int64_t part = (total + c.size() - 1) / c.size(), first = c.rank() * part;
    if (part * (c.size() - 1) >= total) continue;
    const int64_t own = std::min(part, total - first);
    std::vector<float> mine(static_cast<size_t>(total));
    for (int64_t i = 0; i < total; ++i) mine[static_cast<size_t>(i)] = number(c.rank(), i);
    std::vector<const void*> at(static_cast<size_t>(c.size()));
    ASSERT_TRUE(w.take_parts(w.communicator, mine.data(), total * kItem, part * kItem, nullptr, at.data(), nullptr));
    for (int r = 0; r < c.size(); ++r)
      for (int64_t i = 0; i < own; ++i)
        ASSERT_EQ(static_cast<const float*>(at[static_cast<size_t>(r)])[i], number(r, first + i)) << total;
    ASSERT_TRUE(w.gather_parts(w.communicator, mine.data(), total * kItem, part * kItem, nullptr));
    for (int64_t i = 0; i < total; ++i)
      ASSERT_EQ(mine[static_cast<size_t>(i)], number(static_cast<int>(i / part), i)) << total;
    std::vector<float> all(static_cast<size_t>(c.size()));
    const float one = number(c.rank(), total);
    ASSERT_TRUE(w.all_gather(w.communicator, &one, all.data(), kItem, kItem, nullptr));
    for (int r = 0; r < c.size(); ++r) ASSERT_EQ(all[static_cast<size_t>(r)], number(r, total));
  }
  c.check();
}

}  // namespace tessera
