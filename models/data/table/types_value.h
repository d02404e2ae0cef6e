// Values of typed columns as text: parsing and formatting.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// The nearest integer, halves to even, of 0 ≤ v < 2⁶³: std::nearbyint is a call without SSE4.1.
inline double nearest(double v) {
  constexpr double kNoFraction = 4503599627370496.0;  // 2⁵²: from here on doubles are integers
  return v < kNoFraction ? (v + kNoFraction) - kNoFraction : v;
}

// How a column writes its numbers.
enum class NumberStyle {
  point,      // 1234.5
  comma,      // 1234,5
  thousands,  // 1,234.5
  dots,       // 1.234,5
};

enum class Reading { ok, too_large, infinite, no };

// The whole text is one number: sign, digits, fraction, exponent; ".5" and "5." too. Not trimmed.
Reading read_number(std::string_view text, NumberStyle style, double& value);

// true, false in any case; `loose` also takes yes, no, y, n, t, f, 1, 0.
bool read_boolean(std::string_view text, bool loose, bool& value);

// The order of a date's parts and their separator.
struct DateLayout {
  char order[4];  // "ymd", "dmy", "mdy"
  char separator;
};
constexpr DateLayout kDateLayouts[] = {{"ymd", '-'}, {"ymd", '/'}, {"ymd", '.'}, {"dmy", '/'},
                                       {"mdy", '/'}, {"dmy", '.'}, {"dmy", '-'}, {"mdy", '-'}};
constexpr int kDateLayoutCount = 8;

// The calendar: 0001-01-01 and 9999-12-31 in days since 1970-01-01.
constexpr int64_t kFirstDay = -719162, kLastDay = 2932896;

// A date, or a date and a time of day, in a cell.
struct Moment {
  uint32_t layouts = 0;                   // bit i: kDateLayouts[i] reads it as a real day
  int parts[3] = {0, 0, 0};               // as written
  bool padded = false, unpadded = false;  // a day or month was written 05, 5
  bool has_time = false, has_seconds = false, utc = false;
  char between = 0;         // ' ' or 'T' between date and time
  int fraction_digits = 0;  // of the second, without zeros at the end
  double seconds_of_day = 0;
};
bool read_moment(std::string_view text, Moment& moment);
double day_of(const Moment& moment, int layout);  // days since 1970-01-01

// Parses by a column's own format ("%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S", …): days since 1970-01-01 of a date,
// seconds since 1970-01-01T00:00:00 of a datetime. ISO 8601 (year first, '-') is accepted for every format.
bool read_date(std::string_view text, const std::string& format, double& days);
bool read_datetime(std::string_view text, const std::string& format, double& seconds);
// The same for many values: by the layout of their format.
int layout_of(const std::string& format);
bool read_date(std::string_view text, int layout, double& days);
bool read_datetime(std::string_view text, int layout, double& seconds);

// `decimals` digits of the second follow %S. Dates are rounded to days, datetimes to the last digit; years are clamped
// to 1 … 9999.
void write_date(double days, const std::string& format, std::string& out);
void write_datetime(double seconds, const std::string& format, int decimals, std::string& out);

// Fixed digits after the point; a value too large for that, and format "%g", in the shortest form that reads back
// equal.
void write_decimal(double value, int decimals, std::string& out);
char* write_decimal(double value, int decimals, char* out);  // at most 40 bytes; returns their end
void write_shortest(double value, std::string& out);

}  // namespace tessera
