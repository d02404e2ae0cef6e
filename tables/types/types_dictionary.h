// The distinct texts of a column, numbered in order of first appearance. One block of bytes, not one string per entry.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Up to 8 bytes as a number, without reading beyond them.
inline uint64_t load_bytes(const char* p, size_t n) {
  uint64_t low = 0, high = 0;
  if (n >= 4) {
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + n - 4, 4);
    return low | high << 32;
  }
  if (n == 0) return 0;
  const auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(p[i])); };
  return byte(0) | byte(n / 2) << 8 | byte(n - 1) << 16;
}

// Equality of texts that are mostly short: a call of memcmp costs more than the comparison.
inline bool equal_text(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const size_t n = a.size();
  if (n <= 8) return load_bytes(a.data(), n) == load_bytes(b.data(), n);
  if (n <= 16)
    return load_bytes(a.data(), 8) == load_bytes(b.data(), 8) &&
           load_bytes(a.data() + n - 8, 8) == load_bytes(b.data() + n - 8, 8);
  return std::memcmp(a.data(), b.data(), n) == 0;
}

class Dictionary {
 public:
  // The number of this text; it gets the next one if it is new. Throws Error(memory) beyond 2³¹ − 2 texts.
  int32_t code(std::string_view text);
  int32_t size() const { return static_cast<int32_t>(ends_.size()); }
  std::string_view value(int32_t code) const {
    const auto i = static_cast<size_t>(code);
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {bytes_.data() + begin, ends_[i] - begin};
  }
  std::vector<std::string> take_values();  // all texts in order; leaves the dictionary empty
  void clear();                            // keeps small allocations

 private:
  // Texts of up to 8 bytes are identified by `key` and `size`, so a look-up touches one cache line; for longer ones
  // `key` is a hash.
  struct Slot {
    uint64_t key;
    uint32_t size;  // of the text, in its lowest 32 bits
    int32_t code;   // −1: free
  };
  static Slot slot_of(std::string_view text);
  static size_t place_of(const Slot& slot);
  void grow();

  std::string bytes_;
  std::vector<size_t> ends_;
  std::vector<Slot> slots_;  // open addressing, at most half full
};

}  // namespace tessera
