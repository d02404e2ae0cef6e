#include "engine/text/utf8.h"

#include <cstdint>
#include <cstring>

namespace tessera {
namespace {

bool is_ascii8(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return (word & 0x8080808080808080ull) == 0;
}

}  // namespace

const char* find_bad_utf8(const char* p, const char* end) {
  while (p < end) {
    if (static_cast<unsigned char>(*p) < 0x80) {
      p += end - p >= 8 && is_ascii8(p) ? 8 : 1;
      continue;
    }
    const int size = utf8_character(p, end);
    if (size == 0) return p;
    p += size;
  }
  return end;
}

}  // namespace tessera
