// Dates, and dates with a time of day, beside which a column has words: as characters by place, 2021-13-02 would come
// out. Year, month, day, hour, minute and second are symbols; no month is given a day beyond its 28th.
#include <bit>

#include "base/text/ascii.h"
#include "tables/formats/moments.h"
#include "tables/texts/characters.h"
#include "tables/texts/kinds.h"
#include "tables/texts/text_kind.h"

namespace tessera {
namespace {

constexpr LayoutBits kOfNumbers = 0xFF;  // layouts of three numbers, the year in four digits
constexpr int kLastOfAll = 28;

// Reads a number at the front of `text`.
int take_number(std::string_view& text, bool& short_form) {
  int value = 0;
  size_t at = 0;
  while (at < text.size() && at < 4 && is_digit(text[at])) value = value * 10 + (text[at++] - '0');
  short_form = at == 1;
  text.remove_prefix(at);
  return value;
}

char32_t symbol(char32_t first, int value, bool short_form) {
  return first + static_cast<char32_t>(value) + (short_form ? kShortForms : 0);
}

void take_sign(std::string_view& text, std::u32string& out) {
  out += constants(text.substr(0, 1));
  text.remove_prefix(1);
}

}  // namespace

std::optional<std::u32string> date_symbols(std::string_view text) {
  Moment m;
  if (!read_moment(text, m) || (m.layouts & kOfNumbers) == 0) return {};
  const DateLayout& layout = kDateLayouts[std::countr_zero(m.layouts & kOfNumbers)];
  std::u32string out;
  bool short_form = false;
  for (int k = 0; k < 3; ++k) {
    if (k > 0) take_sign(text, out);
    const int value = take_number(text, short_form);
    if (layout.order[k] == 'y') {
      if (value < kFirstYearListed || value >= kFirstYearListed + static_cast<int>(kYearSymbols)) return {};
      out += kYearSymbol + static_cast<char32_t>(value - kFirstYearListed);
    } else if (layout.order[k] == 'm') {
      out += symbol(kMonthSymbol, value - 1, short_form);
    } else {
      out += symbol(kDaySymbol, (value > kLastOfAll ? value - kLastOfAll : value) - 1, short_form);
    }
  }
  if (!m.has_time) return text.empty() ? std::optional(out) : std::nullopt;
  for (size_t k = 0; k < m.between.size(); ++k) take_sign(text, out);
  const int hour = take_number(text, short_form);
  out += symbol(kHourSymbol, hour, short_form);
  while (text.size() > 2 && text[0] == ':' && is_digit(text[1])) {  // minutes and seconds
    take_sign(text, out);
    out += symbol(kMinuteSymbol, take_number(text, short_form), false);
  }
  if (text.size() > 1 && text[0] == '.') {  // of a second
    take_sign(text, out);
    while (!text.empty() && is_digit(text[0])) out += static_cast<char32_t>(text[0]), text.remove_prefix(1);
  }
  return out + constants(text);  // AM, Z, +02:00
}

std::string number_of_symbol(char32_t c) {
  if (c >= kYearSymbol) return std::to_string(kFirstYearListed + static_cast<int>(c - kYearSymbol));
  const bool short_form = c >= kMonthSymbol + kShortForms;
  if (short_form) c -= kShortForms;
  const auto value = static_cast<int>(c >= kMinuteSymbol ? c - kMinuteSymbol
                                      : c >= kHourSymbol ? c - kHourSymbol
                                      : c >= kDaySymbol  ? c - kDaySymbol + 1
                                                         : c - kMonthSymbol + 1);
  return (value < 10 && !short_form ? "0" : "") + std::to_string(value);
}

}  // namespace tessera
