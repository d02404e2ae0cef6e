// Ascending order of doubles, in linear time.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/storage/spill_vector.h"

namespace tessera {

// Sorts finite values ascending; −0 comes out as 0. Radix by byte, bytes that all values share are skipped: about 16 ns
// per value at full entropy, 4 ns for small integers. Temporarily doubles the memory.
void sort_numbers(std::vector<double>& values);

constexpr int64_t kSortedRows = int64_t{1} << 21;

// The `present` values of a column that are not missing, ascending; if there are more than `most`, one from each of
// `most` intervals of equal length, keyed by (seed, column).
std::vector<double> sorted_values(const Bulk<double>& column, int64_t present, uint32_t index, uint64_t seed,
                                  int64_t most = kSortedRows);

// The same with the holder of each value (holder[row] of the column): equal values by ascending holder.
struct HeldNumbers {
  std::vector<double> values;
  std::vector<int32_t> holders;  // of each value
};
HeldNumbers sorted_values(const Bulk<double>& column, std::span<const int32_t> holder, int64_t present, uint32_t index,
                          uint64_t seed, int64_t most = kSortedRows);

}  // namespace tessera
