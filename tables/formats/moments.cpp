#include "tables/formats/moments.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/text/ascii.h"
#include "base/text/powers_of_ten.h"
#include "tables/formats/calendar.h"

namespace tessera {
namespace {

constexpr int kMaxFraction = 6;  // a double holds microseconds of this era, not more

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

// --- reading ---

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

// Two or three numbers between separators, in any of the layouts with an order; moves p behind them.
bool read_any_day(const char*& p, const char* end, Moment& m) {
  int digits[3] = {0, 0, 0}, parts = 0;
  char separator = 0;
  for (;;) {
    digits[parts] = read_digits(p, end, 4, m.parts[parts]);
    if (digits[parts] == 0) return false;
    if (++parts == 3 || (parts == 2 && p == end)) break;
    if (p == end || (parts == 2 && *p != separator)) return false;
    separator = *p++;
  }
  for (int i = 0; i < kDateLayoutCount; ++i) {
    const DateLayout& layout = kDateLayouts[i];
    if (layout.separator != separator || std::strlen(layout.order) != static_cast<size_t>(parts)) continue;
    int ymd[3] = {0, 0, 1};
    bool fits = true;
    for (int k = 0; k < parts; ++k) {
      const int at = layout.order[k] == 'y' ? 0 : layout.order[k] == 'm' ? 1 : 2;
      ymd[at] = at == 0 && layout.short_year ? full_year(m.parts[k]) : m.parts[k];
      fits &= at != 0 ? digits[k] <= 2 : digits[k] == (layout.short_year ? 2 : 4);
    }
    if (parts == 2) fits = fits && is_recent_year(ymd[0]);
    if (fits && is_day(ymd[0], ymd[1], ymd[2])) m.layouts |= LayoutBits{1} << i;
  }
  for (int i = 0; i < parts; ++i) {
    if (digits[i] == 1) m.unpadded = true;
    if (digits[i] == 2 && m.parts[i] < 10) m.padded = true;
  }
  return m.layouts != 0;
}

bool read_compact_day(const char* p, Moment& m) {
  const char* end = p + 8;
  if (!std::all_of(p, end, is_digit)) return false;
  read_digits(p, end, 4, m.parts[0]), read_digits(p, end, 2, m.parts[1]), read_digits(p, end, 2, m.parts[2]);
  m.layouts = is_day(m.parts[0], m.parts[1], m.parts[2]) ? kCompactLayout : 0;
  m.padded = true;
  return m.layouts != 0;
}

// The name of a month, looked up once for all layouts that have it there.
struct NamedMonth {
  const char* at = nullptr;
  uint32_t lists = 0;
  int month = 0, bytes = 0;
};

// One part of a named layout at p: the directive `what`.
bool read_named_part(char what, const char*& p, const char* end, Moment& m, NamedMonth& name) {
  switch (what) {
    case 'b':
      if (name.at != p) name.at = p, name.lists = read_month(p, end, name.month, name.bytes);
      m.names = name.lists, m.parts[1] = name.month;
      p += name.bytes;
      return m.names != 0;
    case 'd': {
      const int n = read_digits(p, end, 2, m.parts[2]);
      m.unpadded |= n == 1, m.padded |= n == 2 && m.parts[2] < 10;
      return n > 0;
    }
    case 'Y': return read_digits(p, end, 4, m.parts[0]) == 4;
    default:
      if (read_digits(p, end, 2, m.parts[0]) != 2 || (p < end && is_digit(*p))) return false;
      m.parts[0] = full_year(m.parts[0]);
      return true;
  }
}

// How the name of the month is spelled.
uint32_t cases_of(const Moment& m, std::string_view name) {
  uint32_t out = 0;
  for (int c = 0; c < 4; ++c) {
    std::string spelled;
    write_month(std::countr_zero(m.names), m.parts[1], static_cast<NameCase>(c), spelled);
    if (spelled == name) out |= 1u << c;
  }
  return out;
}

// A day with the name of its month: the first layout that fits, tried in turn, is the only one.
bool read_named_day(const char*& p, const char* end, Moment& m) {
  const bool number = is_digit(*p);
  NamedMonth name;
  for (int i = 0; i < kDateLayoutCount; ++i) {
    const std::string_view format = kDateLayouts[i].format;
    if (format.find("%b") == std::string_view::npos || (format[1] != 'b') != number) continue;
    const char* at = p;
    Moment trial;
    bool fits = true;
    for (size_t f = 0; fits && f < format.size(); ++f) {
      if (format[f] == '%') fits = read_named_part(format[++f], at, end, trial, name);
      else fits = at < end && *at++ == format[f];
    }
    if (fits && format.find("%d") == std::string_view::npos) {
      fits = at == end && is_recent_year(trial.parts[0]);
      trial.parts[2] = 1;
    }
    if (!fits || !is_day(trial.parts[0], trial.parts[1], trial.parts[2])) continue;
    m = trial;
    m.layouts = LayoutBits{1} << i, m.cases = cases_of(m, {name.at, static_cast<size_t>(name.bytes)});
    p = at;
    return true;
  }
  return false;
}

// A weekday at p, 0 for Monday, and what is behind it; −1: none.
int read_weekday(const char*& p, const char* end, size_t& written) {
  const std::string_view text(p, static_cast<size_t>(end - p));
  for (int day = 0; day < 7; ++day) {
    const std::string_view name = kDayNames[day];
    if (!text.starts_with(name.substr(0, kShortDayName))) continue;
    const bool whole = text.starts_with(name);
    const std::string_view rest = text.substr(whole ? name.size() : kShortDayName);
    const size_t comma = rest.starts_with(", ") ? 2 : rest.starts_with(' ') ? 1 : 0;
    if (comma == 0 || comma == rest.size()) return -1;
    written = (comma == 2 ? 1 : 3) + (whole ? 1 : 0);
    p += (whole ? name.size() : kShortDayName) + comma;
    return day;
  }
  return -1;
}

// Zones by name: those of RFC 822 and Europe's. Other names, such as IST, are several offsets.
constexpr struct {
  std::string_view name;
  int hours;
} kNamedZones[] = {{"Z", 0},    {"UTC", 0},  {"GMT", 0},  {"EST", -5}, {"EDT", -4}, {"CST", -6},
                   {"CDT", -5}, {"MST", -7}, {"MDT", -6}, {"PST", -8}, {"PDT", -7}, {"WET", 0},
                   {"WEST", 1}, {"CET", 1},  {"CEST", 2}, {"EET", 2},  {"EEST", 3}};

// An offset from UTC: Z, +02:00, +0200, +02 or EST, after at most one blank; none is valid too.
bool read_offset(std::string_view zone, Moment& m) {
  m.zone = zone;
  if (zone.empty()) return true;
  m.utc = true;
  if (zone[0] == ' ') zone.remove_prefix(1);
  for (const auto& [name, hours] : kNamedZones)
    if (zone == name) return m.offset = hours * 60, true;
  if (zone.empty() || (zone[0] != '+' && zone[0] != '-')) return false;
  const char *p = zone.data() + 1, *end = zone.data() + zone.size();
  int hours = 0, minutes = 0;
  if (read_digits(p, end, 2, hours) != 2 || hours > 14) return false;
  if (p < end) {
    if (*p == ':') ++p;
    if (read_digits(p, end, 2, minutes) != 2 || minutes > 59) return false;
  }
  m.offset = (hours * 60 + minutes) * (zone[0] == '-' ? -1 : 1);
  return p == end;
}

// The time of day of ISO 8601's basic form: 173707, 1737.
bool read_basic_time(const char*& p, const char* end, TimeOfDay& t) {
  int hour = 0, minute = 0, second = 0;
  if (read_digits(p, end, 2, hour) != 2 || read_digits(p, end, 2, minute) != 2 || hour > 23 || minute > 59)
    return false;
  t.has_seconds = p < end && is_digit(*p);
  if (t.has_seconds && (read_digits(p, end, 2, second) != 2 || second > 59)) return false;
  t.basic = true, t.padded_hour = hour < 10;
  t.seconds = hour * 3600 + minute * 60 + second;
  return true;
}

}  // namespace

bool read_time_of_day(const char*& p, const char* end, TimeOfDay& t, char colon) {
  int hour = 0, minute = 0, second = 0;
  const int hour_digits = read_digits(p, end, 2, hour);
  if (hour_digits == 0 || p == end || *p++ != colon || read_digits(p, end, 2, minute) != 2 || hour > 23 || minute > 59)
    return false;
  t.bare_hour = hour_digits == 1, t.padded_hour = hour_digits == 2 && hour < 10;
  double fraction = 0;
  t.dots = colon == '.';
  if (p < end && *p == colon) {
    ++p;
    if (read_digits(p, end, 2, second) != 2 || second > (minute == 59 ? 60 : 59)) return false;
    second = std::min(second, 59);  // a leap second is the one before it
    t.has_seconds = true;
    if (p < end && *p == '.') {
      int n = 0;
      int64_t scaled = 0;
      const char* first = ++p;
      for (; p < end && is_digit(*p); ++p) {
        if (++n > kMaxFraction) continue;
        scaled = scaled * 10 + (*p - '0');
        if (*p != '0') t.fraction_digits = n;
      }
      if (p == first) return false;
      t.written_digits = std::min(n, kMaxFraction);
      fraction = static_cast<double>(scaled) / kPowersOfTen[t.written_digits];
    }
  }
  const char* half = p;
  t.space = half < end && *half == ' ';
  if (t.space) ++half;
  if (const std::string_view word(half, static_cast<size_t>(std::min<std::ptrdiff_t>(end - half, 2)));
      word == "AM" || word == "PM" || word == "am" || word == "pm") {
    t.lower = word[1] == 'm';
    if (hour < 1 || hour > 12) return false;
    t.twelve = true;
    hour = hour % 12 + (lower(word[0]) == 'p' ? 12 : 0);
    p = half + 2;
  }
  t.seconds = hour * 3600 + minute * 60 + second + fraction;
  return true;
}

bool read_moment(std::string_view text, Moment& m) {
  constexpr size_t kShortest = 6;  // 1/1/23
  const char *p = text.data(), *end = p + text.size();
  m = Moment{};
  if (text.size() < kShortest) return false;
  if (size_t written = 0; !is_digit(*p)) {
    if (const int weekday = read_weekday(p, end, written); weekday >= 0) {
      if (!read_moment({p, static_cast<size_t>(end - p)}, m) || m.weekday != 0) return false;
      m.weekday = written;
      for (int i = 0; i < kDateLayoutCount; ++i)
        if ((m.layouts >> i & 1) != 0 && weekday_of(static_cast<int64_t>(day_of(m, i))) != weekday)
          m.layouts &= ~(LayoutBits{1} << i);
      return m.layouts != 0;
    }
  }
  if (text.size() >= 10 && is_digit(*p) && read_iso_day(p, m)) p += 10;
  else if (is_digit(*p) && text.size() >= 8 && (text.size() == 8 || !is_digit(p[8])) && read_compact_day(p, m)) p += 8;
  else if (const char* start = p; !is_digit(*p) || !read_any_day(p, end, m)) {
    p = start;
    m = Moment{};
    if (!read_named_day(p, end, m)) return false;
  }
  if (p == end) return true;
  const char* between = p;
  if (*p == ',') ++p;
  if (p == end || (*p != ' ' && ((*p != 'T' && *p != ':') || p != between))) return false;
  ++p;
  m.between = {between, static_cast<size_t>(p - between)};
  const bool basic = m.layouts == kCompactLayout && *between == 'T' && end - p > 2 && p[2] != ':';
  const bool dots = *between == ' ' && end - p > 2 && p[2] == '.';
  m.has_time = basic ? read_basic_time(p, end, m.time) : read_time_of_day(p, end, m.time, dots ? '.' : ':');
  return m.has_time && read_offset({p, static_cast<size_t>(end - p)}, m);
}

double day_of(const Moment& m, int layout) {
  const DateLayout& l = kDateLayouts[layout];
  int ymd[3] = {m.parts[0], m.parts[1], m.parts[2]};
  if (l.order[0] != 0 && l.order[2] == 0) ymd[2] = 1;
  for (int k = 0; l.order[k] != 0; ++k) {
    const char part = l.order[k];
    ymd[part == 'y' ? 0 : part == 'm' ? 1 : 2] = m.parts[k];
    if (part == 'y' && l.short_year) ymd[0] = full_year(m.parts[k]);
  }
  return static_cast<double>(days_from_civil(ymd[0], ymd[1], ymd[2]));
}

namespace {

// ISO if the layout does not fit; false if neither does.
bool choose_layout(const Moment& m, int& layout) {
  if ((m.layouts >> layout & 1) == 0) layout = 0;
  return (m.layouts >> layout & 1) != 0;
}

// A format's language tag and the rest.
std::string_view tag_of(std::string_view& format) {
  if (format.empty() || format[0] != '[') return {};
  const size_t close = format.find(']');
  if (close == std::string_view::npos) return {};
  const std::string_view tag = format.substr(1, close - 1);
  format.remove_prefix(close + 1);
  return tag;
}

// The month names of a format: "[fr title]".
struct Names {
  int abbreviated = 0, whole = 1;
  NameCase spelling = NameCase::natural;

  explicit Names(std::string_view& format) {
    std::string_view tag = tag_of(format);
    constexpr std::string_view kCases[] = {"", "upper", "lower", "title"};
    for (int c = 1; c < 4; ++c) {
      const std::string_view word = kCases[c];
      if (tag.size() < word.size() || tag.substr(tag.size() - word.size()) != word) continue;
      spelling = static_cast<NameCase>(c);
      tag.remove_suffix(word.size());
      if (!tag.empty()) tag.remove_suffix(1);
    }
    abbreviated = std::max(month_list(tag, false), 0), whole = std::max(month_list(tag, true), 1);
  }
};

void write_moment(int64_t day, int64_t second, int64_t fraction, int decimals, std::string_view format,
                  std::string& out) {
  const Civil c = civil_from_days(day);
  const Names names(format);
  const auto hour = static_cast<int>(second / 3600);
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out.push_back(format[i]);
      continue;
    }
    const bool bare = format[++i] == '-' && i + 1 < format.size();
    if (bare) ++i;
    const auto two = [&](int value) { write_padded(value, bare && value < 10 ? 1 : 2, out); };
    switch (format[i]) {
      case 'Y': write_padded(c.year, 4, out); break;
      case 'y': write_padded(c.year % 100, 2, out); break;
      case 'm': two(c.month); break;
      case 'd': two(c.day); break;
      case 'a': out += kDayNames[weekday_of(day)].substr(0, kShortDayName); break;
      case 'A': out += kDayNames[weekday_of(day)]; break;
      case 'b': write_month(names.abbreviated, c.month, names.spelling, out); break;
      case 'B': write_month(names.whole, c.month, names.spelling, out); break;
      case 'H': two(hour); break;
      case 'I': two((hour + 11) % 12 + 1); break;
      case 'p': out += hour < 12 ? "AM" : "PM"; break;
      case 'P': out += hour < 12 ? "am" : "pm"; break;
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

namespace {

std::optional<int> known_layout(const std::string& format) {
  std::string_view rest = format;
  tag_of(rest);
  if (rest.starts_with("%a") || rest.starts_with("%A"))
    rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
  std::string canonical;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '-' && i > 0 && rest[i - 1] == '%') continue;
    canonical += rest[i] == 'B' && i > 0 && rest[i - 1] == '%' ? 'b' : rest[i];
  }
  std::optional<int> found;
  size_t length = 0;
  for (int i = 0; i < kDateLayoutCount; ++i) {
    const std::string_view layout = kDateLayouts[i].format;
    if (layout.size() > length && canonical.compare(0, layout.size(), layout) == 0) found = i, length = layout.size();
  }
  return found;
}

}  // namespace

int layout_of(const std::string& format) { return known_layout(format).value_or(0); }
bool is_date_format(const std::string& format) { return known_layout(format).has_value(); }

bool read_date(std::string_view text, int layout, double& days) {
  Moment m;
  if (!read_moment(text, m) || m.has_time || !choose_layout(m, layout)) return false;
  days = day_of(m, layout);
  return true;
}

bool read_datetime(std::string_view text, int layout, double& seconds) {
  Moment m;
  if (!read_moment(text, m) || !choose_layout(m, layout)) return false;
  seconds = day_of(m, layout) * kSecondsOfDay + m.time.seconds - m.offset * 60;
  return true;
}

bool read_date(std::string_view text, const std::string& format, double& days) {
  return read_date(text, layout_of(format), days);
}
bool read_datetime(std::string_view text, const std::string& format, double& seconds) {
  return read_datetime(text, layout_of(format), seconds);
}

bool has_offset(const std::string& format, int& minutes) {
  const size_t clock = format.rfind('%');
  Moment m;
  const bool found = clock != std::string::npos && format.find("%M") != std::string::npos &&
                     read_offset(std::string_view(format).substr(std::min(clock + 2, format.size())), m) && m.utc;
  minutes = found ? m.offset : 0;
  return found;
}

std::string plain_datetime(const std::string& format) {
  int minutes = 0;
  return has_offset(format, minutes) ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%dT%H:%M:%S";
}

void write_date(double days, const std::string& format, std::string& out) {
  const double held =
      std::fmin(std::fmax(std::nearbyint(days), static_cast<double>(kFirstDay)), static_cast<double>(kLastDay));
  write_moment(static_cast<int64_t>(held), 0, 0, 0, format.empty() ? "%Y-%m-%d" : std::string_view(format), out);
}

void write_datetime(double seconds, const std::string& format, int decimals, std::string& out) {
  const int digits = std::min(std::max(decimals, 0), kMaxFraction);
  int offset = 0;
  has_offset(format, offset);
  const double low = static_cast<double>(kFirstDay * kSecondsOfDay),
               high = static_cast<double>(kLastDay * kSecondsOfDay + kSecondsOfDay - 1);
  const double held = std::fmin(std::fmax(seconds + offset * 60, low), high);
  const auto unit = static_cast<int64_t>(kPowersOfTen[digits]);
  double whole = std::floor(held);
  auto fraction = static_cast<int64_t>(std::nearbyint((held - whole) * static_cast<double>(unit)));
  if (fraction == unit) whole += 1, fraction = 0;
  const auto second = static_cast<int64_t>(whole);
  const int64_t day = (second >= 0 ? second : second - (kSecondsOfDay - 1)) / kSecondsOfDay;
  write_moment(day, second - day * kSecondsOfDay, fraction, digits,
               format.empty() ? std::string_view("%Y-%m-%dT%H:%M:%S") : std::string_view(format), out);
}

void write_time_of_day(double seconds, const std::string& format, int decimals, std::string& out) {
  const bool shows_seconds = format.find("%S") != std::string::npos;
  const int digits = shows_seconds ? std::min(std::max(decimals, 0), kMaxFraction) : 0;
  const double unit = shows_seconds ? 1 / kPowersOfTen[digits] : 60;
  const double held =
      std::fmin(std::fmax(std::nearbyint(seconds / unit), 0), std::nearbyint(kSecondsOfDay / unit) - 1) * unit;
  const double whole = std::floor(held + unit / 4);
  write_moment(0, static_cast<int64_t>(whole),
               static_cast<int64_t>(std::nearbyint(std::fmax(held - whole, 0) * kPowersOfTen[digits])), digits, format,
               out);
}

}  // namespace tessera
