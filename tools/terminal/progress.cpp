#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "flags.h"
#include "text.h"

namespace {

constexpr int kLabel = 13;  // columns for the phase's name
constexpr int kBar = 30;
constexpr double kRedraw = 0.1;                   // seconds between two updates of a bar
constexpr double kBetweenLines = 5;               // seconds between two lines of a log
constexpr double kFirstLine = 1;                  // seconds until the first line of a phase
constexpr double kSilence = 3, kMaxSilence = 60;  // seconds until a sign of life; in a log twice as many each time
constexpr double kWarmup = 0.5;                   // seconds before a rate is shown

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

// Filled in half cells: ━━━━╸ and a thin rest.
std::string bar(double share, int cells) {
  const int halves = static_cast<int>(std::clamp(share, 0.0, 1.0) * 2 * cells);
  std::string out;
  for (int i = 0; i < cells; ++i) out += 2 * i + 2 <= halves ? "━" : 2 * i + 1 == halves ? "╸" : "─";
  return out;
}

std::string rate(double done, double seconds, const char* unit) {
  const double per_second = done / seconds;
  if (std::strcmp(unit, "bytes") == 0) return text::bytes(static_cast<int64_t>(per_second)) + "/s";
  if (per_second < 1) {
    const std::string one = text::singular(unit);
    return fmt::format("{} {} {}", text::duration(1 / per_second), std::strchr("aeiou", one[0]) != nullptr ? "an" : "a",
                       one);
  }
  return fmt::format("{} {}/s", text::number(per_second < 100 ? per_second : std::round(per_second)),
                     per_second == 1 ? text::singular(unit) : unit);
}

std::string whole_seconds(double seconds) {
  return seconds < 60 ? fmt::format("{:.0f} s", seconds) : text::duration(seconds);
}

std::string left(const tessera_progress& e, double done, double seconds) {
  return whole_seconds(std::ceil(std::max(0.0, e.total - e.done) / done * seconds)) + " left";
}

}  // namespace

ProgressPrinter::Style ProgressPrinter::style_for_stderr(bool quiet) {
  if (quiet) return Style::none;
  const char* term = std::getenv("TERM");
  const bool terminal = ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::strcmp(term, "dumb") != 0;
  return terminal ? Style::bar : Style::lines;
}

ProgressPrinter::ProgressPrinter(Style style, std::function<void(const std::string&)> print,
                                 std::function<double()> clock, std::function<int()> columns)
    : style_(style),
      print_(std::move(print)),
      clock_(std::move(clock)),
      columns_(std::move(columns)),
      started_(clock_()),
      written_(started_),
      silence_(kSilence) {}

ProgressPrinter::ProgressPrinter(Style style)
    : ProgressPrinter(
          style, [](const std::string& s) { std::fwrite(s.data(), 1, s.size(), stderr), std::fflush(stderr); },
          [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); },
          terminal_columns) {}

std::string ProgressPrinter::amount(const tessera_progress& e) const {
  if (std::strcmp(e.unit, "bytes") == 0) return text::bytes(static_cast<int64_t>(e.done));
  const int64_t done = std::llround(std::floor(e.done));
  if (e.total <= 0 || (e.finished && e.done >= e.total)) return text::counted(done, e.unit);
  return fmt::format("{}/{}", text::count(done), text::counted(std::llround(e.total), e.unit));
}

ProgressPrinter::Pace ProgressPrinter::pace(const tessera_progress& e, double now) const {
  return {e.done - first_.done, now - first_.seconds};
}

std::string ProgressPrinter::bar_line(const tessera_progress& e, const Pace& p) const {
  std::string after = "  " + amount(e);
  if (p.done > 0 && p.seconds > kWarmup) after += "  " + rate(p.done, p.seconds, e.unit);
  if (e.note != nullptr && *e.note != '\0') after += std::string("  ") + as_typed(e.note);
  if (e.total > 0 && p.done > 0 && p.seconds > kWarmup) after += "   " + left(e, p.done, p.seconds);
  const int width = columns_() - 1;
  const int cells = e.total > 0 ? std::clamp(width - kLabel - 1 - text::width(after), 0, kBar) : 0;
  return text::clip(text::pad(e.phase, kLabel) + " " + bar(e.total > 0 ? e.done / e.total : 0, cells) + after, width);
}

void ProgressPrinter::write(const std::string& text) {
  print_(text);
  written_ = clock_(), silence_ = kSilence;
}

void ProgressPrinter::beat() {
  const std::lock_guard lock(mutex_);
  const double now = clock_();
  if (style_ == Style::none || now - written_ < silence_) return;
  const double wait = style_ == Style::bar ? silence_ : std::min(2 * silence_, kMaxSilence);
  const std::string line = text::pad(phase_.empty() ? "working" : phase_, kLabel) + " " +
                           whole_seconds(now - started_) +
                           (!phase_.empty()  ? " so far"
                            : ended_.empty() ? ""
                                             : " since " + ended_);
  write(style_ == Style::bar ? "\r" + text::clip(line, columns_() - 1) + "\x1b[K" : line + "\n");
  bar_shown_ |= style_ == Style::bar;
  silence_ = wait;
}

void ProgressPrinter::update(const tessera_progress& e) {
  const std::lock_guard lock(mutex_);
  if (style_ == Style::none || ignored_.count(e.phase) != 0) return;
  if (std::strcmp(e.phase, "notice") == 0) return aside(e.phase, as_typed(e.note));
  const double now = clock_();
  if (phase_ != e.phase) {
    finish();
    phase_ = e.phase;
    first_ = {e.done, now};
    drawn_ = now - (style_ == Style::bar ? kRedraw : kBetweenLines - kFirstLine);
  }
  const double seconds = now - started_;
  const std::string note = e.note != nullptr && *e.note != '\0' ? std::string("  ") + as_typed(e.note) : "";
  last_ = text::pad(e.phase, kLabel) + " " + text::pad(amount(e) + note, 66) + " " + text::duration(seconds) + "\n";
  if (e.finished) return finish();
  if (now - drawn_ < (style_ == Style::bar ? kRedraw : kBetweenLines)) return;
  drawn_ = now;
  const Pace p = pace(e, now);
  if (style_ == Style::bar) {
    write("\r" + bar_line(e, p) + "\x1b[K");
    bar_shown_ = true;
  } else {
    write(fmt::format("{} {}{}{}{}\n", text::pad(e.phase, kLabel), amount(e),
                      p.done > 0 ? "  " + rate(p.done, p.seconds, e.unit) : "", note,
                      e.total > 0 && p.done > 0 ? "   " + left(e, p.done, p.seconds) : ""));
  }
}

void ProgressPrinter::finish() {
  if (phase_.empty()) return;
  clear();
  write(last_);
  ended_ = std::exchange(phase_, "");
  started_ = clock_();
}

void ProgressPrinter::line(const std::string& label, const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (style_ == Style::none) return;
  finish();
  write(text::pad(label, kLabel) + " " + text::printable(what) + "\n");
}

void ProgressPrinter::aside(const std::string& label, const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (style_ == Style::none) return;
  clear();
  write(text::pad(label, kLabel) + " " + what + "\n");
}

void ProgressPrinter::clear() {
  const std::lock_guard lock(mutex_);
  if (bar_shown_) write("\r\x1b[K");
  bar_shown_ = false;
}
