#include "tables/formats/values.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/text/ascii.h"
#include "base/text/powers_of_ten.h"

namespace tessera {
namespace {

bool equal_any_case(std::string_view text, std::string_view small) {
  if (text.size() != small.size() || text.empty() || lower(text[0]) != small[0]) return false;
  for (size_t i = 1; i < text.size(); ++i)
    if (lower(text[i]) != small[i]) return false;
  return true;
}

// Digits, at most one point, no exponent, a mantissa a double holds exactly: one division is then correctly rounded
// (Clinger 1990).
bool read_plain(std::string_view text, double& value) {
  const char *p = text.data(), *end = p + text.size();
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  if (end - p > 17) return false;
  uint64_t mantissa = 0;
  const char* start = p;
  while (p < end && is_digit(*p)) mantissa = mantissa * 10 + static_cast<uint64_t>(*p++ - '0');
  int fraction = 0, digits = static_cast<int>(p - start);
  if (p < end && *p == '.') {
    const char* point = ++p;
    while (p < end && is_digit(*p)) mantissa = mantissa * 10 + static_cast<uint64_t>(*p++ - '0');
    fraction = static_cast<int>(p - point);
    digits += fraction;
  }
  if (p != end || digits == 0 || mantissa > (uint64_t{1} << 53)) return false;
  const double whole = static_cast<double>(mantissa);
  const double v = fraction == 0 ? whole : whole / kPowersOfTen[fraction];
  value = negative ? -v : v;
  if (mantissa == 0) value = 0;
  return true;
}

Reading read_general(std::string_view text, double& value) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  if (text.empty()) return Reading::no;
  std::string_view body = text;
  if (body[0] == '-') body.remove_prefix(1);
  if (equal_any_case(body, "inf") || equal_any_case(body, "infinity")) return Reading::infinite;
  if (body.empty() || !(is_digit(body[0]) || body[0] == '.')) return Reading::no;  // "nan", "+-1"
  const auto [end, error] = fast_float::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return Reading::no;
  if (std::isinf(value)) return Reading::too_large;
  if (error != std::errc() && error != std::errc::result_out_of_range) return Reading::no;
  if (value == 0) value = 0;  // no negative zero
  return Reading::ok;
}

// Removes `group` between groups of digits, and turns `decimal` into a point. False if the last group does not have
// three digits, or another one not `inner`.
bool normalise(std::string_view text, char group, int inner, char decimal, std::string& out) {
  out.clear();
  int run = 0, groups = 0;
  bool whole = true;
  for (const char c : text) {
    if (c == group && group != 0) {
      if (!whole || run == 0 || (groups == 0 ? run > inner : run != inner)) return false;
      ++groups;
      run = 0;
      continue;
    }
    if (is_digit(c) && whole) ++run;
    if (!is_digit(c) && c != '-' && c != '+') {
      if (whole && groups > 0 && run != 3) return false;
      whole = false;
    }
    if (c == '.' && decimal != '.') return false;
    out.push_back(c == decimal ? '.' : c);
  }
  return !(whole && groups > 0 && run != 3);
}

}  // namespace

Reading read_number(std::string_view text, NumberStyle style, double& value) {
  if (read_plain(text, value) &&
      ((style != NumberStyle::comma && style != NumberStyle::dots) || text.find('.') == std::string_view::npos))
    return Reading::ok;
  if (style == NumberStyle::point) return read_general(text, value);
  std::string normal;
  const bool comma = style == NumberStyle::comma || style == NumberStyle::dots;
  const char group = style == NumberStyle::dots ? '.' : comma ? '\0' : ',';
  if (!normalise(text, group, style == NumberStyle::lakhs ? 2 : 3, comma ? ',' : '.', normal)) return Reading::no;
  return read_general(normal, value);
}

bool read_finite(std::string_view text, double& value) {
  const auto [end, error] = fast_float::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

bool read_boolean(std::string_view text, bool loose, bool& value) {
  if (!loose && text.size() != 4 && text.size() != 5) return false;
  constexpr struct {
    std::string_view word;
    bool truth, loose;
  } kWords[] = {{"true", true, false}, {"false", false, false}, {"yes", true, true}, {"no", false, true},
                {"y", true, true},     {"n", false, true},      {"t", true, true},   {"f", false, true},
                {"1", true, true},     {"0", false, true}};
  for (const auto& w : kWords)
    if ((loose || !w.loose) && equal_any_case(text, w.word)) {
      value = w.truth;
      return true;
    }
  return false;
}

void write_shortest(double value, std::string& out) {
  char text[32];
  // an exponent as other programs write one: not for 100000, which would be shorter as 1e+05
  const double size = std::fabs(value);
  const bool fixed = value == 0 || (size >= 1e-4 && size < 1e16);
  const auto form = fixed ? std::chars_format::fixed : std::chars_format::scientific;
  const auto result = std::to_chars(text, text + sizeof text, value, form);
  out.append(text, result.ptr);
}

void write_fine(double value, int most, std::string& out) {
  if (!(std::fabs(value) < 1e16)) return write_shortest(value, out);
  char text[64];
  auto written = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
  const auto decimals = [&] { return written.ptr - std::find(text, written.ptr, '.') - 1; };
  if (written.ec != std::errc() || decimals() > most) {
    written = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, most);
    while (decimals() > 0 && written.ptr[-1] == '0') --written.ptr;
    if (written.ptr[-1] == '.') --written.ptr;
  }
  const std::string_view all(text, static_cast<size_t>(written.ptr - text));
  out += all == "-0" ? "0" : all;
}

char* write_decimal(double value, int decimals, char* out) {
  const double scaled = value * kPowersOfTen[decimals];
  // Beyond 2⁵³ units the product has no fraction to round, and the value more digits than a double holds.
  if (!(std::fabs(scaled) < 9e15)) return std::to_chars(out, out + 32, value).ptr;
  const auto n = static_cast<uint64_t>(nearest(std::fabs(scaled)));
  if (scaled < 0 && n != 0) *out++ = '-';
  char text[24];
  const auto length = static_cast<int>(std::to_chars(text, text + sizeof text, n).ptr - text);
  const int whole = length - decimals;
  if (whole > 0) {
    std::memcpy(out, text, static_cast<size_t>(whole));
    out += whole;
  } else {
    *out++ = '0';
  }
  if (decimals == 0) return out;
  *out++ = '.';
  for (int i = whole; i < 0; ++i) *out++ = '0';
  const int from = whole > 0 ? whole : 0;
  std::memcpy(out, text + from, static_cast<size_t>(length - from));
  return out + (length - from);
}

void write_decimal(double value, int decimals, std::string& out) {
  char text[40];
  out.append(text, write_decimal(value, decimals, text));
}

}  // namespace tessera
