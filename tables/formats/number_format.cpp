#include "tables/formats/number_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/text/ascii.h"
#include "tables/formats/durations.h"
#include "tables/formats/moments.h"

namespace tessera {
namespace {

constexpr int kMaxDigits = 15;
constexpr std::string_view kMinus = "\xE2\x88\x92";
constexpr std::string_view kSeparators[] = {"", " ", "\xC2\xA0", "\xE2\x80\xAF", "'", "\xE2\x80\x99"};

bool starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

void append_quoted(std::string_view text, std::string& out) {
  if (text.empty()) return;
  out += '"';
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

// A quoted text at the start of `rest`, which moves behind it.
bool take_quoted(std::string_view& rest, std::string& out) {
  if (rest.empty() || rest[0] != '"') return true;
  for (size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"' && (i + 1 == rest.size() || rest[i + 1] != '"')) {
      rest.remove_prefix(i + 1);
      return true;
    }
    out += rest[i];
    i += rest[i] == '"';
  }
  return false;
}

bool take(std::string_view& rest, std::string_view what) {
  if (!starts(rest, what)) return false;
  rest.remove_prefix(what.size());
  return true;
}

int take_run(std::string_view& rest, char c) {
  size_t n = 0;
  while (n < rest.size() && rest[n] == c) ++n;
  rest.remove_prefix(n);
  return static_cast<int>(n);
}

void insert_groups(std::string& digits, const std::string& group) {
  const size_t whole = std::min(digits.find('.'), digits.size());
  const bool lakhs = group == kLakhs;
  for (size_t at = whole, run = 3; at > run; run = lakhs ? 2 : 3) digits.insert(at -= run, lakhs ? "," : group);
}

}  // namespace

std::string NumberFormat::text() const {
  std::string out(typeset ? kMinus : "");
  const char* positive = plus_zero ? "++" : plus ? "+" : "";
  if (sign != SignPlace::inside) out += positive;
  if (sign == SignPlace::around) out += '(';
  append_quoted(prefix, out);
  if (sign == SignPlace::inside) out += plus ? positive : "-";
  if (sign == SignPlace::brackets) out += '(';
  out += group.empty() ? "0" : '#' + group + "##0";
  if (most > 0) {
    out += mark;
    out.append(static_cast<size_t>(least), '0').append(static_cast<size_t>(most - least), '#');
  }
  if (exponent > 0) {
    out += upper_exponent ? 'E' : 'e';
    if (plus_exponent) out += '+';
    out.append(static_cast<size_t>(exponent), '0');
  }
  if (sign == SignPlace::behind) out += '-';
  if (sign == SignPlace::brackets) out += ')';
  append_quoted(suffix, out);
  if (sign == SignPlace::around) out += ')';
  return out + significant_suffix(significant);
}

bool NumberFormat::parse(std::string_view rest, NumberFormat& f) {
  f = NumberFormat{};
  size_t end_of_picture = rest.size();
  f.significant = significant_digits_of(rest, &end_of_picture);
  rest = rest.substr(0, end_of_picture);
  f.typeset = take(rest, kMinus);
  const auto take_plus = [&] { f.plus = take(rest, "+"), f.plus_zero = f.plus && take(rest, "+"); };
  take_plus();
  if (take(rest, "(")) f.sign = SignPlace::around;
  if (!take_quoted(rest, f.prefix)) return false;
  if (!f.prefix.empty() && !rest.empty() && f.sign == SignPlace::front) {
    if (take(rest, "(")) f.sign = SignPlace::brackets;
    else if (take(rest, "-")) f.sign = SignPlace::inside, f.plus = f.plus_zero = false;
    else if (rest[0] == '+' && !f.plus) f.sign = SignPlace::inside, take_plus();
  }
  if (take(rest, "#")) {
    const size_t end = rest.find("##0");
    if (end == 0 || end > 4) return false;
    f.group = rest.substr(0, end);
    rest.remove_prefix(end + 3);
  } else if (!take(rest, "0")) {
    return false;
  }
  if (!rest.empty() && (rest[0] == '.' || rest[0] == ',')) {
    f.mark = rest[0];
    rest.remove_prefix(1);
    f.least = take_run(rest, '0');
    f.most = f.least + take_run(rest, '#');
    if (f.most == 0 || f.most > kMaxDigits) return false;
  }
  if (!rest.empty() && (rest[0] == 'e' || rest[0] == 'E')) {
    f.upper_exponent = rest[0] == 'E';
    rest.remove_prefix(1);
    f.plus_exponent = take(rest, "+");
    f.exponent = take_run(rest, '0');
    if (f.exponent == 0 || f.exponent > 3) return false;
  }
  if (f.sign == SignPlace::front && take(rest, "-")) f.sign = SignPlace::behind;
  if (f.sign == SignPlace::brackets && !take(rest, ")")) return false;
  if (!take_quoted(rest, f.suffix)) return false;
  return (f.sign != SignPlace::around || take(rest, ")")) && rest.empty();
}

void NumberFormat::write_parts(bool negative, bool zero, std::string_view number, std::string& out) const {
  const bool closed = negative && (sign == SignPlace::around || sign == SignPlace::brackets);
  const std::string_view minus = typeset ? kMinus : "-";
  const std::string_view shown = closed ? "" : negative ? minus : (zero ? plus_zero : plus) ? "+" : "";
  if (closed && sign == SignPlace::around) out += '(';
  if (sign != SignPlace::inside && (sign != SignPlace::behind || !negative)) out += shown;
  out += prefix;
  if (closed && sign == SignPlace::brackets) out += '(';
  if (sign == SignPlace::inside) out += shown;
  out += number;
  if (sign == SignPlace::behind && negative) out += shown;
  if (closed && sign == SignPlace::brackets) out += ')';
  out += suffix;
  if (closed && sign == SignPlace::around) out += ')';
}

void NumberFormat::write(double value, std::string& out) const {
  const double size = std::fabs(value);
  std::string digits, power;
  if (exponent > 0) {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, size, std::chars_format::scientific, most).ptr;
    const std::string_view all(text, static_cast<size_t>(end - text));
    const size_t e = all.find('e');
    digits = all.substr(0, e);
    power = upper_exponent ? 'E' : 'e';
    if (all[e + 1] == '-' || plus_exponent) power += all[e + 1];
    const std::string_view number = all.substr(std::min(all.find_first_not_of('0', e + 2), all.size()));
    if (static_cast<int>(number.size()) < exponent) power.append(static_cast<size_t>(exponent) - number.size(), '0');
    power += number;
  } else {
    write_decimal(size, most, digits);
  }
  // beyond 15 digits write_decimal() writes an exponent: nothing to group or shorten there
  bool zero = false;
  if (digits.find('e') == std::string::npos) {
    const size_t point = digits.find('.');
    if (point != std::string::npos) {
      size_t keep = digits.size();
      while (keep > point + 1 + static_cast<size_t>(least) && digits[keep - 1] == '0') --keep;
      digits.resize(keep == point + 1 ? point : keep);
    }
    zero = digits.find_first_of("123456789") == std::string::npos;
    if (!group.empty()) insert_groups(digits, group);
    if (mark != '.')
      if (const size_t at = digits.rfind('.'); at != std::string::npos && point != std::string::npos) digits[at] = mark;
  }
  write_parts(value < 0 && !zero, zero, digits + power, out);
}

int significant_digits_of(std::string_view format, size_t* mark) {
  const size_t at = format.rfind('~'), digits = format.size() - at - 1;
  if (at == std::string_view::npos || digits < 1 || digits > 2) return 0;
  int n = 0;
  for (const char c : format.substr(at + 1))
    if (is_digit(c)) n = 10 * n + (c - '0');
    else return 0;
  if (mark != nullptr) *mark = at;
  return n;
}

std::string significant_suffix(int digits) { return digits == 0 ? "" : "~" + std::to_string(digits); }

double with_significant(double value, int digits) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, digits - 1).ptr;
  double said = value;
  return read_finite({text, static_cast<size_t>(end - text)}, said) ? said : value;
}

Reading NumberFormat::read(std::string_view text, double& value) const {
  NumberAffix affix;
  std::string plain, ascii;
  if (typeset) text = with_plain_minus(text, ascii);
  if (!prefix.empty() || !suffix.empty() || sign != SignPlace::front) {
    const bool has_affix = split_affix(text, affix);
    if (affix.prefix != prefix || affix.suffix != suffix) return Reading::no;
    if (has_affix) text = affix.number;
  }
  int separator = 0, groups = 0;
  if (!group.empty() && group != "," && group != "." && group != kLakhs) {
    if (!remove_groups(text, separator, groups, plain)) return Reading::no;
    text = plain;
  }
  const NumberStyle style = mark == ','       ? (group == "." ? NumberStyle::dots : NumberStyle::comma)
                            : group == kLakhs ? NumberStyle::lakhs
                            : group == ","    ? NumberStyle::thousands
                                              : NumberStyle::point;
  return read_number(text, style, value);
}

namespace {

// Currencies come before or after the number; so do the three capitals of ISO 4217.
constexpr std::string_view kCurrencies[] = {
    "$",   "€",   "£",   "¥",   "₹",   "₽", "₩",   "₺",   "₪",   "₫",   "₴",   "₦",   "฿",   "zł",  "kr",  "kr.",
    "Kč",  "Ft",  "lei", "лв",  "US$", "A$",  "C$",  "CA$", "AU$", "NZ$", "HK$", "S$",  "R$",  "Rs",  "Rs.", "Fr.",
    "USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD", "NZD", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF",
    "BRL", "MXN", "ZAR", "TRY", "RUB", "SGD", "HKD", "KRW", "ILS", "AED", "SAR", "RON", "BGN", "UAH", "THB", "IDR"};
// Units that follow a number without a blank. Others need a blank.
constexpr std::string_view kUnits[] = {
    "%",   "‰",   "°",   "°C",  "°F",  "kg",  "g",   "mg",  "µg",  "t",    "lb",  "lbs",  "oz",  "km",  "m",
    "cm",  "mm",  "mi",  "ft",  "in",  "m²",  "m³",  "l",   "L",   "ml",   "mL",  "dl",   "cl",  "gal", "s",
    "ms",  "µs",  "ns",  "min", "h",   "hrs", "hr",  "d",   "B",   "kB",   "KB",  "MB",   "GB",  "TB",  "KiB",
    "MiB", "GiB", "W",   "kW",  "MW",  "Wh",  "kWh", "V",   "mV",  "A",    "mA",  "Hz",   "kHz", "MHz", "GHz",
    "bar", "Pa",  "hPa", "kPa", "psi", "px",  "pt",  "mph", "kmh", "km/h", "m/s", "kcal", "cal", "J",   "kJ",
    "N",   "K",   "x",   "k",   "M",   "bn",  "mAh", "dB",  "rpm", "bpm",  "mmHg"};

bool is_one_of(std::string_view text, const auto& list) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

// Blanks between a number and its unit.
size_t blank_at_end(std::string_view text) {
  for (const std::string_view blank : {kSeparators[3], kSeparators[2], kSeparators[1]})
    if (text.size() >= blank.size() && text.substr(text.size() - blank.size()) == blank) return blank.size();
  return 0;
}
size_t blank_at_start(std::string_view text) {
  for (const std::string_view blank : {kSeparators[3], kSeparators[2], kSeparators[1]})
    if (starts(text, blank)) return blank.size();
  return 0;
}

bool is_prefix(std::string_view text) {
  text.remove_suffix(blank_at_end(text));
  return is_one_of(text, kCurrencies);
}

// A known unit, or a single word after a blank.
bool is_suffix(std::string_view text) {
  constexpr size_t kLongest = 16;
  const size_t blank = blank_at_start(text);
  const std::string_view word = text.substr(blank);
  if (word.empty()) return false;
  if (is_one_of(word, kUnits) || is_one_of(word, kCurrencies)) return true;
  return blank > 0 && word.size() <= kLongest && std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80 ||
                  c == '/' || c == '.';
         });
}

}  // namespace

namespace {

bool is_sign(char c) { return c == '-' || c == '+'; }

// Removes the sign from the prefix or suffix of a number and returns it; 0: there is none.
char take_sign(std::string_view& front, std::string_view& back, std::string_view number, SignPlace& place) {
  const auto take_front = [&](SignPlace at) {
    const char sign = at == SignPlace::front ? front.front() : front.back();
    at == SignPlace::front ? front.remove_prefix(1) : front.remove_suffix(1);
    place = front.empty() ? SignPlace::front : at;
    return sign;
  };
  if (!front.empty() && front.front() == '(' && !back.empty() && back.back() == ')') {
    front.remove_prefix(1), back.remove_suffix(1), place = SignPlace::around;
    return '-';
  }
  if (!front.empty() && front.back() == '(' && starts(back, ")")) {
    front.remove_suffix(1), back.remove_prefix(1), place = SignPlace::brackets;
    return '-';
  }
  if (!front.empty() && is_sign(front.front())) return take_front(SignPlace::front);
  if (!front.empty() && is_sign(front.back())) return take_front(SignPlace::inside);
  // sums as in ledgers: "2-" and "3-" are marks or codes
  if (!starts(back, "-") || number.find_first_of(".,") == std::string_view::npos) return 0;
  back.remove_prefix(1), place = SignPlace::behind;
  return '-';
}

}  // namespace

bool split_affix(std::string_view text, NumberAffix& affix) {
  constexpr size_t kLongestPrefix = 8;
  affix = NumberAffix{};
  const std::string_view digits = "0123456789";
  size_t first = text.find_first_of(digits), last = text.find_last_of(digits);
  if (first == std::string_view::npos) return false;
  if (first > 0 && (text[first - 1] == '.' || text[first - 1] == ',')) --first;  // ".5"
  std::string_view front = text.substr(0, first), back = text.substr(last + 1);
  if (first > kLongestPrefix) return false;
  const std::string_view number = text.substr(first, last + 1 - first);
  SignPlace place = SignPlace::front;
  const char sign = take_sign(front, back, number, place);
  if (front.empty() && back.empty() && place == SignPlace::front) return false;
  if ((!front.empty() && !is_prefix(front)) || (!back.empty() && !is_suffix(back))) return false;
  affix.prefix = front, affix.suffix = back, affix.sign = place;
  if (sign != 0) affix.number = sign;
  affix.number += number;
  return true;
}

std::string_view with_plain_minus(std::string_view text, std::string& plain) {
  const size_t at = text.find(kMinus);
  if (at == std::string_view::npos) return text;
  plain = text;
  return plain.replace(at, kMinus.size(), "-");
}

bool remove_groups(std::string_view text, int& separator, int& groups, std::string& out) {
  separator = groups = 0;
  out.clear();
  size_t at = 0;
  const auto take_digits = [&] {
    const size_t first = at;
    while (at < text.size() && is_digit(text[at])) out += text[at++];
    return at - first;
  };
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) out += text[at++];
  const size_t first_run = take_digits();
  for (;;) {
    int found = 0;
    for (int s = 1; s < static_cast<int>(std::size(kSeparators)); ++s)
      if (starts(text.substr(at), kSeparators[s])) found = s;
    if (found == 0) break;
    if (groups == 0 ? first_run == 0 || first_run > 3 : found != separator) return false;
    separator = found, ++groups;
    at += kSeparators[found].size();
    if (take_digits() != 3) return false;
  }
  out += text.substr(at);
  return true;
}

std::string_view group_separator(int number) { return kSeparators[number]; }

std::string plain_number(const std::string& format) {
  NumberFormat f;
  if (NumberFormat::parse(format, f)) return f.exponent > 0 ? "%g" : "";
  return !is_clock_format(format) || format.find("%D") == 0 ? "" : "%H:%M:%S";
}

bool is_clock_format(const std::string& format) {
  return format == "PT" || (format.size() > 2 && format[0] == '%' && format.find(':') != std::string::npos) ||
         format == "%-Hh %Mm";
}

bool read_clock(std::string_view text, double& seconds) {
  TimeOfDay time;
  const char *p = text.data(), *end = p + text.size();
  if (read_time_of_day(p, end, time) && p == end) return seconds = time.seconds, true;
  Duration duration;
  if (!read_duration(text, duration)) return false;
  seconds = duration.seconds;
  return true;
}

}  // namespace tessera
