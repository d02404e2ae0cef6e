#include "tables/types/types_forms.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "base/text/ascii.h"
#include "tables/formats/durations.h"
#include "tables/formats/number_format.h"

namespace tessera {
namespace {

uint64_t hash_of(const NumberAffix& affix) {
  uint64_t hash = 14695981039346656037ull;  // FNV-1a
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 1099511628211ull; };
  for (const char c : affix.prefix) add(static_cast<unsigned char>(c));
  add(0);
  for (const char c : affix.suffix) add(static_cast<unsigned char>(c));
  return hash | 2;
}

// Required digits after the mark: without trailing zeros; an exponent moves the mark.
int needed_digits(const char* first, const char* last, int exponent) {
  while (last > first && last[-1] == '0') --last;
  return std::max(0, static_cast<int>(last - first) - exponent);
}

// The digits behind the mark, for one reading of it.
void note_fraction(const char* first, const char* last, int exponent, int reading, Reads& r) {
  r.decimals[reading] = needed_digits(first, last, exponent);
  r.written[reading] = static_cast<int>(last - first);
  if (last > first && last[-1] == '0') r.padded[reading] = r.written[reading];
  if (last > first) r.facts |= fact::kMark;
}

// Digits without the zeros in front of them and at the end.
int significant_in(const char* first, const char* last) {
  int all = 0, needed = 0;
  for (; first != last; ++first) {
    if (!is_digit(*first) || (all == 0 && *first == '0')) continue;
    ++all;
    if (*first != '0') needed = all;
  }
  return needed;
}

void note_sign(std::string_view text, Reads& r) {
  const bool zero = text.find_first_of("123456789") == std::string_view::npos;
  if (text[0] == '+') r.facts |= zero ? fact::kPlus | fact::kPlusZero : fact::kPlus;
  else if (text[0] != '-' && !zero) r.facts |= fact::kNoPlus;
}

// Whether the leading digits of a number fit groups of three; `alone`: nothing follows them.
void note_groups(std::ptrdiff_t digits, bool alone, char first, Reads& r) {
  if (!alone && first == '0') r.facts |= fact::kUngrouped;
  if (!alone) return;
  if (digits > 3) r.facts |= fact::kUngrouped;
  if (digits == 3) r.facts |= fact::kHundreds;
}

// Reads an exponent at p and records its form.
bool read_exponent(const char*& p, const char* end, int& exponent, Reads& r) {
  r.facts |= fact::kExponent;
  if (*p++ == 'E') r.facts |= fact::kUpperExponent;
  const bool negative = p < end && *p == '-';
  if (p < end && *p == '+') r.facts |= fact::kPlusExponent;
  if (p < end && (*p == '-' || *p == '+')) ++p;
  if (p == end) return false;
  const char* first = p;
  for (; p < end && is_digit(*p); ++p) exponent = std::min(exponent * 10 + (*p - '0'), 100000);
  r.exponent_digits = static_cast<int>(std::min<std::ptrdiff_t>(p - first, 3));
  if (negative) exponent = -exponent;
  return true;
}

// Where the marks of a mantissa are.
struct Marks {
  const char *last_point = nullptr, *last_comma = nullptr;
  int points = 0, commas = 0, digits = 0;
};

// The readings of a mantissa with '.' and ',' among its digits; they stay open if several are possible.
uint32_t readings_of(std::string_view mantissa, const Marks& m) {
  using namespace form;
  double value;
  uint32_t kinds = 0;
  if (m.points == 1 && m.commas == 0) kinds |= kPoint | kThousands | form::kLakhs;
  if (m.commas == 1 && m.points == 0) kinds |= kComma;
  if (m.commas > 0 && (m.points == 0 || (m.points == 1 && m.last_point > m.last_comma))) {
    if (read_number(mantissa, NumberStyle::thousands, value) != Reading::no) kinds |= kThousands;
    if (read_number(mantissa, NumberStyle::lakhs, value) != Reading::no) kinds |= form::kLakhs;
  }
  if ((m.points > 0 && (m.commas == 0 || (m.commas == 1 && m.last_comma > m.last_point)) &&
       read_number(mantissa, NumberStyle::dots, value) != Reading::no) ||
      (m.points == 0 && m.commas == 1))
    kinds |= kDots;
  return kinds;
}

// Sign, digits with '.' and ',' among them, exponent.
bool read_number_forms(std::string_view text, Reads& r) {
  const char *p = text.data(), *end = p + text.size();
  if (p < end && (*p == '-' || *p == '+')) ++p;
  const char* body = p;
  Marks m;
  for (; p < end && (is_digit(*p) || *p == '.' || *p == ','); ++p) {
    if (*p == '.') m.last_point = p, ++m.points;
    else if (*p == ',') m.last_comma = p, ++m.commas;
    else ++m.digits;
  }
  if (m.digits == 0) {
    double value;
    if (read_number(text, NumberStyle::point, value) != Reading::infinite) return false;
    // an infinity is a number that cannot be stored: an error if the column is numeric
    r.forms.kinds = form::kNumber;
    r.facts = fact::kExponent | fact::kLarge;
    return true;
  }
  const char* mantissa_end = p;
  int exponent = 0;
  if (p < end && (*p == 'e' || *p == 'E')) {
    if (!read_exponent(p, end, exponent, r)) return false;
  } else {
    r.facts |= fact::kNoExponent;
  }
  if (p != end) return false;

  const char* whole_end = mantissa_end;
  if (m.points + m.commas == 0) {
    r.forms.kinds = form::kNumber;
  } else {
    r.forms.kinds = readings_of({text.data(), static_cast<size_t>(mantissa_end - text.data())}, m);
    if (r.forms.kinds == 0) return false;
    for (whole_end = body; is_digit(*whole_end);) ++whole_end;
    if (m.points == 1) note_fraction(m.last_point + 1, mantissa_end, exponent, 0, r);
    if (m.commas == 1) note_fraction(m.last_comma + 1, mantissa_end, exponent, 1, r);
  }
  if (m.points + m.commas == 0 && exponent < 0) r.decimals[0] = r.decimals[1] = needed_digits(body, body, exponent);
  if (std::max(r.decimals[0], r.decimals[1]) > kMaxDigits) r.facts |= fact::kTiny;
  r.fine = std::min(std::max(r.decimals[0], r.decimals[1]), kMaxFine);
  r.significant = significant_in(body, mantissa_end);
  for (int& d : r.decimals) d = std::min(d, kMaxDigits);
  if (whole_end - body > 1 && *body == '0') {
    r.facts |= fact::kLeadingZero;  // 007 is a code, not the number 7
    r.forms.kinds = 0;
  }
  note_groups(whole_end - body, m.points + m.commas == 0, *body, r);
  if (whole_end - body > kMaxDigits) r.facts |= fact::kLong;
  if (whole_end - body + exponent > kMaxDigits) r.facts |= fact::kLarge;
  note_sign(text, r);
  return true;
}

// The common case, without the general parser: at most 15 digits, at most one point between them.
bool read_simple(std::string_view text, Reads& r) {
  const char *p = text.data(), *end = p + text.size();
  if (text.size() > 16) return false;
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  const char* body = p;
  while (p < end && is_digit(*p)) ++p;
  const auto whole = p - body;
  if (whole == 0 || whole > kMaxDigits || (*body == '0' && whole > 1)) return false;
  r.facts = fact::kNoExponent;
  if (!negative && (whole > 1 || *body != '0')) r.facts |= fact::kNoPlus;
  r.forms.affix = 1;
  r.significant = significant_in(body, end);
  note_groups(whole, p == end, *body, r);
  if (p == end) {
    r.forms.kinds = form::kNumber;
    return true;
  }
  if (*p != '.') return false;
  const char* fraction = ++p;
  while (p < end && is_digit(*p)) ++p;
  if (p != end) return false;
  note_fraction(fraction, end, 0, 0, r);
  r.forms.kinds =
      form::kPoint | form::kThousands | form::kLakhs | (whole <= 3 && end - fraction == 3 ? form::kDots : 0);
  return true;
}

// Eight digits may be a compact date of a recent year.
void add_compact_day(std::string_view text, Reads& r) {
  Moment m;
  const std::string_view day = without_point_zero(text);
  if (day.size() != 8 || (text[0] != '1' && text[0] != '2')) return;
  if (!read_moment(day, m) || m.layouts != kCompactLayout || !is_recent_year(m.parts[0])) return;
  r.forms.kinds |= form::kDate | form::kZones | form::kHours;
  r.forms.layouts = r.forms.seen = kCompactLayout;
  if (day.size() != text.size()) r.facts |= fact::kPointZero;
}

uint32_t fact_of(SignPlace sign) {
  switch (sign) {
    case SignPlace::front: return 0;
    case SignPlace::inside: return fact::kSignInside;
    case SignPlace::behind: return fact::kSignBehind;
    case SignPlace::around: return fact::kSignAround;
    case SignPlace::brackets: return fact::kSignBrackets;
  }
  return 0;
}

// A number with a currency or a unit around it, with a sign that is not at its front or is U+2212, or with blanks or
// apostrophes between thousands.
bool read_dressed_number(std::string_view written, Reads& r) {
  NumberAffix affix;
  std::string plain;
  const std::string_view text = with_plain_minus(written, plain);
  const bool typeset = text.size() != written.size();
  const bool has_affix = split_affix(text, affix);
  const std::string_view bare = has_affix ? std::string_view(affix.number) : text;
  std::string digits;
  int separator = 0, groups = 0;
  if (!remove_groups(bare, separator, groups, digits) || (!has_affix && !typeset && groups == 0)) return false;
  if (!read_number_forms(digits, r)) return false;
  if (groups > 0) r.forms.kinds &= form::kPoint | form::kComma;
  r.forms.affix = affix.prefix.empty() && affix.suffix.empty() ? 1 : hash_of(affix);
  r.forms.separator = separator;
  r.groups = groups;
  if (has_affix) r.facts |= fact_of(affix.sign);
  if (typeset) r.facts |= fact::kTypesetMinus;
  return r.forms.kinds != 0;
}

bool is_address(std::string_view text) {
  int octets = 0, value = 0, digits = 0;
  if (text.size() < 7 || text.size() > 15) return false;
  for (const char c : text) {
    if (c == '.') {
      if (digits == 0) return false;
      ++octets, value = digits = 0;
    } else if (is_digit(c)) {
      value = value * 10 + (c - '0');
      if (++digits > 3 || value > 255) return false;
    } else {
      return false;
    }
  }
  return octets == 3 && digits > 0;
}

void note_time(const TimeOfDay& t, Reads& r) {
  r.forms.kinds &= ~form::kHours;
  r.forms.kinds |= t.twelve ? form::kTwelve : form::kTwentyFour;
  if (t.has_seconds) r.facts |= fact::kSeconds;
  if (t.bare_hour) r.facts |= fact::kBareHour;
  if (t.basic) r.facts |= fact::kBasicTime;
  if (t.dots) r.facts |= fact::kDottedTime;
  if (t.twelve && t.space) r.facts |= fact::kHalfSpace;
  if (t.twelve && t.lower) r.facts |= fact::kHalfLower;
  r.second_digits = t.fraction_digits, r.second_written = t.written_digits;
}

bool read_moment_forms(std::string_view text, Reads& r) {
  Moment m;
  if (!read_moment(text, m)) return false;
  using namespace form;
  r.forms.layouts = r.forms.seen = m.layouts, r.forms.names = m.names, r.forms.cases = m.cases;
  r.forms.weekdays = 1u << m.weekday;
  r.forms.lacked = same_shape(std::countr_zero(m.layouts)) & ~m.layouts;
  r.forms.kinds = kDatetime | kHours | (m.utc ? kUtc : kLocal);
  if (!m.has_time) r.forms.kinds |= kDate | kUtc;
  if (m.unpadded) r.unpadded = m.layouts;
  if (!m.has_time) return true;
  note_time(m.time, r);
  r.facts |= fact::kTimes | (m.between == "T"   ? fact::kLetterT
                             : m.between == " " ? fact::kSpace
                             : m.between == ":" ? fact::kColonBetween
                                                : fact::kCommaSpace);
  r.zone = m.zone;
  return true;
}

// A time of day or a duration.
bool read_clock_forms(std::string_view text, Reads& r) {
  using namespace form;
  TimeOfDay t;
  const char *p = text.data(), *end = p + text.size();
  if (text.size() >= 4 && is_digit(*p) && read_time_of_day(p, end, t) && p == end) {
    r.forms.kinds = kClock | kZones;
    note_time(t, r);
  }
  Duration d;
  if (!read_duration(text, d)) return r.forms.kinds != 0;
  r.forms.kinds |= (kSpanClock << static_cast<int>(d.kind)) | kZones | kTwentyFour;
  if (d.has_seconds) r.facts |= fact::kSeconds;
  if (d.bare_hour) r.facts |= fact::kBareHour;
  r.second_digits = std::max(r.second_digits, d.fraction_digits);
  return true;
}

}  // namespace

LayoutBits same_shape(int layout) {
  static const auto kShapes = [] {
    const auto alike = [](const DateLayout& a, const DateLayout& b) {
      return a.order[0] != 0 && a.separator == b.separator && a.short_year == b.short_year &&
             (a.order[2] == 0) == (b.order[2] == 0) && (a.short_year || (a.order[0] == 'y') == (b.order[0] == 'y'));
    };
    std::array<LayoutBits, kDateLayoutCount> out{};
    for (int i = 0; i < kDateLayoutCount; ++i)
      for (int k = 0; k < kDateLayoutCount; ++k)
        if (i == k || alike(kDateLayouts[i], kDateLayouts[k])) out[static_cast<size_t>(i)] |= LayoutBits{1} << k;
    return out;
  }();
  return kShapes[static_cast<size_t>(layout)];
}

LayoutBits Forms::date_layouts() const {
  if (layouts != 0) return layouts;
  const LayoutBits left = seen & ~lacked;
  for (int i = 0; i < kDateLayoutCount; ++i) {
    if ((seen >> i & 1) == 0) continue;
    // months among days are codes or seasons
    if ((same_shape(i) & left) == 0 || std::string_view(kDateLayouts[i].format).find("%d") == std::string_view::npos)
      return 0;
  }
  return left;
}

Forms agreed(const Forms& a, const Forms& b) {
  using namespace form;
  Forms out{a.kinds & b.kinds,
            a.layouts & b.layouts,
            a.names & b.names,
            a.cases & b.cases,
            a.weekdays & b.weekdays,
            std::max(a.affix, b.affix),
            std::max(a.separator, b.separator),
            a.seen | b.seen,
            a.lacked | b.lacked};
  const bool other_affix = a.affix != 0 && b.affix != 0 && a.affix != b.affix,
             other_separator = a.separator != 0 && b.separator != 0 && a.separator != b.separator;
  if (other_affix || other_separator) out.kinds &= ~kNumber;
  // Days that no layout reads, or a time without agreement on its zone or its hours,
  // means nothing.
  if (out.date_layouts() == 0 || out.names == 0 || out.weekdays == 0 || (out.kinds & kZones) == 0 ||
      (out.kinds & kHours) == 0)
    out.kinds &= ~(kDate | kDatetime);
  if ((out.kinds & kHours) == 0) out.kinds &= ~kClock;
  if ((out.kinds & kMeanings) == 0) out.kinds = 0;
  return out;
}

void read_forms(std::string_view text, Reads& r) {
  const auto attempt = [&](auto read) {
    r = Reads{};
    return read(text, r);
  };
  if (attempt(read_simple)) {
    if (text.size() == 8 || text.size() == 10) add_compact_day(text, r);
    return;
  }
  const bool address = is_address(text);
  bool truth = false;
  if (attempt(read_number_forms)) {
    r.forms.affix = 1;
    if (address) r.forms.kinds |= form::kAddress;
    return;
  }
  r = Reads{};
  if (address) r.forms.kinds = form::kAddress;
  else if (read_boolean(text, false, truth)) r.forms.kinds = form::kBoolean;
  else if (!attempt(read_moment_forms) && !attempt(read_clock_forms) && !attempt(read_dressed_number)) r = Reads{};
}

}  // namespace tessera
