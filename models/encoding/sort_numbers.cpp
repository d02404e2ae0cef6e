#include "models/encoding/sort_numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace tessera {
namespace {

// Unsigned order of the keys is the order of the numbers: negative ones have all bits flipped, the others their sign.
uint64_t key_of(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x + 0.0);  // −0 + 0 is 0
  return bits ^ ((bits >> 63) != 0 ? ~uint64_t{0} : uint64_t{1} << 63);
}
double number_of(uint64_t key) { return std::bit_cast<double>(key ^ ((key >> 63) != 0 ? uint64_t{1} << 63 : ~uint64_t{0})); }

}  // namespace

void sort_numbers(std::vector<double>& values) {
  if (values.size() < 512) {
    for (double& x : values) x += 0.0;
    std::sort(values.begin(), values.end());
    return;
  }
  std::vector<uint64_t> keys(values.size()), other(values.size());
  std::array<std::array<size_t, 256>, 8> count{};
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t key = keys[i] = key_of(values[i]);
    for (size_t b = 0; b < 8; ++b) ++count[b][(key >> (8 * b)) & 255];
  }
  for (size_t b = 0; b < 8; ++b) {
    if (count[b][(keys[0] >> (8 * b)) & 255] == keys.size()) continue;
    std::array<size_t, 256> next;
    size_t sum = 0;
    for (size_t digit = 0; digit < 256; ++digit) {
      next[digit] = sum;
      sum += count[b][digit];
    }
    for (const uint64_t key : keys) other[next[(key >> (8 * b)) & 255]++] = key;
    keys.swap(other);
  }
  for (size_t i = 0; i < values.size(); ++i) values[i] = number_of(keys[i]);
}

}  // namespace tessera
