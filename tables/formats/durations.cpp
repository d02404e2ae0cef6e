#include "tables/formats/durations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/text/ascii.h"
#include "base/text/powers_of_ten.h"
#include "tables/formats/calendar.h"

namespace tessera {
namespace {

constexpr int64_t kMaxHours = 100'000'000;
constexpr double kMaxSeconds = 1e12;

// Digits; false for none, or too many.
bool read_whole(const char*& p, const char* end, int64_t& value) {
  const char* first = p;
  for (value = 0; p < end && is_digit(*p) && p - first < 10; ++p) value = value * 10 + (*p - '0');
  return p != first && (p == end || !is_digit(*p)) && value <= kMaxHours;
}

bool read_two(const char*& p, const char* end, int64_t& value) {
  const char* first = p;
  return read_whole(p, end, value) && p - first == 2 && value < 60;
}

// A fraction of the second, if a point follows.
bool read_fraction(const char*& p, const char* end, Duration& d) {
  if (p == end || *p != '.') return true;
  double unit = 0.1;
  const char* first = ++p;
  for (int n = 1; p < end && is_digit(*p); ++p, ++n, unit /= 10) {
    if (n > 6) continue;
    d.seconds += (*p - '0') * unit;
    if (*p != '0') d.fraction_digits = n;
  }
  return p != first;
}

// H:MM, H:MM:SS, H:MM:SS.f
bool read_clock(const char*& p, const char* end, Duration& d) {
  int64_t hours, minutes, seconds = 0;
  const char* first = p;
  if (!read_whole(p, end, hours)) return false;
  const auto digits = p - first;
  d.bare_hour = digits == 1, d.padded_hour = digits == 2 && hours < 10;
  if ((digits > 2 && *first == '0') || p == end || *p++ != ':' || !read_two(p, end, minutes)) return false;
  if (p < end && *p == ':') {
    d.has_seconds = true;
    if (!read_two(++p, end, seconds)) return false;
  }
  d.seconds = static_cast<double>(hours * 3600 + minutes * 60 + seconds);
  return !d.has_seconds || read_fraction(p, end, d);
}

// "2 days 03:04:05"
bool read_days(const char* p, const char* end, Duration& d) {
  int64_t days;
  if (!read_whole(p, end, days)) return false;
  const std::string_view rest(p, static_cast<size_t>(end - p));
  const size_t word = rest.rfind(" days ", 0) == 0 ? 6 : rest.rfind(" day ", 0) == 0 ? 5 : 0;
  if (word == 0) return false;
  p += word;
  if (!read_clock(p, end, d) || p != end || !d.has_seconds || d.seconds >= kSecondsPerDay || d.bare_hour) return false;
  d.kind = Duration::Kind::days;
  d.seconds += static_cast<double>(days) * kSecondsPerDay;
  return true;
}

// "3h 05m"
bool read_letters(const char* p, const char* end, Duration& d) {
  int64_t hours, minutes;
  if (!read_whole(p, end, hours) || end - p != 5 || p[0] != 'h' || p[1] != ' ') return false;
  p += 2;
  if (!read_two(p, end, minutes) || *p != 'm') return false;
  d.kind = Duration::Kind::letters;
  d.seconds = static_cast<double>(hours * 3600 + minutes * 60);
  return true;
}

// "PT1H30M", "P2DT3H", "PT0.5S"
bool read_iso(const char* p, const char* end, Duration& d) {
  if (end - p < 3 || *p++ != 'P') return false;
  bool time = false;
  for (int read = 0; p < end || read == 0; ++read) {
    if (p < end && *p == 'T' && !time) time = true, ++p;
    int64_t n;
    Duration part;
    if (!read_whole(p, end, n) || !read_fraction(p, end, part) || p == end) return false;
    const char unit = *p++;
    const double size = unit == 'D' && !time  ? kSecondsPerDay
                        : unit == 'H' && time ? 3600
                        : unit == 'M' && time ? 60
                                              : 1;
    if (size == 1 && (unit != 'S' || !time)) return false;
    if (part.seconds > 0 && size != 1) return false;
    d.seconds += static_cast<double>(n) * size + part.seconds;
    d.fraction_digits = part.fraction_digits;
  }
  d.kind = Duration::Kind::iso;
  return true;
}

void write_padded(int64_t value, size_t width, std::string& out) {
  const std::string digits = std::to_string(value);
  out.append(width > digits.size() ? width - digits.size() : 0, '0') += digits;
}

void write_seconds(double seconds, int decimals, size_t width, std::string& out) {
  const auto whole = static_cast<int64_t>(seconds + 1e-9);
  write_padded(whole, width, out);
  if (decimals == 0) return;
  out += '.';
  write_padded(
      static_cast<int64_t>(std::nearbyint(std::fmax(seconds - static_cast<double>(whole), 0) * kPowersOfTen[decimals])),
      static_cast<size_t>(decimals), out);
}

void write_iso(double seconds, int decimals, std::string& out) {
  const auto whole = static_cast<int64_t>(seconds + 1e-9);
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  const double rest = seconds - static_cast<double>(hours * 3600 + minutes * 60);
  out += "PT";
  if (hours > 0) out += std::to_string(hours) + 'H';
  if (minutes > 0) out += std::to_string(minutes) + 'M';
  if (rest < 0.5 / kPowersOfTen[decimals] && whole > 0) return;
  write_seconds(rest, rest - std::floor(rest) < 1e-9 ? 0 : decimals, 1, out);
  out += 'S';
}

}  // namespace

bool read_duration(std::string_view text, Duration& d) {
  d = Duration{};
  if (text.size() < 3) return false;
  const char *p = text.data(), *end = p + text.size();
  if (*p == 'P') return read_iso(p, end, d);
  if (!is_digit(*p)) return false;
  if (text.back() == 'm') return read_letters(p, end, d);
  if (text.find(" day") != std::string_view::npos) return read_days(p, end, d);
  return read_clock(p, end, d) && p == end;
}

std::string duration_format(Duration::Kind kind, bool padded_hour, bool has_seconds) {
  switch (kind) {
    case Duration::Kind::days: return "%D days %H:%M:%S";
    case Duration::Kind::letters: return "%-Hh %Mm";
    case Duration::Kind::iso: return "PT";
    case Duration::Kind::clock: break;
  }
  return std::string(padded_hour ? "%H:%M" : "%-H:%M") + (has_seconds ? ":%S" : "");
}

void write_duration(double seconds, const std::string& format, int decimals, std::string& out) {
  const bool shows_seconds = format == "PT" || format.find("%S") != std::string::npos;
  const int digits = shows_seconds ? std::clamp(decimals, 0, 6) : 0;
  const double unit = shows_seconds ? 1 / kPowersOfTen[digits] : 60;
  const double held = std::fmax(std::nearbyint(std::fmin(seconds, kMaxSeconds) / unit), 0) * unit;
  if (format == "PT") return write_iso(held, digits, out);
  const bool with_days = format.rfind("%D", 0) == 0;
  const auto whole = static_cast<int64_t>(held + 1e-9);
  const int64_t hours = whole / 3600 - (with_days ? whole / kSecondsOfDay * 24 : 0);
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const bool bare = format[++i] == '-' && i + 1 < format.size();
    if (bare) ++i;
    if (format[i] == 'D') out += std::to_string(whole / kSecondsOfDay);
    else if (format[i] == 'H') write_padded(hours, bare ? 1 : 2, out);
    else if (format[i] == 'M') write_padded(whole / 60 % 60, 2, out);
    else write_seconds(held - static_cast<double>(whole - whole % 60), digits, 2, out);
  }
}

}  // namespace tessera
