#include "models/data/table/types_value.h"

#include <fast_float/fast_float.h>

#include <charconv>
#include <cmath>
#include <cstring>

namespace tessera {
namespace {

constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

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
  const double v = fraction == 0 ? whole : whole / kPowers[fraction];
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

// Removes `group` between groups of three digits, and turns `decimal` into a point. False if a group does not have
// three digits.
bool normalise(std::string_view text, char group, char decimal, std::string& out) {
  out.clear();
  int run = 0, groups = 0;
  bool whole = true;
  for (const char c : text) {
    if (c == group && group != 0) {
      if (!whole || run == 0 || (groups == 0 ? run > 3 : run != 3)) return false;
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

// Days since 1970-01-01 of a day in the proleptic Gregorian calendar, and back (Hinnant, "chrono-compatible low-level
// date algorithms").
int64_t days_from_civil(int64_t y, int m, int d) {
  y -= m <= 2;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t year_of_era = y - era * 400, day_of_year = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

struct Civil {
  int year, month, day;
};
Civil civil_from_days(int64_t z) {
  z += 719468;
  const int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const int64_t day_of_era = z - era * 146097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t mp = (5 * day_of_year + 2) / 153;
  const int month = static_cast<int>(mp < 10 ? mp + 3 : mp - 9);
  return {static_cast<int>(year_of_era + era * 400 + (month <= 2)), month,
          static_cast<int>(day_of_year - (153 * mp + 2) / 5 + 1)};
}

bool is_day(int year, int month, int day) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return day <= kDays[month - 1] + (month == 2 && leap);
}

// Up to `most` digits; the number of digits read, 0 for none.
int read_digits(const char*& p, const char* end, int most, int& value) {
  value = 0;
  int n = 0;
  while (p < end && n < most && is_digit(*p)) value = value * 10 + (*p++ - '0'), ++n;
  return n;
}

void write_padded(int value, int width, std::string& out) {
  char digits[8];
  for (int i = width - 1; i >= 0; --i) digits[i] = static_cast<char>('0' + value % 10), value /= 10;
  out.append(digits, static_cast<size_t>(width));
}

// ISO if the layout does not fit; false if neither does.
bool choose_layout(const Moment& m, int& layout) {
  if ((m.layouts >> layout & 1u) == 0) layout = 0;
  return (m.layouts >> layout & 1u) != 0;
}

void write_moment(int64_t day, int64_t second, int64_t fraction, int decimals, const std::string& format,
                  std::string& out) {
  const Civil c = civil_from_days(day);
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out.push_back(format[i]);
      continue;
    }
    const bool bare = format[++i] == '-' && i + 1 < format.size();
    if (bare) ++i;
    const int value = format[i] == 'd' ? c.day : c.month;
    switch (format[i]) {
      case 'Y': write_padded(c.year, 4, out); break;
      case 'm':
      case 'd': write_padded(value, bare && value < 10 ? 1 : 2, out); break;
      case 'H': write_padded(static_cast<int>(second / 3600), 2, out); break;
      case 'M': write_padded(static_cast<int>(second / 60 % 60), 2, out); break;
      case 'S':
        write_padded(static_cast<int>(second % 60), 2, out);
        if (decimals > 0) {
          out.push_back('.');
          write_padded(static_cast<int>(fraction), decimals, out);
        }
        break;
      default: out.push_back(format[i]);
    }
  }
}

}  // namespace

Reading read_number(std::string_view text, NumberStyle style, double& value) {
  if (read_plain(text, value) &&
      (style == NumberStyle::point || style == NumberStyle::thousands || text.find('.') == std::string_view::npos))
    return Reading::ok;
  if (style == NumberStyle::point) return read_general(text, value);
  std::string normal;
  const bool comma = style == NumberStyle::comma || style == NumberStyle::dots;
  const char group = style == NumberStyle::thousands ? ',' : style == NumberStyle::dots ? '.' : '\0';
  if (!normalise(text, group, comma ? ',' : '.', normal)) return Reading::no;
  return read_general(normal, value);
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

namespace {

// YYYY-MM-DD, by far the most frequent, without a search for its parts.
bool read_iso_day(const char* p, Moment& m) {
  constexpr int kYear[] = {0, 1, 2, 3}, kMonth[] = {5, 6}, kDay[] = {8, 9};
  if (p[4] != '-' || p[7] != '-') return false;
  bool digits = true;
  const auto number = [&](const auto& places) {
    int n = 0;
    for (const int at : places) n = n * 10 + (p[at] - '0'), digits &= is_digit(p[at]);
    return n;
  };
  m.parts[0] = number(kYear), m.parts[1] = number(kMonth), m.parts[2] = number(kDay);
  if (!digits || !is_day(m.parts[0], m.parts[1], m.parts[2])) return false;
  m.layouts = 1;
  m.padded = m.parts[1] < 10 || m.parts[2] < 10;
  return true;
}

// Year, month and day in any of the layouts; moves p behind them.
bool read_any_day(const char*& p, const char* end, Moment& m) {
  int digits[3];
  char separator = 0;
  for (int i = 0; i < 3; ++i) {
    digits[i] = read_digits(p, end, 4, m.parts[i]);
    if (digits[i] == 0) return false;
    if (i == 2) break;
    if (p == end || (i == 1 && *p != separator)) return false;
    separator = *p++;
  }
  for (int i = 0; i < kDateLayoutCount; ++i) {
    const DateLayout& layout = kDateLayouts[i];
    if (layout.separator != separator) continue;
    int ymd[3] = {0, 0, 0};
    bool fits = true;
    for (int k = 0; k < 3; ++k) {
      const int at = layout.order[k] == 'y' ? 0 : layout.order[k] == 'm' ? 1 : 2;
      ymd[at] = m.parts[k];
      fits &= at == 0 ? digits[k] == 4 : digits[k] <= 2;
    }
    if (fits && is_day(ymd[0], ymd[1], ymd[2])) m.layouts |= 1u << i;
  }
  for (int i = 0; i < 3; ++i) {
    if (digits[i] == 1) m.unpadded = true;
    if (digits[i] == 2 && m.parts[i] < 10) m.padded = true;
  }
  return m.layouts != 0;
}

}  // namespace

bool read_moment(std::string_view text, Moment& m) {
  if (text.size() < 8 || !is_digit(text[0])) return false;
  const char *p = text.data(), *end = p + text.size();
  m = Moment{};
  if (text.size() >= 10 && read_iso_day(p, m)) p += 10;
  else if (!read_any_day(p, end, m)) return false;
  if (p == end) return true;

  m.between = *p++;
  if (m.between != ' ' && m.between != 'T') return false;
  int hour = 0, minute = 0, second = 0;
  if (read_digits(p, end, 2, hour) != 2 || p == end || *p++ != ':' || read_digits(p, end, 2, minute) != 2 ||
      hour > 23 || minute > 59)
    return false;
  m.has_time = true;
  double fraction = 0;
  if (p < end && *p == ':') {
    ++p;
    if (read_digits(p, end, 2, second) != 2 || second > 59) return false;
    m.has_seconds = true;
    if (p < end && *p == '.') {
      double unit = 0.1;
      int n = 0;
      int64_t scaled = 0;
      const char* first = ++p;
      for (; p < end && is_digit(*p); ++p, unit /= 10) {
        if (++n > 6) continue;  // a double holds microseconds of this era, not more
        scaled = scaled * 10 + (*p - '0');
        if (*p != '0') m.fraction_digits = n;
      }
      if (p == first) return false;
      fraction = static_cast<double>(scaled) / kPowers[n < 6 ? n : 6];
    }
  }
  if (p < end && *p == 'Z') m.utc = true, ++p;
  m.seconds_of_day = hour * 3600 + minute * 60 + second + fraction;
  return p == end;
}

double day_of(const Moment& m, int layout) {
  int ymd[3] = {0, 0, 0};
  for (int k = 0; k < 3; ++k) {
    const char part = kDateLayouts[layout].order[k];
    ymd[part == 'y' ? 0 : part == 'm' ? 1 : 2] = m.parts[k];
  }
  return static_cast<double>(days_from_civil(ymd[0], ymd[1], ymd[2]));
}

int layout_of(const std::string& format) {
  for (int i = 0; i < kDateLayoutCount; ++i) {
    const DateLayout& layout = kDateLayouts[i];
    std::string found;
    char separator = 0;
    for (size_t at = 0; at + 1 < format.size() && found.size() < 3; ++at) {
      if (format[at] == '%') {
        if (format[at + 1] == '-') ++at;
        if (at + 1 < format.size()) found.push_back(lower(format[++at]));
      } else if (separator == 0) {
        separator = format[at];
      }
    }
    if (found == layout.order && separator == layout.separator) return i;
  }
  return 0;
}

bool read_date(std::string_view text, int layout, double& days) {
  Moment m;
  if (!read_moment(text, m) || m.has_time || !choose_layout(m, layout)) return false;
  days = day_of(m, layout);
  return true;
}

bool read_datetime(std::string_view text, int layout, double& seconds) {
  Moment m;
  if (!read_moment(text, m) || !choose_layout(m, layout)) return false;
  seconds = day_of(m, layout) * 86400 + m.seconds_of_day;
  return true;
}

bool read_date(std::string_view text, const std::string& format, double& days) {
  return read_date(text, layout_of(format), days);
}
bool read_datetime(std::string_view text, const std::string& format, double& seconds) {
  return read_datetime(text, layout_of(format), seconds);
}

void write_date(double days, const std::string& format, std::string& out) {
  const double held =
      std::fmin(std::fmax(std::nearbyint(days), static_cast<double>(kFirstDay)), static_cast<double>(kLastDay));
  write_moment(static_cast<int64_t>(held), 0, 0, 0, format.empty() ? "%Y-%m-%d" : format, out);
}

void write_datetime(double seconds, const std::string& format, int decimals, std::string& out) {
  const int digits = std::min(std::max(decimals, 0), 6);
  const double low = static_cast<double>(kFirstDay) * 86400, high = static_cast<double>(kLastDay) * 86400 + 86399;
  const double held = std::fmin(std::fmax(seconds, low), high);
  const auto unit = static_cast<int64_t>(kPowers[digits]);
  double whole = std::floor(held);
  auto fraction = static_cast<int64_t>(std::nearbyint((held - whole) * static_cast<double>(unit)));
  if (fraction == unit) whole += 1, fraction = 0;
  const auto second = static_cast<int64_t>(whole);
  const int64_t day = (second >= 0 ? second : second - 86399) / 86400;
  static const std::string kIso = "%Y-%m-%dT%H:%M:%S";
  write_moment(day, second - day * 86400, fraction, digits, format.empty() ? kIso : format, out);
}

void write_shortest(double value, std::string& out) {
  char text[32];
  const auto result = std::to_chars(text, text + sizeof text, value);
  out.append(text, result.ptr);
}

char* write_decimal(double value, int decimals, char* out) {
  const double scaled = value * kPowers[decimals];
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
