#include "engine/text/printable.h"

#include "engine/text/utf8.h"

namespace tessera {
namespace {

// C0, DEL, and C1, whose U+009B begins a terminal's commands as ESC [ does.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7F ||
         (first == 0xC2 && character.size() == 2 && static_cast<unsigned char>(character[1]) < 0xA0);
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
