// Durations as text, in seconds.
//
// Formats: "%H:%M:%S" (hours without an upper limit; %-H: not padded), "%D days %H:%M:%S" (as pandas writes them),
// "%-Hh %Mm" (3h 05m), "PT" (ISO 8601: PT1H30M).
#pragma once
#include <string>
#include <string_view>

namespace tessera {

struct Duration {
  enum class Kind { clock, days, letters, iso } kind = Kind::clock;
  bool bare_hour = false, padded_hour = false, has_seconds = false;
  int fraction_digits = 0;  // of the second, without zeros at the end
  double seconds = 0;
};
bool read_duration(std::string_view text, Duration& duration);
std::string duration_format(Duration::Kind kind, bool padded_hour, bool has_seconds);

// Not below zero; rounded to what the format shows.
void write_duration(double seconds, const std::string& format, int decimals, std::string& out);

}  // namespace tessera
