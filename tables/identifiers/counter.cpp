#include "tables/identifiers/counter.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr uint64_t kBlocksAhead =
    4;  // that must fit into the width of the largest number; otherwise one more digit is used

uint64_t power_of_ten(int digits) {
  uint64_t power = 1;
  for (; digits > 0; --digits) power *= 10;
  return power;
}

int digits_of(uint64_t number) { return static_cast<int>(std::to_string(number).size()); }

}  // namespace

uint64_t NumberCounter::rounded_up(uint64_t highest) {
  uint64_t step = 10;
  while (highest / step >= 100) step *= 10;
  return highest / step * step + (step - 1);
}

NumberCounter::NumberCounter(uint64_t low, uint64_t high, uint64_t rows, int width, bool padded, uint64_t limit)
    : rows_(rounded_up(rows) + 1), fixed_(width > 0) {
  uint64_t step = 10;
  while (low / step >= 100) step *= 10;
  limit_ = std::clamp(limit, high, kLimit);
  high_ = std::min(rounded_up(high), limit_);
  int digits = std::min(fixed_ ? width : digits_of(high), 18);
  if (!fixed_ && digits < 18 && power_of_ten(digits) < high_ + kBlocksAhead * rows) ++digits;
  last_ = std::clamp(power_of_ten(digits) - 1, high_, limit_);
  first_ = fixed_ && !padded ? power_of_ten(digits - 1) : 1;
  low_ = std::min(fixed_ ? std::max(low / step * step, first_) : first_, high_);
  first_ = std::min(first_, low_);
}

uint64_t NumberCounter::at(uint64_t row, uint64_t block) const {
  const uint64_t blocks = std::max<uint64_t>(capacity() / rows_, 1);
  if (!fixed_ && block < kSeedBlocks)
    if (const uint64_t number = high_ + 1 + block * rows_ + row; number <= limit_) return number;
  if (row >= capacity()) return last_ + 1 + (row - capacity());
  const uint64_t turn = (block % blocks * rows_ + row) % capacity();
  return turn < above() ? high_ + 1 + turn : first_ + (turn - above());
}

nlohmann::json NumberCounter::to_json() const {
  return {{"low", low_},     {"high", high_}, {"first", first_}, {"last", last_},
          {"limit", limit_}, {"rows", rows_}, {"fixed", fixed_}};
}

NumberCounter NumberCounter::from_json(const Fields& f) {
  NumberCounter out;
  out.low_ = f.natural("low"), out.high_ = f.natural("high"), out.first_ = f.natural("first");
  out.last_ = f.natural("last"), out.limit_ = f.natural("limit"), out.rows_ = f.natural("rows");
  out.fixed_ = f.flag("fixed");
  f.check(out.first_ <= out.low_ && out.low_ <= out.high_ && out.high_ <= out.last_ && out.last_ <= out.limit_ &&
              out.limit_ <= kLimit && out.rows_ >= 1 && out.rows_ <= kLimit,
          "has a range of numbers that is none");
  return out;
}

}  // namespace tessera
