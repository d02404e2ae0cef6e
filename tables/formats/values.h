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
  lakhs,      // 12,34,567.5
};

enum class Reading { ok, too_large, infinite, no };

// The whole text is one number: sign, digits, fraction, exponent; ".5" and "5." too. Not trimmed.
Reading read_number(std::string_view text, NumberStyle style, double& value);

// The whole text is one finite number with a point, as programs write it.
bool read_finite(std::string_view text, double& value);

// true, false in any case; `loose` also takes yes, no, y, n, t, f, 1, 0.
bool read_boolean(std::string_view text, bool loose, bool& value);

// Fixed digits after the point; a value too large for that, and format "%g", in the shortest form that reads back
// equal.
void write_decimal(double value, int decimals, std::string& out);
char* write_decimal(double value, int decimals, char* out);  // at most 40 bytes; returns their end
void write_shortest(double value, std::string& out);
// Never with an exponent below 1e16, and with `most` decimals or fewer.
constexpr int kMaxFine = 30;
void write_fine(double value, int most, std::string& out);

}  // namespace tessera
