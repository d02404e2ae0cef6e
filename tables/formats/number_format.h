// How a column writes its numbers, so that they go out as they came in.
//
// As text (Column::format) a number format is a picture as in spreadsheets: "$"#,##0.00 · 0,0# "%" · +0 · 0.000e+00.
// Quoted text stands before and behind the number; # groups name the separator of thousands (#,##,##0: of lakhs and
// crores, 12,34,567); zeros behind the mark are always written, # only where they are needed; a + demands the sign of
// positive numbers, ++ that of zero too. A - behind the quoted prefix puts the sign there ($-5 instead of -$5), one
// behind the digits there (505,99-); brackets stand around negative numbers ((0.00) around all of the text, "$"(0.00)
// around the digits). "" means fixed decimals, "%g" the shortest text that reads back equal, "%.18f" the same without
// an exponent and with up to 18 decimals. A picture that begins with the sign U+2212 has that for a minus.
// ~10 at the end: no number has more than ten significant digits (0.0########~10, %g~15).
// Times of day and durations are numbers of seconds; their formats are those of moments.h and durations.h.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tables/formats/values.h"

namespace tessera {

// Where a negative number says that it is one.
enum class SignPlace { front, inside, behind, around, brackets };  // -$5, $-5, $5-, ($5), $(5)

constexpr std::string_view kLakhs = ",##,";  // as pictures have it

struct NumberFormat {
  std::string prefix, suffix, group;  // group: between thousands; kLakhs
  char mark = '.';
  int least = 0, most = 0;  // digits behind the mark: zeros at the end are written up to `least`
  // positive numbers have a +; zero too
  bool plus = false, plus_zero = false;
  SignPlace sign = SignPlace::front;
  int exponent = 0;     // its fewest digits; 0: none
  int significant = 0;  // the most digits from the first that is not zero; 0: any
  bool upper_exponent = false, plus_exponent = false;
  bool typeset = false;  // the minus is U+2212

  std::string text() const;
  // False: not a picture.
  static bool parse(std::string_view text, NumberFormat& format);
  // Appends the number; `decimals`: of the column.
  void write(double value, std::string& out) const;
  Reading read(std::string_view text, double& value) const;

  bool operator==(const NumberFormat&) const = default;

 private:
  void write_parts(bool negative, bool zero, std::string_view number, std::string& out) const;
};

// What stands around a number: currencies, per cent, units, and a sign that is not at the front. False: `text` is not a
// number with such an affix. `number` has the sign at its front, wherever it was.
struct NumberAffix {
  std::string_view prefix, suffix;
  SignPlace sign = SignPlace::front;
  std::string number;
};
bool split_affix(std::string_view text, NumberAffix& affix);

// The text with - in place of the first U+2212, in `plain`; itself if it has none.
std::string_view with_plain_minus(std::string_view text, std::string& plain);

// The separators of thousands that are neither point nor comma, by number 1 …; 0: the text has none.
// `out` is the text without them. False: they do not stand between groups of three digits.
bool remove_groups(std::string_view text, int& separator, int& groups, std::string& out);
std::string_view group_separator(int number);

// The format of the same numbers for programs: a time of day by the 24-hour clock, others fixed decimals or "%g".
std::string plain_number(const std::string& format);

// "%g", "%.18f"
inline bool is_shortest(std::string_view format) { return format.starts_with("%g") || format.starts_with("%."); }
// The most significant digits that a text of the format says, 0 if there is no limit; `mark`: where ~10 begins.
int significant_digits_of(std::string_view format, size_t* mark = nullptr);
std::string significant_suffix(int digits);
double with_significant(double value, int digits);
bool is_clock_format(const std::string& format);  // a time of day or a duration
bool read_clock(std::string_view text, double& seconds);

}  // namespace tessera
