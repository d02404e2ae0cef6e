#pragma once
#include <string>

namespace tessera {

// The bytes of the character that begins at p (RFC 3629: no overlong forms, no surrogates); 0: there is none.
inline int utf8_character(const char* p, const char* end) {
  const auto lead = static_cast<unsigned char>(*p);
  if (lead < 0x80) return 1;
  const int more = lead >= 0xC2 && lead <= 0xDF ? 1 : (lead & 0xF0) == 0xE0 ? 2 : lead >= 0xF0 && lead <= 0xF4 ? 3 : 0;
  if (more == 0 || end - p <= more) return 0;
  for (int i = 1; i <= more; ++i)
    if ((static_cast<unsigned char>(p[i]) & 0xC0) != 0x80) return 0;
  const auto second = static_cast<unsigned char>(p[1]);
  const bool wrong = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                     (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return wrong ? 0 : more + 1;
}

void append_utf8(char32_t c, std::string& to);

// The start of the first byte sequence that is not UTF-8; `end` if there is none.
const char* find_bad_utf8(const char* begin, const char* end);

}  // namespace tessera
