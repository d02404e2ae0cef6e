#include "models/dedup/keys.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "base/mixed_bits.h"

namespace tessera::dedup {

// Keys are uniformly distributed, so one pass over their first bits nearly sorts them; then a few keys at a time. In
// scratch every part that is open keeps a page in memory: there are fewer parts, each sorted in memory.
void sort_keys(RowKeys& keys, RowKeys& scratch) {
  constexpr int kMaxBits = 18, kMaxBitsInScratch = 11;
  const auto before = [](const RowKey& a, const RowKey& b) { return a.key != b.key ? a.key < b.key : a.row < b.row; };
  scratch.resize_for_overwrite(keys.size());
  const int most = keys.in_scratch() || scratch.in_scratch() ? kMaxBitsInScratch : kMaxBits;
  const int bits = std::clamp(static_cast<int>(std::bit_width(keys.size())) - 3, 1, most), shift = 64 - bits;
  std::vector<size_t> place((size_t{1} << bits) + 1);
  keys.each_part([&](std::span<const RowKey> part, size_t) {
    for (const RowKey& k : part) ++place[(k.key >> shift) + 1];
  });
  for (size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
  keys.each_part([&](std::span<const RowKey> part, size_t) {
    for (const RowKey& k : part) scratch[place[k.key >> shift]++] = k;
  });
  for (size_t i = 0, first = 0; i + 1 < place.size(); first = place[i++])
    std::sort(scratch.begin() + first, scratch.begin() + place[i], before);
  keys.swap(scratch);
}

KeyFilter::KeyFilter(int64_t keys, const std::shared_ptr<MemoryLimit>& limit) : words_(limit, "filter of keys") {
  words_.resize(std::bit_ceil(static_cast<size_t>(keys) / 4 + 1), 0);
}

uint64_t KeyFilter::place(uint64_t key, int i) const {
  return mixed_bits(key + static_cast<uint64_t>(i)) & (words_.size() * 64 - 1);
}

}  // namespace tessera::dedup
