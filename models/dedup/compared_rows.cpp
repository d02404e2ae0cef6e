#include "models/dedup/compared_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/mixed_bits.h"

namespace tessera::dedup {
namespace {

constexpr size_t kLanes = 8;
constexpr int64_t kPackedRows = 4096;  // rows per work item

// The error of a sum of floats per column; closer to the budget, distances are summed in double.
constexpr double kRounding = 1e-6;

}  // namespace

ComparedRows::ComparedRows(const quality::Comparison& c) {
  int64_t count = 0;
  for (const quality::ComparedTable& t : c.tables) count += t.rows;
  if (count > INT32_MAX / 2)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{} rows: at most {} can be compared at once.\n  Split the table by a column in which copies "
                    "agree.",
                    count, INT32_MAX / 2));
  own_ = static_cast<int32_t>(c.tables.front().rows), count_ = static_cast<int32_t>(count);
  for (size_t k = 0; k < c.facts.size(); ++k) {
    const quality::ComparedColumn &own = c.tables.front().columns[k], &reference = c.tables.back().columns[k];
    ComparedPair column{{&own, &reference}, c.facts[k].kind != quality::Kind::categorical};
    if (column.numbers && reference.high > reference.low)
      column.low = reference.low, column.width = reference.high - reference.low;
    columns_.push_back(column);
  }
}

void ComparedRows::set_threshold(double similarity) {
  // 1 − 0.9 is less than 0.1 in binary.
  budget_ = (1 - similarity) * static_cast<double>(columns_.size()) + 1e-9;
}

void ComparedRows::pack(Team& team) {
  std::vector<size_t> order;  // columns of a packed row
  for (const bool numbers : {true, false})
    for (size_t k = 0; k < columns_.size(); ++k)
      if (is_number(k) == numbers) order.push_back(k), numbers_ += numbers;
  levels_at_ = (numbers_ + kLanes - 1) / kLanes * kLanes;
  stride_ = levels_at_ + (columns_.size() - numbers_ + kLanes - 1) / kLanes * kLanes;
  packed_ = Bulk<float>(team.limit(), "rows to compare");
  packed_.resize(static_cast<size_t>(count_) * stride_, 0);
  team.for_each((count_ + kPackedRows - 1) / kPackedRows, [&](int64_t piece) {
    const auto first = static_cast<int32_t>(piece * kPackedRows);
    const auto last = static_cast<int32_t>(std::min<int64_t>(count_, first + kPackedRows));
    for (size_t j = 0; j < order.size(); ++j)
      for (int32_t row = first; row < last; ++row) {
        float* to = packed_.data() + static_cast<size_t>(row) * stride_;
        if (j < numbers_) to[j] = position(order[j], row);
        else to[levels_at_ + j - numbers_] = std::bit_cast<float>(code(order[j], row));
      }
  });
}

// A number in a column without a range is a level: the only value, another value, or missing.
ComparedRows::Value ComparedRows::value(const ComparedPair& column, int32_t row) const {
  const quality::ComparedColumn& table = *column.tables[row >= own_ ? 1 : 0];
  const auto r = static_cast<size_t>(row >= own_ ? row - own_ : row);
  if (!column.numbers) return {0, table.codes[r]};
  const double x = table.numbers[r];
  return {x, std::isnan(x) ? -1 : x == column.tables[1]->low ? 0 : 1};
}

float ComparedRows::position(size_t column, int32_t row) const {
  const ComparedPair& c = columns_[column];
  const double x = value(c, row).number;
  return std::isnan(x) ? kMissingAt : static_cast<float>(std::clamp((x - c.low) / c.width, -1.0, 2.0));
}

double ComparedRows::distance(size_t column, int32_t a, int32_t b) const {
  const ComparedPair& c = columns_[column];
  const Value x = value(c, a), y = value(c, b);
  if (c.width == 0) return x.code == y.code ? 0 : 1;
  if (std::isnan(x.number) || std::isnan(y.number)) return std::isnan(x.number) && std::isnan(y.number) ? 0 : 1;
  return std::min(std::abs(x.number - y.number) / c.width, 1.0);
}

double ComparedRows::similarity(int32_t a, int32_t b) const {
  double sum = 0;
  for (size_t k = 0; k < columns_.size(); ++k) sum += distance(k, a, b);
  return 1 - sum / static_cast<double>(columns_.size());
}

bool ComparedRows::near(int32_t a, int32_t b) const {
  const float *x = packed(a), *y = packed(b);
  float sums[kLanes] = {};
  for (size_t j = 0; j < levels_at_; j += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float d = std::abs(x[j + lane] - y[j + lane]);
      sums[lane] += d < 1 ? d : 1;
    }
  int32_t different = 0;
  for (size_t j = levels_at_; j < stride_; ++j)
    different += std::bit_cast<int32_t>(x[j]) != std::bit_cast<int32_t>(y[j]);
  double sum = different;
  for (const float s : sums) sum += static_cast<double>(s);
  const double slack = kRounding * static_cast<double>(columns_.size());
  if (std::abs(sum - budget_) > slack) return sum < budget_;
  sum = 0;
  for (size_t k = 0; k < columns_.size(); ++k) sum += distance(k, a, b);
  return sum <= budget_;
}

bool ComparedRows::cell_equal(size_t column, int32_t a, int32_t b) const {
  const ComparedPair& c = columns_[column];
  const Value x = value(c, a), y = value(c, b);
  return c.numbers ? x.number == y.number || (std::isnan(x.number) && std::isnan(y.number)) : x.code == y.code;
}

bool ComparedRows::equal(int32_t a, int32_t b) const {
  for (size_t k = 0; k < columns_.size(); ++k)
    if (!cell_equal(k, a, b)) return false;
  return true;
}

uint64_t ComparedRows::hash(int32_t row) const {
  uint64_t h = 0;
  for (const ComparedPair& c : columns_) {
    const Value v = value(c, row);
    const double x = std::isnan(v.number) ? kMissing : v.number + 0.0;  // one NaN, and no negative zero
    h = hash_with(h, c.numbers ? std::bit_cast<uint64_t>(x) : static_cast<uint64_t>(static_cast<uint32_t>(v.code)));
  }
  return h;
}

}  // namespace tessera::dedup
