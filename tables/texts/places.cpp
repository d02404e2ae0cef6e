// Places: coordinates and postal codes.
#include <algorithm>
#include <iterator>

#include "base/text/ascii.h"
#include "tables/texts/characters.h"
#include "tables/texts/kinds.h"
#include "tables/texts/text_kind.h"

namespace tessera {
namespace {

constexpr size_t kMinDecimals = 2;  // "5.1, 3.2" is ambiguous

// Reads degrees at the front of `text`: the symbol of the whole degrees, and the decimals unchanged.
bool take_degrees(std::string_view& text, char32_t first_symbol, char32_t most, std::u32string& out) {
  const bool negative = !text.empty() && text[0] == '-';
  size_t at = negative ? 1 : 0;
  char32_t degrees = 0;
  const size_t begin = at;
  while (at < text.size() && is_digit(text[at]) && at < begin + 3)
    degrees = degrees * 10 + static_cast<char32_t>(text[at++] - '0');
  if (at == begin || (at > begin + 1 && text[begin] == '0') || degrees >= most) return false;
  if (at == text.size() || text[at] != '.') return false;
  const size_t point = at++;
  while (at < text.size() && is_digit(text[at])) ++at;
  if (at - point - 1 < kMinDecimals) return false;
  out.push_back(first_symbol + degrees + (negative ? most : 0));
  out += code_points(text.substr(point, at - point));
  text.remove_prefix(at);
  return true;
}

std::optional<std::u32string> symbols(std::string_view text) {
  std::u32string out;
  const auto take = [&](std::string_view word) {
    if (text.substr(0, word.size()) != word) return false;
    out += code_points(word);
    text.remove_prefix(word.size());
    return true;
  };
  const bool point = take("POINT (") || take("POINT("), open = point || take("(");
  const auto latitude = [&] { return take_degrees(text, kFirstLatitude, kLatitudes, out); };
  const auto longitude = [&] { return take_degrees(text, kFirstLongitude, kLongitudes, out); };
  if (!(point ? longitude() : latitude())) return {};
  if (!(point ? take(" ") : take(", ") || take(",") || take("; ") || take(";") || take(" "))) return {};
  if (!(point ? latitude() : longitude())) return {};
  if (open && !take(")")) return {};
  return text.empty() ? std::optional(out) : std::nullopt;
}

// A: a capital, 9: a digit, others match themselves.
bool fits(std::string_view text, std::string_view form) {
  return std::equal(text.begin(), text.end(), form.begin(), form.end(), [](char c, char f) {
    return f == '9' ? is_digit(c) : f == 'A' ? c >= 'A' && c <= 'Z' : c == f;
  });
}

}  // namespace

bool is_coordinates(std::string_view text) { return symbols(text).has_value(); }
std::u32string coordinates_symbols(std::string_view text) { return symbols(text).value_or(code_points(text)); }

bool is_postal_code(std::string_view text) {
  constexpr std::string_view kForms[] = {
      "A9 9AA",     "A99 9AA", "AA9 9AA", "AA99 9AA", "A9A 9AA", "AA9A 9AA",  // United Kingdom
      "A9A 9A9",                                                              // Canada
      "9999 AA",                                                              // Netherlands
      "99999-9999",                                                           // United States
      "99999-999",                                                            // Brazil
  };
  return std::any_of(std::begin(kForms), std::end(kForms), [&](std::string_view form) { return fits(text, form); });
}

}  // namespace tessera
