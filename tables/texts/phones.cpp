// Telephone numbers that cannot be real. National numbers do not begin with 0 after the country code; Italian ones may,
// but not with 1 at this length. In North America the second block of three does not begin with 1. After an area code,
// no fixed-line number begins with 0.
#include <algorithm>
#include <iterator>
#include <vector>

#include "base/text/ascii.h"
#include "tables/texts/characters.h"
#include "tables/texts/kinds.h"
#include "tables/texts/text_kind.h"

namespace tessera {
namespace {

constexpr size_t kLongestArea = 5, kMinOfNumber = 4;
constexpr size_t kNorthAmerican = 10, kExchangeAt = 3;
constexpr size_t kMinAbroad = 8, kMaxPhoneDigits = 15;  // with the country code

// The digits of a country code: one for zones 1 and 7, two for those listed, otherwise three (ITU-T E.164).
size_t country_digits(std::string_view digits) {
  constexpr std::string_view kOfTwo[] = {"20", "27", "30", "31", "32", "33", "34", "36", "39", "40", "41",
                                         "43", "44", "45", "46", "47", "48", "49", "51", "52", "53", "54",
                                         "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66",
                                         "81", "82", "84", "86", "90", "91", "92", "93", "94", "95", "98"};
  if (digits[0] == '1' || digits[0] == '7') return 1;
  return std::find(std::begin(kOfTwo), std::end(kOfTwo), digits.substr(0, 2)) != std::end(kOfTwo) ? 2 : 3;
}

// Where the number itself ends: an extension may follow, such as "x123" or "ext. 12".
size_t end_of_number(std::string_view text) {
  const size_t letter = text.find_first_of("xe");
  if (letter == text.npos || letter < 2) return text.size();
  std::string_view rest = text.substr(letter);
  for (const std::string_view word : {"extension", "ext.", "ext", "x"}) {
    if (rest.substr(0, word.size()) != word) continue;
    rest.remove_prefix(word.size());
    const size_t digit = rest.find_first_not_of(' ');
    if (digit != rest.npos && std::all_of(rest.begin() + static_cast<std::ptrdiff_t>(digit), rest.end(), is_digit))
      return letter;
  }
  return text.size();
}

struct Constant {
  size_t at;  // byte of the text
  char digit;
  size_t number = 0;  // byte of the first digit after the area; 0: unknown
};

// The digit that becomes a constant; none if the text is not a telephone number of a known form.
std::optional<Constant> constant_of(std::string_view text) {
  const std::string_view number = text.substr(0, end_of_number(text));
  std::string digits;
  std::vector<size_t> places;
  for (size_t i = 0; i < number.size(); ++i) {
    if (is_digit(number[i])) digits += number[i], places.push_back(i);
    else if (!(number[i] == '+' && i == 0) && std::string_view(" -.()/").find(number[i]) == std::string_view::npos)
      return {};
  }
  if (digits.empty() || digits.size() > kMaxPhoneDigits) return {};
  const bool abroad = number[0] == '+';
  if (!abroad && digits.size() == places.back() + 1) return {};  // only digits: an ordinary number
  const bool american =
      abroad ? digits.size() == kNorthAmerican + 1 && digits[0] == '1'
             : digits.size() == kNorthAmerican || (digits.size() == kNorthAmerican + 1 && digits[0] == '1');
  if (american) {
    const size_t first = digits.size() - kNorthAmerican, at = places[first + kExchangeAt];
    // Blocks of three, three and four, or no blocks: "06 12 34 56 78" is a number of another country.
    const bool blocks =
        places[first + 2] == places[first] + 2 && places[first + 5] == at + 2 && places.back() == places[first + 6] + 3;
    return blocks ? std::optional(Constant{at, '1', at}) : std::nullopt;
  }
  if (!abroad || digits.size() < kMinAbroad || digits[0] == '0') return {};
  size_t first = country_digits(digits);
  const size_t at = places[first];
  const bool trunk = digits[first] == '0' && at > 0 && number[at - 1] == '(' && number.substr(at + 1, 1) == ")";
  if (trunk) ++first;  // "+49 (0)30 …"
  size_t area = 1;     // digits of the first block
  while (first + area < places.size() && places[first + area] == places[first + area - 1] + 1) ++area;
  const bool known = area <= kLongestArea && first + area + kMinOfNumber <= digits.size();
  return Constant{places[first], digits.substr(0, 2) == "39" ? '1' : '0', known ? places[first + area] : 0};
}

}  // namespace

bool is_phone(std::string_view text) { return constant_of(text).has_value(); }

std::string_view phone_area(std::string_view text) {
  const std::optional<Constant> constant = constant_of(text);
  return text.substr(0, constant ? constant->number : 0);
}

std::u32string phone_symbols(std::string_view text, std::string_view area) {
  const std::optional<Constant> constant = constant_of(text);
  if (!constant) return code_points(text);
  const auto digit = constants(std::string_view(&constant->digit, 1));
  if (!area.empty() && constant->number > 0)
    return constants(area) + digit + code_points(text.substr(constant->number + 1));
  return code_points(text.substr(0, constant->at)) + digit + code_points(text.substr(constant->at + 1));
}

}  // namespace tessera
