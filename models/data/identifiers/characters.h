// Unicode characters of texts that are regenerated: which of them may stand for each other.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// Bytes that are not UTF-8 become U+FFFD.
std::u32string code_points(std::string_view utf8);
void append_utf8(char32_t c, std::string& to);
std::string utf8(std::u32string_view text);

// Letters and digits of one class (a script and case) may stand for each other; 0: a sign, which stays what it is.
using CharacterClass = uint32_t;
CharacterClass class_of(char32_t c);
constexpr CharacterClass kDigitClass = 1, kUpperClass = 2, kLowerClass = 3;  // of ASCII
constexpr bool is_ascii_class(CharacterClass c) { return c <= kLowerClass; }
// Characters of a class that every system has, ascending; small letters of ASCII for a script that is not listed.
std::u32string members_of(CharacterClass c);

}  // namespace tessera
