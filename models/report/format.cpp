#include "models/report/format.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tables/formats/calendar.h"
#include "tables/formats/moments.h"
#include "tables/formats/values.h"

namespace tessera::report {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

// Length of the character that begins at `i` of valid UTF-8.
size_t character(std::string_view text, size_t i) {
  size_t end = i + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - i;
}

bool forbidden(std::string_view c) {
  const auto first = static_cast<unsigned char>(c[0]);
  return (first < 0x20 && c[0] != '\t' && c[0] != '\n') || first == 0x7F || c == "\xEF\xBF\xBE" || c == "\xEF\xBF\xBF";
}

// The width of a character relative to the font size, for the widest of the page's fonts (DejaVu Sans).
double em_of(std::string_view c) {
  if (c.size() > 2) return 1;  // in other scripts many characters fill a square
  if (std::string_view("ijl.,:;|!' ").find(c) != std::string_view::npos) return 0.34;
  if (std::string_view("frt()[]-/").find(c) != std::string_view::npos) return 0.42;
  if (std::string_view("mwMW%@").find(c) != std::string_view::npos) return 0.98;
  return c[0] >= 'A' && c[0] <= 'Z' ? 0.72 : 0.64;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const std::string_view c = text.substr(i, character(text, i));
    i += c.size();
    if (forbidden(c)) out += "\uFFFD";
    else if (c == "&") out += "&amp;";
    else if (c == "<") out += "&lt;";
    else if (c == ">") out += "&gt;";
    else if (c == "\"") out += "&quot;";
    else if (c == "'") out += "&#39;";
    else out += c;
  }
  return out;
}

std::string isolated(std::string_view text) { return "<bdi>" + escape(text) + "</bdi>"; }

std::string clipped(std::string_view text, double pixels, double size) {
  double width = 0;
  size_t end = 0, kept = 0;
  for (; end < text.size(); end += character(text, end)) {
    width += size * em_of(text.substr(end, character(text, end)));
    if (width > pixels) return escape(text.substr(0, kept)) + "…";
    if (width <= pixels - size) kept = end + character(text, end);
  }
  return escape(text);
}

double at(const Json& json, const char* pointer) {
  const Json::json_pointer path(pointer);
  return json.contains(path) && json[path].is_number() ? json[path].get<double>()
                                                       : std::numeric_limits<double>::quiet_NaN();
}

std::string percent(double share, int decimals) {
  if (!std::isfinite(share)) return "–";
  const std::string digits = fmt::format("{:.{}f}", 100 * share, decimals);
  return (std::strtod(digits.c_str(), nullptr) == 0 ? fmt::format("{:.{}f}", 0.0, decimals) : digits) + "\u00A0%";
}

std::string area(double x) { return std::isfinite(x) ? fmt::format("{:.3f}", x) : "–"; }

std::string number(double x) {
  if (!std::isfinite(x)) return "–";
  if (x == std::nearbyint(x) && std::abs(x) < 1e6) return fmt::format("{:.0f}", x == 0 ? 0.0 : x);
  return fmt::format("{:.4g}", x);
}

std::string coordinate(double x) {
  const double tenths = std::nearbyint(10 * x);
  return std::fmod(tenths, 10) == 0 ? fmt::format("{:.0f}", tenths / 10 + 0.0) : fmt::format("{:.1f}", tenths / 10);
}

std::string moment(double nanoseconds, double step) {
  if (!std::isfinite(nanoseconds)) return "–";
  const double seconds = nanoseconds / kNanosecondsPerSecond;
  std::string out;
  if (step < kSecondsPerDay * kNanosecondsPerSecond) write_datetime(seconds, "%Y-%m-%d %H:%M:%S", 0, out);
  else write_date(std::floor(seconds / kSecondsPerDay), "%Y-%m-%d", out);
  const double days = step / kSecondsPerDay / kNanosecondsPerSecond;
  return days < 28 ? out : out.substr(0, days < 365 ? 7 : 4);
}

std::string tick(const Json& axis, double value) {
  if (axis.at("kind") == "datetime") return moment(value, at(axis, "/step"));
  return number(axis.value("integer", false) ? std::ceil(value) : value);
}

}  // namespace tessera::report
