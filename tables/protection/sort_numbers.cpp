#include "tables/protection/sort_numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "kernels/math/philox.h"

namespace tessera {
namespace {

// Unsigned order of the keys is the order of the numbers: negative ones have all bits flipped, the others their sign.
uint64_t key_of(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x + 0.0);  // −0 + 0 is 0
  return bits ^ ((bits >> 63) != 0 ? ~uint64_t{0} : uint64_t{1} << 63);
}
double number_of(uint64_t key) {
  return std::bit_cast<double>(key ^ ((key >> 63) != 0 ? uint64_t{1} << 63 : ~uint64_t{0}));
}

// Calls take(value, row) for the `present` values that are not missing, in order; if there are more than `most`, for
// one from each of `most` intervals.
template <class Take>
void choose(const Bulk<double>& column, int64_t present, uint32_t index, uint64_t seed, int64_t most, Take take) {
  const int64_t keep = std::min(present, most);
  const auto start = [&](int64_t interval) {
    return static_cast<int64_t>(static_cast<__int128>(interval) * present / keep);
  };
  const auto chosen = [&](int64_t interval) {
    if (keep == present) return interval;
    const int64_t from = start(interval), length = start(interval + 1) - from;
    const Philox p = random_words(seed, Purpose::sorted, index, static_cast<uint64_t>(interval));
    return from + static_cast<int64_t>((static_cast<uint64_t>(p.word[0]) * static_cast<uint64_t>(length)) >> 32);
  };
  int64_t at = 0, taken = 0, next = keep > 0 ? chosen(0) : -1;
  column.each_part([&](std::span<const double> numbers, size_t first) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != numbers[i] || at++ != next) continue;
      take(numbers[i], first + i);
      next = ++taken < keep ? chosen(taken) : -1;
    }
  });
}

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

std::vector<double> sorted_values(const Bulk<double>& column, int64_t present, uint32_t index, uint64_t seed,
                                  int64_t most) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(std::min(present, most)));
  choose(column, present, index, seed, most, [&](double x, size_t) { values.push_back(x); });
  sort_numbers(values);
  return values;
}

HeldNumbers sorted_values(const Bulk<double>& column, std::span<const int32_t> holder, int64_t present, uint32_t index,
                          uint64_t seed, int64_t most) {
  std::vector<std::pair<double, int32_t>> held;
  held.reserve(static_cast<size_t>(std::min(present, most)));
  choose(column, present, index, seed, most, [&](double x, size_t row) { held.emplace_back(x + 0.0, holder[row]); });
  std::sort(held.begin(), held.end());
  HeldNumbers out;
  out.values.reserve(held.size()), out.holders.reserve(held.size());
  for (const auto& [value, of] : held) out.values.push_back(value), out.holders.push_back(of);
  return out;
}

}  // namespace tessera
