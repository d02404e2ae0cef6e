#include "base/text/utf8.h"

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

void append_utf8(char32_t c, std::string& to) {
  const auto put = [&](char32_t byte) { to += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  if (c < 0x10000) return put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
}

}  // namespace tessera
