#include "tables/texts/characters.h"

#include <iterator>

#include "tables/texts/names.h"
#include "tables/texts/text_kind.h"

#include "base/text/utf8.h"

namespace tessera {
namespace {

struct Script {
  char32_t first, last;                // its characters
  char32_t first_member, last_member;  // a run of common characters without gaps
};

// Ascending; class number i + 1 is entry i.
constexpr Script kScripts[] = {
    {'0', '9', '0', '9'},
    {'A', 'Z', 'A', 'Z'},
    {'a', 'z', 'a', 'z'},
    {0x00C0, 0x00D6, 0x00C0, 0x00D6},                                                  // Latin-1, capitals
    {0x00DF, 0x00F6, 0x00DF, 0x00F6},                                                  // Latin-1, small
    {0x0100, 0x024F, 0x0100, 0x017F},                                                  // Latin extended
    {0x0386, 0x03AB, 0x0391, 0x03A1},                                                  // Greek, capitals
    {0x03AC, 0x03CE, 0x03B1, 0x03C9},                                                  // Greek, small
    {0x0400, 0x042F, 0x0410, 0x042F},                                                  // Cyrillic, capitals
    {0x0430, 0x045F, 0x0430, 0x044F},                                                  // Cyrillic, small
    {0x05D0, 0x05EA, 0x05D0, 0x05EA},                                                  // Hebrew
    {0x0620, 0x064A, 0x0627, 0x063A},                                                  // Arabic
    {0x0660, 0x0669, 0x0660, 0x0669},                                                  // Arabic digits
    {0x06F0, 0x06F9, 0x06F0, 0x06F9},                                                  // Persian digits
    {0x0904, 0x0939, 0x0905, 0x0939},                                                  // Devanagari
    {0x0966, 0x096F, 0x0966, 0x096F},                                                  // Devanagari digits
    {0x0E01, 0x0E2E, 0x0E01, 0x0E2E},                                                  // Thai
    {0x10D0, 0x10FA, 0x10D0, 0x10F0},                                                  // Georgian
    {0x2600, 0x27BF, 0x2600, 0x263F},                                                  // pictures of the basic plane
    {0x3041, 0x3096, 0x3042, 0x3093},                                                  // Hiragana
    {0x30A1, 0x30FA, 0x30A2, 0x30F3},                                                  // Katakana
    {0x3400, 0x9FFF, 0x4E00, 0x4E7F},                                                  // Chinese characters
    {0xAC00, 0xD7A3, 0xAC00, 0xAC7F},                                                  // Hangul
    {0xFF10, 0xFF19, 0xFF10, 0xFF19},                                                  // wide digits
    {0x1F300, 0x1FAFF, 0x1F600, 0x1F64F},                                              // emoji
    {0x20000, 0x2FFFF, 0x4E00, 0x4E7F},                                                // more Chinese characters
    {kFirstOctet, kFirstOctet + kOctets - 1, kFirstOctet, kFirstOctet + kOctets - 1},  // symbols of text_kind.h
    {kFirstLatitude, kFirstLatitude + 2 * kLatitudes - 1, kFirstLatitude, kFirstLatitude + 2 * kLatitudes - 1},
    {kFirstLongitude, kFirstLongitude + 2 * kLongitudes - 1, kFirstLongitude, kFirstLongitude + 2 * kLongitudes - 1},
    {kFirstVariant, kFirstVariant + kVariantSymbols - 1, kFirstVariant, kFirstVariant + kVariantSymbols - 1},
    {kFirstCapitalVariant, kFirstCapitalVariant + kVariantSymbols - 1, kFirstCapitalVariant,
     kFirstCapitalVariant + kVariantSymbols - 1},
    {kFirstStreet + 0, kFirstStreet + 31, kFirstStreet + 0, kFirstStreet + 31},
    {kFirstStreet + 32, kFirstStreet + 63, kFirstStreet + 32, kFirstStreet + 63},
    {kFirstStreet + 64, kFirstStreet + 95, kFirstStreet + 64, kFirstStreet + 95},
    {kFirstStreet + 96, kFirstStreet + 127, kFirstStreet + 96, kFirstStreet + 127},
    {kFirstStreet + 128, kFirstStreet + 159, kFirstStreet + 128, kFirstStreet + 159},
    {kFirstStreet + 160, kFirstStreet + 191, kFirstStreet + 160, kFirstStreet + 191},
    {kMonthSymbol, kMonthSymbol + kMonthSymbols - 1, kMonthSymbol, kMonthSymbol + kMonthSymbols - 1},
    {kDaySymbol, kDaySymbol + kDaySymbols - 1, kDaySymbol, kDaySymbol + kDaySymbols - 1},
    {kHourSymbol, kHourSymbol + kHourSymbols - 1, kHourSymbol, kHourSymbol + kHourSymbols - 1},
    {kMinuteSymbol, kMinuteSymbol + kMinuteSymbols - 1, kMinuteSymbol, kMinuteSymbol + kMinuteSymbols - 1},
    {kMonthSymbol + kShortForms, kMonthSymbol + kShortForms + kMonthSymbols - 1, kMonthSymbol + kShortForms,
     kMonthSymbol + kShortForms + kMonthSymbols - 1},
    {kDaySymbol + kShortForms, kDaySymbol + kShortForms + kDaySymbols - 1, kDaySymbol + kShortForms,
     kDaySymbol + kShortForms + kDaySymbols - 1},
    {kHourSymbol + kShortForms, kHourSymbol + kShortForms + kHourSymbols - 1, kHourSymbol + kShortForms,
     kHourSymbol + kShortForms + kHourSymbols - 1},
    {kYearSymbol, kYearSymbol + kYearSymbols - 1, kYearSymbol + 70, kYearSymbol + 169},  // 1950 to 2049
};

constexpr CharacterClass kNameClass = 0x8000;  // + the list of names
constexpr CharacterClass kUnlisted = 0x10000;  // + the block of 128 characters

// Punctuation, combining marks, and symbols.
bool is_sign(char32_t c) {
  if (c < 0xC0) return true;
  for (const auto& [first, last] : {std::pair<char32_t, char32_t>{0x300, 0x36F},
                                    {0x2000, 0x2BFF},
                                    {0x3000, 0x303F},
                                    {0xFE00, 0xFE0F},
                                    {0xFE20, 0xFE6F},
                                    {0xFF00, 0xFF0F},
                                    {0xFFF0, 0xFFFF},
                                    {0xE0000, 0xE01EF},
                                    {kFirstConstant, kFirstConstant + kConstants - 1}})
    if (c >= first && c <= last) return true;
  return c == 0xD7 || c == 0xF7;
}

}  // namespace

std::u32string code_points(std::string_view s) {
  std::u32string out;
  out.reserve(s.size());
  for (size_t i = 0; i < s.size();) {
    const auto lead = static_cast<unsigned char>(s[i]);
    const size_t more = lead < 0x80                   ? 0
                        : lead >= 0xF0 && lead < 0xF5 ? 3
                        : lead >= 0xE0 && lead < 0xF0 ? 2
                        : lead >= 0xC2 && lead < 0xE0 ? 1
                                                      : 4;
    char32_t c = more == 0 ? lead : more == 4 ? 0xFFFD : lead & (0x3F >> more);
    size_t read = 1;
    for (; more < 4 && read <= more; ++read) {
      if (i + read >= s.size() || (static_cast<unsigned char>(s[i + read]) & 0xC0) != 0x80) break;
      c = c << 6 | (static_cast<unsigned char>(s[i + read]) & 0x3F);
    }
    constexpr char32_t kMinCodePoint[] = {0, 0x80, 0x800, 0x10000};
    const bool whole =
        more < 4 && read == more + 1 && c >= kMinCodePoint[more] && c <= 0x10FFFF && !(c >= 0xD800 && c < 0xE000);
    out += whole ? c : 0xFFFD;
    i += whole ? read : 1;
  }
  return out;
}

std::string utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(c, out);
  return out;
}

CharacterClass class_of(char32_t c) {
  if (c < 0x80)
    return c >= '0' && c <= '9'   ? kDigitClass
           : c >= 'A' && c <= 'Z' ? kUpperClass
           : c >= 'a' && c <= 'z' ? kLowerClass
                                  : 0;
  if (c >= kFirstName && c < kFirstName + kNameSymbols)
    return kNameClass + static_cast<CharacterClass>((c - kFirstName) / kNamesOfAList);
  for (size_t i = 3; i < std::size(kScripts); ++i)
    if (c >= kScripts[i].first && c <= kScripts[i].last) return static_cast<CharacterClass>(i + 1);
  if (c >= 0xD8 && c <= 0xDE) return class_of(0xC0);
  if (c >= 0xF8 && c <= 0xFF) return class_of(0xE0);
  return is_sign(c) ? 0 : kUnlisted + (c >> 7);
}

std::u32string members_of(CharacterClass c) {
  const Script& s = kScripts[c >= 1 && c <= std::size(kScripts) ? c - 1 : kLowerClass - 1];
  std::u32string out;
  if (c >= kNameClass && c < kUnlisted)
    for (char32_t n = 0; n < kNamesOfAList; ++n)
      out += static_cast<char32_t>(kFirstName + (c - kNameClass) * kNamesOfAList + n);
  else
    for (char32_t member = s.first_member; member <= s.last_member; ++member) out += member;
  return out;
}

}  // namespace tessera
