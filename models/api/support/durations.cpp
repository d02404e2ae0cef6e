#include "models/api/support/durations.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text/option_text.h"

namespace tessera::api {
namespace {

constexpr double kMaxSeconds = 1e9;  // seconds: thirty years

struct Amount {
  double number = 0;
  std::string unit;
};

// The number at the start of a text, and the rest; 0 if there is none.
Amount cut(const std::string& text) {
  Amount a;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), a.number);
  if (error != std::errc() || !std::isfinite(a.number)) a.number = 0;
  a.unit.assign(end, text.data() + text.size() - end);
  if (!a.unit.empty() && a.unit.front() == ' ') a.unit.erase(0, 1);
  return a;
}

double unit_seconds(const std::string& unit) { return unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0; }

}  // namespace

double parse_duration(const std::string& text, const char* option) {
  const Amount a = cut(text);
  const double seconds = a.number * unit_seconds(a.unit);
  if (!(seconds > 0 && seconds <= kMaxSeconds))
    throw Error(ErrorCode::usage,
                fmt::format("{}: it must be a duration such as 30s, 5m or 2h.", option_text(option, text)));
  return seconds;
}

void parse_interval(const std::string& text, const char* option, CheckpointOptions& checkpoint) {
  const Amount a = cut(text);
  checkpoint.every_seconds = 0, checkpoint.every_epochs = 0;
  if (text == "off") return;
  if (a.unit == "epochs" || a.unit == "epoch") {
    if (!(a.number >= 1 && a.number <= 1e9) || a.number != std::floor(a.number))
      throw Error(ErrorCode::usage,
                  fmt::format("{}: it must be a whole number of epochs, from 1.", option_text(option, text)));
    checkpoint.every_epochs = static_cast<int64_t>(a.number);
    return;
  }
  if (unit_seconds(a.unit) == 0 || a.number <= 0)
    throw Error(ErrorCode::usage, fmt::format("{}: it must be a duration (30s, 5m, 2h), epochs (10epochs), or off.",
                                              option_text(option, text)));
  checkpoint.every_seconds = parse_duration(text, option);
}

}  // namespace tessera::api
