// Unicode characters of regenerated texts: which of them are interchangeable.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// Invalid UTF-8 becomes U+FFFD.
std::u32string code_points(std::string_view utf8);
std::string utf8(std::u32string_view text);

// Letters and digits of one class (a script and case) are interchangeable; 0: a sign, which stays.
using CharacterClass = uint32_t;
CharacterClass class_of(char32_t c);
constexpr CharacterClass kDigitClass = 1, kUpperClass = 2, kLowerClass = 3;  // of ASCII
constexpr bool is_ascii_class(CharacterClass c) { return c <= kLowerClass; }
// Common characters of a class, ascending; lower-case ASCII letters for an unlisted script.
std::u32string members_of(CharacterClass c);

}  // namespace tessera
