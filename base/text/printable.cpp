#include "base/text/printable.h"

#include "base/text/utf8.h"

namespace tessera {
namespace {

// C0, DEL, and C1, whose U+009B begins a terminal's commands as ESC [ does; what ends a line or turns the direction of
// the text behind it (U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069).
bool is_control(std::string_view character) {
  const auto byte = [&](size_t i) { return i < character.size() ? static_cast<unsigned char>(character[i]) : 0; };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return (byte(0) == 0xC2 && byte(1) < 0xA0) || character == "\u061C";
  return (character >= "\u200E" && character <= "\u200F") || (character >= "\u2028" && character <= "\u202E") ||
         (character >= "\u2066" && character <= "\u2069");
}

std::string escaped(std::string_view text, bool lines) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const int size = utf8_character(text.data(), text.data() + text.size());
    const std::string_view c = text.substr(0, size == 0 ? 1 : static_cast<size_t>(size));
    text.remove_prefix(c.size());
    if ((size != 0 && !is_control(c)) || (lines && c == "\n" && (text.empty() || text.substr(0, 2) == "  "))) {
      out += c;
      continue;
    }
    for (const char byte : c)
      out.append({'\\', 'x', kDigits[static_cast<unsigned char>(byte) >> 4], kDigits[byte & 15]});
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, false); }

std::string printable_message(std::string_view text) { return escaped(text, true); }

}  // namespace tessera
