#include "tables/identifiers/repeats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/text/json_fields.h"
#include "kernels/math/philox.h"
#include "tables/identifiers/permutation.h"
#include "tables/protection/protected_numbers.h"

namespace tessera {
namespace {

constexpr uint64_t kPartRows = 1024, kSortedPartRows = 64, kMaxParts = 4096;
constexpr uint64_t kSizesOfPart = 4;  // a part has rows for this many of the largest groups
constexpr size_t kMaxSizes = 256;
constexpr uint64_t kMaxRows = uint64_t{1} << 48;
// Uses of Purpose::identifier; the others are in identifier.cpp.
constexpr uint32_t kRowsOfPart = 5, kGroupsOfCycle = 6;

uint64_t order_of(uint64_t key, uint64_t part, uint64_t cycle, uint32_t use) {
  const Philox p = random_words(key, Purpose::identifier, static_cast<uint32_t>(part), cycle, use);
  return static_cast<uint64_t>(p.word[0]) << 32 | p.word[1];
}

// Halves the number of sizes: two neighbors become their mean.
void merge_neighbors(std::vector<uint64_t>& sizes, std::vector<uint64_t>& counts) {
  size_t kept = 0;
  for (size_t k = 0; k < sizes.size(); k += 2, ++kept) {
    const bool last = k + 1 == sizes.size();
    const uint64_t groups = counts[k] + (last ? 0 : counts[k + 1]),
                   rows = counts[k] * sizes[k] + (last ? 0 : counts[k + 1] * sizes[k + 1]);
    sizes[kept] = (rows + groups / 2) / groups, counts[kept] = groups;
  }
  sizes.resize(kept), counts.resize(kept);
}

}  // namespace

std::optional<Repeats> Repeats::learn(std::span<const int64_t> rows, int64_t missing, bool sorted, int64_t least) {
  std::vector<double> ascending(rows.begin(), rows.end());
  std::sort(ascending.begin(), ascending.end());
  const ProtectedNumbers numbers(ascending, least, 0);
  if (numbers.none()) return {};
  std::map<uint64_t, uint64_t> groups;
  for (const double n : ascending) ++groups[static_cast<uint64_t>(std::max(std::round(numbers.of(n)), 1.0))];
  if (groups.rbegin()->first == 1) return {};
  Repeats out;
  for (const auto& [size, count] : groups) out.sizes_.push_back(size), out.counts_.push_back(count);
  while (out.sizes_.size() > kMaxSizes) merge_neighbors(out.sizes_, out.counts_);
  out.missing_ = static_cast<uint64_t>(missing), out.sorted_ = sorted;
  out.divide();
  return out;
}

uint64_t Repeats::ranks_below(uint64_t rank, uint64_t part) const {
  const uint64_t parts = starts_.size() - 1;
  return (rank + parts - 1 - part) / parts;
}

void Repeats::divide() {
  groups_ = std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
  uint64_t rows = missing_;
  for (size_t k = 0; k < sizes_.size(); ++k) rows += sizes_[k] * counts_[k];
  const uint64_t part_rows = std::max(sorted_ ? kSortedPartRows : kPartRows, kSizesOfPart * sizes_.back());
  const uint64_t parts = std::clamp<uint64_t>(rows / part_rows, 1, kMaxParts);
  starts_.assign(parts + 1, 0);
  for (uint64_t part = 0; part < parts; ++part) {
    uint64_t in_part = ranks_below(missing_, part), rank = 0;
    for (size_t k = 0; k < sizes_.size(); rank += counts_[k++])
      in_part += sizes_[k] * (ranks_below(rank + counts_[k], part) - ranks_below(rank, part));
    starts_[part + 1] = starts_[part] + in_part;
  }
}

Repeats::Place Repeats::at(uint64_t row, uint64_t key) const {
  const uint64_t cycle = row / rows(), in_cycle = row % rows(), parts = starts_.size() - 1;
  const auto part =
      static_cast<uint64_t>(std::upper_bound(starts_.begin(), starts_.end(), in_cycle) - starts_.begin() - 1);
  const uint64_t part_rows = starts_[part + 1] - starts_[part], order = order_of(key, part, cycle, kRowsOfPart);
  uint64_t left = in_cycle - starts_[part];
  if (!sorted_) left = Permutation(part_rows, order)(left);
  const auto place = [&](uint64_t rank, uint64_t position, uint64_t size) {
    const uint64_t group = Permutation(groups_, order_of(key, 0, cycle, kGroupsOfCycle))(rank);
    return Place{cycle * (groups_ + missing_) + group, position, size, false};
  };
  if (sorted_) {  // the part's groups in a secret order
    const uint64_t count = ranks_below(groups_, part);
    for (uint64_t g = 0; g < count; ++g) {
      const uint64_t rank = Permutation(count, order)(g) * parts + part;
      size_t k = 0;
      for (uint64_t below = counts_[0]; rank >= below; below += counts_[++k]) {}
      if (left < sizes_[k]) return place(rank, left, sizes_[k]);
      left -= sizes_[k];
    }
  } else {
    uint64_t rank = 0;
    for (size_t k = 0; k < sizes_.size(); rank += counts_[k++]) {
      const uint64_t first = ranks_below(rank, part), count = ranks_below(rank + counts_[k], part) - first;
      if (left < count * sizes_[k])
        return place((first + left / sizes_[k]) * parts + part, left % sizes_[k], sizes_[k]);
      left -= count * sizes_[k];
    }
  }
  return {cycle * (groups_ + missing_) + groups_ + left * parts + part, 0, 1, true};
}

double Repeats::mean() const {
  return static_cast<double>(rows() - missing_) / static_cast<double>(std::max<uint64_t>(groups_, 1));
}

uint64_t Repeats::groups_of(uint64_t rows_asked) const {
  const double cycles = static_cast<double>(rows_asked) / static_cast<double>(rows());
  return static_cast<uint64_t>(std::ceil(cycles * static_cast<double>(groups_)));
}

nlohmann::json Repeats::to_json() const {
  return {{"sizes", sizes_}, {"values", counts_}, {"missing", missing_}, {"sorted", sorted_}};
}

Repeats Repeats::from_json(const nlohmann::json& json) {
  const Fields f(json, "how often an identifier repeats");
  Repeats out;
  out.sizes_ = f.naturals("sizes"), out.counts_ = f.naturals("values");
  out.missing_ = f.natural("missing"), out.sorted_ = f.flag("sorted");
  f.check(!out.sizes_.empty() && out.sizes_.size() == out.counts_.size() && out.sizes_.size() <= kMaxSizes,
          "has no sizes, or too many");
  uint64_t rows = out.missing_;
  f.check(rows < kMaxRows, "has too many rows");
  for (size_t k = 0; k < out.sizes_.size(); ++k) {
    f.check(out.sizes_[k] >= 1 && out.counts_[k] >= 1 && out.sizes_[k] < kMaxRows &&
                out.counts_[k] < kMaxRows / out.sizes_[k] && (k == 0 || out.sizes_[k] > out.sizes_[k - 1]),
            "has sizes that do not ascend, or too many rows");
    rows += out.sizes_[k] * out.counts_[k];
    f.check(rows < kMaxRows, "has too many rows");
  }
  out.divide();
  return out;
}

}  // namespace tessera
