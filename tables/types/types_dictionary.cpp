#include "tables/types/types_dictionary.h"

#include <limits>

#include "base/error.h"

namespace tessera {
namespace {

uint64_t mix(uint64_t a, uint64_t b) {
  const __uint128_t product = static_cast<__uint128_t>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr size_t kFirstSlots = 16;

}  // namespace

Dictionary::Slot Dictionary::slot_of(std::string_view text) {
  const char* p = text.data();
  size_t left = text.size();
  const auto size = static_cast<uint32_t>(left);
  if (left <= 8) return {load_bytes(p, left), size, -1};
  uint64_t hash = 0x9E3779B97F4A7C15ull;
  for (; left > 8; left -= 8, p += 8) hash = mix(hash ^ load_bytes(p, 8), 0xD6E8FEB86659FD93ull);
  return {mix(hash ^ load_bytes(p, left), 0xA0761D6478BD642Full), size, -1};
}

size_t Dictionary::place_of(const Slot& slot) { return mix(slot.key ^ slot.size, 0x9E3779B97F4A7C15ull); }

int32_t Dictionary::code(std::string_view text) {
  if (slots_.empty()) slots_.assign(kFirstSlots, {0, 0, -1});
  Slot wanted = slot_of(text);
  const size_t mask = slots_.size() - 1;
  size_t at = place_of(wanted) & mask;
  for (; slots_[at].code >= 0; at = (at + 1) & mask)
    if (slots_[at].key == wanted.key && slots_[at].size == wanted.size &&
        (text.size() <= 8 || equal_text(value(slots_[at].code), text)))
      return slots_[at].code;
  if (ends_.size() >= static_cast<size_t>(std::numeric_limits<int32_t>::max() - 1))
    throw Error(ErrorCode::memory,
                "A column has more than 2,147,483,645 distinct texts.\n  Omit the column, or split the file.");
  wanted.code = static_cast<int32_t>(ends_.size());
  bytes_.append(text);
  ends_.push_back(bytes_.size());
  slots_[at] = wanted;
  if (2 * ends_.size() > slots_.size()) grow();
  return wanted.code;
}

void Dictionary::grow() {
  std::vector<Slot> larger(2 * slots_.size(), {0, 0, -1});
  const size_t mask = larger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.code < 0) continue;
    size_t at = place_of(slot) & mask;
    while (larger[at].code >= 0) at = (at + 1) & mask;
    larger[at] = slot;
  }
  slots_.swap(larger);
}

std::vector<std::string> Dictionary::take_values() {
  std::vector<Slot>().swap(slots_);
  std::vector<std::string> values;
  values.reserve(ends_.size());
  for (int32_t i = 0; i < size(); ++i) values.emplace_back(value(i));
  *this = Dictionary{};
  return values;
}

void Dictionary::clear() {
  constexpr size_t kKept = 4096;
  if (slots_.size() > kKept) {
    *this = Dictionary{};
    return;
  }
  bytes_.clear();
  ends_.clear();
  slots_.assign(slots_.size(), {0, 0, -1});
}

}  // namespace tessera
