#include "text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace text {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The length in bytes of the character at `at`; 0 if it is not UTF-8.
size_t character(const std::string& s, size_t at) {
  const auto lead = static_cast<unsigned char>(s[at]);
  const size_t size = lead < 0x80                    ? 1
                      : lead >= 0xC2 && lead <= 0xDF ? 2
                      : (lead & 0xF0) == 0xE0        ? 3
                      : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                     : 0;
  if (size > s.size() - at) return 0;
  for (size_t i = 1; i < size; ++i)
    if (!continues(s[at + i])) return 0;
  const auto second = static_cast<unsigned char>(size > 1 ? s[at + 1] : '\0');
  return (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
                 (lead == 0xF4 && second > 0x8F)
             ? 0
             : size;
}

// The same set as base/text/printable.cpp: C0, DEL, C1, line ends, bidirectional controls.
bool is_control(const std::string& s, size_t at, size_t size) {
  const std::string c = s.substr(at, size);
  if (size == 1) return static_cast<unsigned char>(c[0]) < 0x20 || c[0] == 0x7F;
  if (size == 2) return (c >= "\u0080" && c <= "\u009F") || c == "\u061C";
  return (c >= "\u200E" && c <= "\u200F") || (c >= "\u2028" && c <= "\u202E") || (c >= "\u2066" && c <= "\u2069");
}

}  // namespace

std::string printable(const std::string& s, bool lines) {
  std::string out;
  for (size_t at = 0; at < s.size();) {
    const size_t size = character(s, at), taken = std::max<size_t>(size, 1);
    if ((size != 0 && !is_control(s, at, size)) || (lines && s[at] == '\n')) out.append(s, at, taken);
    else
      for (size_t i = at; i < at + taken; ++i) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(s[i]));
    at += taken;
  }
  return out;
}

std::string count(int64_t n) {
  const std::string digits = std::to_string(n);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    const bool between = i > 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0;
    if (between) out += ',';
    out += digits[i];
  }
  return out;
}

std::string singular(const std::string& many) {
  if (many.size() > 3 && many.compare(many.size() - 3, 3, "ies") == 0) return many.substr(0, many.size() - 3) + "y";
  return many.empty() ? many : many.substr(0, many.size() - 1);
}

std::string counted(int64_t n, const std::string& many) { return count(n) + " " + (n == 1 ? singular(many) : many); }

std::string bytes(int64_t n) {
  constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB", "TB"};
  double x = static_cast<double>(n);
  size_t unit = 0;
  for (; x >= 999.95 && unit < 4; ++unit) x /= 1000;
  return unit == 0 ? fmt::format("{} bytes", n) : fmt::format("{:.1f} {}", x, kUnits[unit]);
}

std::string duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "–";
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string percent(double share, int decimals) {
  if (!std::isfinite(share)) return "–";
  const double unit = std::pow(10.0, decimals);
  // + 0.0: a small negative share is 0.0 %, not -0.0 %
  return fmt::format("{:.{}f} %", std::nearbyint(100 * share * unit) / unit + 0.0, decimals);
}

std::string number(double x) {
  if (!std::isfinite(x)) return "–";
  if (std::abs(x) >= 1e4 && std::abs(x) < 1e15) return count(std::llround(x));
  return fmt::format("{:.4g}", x);
}

int width(const std::string& s) {
  return static_cast<int>(std::count_if(s.begin(), s.end(), [](char c) { return !continues(c); }));
}

std::string clip(const std::string& s, int columns) {
  std::string shown = printable(s);
  if (width(shown) <= columns) return shown;
  std::string out;
  int taken = 0;
  for (char c : shown) {
    if (!continues(c) && taken++ == columns - 1) break;
    out += c;
  }
  return out + "…";
}

std::string pad(const std::string& s, int columns) {
  return s + std::string(static_cast<size_t>(std::max(0, columns - width(s))), ' ');
}

std::string pad_left(const std::string& s, int columns) {
  return std::string(static_cast<size_t>(std::max(0, columns - width(s))), ' ') + s;
}

std::string Table::str(int indent) const {
  std::vector<int> widths;
  for (size_t c = 0; c < headings_.size(); ++c) {
    int widest = width(printable(headings_[c].text));
    for (const auto& row : rows_)
      if (c < row.size()) widest = std::max(widest, std::min(width(printable(row[c])), headings_[c].widest));
    widths.push_back(widest);
  }
  std::string out;
  const auto line = [&](auto&& cell) {
    std::string row(static_cast<size_t>(indent), ' ');
    for (size_t c = 0; c < headings_.size(); ++c) {
      const std::string text = clip(cell(c), widths[c]);
      row += headings_[c].side == Side::right ? pad_left(text, widths[c]) : pad(text, widths[c]);
      row += "  ";
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  };
  line([&](size_t c) { return headings_[c].text; });
  for (const auto& row : rows_) line([&](size_t c) { return c < row.size() ? row[c] : std::string(); });
  return out;
}

std::string list(const std::vector<std::string>& words, size_t most) {
  std::string out;
  for (size_t i = 0; i < std::min(most, words.size()); ++i) out += (i == 0 ? "" : ", ") + words[i];
  return words.size() <= most ? out : out + fmt::format(" and {} more", words.size() - most);
}

}  // namespace text
