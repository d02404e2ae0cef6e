// Numbers of a column that counts (orders 1, 2, 3, …): new numbers follow the largest of the table and have the same
// width while they fit. Each sample begins at a block of its own, as long as there are blocks.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "base/text/json_fields.h"

namespace tessera {

class NumberCounter {
 public:
  static constexpr uint64_t kLimit = 999'999'999'999'999'999;  // the largest number of any counter
  static constexpr uint64_t kSeedBlocks = 1000;                // lower blocks belong to seeds without a condition

  // The upper end of the grid cell of `highest`: two significant digits, at least tens. It is stored instead of the
  // largest number of a column.
  static uint64_t rounded_up(uint64_t highest);

  NumberCounter() = default;
  // Numbers of `rows` rows from `low` to `high`. `width`: the common number of digits; 0 if it varies, as it then may
  // for new numbers. `padded`: with zeros. `limit`: the largest number of the column's type.
  NumberCounter(uint64_t low, uint64_t high, uint64_t rows, int width, bool padded, uint64_t limit = kLimit);

  // The number of row i of a sample: unique. From row capacity() on, numbers are wider.
  uint64_t at(uint64_t row, uint64_t block) const;
  uint64_t capacity() const { return above() + (low_ - first_); }
  uint64_t next() const { return high_ + 1; }

  nlohmann::json to_json() const;
  static NumberCounter from_json(const Fields& f);

 private:
  uint64_t above() const { return last_ - high_; }

  uint64_t low_ = 0, high_ = 0;    // of the table, rounded outwards
  uint64_t first_ = 0, last_ = 0;  // of the numbers of the width
  uint64_t limit_ = kLimit;        // the largest number of the column's type
  uint64_t rows_ = 1;              // of a block
  bool fixed_ = false;             // the width is fixed
};

}  // namespace tessera
