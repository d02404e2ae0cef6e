#include "tables/identifiers/fresh_indices.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/text/json_fields.h"
#include "tables/identifiers/permutation.h"

namespace tessera {
namespace {

// expected number of training texts drawn by chance in as many rows; below it nothing is stored
constexpr double kChance = 1e-6;
constexpr const char* kHex = "0123456789abcdef";

}  // namespace

bool FreshIndices::could_meet(uint64_t texts) const {
  const double n = static_cast<double>(texts);
  return n * n / static_cast<double>(size_) >= kChance;
}

void FreshIndices::leave_out(const std::vector<uint64_t>& taken) {
  const double n = static_cast<double>(taken.size());
  if (!could_meet(taken.size()) || n * static_cast<double>(kSpare) > static_cast<double>(size_)) return;
  // With one to two buckets per text, 39 to 63 % of them are taken: a set bit applies to about half of all texts.
  buckets_ = std::min(std::bit_ceil(std::max<uint64_t>(taken.size(), 1)),
                      std::bit_floor(std::min<uint64_t>(size_ / kSpare, 0x80000000)));
  const Permutation order(size_, salt_);
  std::vector<bool> used(buckets_);
  for (const uint64_t t : taken) used[order(t) % buckets_] = true;
  free_.clear();
  for (uint64_t b = 0; b < buckets_; ++b)
    if (!used[b]) free_.push_back(static_cast<uint32_t>(b));
  if (free_.empty()) buckets_ = 1, free_ = {0};
}

uint64_t FreshIndices::capacity() const { return free_.size() * (size_ / buckets_); }

uint64_t FreshIndices::at(uint64_t i, uint64_t key) const {
  const uint64_t turn = Permutation(capacity(), key)(i % capacity());
  const uint64_t place = free_[turn % free_.size()] + buckets_ * (turn / free_.size());
  return Permutation(size_, salt_).inverse(place);
}

// The buckets as hexadecimal digits, four per digit, the lowest bit first; a set bit is a free bucket.
nlohmann::json FreshIndices::to_json() const {
  std::string bits((buckets_ + 3) / 4, '0');
  std::vector<uint8_t> digits(bits.size());
  for (const uint32_t b : free_) digits[b / 4] = static_cast<uint8_t>(digits[b / 4] | (1u << (b % 4)));
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = kHex[digits[i]];
  return {{"salt", salt_}, {"buckets", buckets_}, {"free", bits}};
}

FreshIndices FreshIndices::from_json(const nlohmann::json& json, uint64_t size) {
  const Fields f(json, "an identifier's buckets");
  FreshIndices out(size);
  out.salt_ = f.natural("salt");
  out.buckets_ = f.natural("buckets");
  const std::string bits = f.text("free");
  f.check(
      out.buckets_ >= 1 && out.buckets_ <= size && out.buckets_ <= 0xffffffff && bits.size() == (out.buckets_ + 3) / 4,
      "do not fit their number");
  out.free_.clear();
  for (size_t i = 0; i < bits.size(); ++i) {
    const size_t digit = std::string_view(kHex).find(bits[i]);
    f.check(digit != std::string_view::npos, "are not hexadecimal");
    for (uint32_t b = 0; b < 4; ++b)
      if ((digit >> b) & 1) out.free_.push_back(static_cast<uint32_t>(4 * i + b));
  }
  f.check(!out.free_.empty() && out.free_.back() < out.buckets_, "are all taken, or too many");
  return out;
}

}  // namespace tessera
