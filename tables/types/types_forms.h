// How one value of a column can be read: the evidence that its type is inferred from.
#pragma once
#include <cstdint>
#include <string_view>

#include "tables/formats/moments.h"

namespace tessera {

// Forms: one bit for each way to read a value. A column has a type if all its values share one of that type's forms.
namespace form {
constexpr uint32_t kPoint = 1, kComma = 2, kThousands = 4, kDots = 8, kBoolean = 16, kDate = 32, kDatetime = 64,
                   kClock = 128, kAddress = 256, kLakhs = 512;
constexpr uint32_t kSpanClock = 1u << 10, kSpanDays = 2u << 10, kSpanLetters = 4u << 10, kSpanIso = 8u << 10;
constexpr uint32_t kNumber = kPoint | kComma | kThousands | kDots | kLakhs;
constexpr uint32_t kSpans = kSpanClock | kSpanDays | kSpanLetters | kSpanIso;
constexpr uint32_t kMeanings = kNumber | kBoolean | kDate | kDatetime | kClock | kAddress | kSpans;
// What a time of day must agree on; a value without one agrees with all.
constexpr uint32_t kLocal = 1u << 16, kUtc = 2u << 16, kTwelve = 4u << 16, kTwentyFour = 8u << 16;
constexpr uint32_t kZones = kLocal | kUtc, kHours = kTwelve | kTwentyFour;
}  // namespace form

// Facts: properties of at least one value.
namespace fact {
constexpr uint32_t kExponent = 1u << 0, kNoExponent = 1u << 1, kUpperExponent = 1u << 2, kPlusExponent = 1u << 3,
                   kPlus = 1u << 4, kNoPlus = 1u << 5, kSignInside = 1u << 6, kLong = 1u << 7, kLeadingZero = 1u << 8,
                   kTiny = 1u << 9, kMark = 1u << 10, kLarge = 1u << 11, kSignBehind = 1u << 12, kSignAround = 1u << 13,
                   kSignBrackets = 1u << 14, kPlusZero = 1u << 15, kTypesetMinus = 1u << 16;
// Negative numbers as in ledgers.
constexpr uint32_t kLedgerSigns = kSignBehind | kSignAround | kSignBrackets;
constexpr uint32_t kSpace = 1u << 17, kLetterT = 1u << 18, kSeconds = 1u << 19, kTimes = 1u << 20, kBareHour = 1u << 21,
                   kHalfSpace = 1u << 22, kHalfLower = 1u << 23, kCommaSpace = 1u << 24, kColonBetween = 1u << 25,
                   kBasicTime = 1u << 26, kManyZones = 1u << 27;
// Of numbers: a whole part that no mark divides into groups of three, as 1200 or 0.125; three digits alone.
constexpr uint32_t kUngrouped = 1u << 28, kHundreds = 1u << 29;
// A day as a number with a zero behind the point, 20240131.0.
constexpr uint32_t kPointZero = 1u << 30;
constexpr uint32_t kDottedTime = 1u << 31;
}  // namespace fact

struct Forms {
  uint32_t kinds = ~0u;                 // bits of `form`; 0: only text
  LayoutBits layouts = ~LayoutBits{0};  // of dates
  uint32_t names = ~0u;                 // of months, kMonthNames
  uint32_t cases = ~0u;                 // of these names, NameCase
  uint32_t weekdays = ~0u;              // before dates, kWeekdays
  uint64_t affix = 0;                   // what stands around a number: 0 unknown, 1 nothing, else a hash
  int separator = 0;                    // of its thousands: group_separator(); 0: none seen
  // of dates in several layouts: those that some value has, and those that some value of the same shape lacks
  LayoutBits seen = 0, lacked = 0;

  // The layouts that dates are read by: one that all have, or of each shape those that all its values have; 0: none.
  LayoutBits date_layouts() const;
};
// Those that may read a text that this one reads: they have its separators and digits.
LayoutBits same_shape(int layout);
Forms agreed(const Forms& a, const Forms& b);  // those that values of both have

struct Reads {
  Forms forms{.kinds = 0};
  uint32_t facts = 0;
  // of a number, as with a decimal point, as with a decimal comma: digits behind the mark that it needs, that it has,
  // and the latter if the last of them is zero
  int decimals[2] = {0, 0}, written[2] = {0, 0}, padded[2] = {0, 0};
  int fine = 0;         // decimals, up to kMaxFine of them
  int significant = 0;  // digits from the first to the last that is not zero
  int exponent_digits = 0, groups = 0;
  int second_digits = 0, second_written = 0;  // digits of the second: needed, written
  std::string_view zone;                      // the offset from UTC as it is written, if the forms say kUtc alone
  LayoutBits unpadded = 0;                    // layouts that read a day or month written 5, not 05
};

constexpr int kMaxDigits = 15;  // any whole number with this many digits is exact in a double

// A day as a number: 20240131 of 20240131.0.
inline std::string_view without_point_zero(std::string_view text) {
  return text.size() == 10 && text.substr(8) == ".0" ? text.substr(0, 8) : text;
}

// Everything but missing values: the caller knows these.
void read_forms(std::string_view text, Reads& reads);

}  // namespace tessera
