// Numbers whose last character is computed from the others, so that a wrong digit is noticed.
#include <algorithm>

#include "tables/texts/kinds.h"

namespace tessera {
namespace {

// What a digit adds to the sum; place 0 is the one before the check digit.
int weighted(TextKind kind, int digit, int place) {
  switch (kind) {
    case TextKind::ean: return place % 2 == 0 ? 3 * digit : digit;
    case TextKind::isbn:
    case TextKind::nhs: return (place + 2) * digit;
    default: return place % 2 == 1 ? digit : 2 * digit > 9 ? 2 * digit - 9 : 2 * digit;
  }
}

// The value that makes the sum a multiple of the modulus, for the digits before `last`.
int check_value(TextKind kind, std::u32string_view text, size_t last) {
  const int modulus = kind == TextKind::isbn || kind == TextKind::nhs ? 11 : 10;
  int sum = 0, place = 0;
  for (size_t i = last; i-- > 0;)
    if (is_decimal(text[i])) sum += weighted(kind, static_cast<int>(text[i] - '0'), place++);
  return (modulus - sum % modulus) % modulus;
}

}  // namespace

size_t last_digit(std::u32string_view text) {
  size_t at = text.size();
  while (at > 0 && !is_decimal(text[at - 1])) --at;
  return at - 1;
}

char32_t check_digit(TextKind kind, std::u32string_view text) {
  const int value = check_value(kind, text, last_digit(text));
  return value == 10 ? U'X' : static_cast<char32_t>('0' + value);
}

bool is_checked(TextKind kind, std::string_view text) {
  const bool modulo_11 = kind == TextKind::isbn || kind == TextKind::nhs;
  const size_t least = kind == TextKind::ean ? 7 : 8, most = modulo_11 ? 10 : kind == TextKind::ean ? 18 : 20;
  if (text.empty() || text.size() > 2 * most) return false;
  std::u32string all(text.begin(), text.end());
  const bool ten = kind == TextKind::isbn && all.back() == 'X';
  if (ten) all.back() = '0';
  const auto digits = static_cast<size_t>(std::count_if(all.begin(), all.end(), is_decimal));
  return digits >= least && digits <= most && is_decimal(all.back()) &&
         std::all_of(all.begin(), all.end(), [](char32_t c) { return is_decimal(c) || c == ' ' || c == '-'; }) &&
         check_digit(kind, all) == (ten ? U'X' : all.back());
}

// Of the digits before the check digit of an NHS number, at most one would need a check digit of 10: the last of them
// is counted among the others, 0 to 8.
std::u32string checked_symbols(TextKind kind, std::u32string text) {
  if (kind == TextKind::isbn && text.back() == 'X') text.back() = '0';
  const size_t last = last_digit(text);
  text[last] = '0';
  if (kind != TextKind::nhs) return text;
  const size_t at = last_digit(std::u32string_view(text).substr(0, last));
  const char32_t held = text[at];
  char32_t count = 0;
  for (text[at] = '0'; text[at] < held; ++text[at]) count += check_value(kind, text, last) != 10;
  text[at] = U'0' + std::min<char32_t>(count, 8);
  return text;
}

std::u32string checked_text(TextKind kind, std::u32string text) {
  constexpr size_t kDigits = 2;
  if (static_cast<size_t>(std::count_if(text.begin(), text.end(), is_decimal)) < kDigits) return text;
  const size_t last = last_digit(text);
  if (kind == TextKind::nhs) {
    const size_t at = last_digit(std::u32string_view(text).substr(0, last));
    char32_t left = std::min<char32_t>(text[at], '8') - '0';
    for (text[at] = '0'; check_value(kind, text, last) == 10 || left-- > 0;) ++text[at];
  }
  text[last] = check_digit(kind, text);
  return text;
}

}  // namespace tessera
