// A 128-bit fingerprint of bytes: distinguishes tables and detects damage. It is not collision-resistant against an
// attacker.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/storage/spill_vector.h"

namespace tessera {

// Takes contents piece by piece; each piece is hashed with its length, so the boundaries count too.
class Fingerprint {
 public:
  void add(const void* bytes, size_t count);
  void add(std::string_view text) { add(text.data(), text.size()); }
  template <class T>
  void add(const std::vector<T>& values) {
    add(values.data(), values.size() * sizeof(T));
  }
  template <class T>
  void add(const Bulk<T>& values) {  // as the vector of the same values
    values.each_part([&](std::span<const T> part, size_t) { mix(part.data(), part.size_bytes()); });
    close(values.size() * sizeof(T));
  }
  void add(int64_t number) { add(&number, sizeof number); }

  std::string text() const;  // 32 hexadecimal digits

 private:
  void mix(const void* bytes, size_t count);  // whole words of 16 bytes, except at the end of a piece
  void close(size_t count);                   // of the whole piece

  uint64_t a_ = 0x9E3779B97F4A7C15u, b_ = 0xD6E8FEB86659FD93u;
};

}  // namespace tessera
