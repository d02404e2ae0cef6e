#include "models/dedup/keys.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace tessera::dedup {

// Keys are uniformly distributed, so one pass over their first bits nearly sorts them; then a few keys at a time.
void sort_keys(std::vector<RowKey>& keys, std::vector<RowKey>& scratch) {
  const auto before = [](const RowKey& a, const RowKey& b) { return a.key != b.key ? a.key < b.key : a.row < b.row; };
  const int bits = std::clamp(static_cast<int>(std::bit_width(keys.size())) - 3, 1, 18), shift = 64 - bits;
  std::vector<uint32_t> place((size_t{1} << bits) + 1);
  for (const RowKey& k : keys) ++place[(k.key >> shift) + 1];
  for (size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
  scratch.resize(keys.size());
  for (const RowKey& k : keys) scratch[place[k.key >> shift]++] = k;
  for (size_t i = 0, first = 0; i + 1 < place.size(); first = place[i++])
    std::sort(scratch.begin() + static_cast<std::ptrdiff_t>(first),
              scratch.begin() + static_cast<std::ptrdiff_t>(place[i]), before);
  keys.swap(scratch);
}

}  // namespace tessera::dedup
