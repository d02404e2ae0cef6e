#include "base/text/encoding.h"

#include <array>
#include <cstdint>

#include "base/error.h"
#include "base/text/utf8.h"

namespace tessera {
namespace {

constexpr size_t kTextPiece = size_t{1} << 16;
constexpr char32_t kNone = 0;

// Windows-1252 from 0x80 to 0x9F (the WHATWG Encoding Standard's index, without the five controls it maps to
// themselves); all other bytes are the characters of their number.
constexpr std::array<char16_t, 32> kWindows1252{0x20AC, kNone,  0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                                0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, kNone,  0x017D, kNone,
                                                kNone,  0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                                0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, kNone,  0x017E, 0x0178};

char32_t windows_1252(unsigned char byte) { return byte < 0x80 || byte > 0x9F ? byte : kWindows1252[byte - 0x80]; }

[[noreturn]] void damaged(const std::string& file, size_t byte) {
  throw Error(ErrorCode::data, file + ": the UTF-16 text is damaged at byte " + std::to_string(byte) +
                                   ".\n  Save or copy it again, or save it as UTF-8.");
}

// The character at `at`, which is advanced past it.
char32_t next_utf16(std::string_view text, bool big, size_t& at, const std::string& file) {
  const size_t start = at;
  const auto unit = [&]() -> char32_t {
    if (text.size() - at < 2) damaged(file, start);
    const auto a = static_cast<unsigned char>(text[at]), b = static_cast<unsigned char>(text[at + 1]);
    at += 2;
    return static_cast<char32_t>(big ? a << 8 | b : b << 8 | a);
  };
  const char32_t first = unit();
  if (first < 0xD800 || first > 0xDFFF) return first;
  if (first > 0xDBFF) damaged(file, start);
  const char32_t second = unit();
  if (second < 0xDC00 || second > 0xDFFF) damaged(file, start);
  return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
}

}  // namespace

const char* name(Encoding encoding) {
  switch (encoding) {
    case Encoding::utf8: return "UTF-8";
    case Encoding::utf16_little:
    case Encoding::utf16_big: return "UTF-16";
    case Encoding::windows_1252: return "Windows-1252";
  }
  return "";
}

Encoding marked_encoding(std::string_view text) {
  if (text.starts_with("\xFF\xFE")) return Encoding::utf16_little;
  return text.starts_with("\xFE\xFF") ? Encoding::utf16_big : Encoding::utf8;
}

bool may_be_windows_1252(std::string_view text) {
  constexpr size_t kNeighbors = 4;  // at most one byte in four may have one
  size_t beyond = 0, neighbors = 0;
  bool before = false;
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p < end; ++p) {
    const auto byte = static_cast<unsigned char>(*p);
    if (byte >= 0x80 && (windows_1252(byte) == kNone || utf8_character(p, end) > 0)) return false;
    beyond += byte >= 0x80, neighbors += before && byte >= 0x80;
    before = byte >= 0x80;
  }
  return neighbors * kNeighbors <= beyond;
}

void to_utf8(Encoding from, std::string_view text, const std::string& file,
             const std::function<void(std::string_view)>& put) {
  const bool wide = from == Encoding::utf16_little || from == Encoding::utf16_big;
  std::string piece;
  for (size_t at = wide ? 2 : 0; at < text.size();) {
    if (wide) append_utf8(next_utf16(text, from == Encoding::utf16_big, at, file), piece);
    else append_utf8(windows_1252(static_cast<unsigned char>(text[at++])), piece);
    if (piece.size() >= kTextPiece) put(piece), piece.clear();
  }
  if (!piece.empty()) put(piece);
}

}  // namespace tessera
