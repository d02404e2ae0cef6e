#include "models/data/table/types.h"

#include <algorithm>
#include <cctype>

namespace tessera {
namespace {

// Forms: one bit for each way to read a value. A column has a type if all its values share one of that type's forms.
constexpr uint32_t kPoint = 1, kComma = 2, kThousands = 4, kDots = 8, kBoolean = 16, kLocal = 32, kUtc = 64;
constexpr uint32_t kNumber = kPoint | kComma | kThousands | kDots;
constexpr int kDateShift = 8, kDatetimeShift = 16;
constexpr uint32_t kDates = 0xFFu << kDateShift, kDatetimes = 0xFFu << kDatetimeShift;

// Facts: properties of at least one value.
constexpr uint32_t kExponent = 1, kLong = 2, kLeadingZero = 4, kUnpadded = 8, kSpace = 16, kLetterT = 32, kSeconds = 64,
                   kTiny = 128, kTimes = 256, kPointZero = 512;

constexpr int kMaxDigits = 15;  // any whole number with this many digits is exact in a double

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The zone bits mean nothing alone, and a date with a time means nothing without agreement on its zone.
uint32_t agreed(uint32_t forms) {
  if ((forms & (kLocal | kUtc)) == 0) forms &= ~(kDates | kDatetimes);
  return (forms & ~(kLocal | kUtc)) == 0 ? 0 : forms;
}

struct Reads {
  uint32_t forms = 0, facts = 0;
  int decimals[2] = {0, 0};
  int second_digits = 0;
};

// Required digits after the mark: without trailing zeros; an exponent moves the mark.
int needed_digits(const char* first, const char* last, int exponent) {
  while (last > first && last[-1] == '0') --last;
  return std::max(0, static_cast<int>(last - first) - exponent);
}

// Sign, digits with '.' and ',' among them, exponent. The meaning of '.' and ',' stays open if both readings are
// possible.
bool read_number_forms(std::string_view text, Reads& r) {
  const char *p = text.data(), *end = p + text.size();
  if (p < end && (*p == '-' || *p == '+')) ++p;
  const char* body = p;
  const char *last_point = nullptr, *last_comma = nullptr;
  int points = 0, commas = 0, digits = 0;
  for (; p < end && (is_digit(*p) || *p == '.' || *p == ','); ++p) {
    if (*p == '.') last_point = p, ++points;
    else if (*p == ',') last_comma = p, ++commas;
    else ++digits;
  }
  if (digits == 0) {
    double value;
    if (read_number(text, NumberStyle::point, value) != Reading::infinite) return false;
    // an infinity is a number that cannot be stored: an error if the column is numeric
    r.forms = kNumber;
    r.facts = kExponent;
    return true;
  }
  const char* mantissa_end = p;
  int exponent = 0;
  if (p < end && (*p == 'e' || *p == 'E')) {
    ++p;
    const bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    if (p == end) return false;
    for (; p < end && is_digit(*p); ++p) exponent = std::min(exponent * 10 + (*p - '0'), 100000);
    if (negative) exponent = -exponent;
    r.facts |= kExponent;
  }
  if (p != end) return false;

  const char* whole_end = mantissa_end;
  if (points + commas == 0) {
    r.forms = kNumber;
  } else {
    double value;
    const std::string_view mantissa(text.data(), static_cast<size_t>(mantissa_end - text.data()));
    if (points == 1 && commas == 0) r.forms |= kPoint | kThousands;
    if (commas == 1 && points == 0) r.forms |= kComma;
    if (commas > 0 && (points == 0 || (points == 1 && last_point > last_comma)) &&
        read_number(mantissa, NumberStyle::thousands, value) != Reading::no)
      r.forms |= kThousands;
    if ((points > 0 && (commas == 0 || (commas == 1 && last_comma > last_point)) &&
         read_number(mantissa, NumberStyle::dots, value) != Reading::no) ||
        (points == 0 && commas == 1))
      r.forms |= kDots;
    if (r.forms == 0) return false;
    for (whole_end = body; is_digit(*whole_end);) ++whole_end;
    if (points == 1) r.decimals[0] = needed_digits(last_point + 1, mantissa_end, exponent);
    if (commas == 1) r.decimals[1] = needed_digits(last_comma + 1, mantissa_end, exponent);
    if (r.decimals[0] == 0 && r.decimals[1] == 0) r.facts |= kPointZero;
  }
  if (points + commas == 0 && exponent < 0) r.decimals[0] = r.decimals[1] = needed_digits(body, body, exponent);
  if (std::max(r.decimals[0], r.decimals[1]) > kMaxDigits) r.facts |= kTiny;
  for (int& d : r.decimals) d = std::min(d, kMaxDigits);
  if (whole_end - body > 1 && *body == '0') {
    r.facts |= kLeadingZero;  // 007 is a code, not the number 7
    r.forms = 0;
  }
  if (whole_end - body > kMaxDigits) r.facts |= kLong;
  return true;
}

bool read_moment_forms(std::string_view text, Reads& r) {
  Moment m;
  if (!read_moment(text, m)) return false;
  r.forms = m.layouts << kDatetimeShift | (m.utc ? kUtc : kLocal);
  if (!m.has_time) r.forms |= m.layouts << kDateShift | kUtc;
  if (m.unpadded) r.facts |= kUnpadded;
  if (m.has_time) r.facts |= kTimes | (m.between == ' ' ? kSpace : kLetterT);
  if (m.has_seconds) r.facts |= kSeconds;
  r.second_digits = m.fraction_digits;
  return true;
}

// The common case, without the general parser: at most 15 digits, at most one point between them.
bool read_simple(std::string_view text, Reads& r) {
  const char *p = text.data(), *end = p + text.size();
  if (text.size() > 16) return false;
  if (p < end && *p == '-') ++p;
  const char* body = p;
  while (p < end && is_digit(*p)) ++p;
  const auto whole = p - body;
  if (whole == 0 || whole > kMaxDigits || (*body == '0' && whole > 1)) return false;
  if (p == end) {
    r.forms = kNumber;
    return true;
  }
  if (*p != '.') return false;
  const char* fraction = ++p;
  while (p < end && is_digit(*p)) ++p;
  if (p != end) return false;
  r.decimals[0] = needed_digits(fraction, end, 0);
  r.forms = kPoint | kThousands | (whole <= 3 && end - fraction == 3 ? kDots : 0);
  if (r.decimals[0] == 0) r.facts = kPointZero;
  return true;
}

bool same_words(std::string_view text, std::string_view small) {
  if (text.size() != small.size()) return false;
  for (size_t i = 0; i < small.size(); ++i)
    if ((text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]) != small[i]) return false;
  return true;
}

}  // namespace

std::string grouped(int64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string counted(int64_t n, const std::string& one, const std::string& many) {
  return grouped(n) + " " + (n == 1 ? one : many.empty() ? one + "s" : many);
}

namespace {

std::string shown(const std::string& value) {
  constexpr size_t kMost = 40;
  size_t cut = std::min(value.size(), kMost);
  while (cut > 0 && cut < value.size() && (static_cast<unsigned char>(value[cut]) & 0xC0) == 0x80) --cut;
  return std::string("\"").append(value, 0, cut).append(cut < value.size() ? "…\"" : "\"");
}

NumberStyle style_of(uint32_t forms, char delimiter) {
  if (forms & kPoint) return NumberStyle::point;
  // "1,234" alone can be either; if ',' is the delimiter, a quoted one is seldom the decimal mark.
  const bool both = (forms & kThousands) != 0 && (forms & kComma) != 0;
  if (forms & kComma && !(both && delimiter == ',')) return NumberStyle::comma;
  if (forms & kThousands) return NumberStyle::thousands;
  if (forms & kDots) return NumberStyle::dots;
  return NumberStyle::point;
}

int layout_in(uint32_t bits) {
  for (int i = 0; i < kDateLayoutCount; ++i)
    if (bits >> i & 1u) return i;
  return 0;
}

std::string date_format(int layout, uint32_t facts) {
  const DateLayout& l = kDateLayouts[layout];
  std::string format;
  for (int k = 0; k < 3; ++k) {
    if (k > 0) format += l.separator;
    format += l.order[k] == 'y'          ? "%Y"
              : (facts & kUnpadded) != 0 ? (l.order[k] == 'm' ? "%-m" : "%-d")
                                         : (l.order[k] == 'm' ? "%m" : "%d");
  }
  return format;
}

std::string datetime_format(int layout, const TypeEvidence& e) {
  std::string format =
      date_format(layout, e.facts) + ((e.facts & kSpace) != 0 || (e.facts & kTimes) == 0 ? " " : "T") + "%H:%M";
  if ((e.facts & kSeconds) != 0 || (e.facts & kTimes) == 0) format += ":%S";
  if ((e.forms & kLocal) == 0 && (e.forms & kUtc) != 0) format += "Z";
  return format;
}

const char* style_note(NumberStyle style) {
  switch (style) {
    case NumberStyle::comma: return ", written with a decimal comma";
    case NumberStyle::thousands: return ", written with commas between thousands";
    case NumberStyle::dots: return ", written with points between thousands and a decimal comma";
    case NumberStyle::point: break;
  }
  return "";
}

ColumnPlan plan_number(const TypeEvidence& e, uint32_t forms, char delimiter) {
  ColumnPlan plan;
  plan.style = style_of(forms, delimiter);
  const bool comma = plan.style == NumberStyle::comma || plan.style == NumberStyle::dots;
  plan.decimals = e.decimals[comma];
  plan.type = plan.decimals == 0 && (e.facts & (kExponent | kTiny)) == 0 ? ColumnType::integer : ColumnType::decimal;
  // 15 fixed digits would truncate such values: they are written in the shortest form that reads back equal.
  if (plan.type == ColumnType::decimal && (e.facts & kTiny) != 0) plan.format = "%g";
  return plan;
}

ColumnPlan plan_text(const TypeEvidence& e, const char* place) {
  ColumnPlan plan;
  if (e.odd_line < 0) {
    plan.reason = (e.facts & kLeadingZero) != 0 ? "codes with leading zeros, such as " + shown(e.first)
                                                : "text, such as " + shown(e.first);
    return plan;
  }
  plan.reason = std::string("text: ") + place + ' ' + std::to_string(e.odd_line) + " holds " + shown(e.odd) +
                ", after " + counted(e.values, "value") + " such as " + shown(e.first);
  return plan;
}

}  // namespace

bool MissingWords::usual(std::string_view text) {
  if (text.size() > 4) return false;
  constexpr std::string_view kWords[] = {"na",  "n/a",  "#n/a", "nan", "null", "none", "nil",
                                         "nat", "<na>", "-",    "--",  "?",    "."};
  for (const std::string_view word : kWords)
    if (same_words(text, word)) return true;
  return false;
}

void TypeEvidence::add(std::string_view text, int64_t line, const MissingWords& missing) {
  if (forms == 0 || missing.always(text)) return;
  Reads r;
  bool truth;
  if (!read_simple(text, r)) {
    r = Reads{};
    if (!read_number_forms(text, r)) {
      r = Reads{};
      if (read_boolean(text, false, truth)) r.forms = kBoolean;
      else if (MissingWords::usual(text)) return;
      else read_moment_forms(text, r);
    }
  }
  facts |= r.facts;
  decimals[0] = std::max(decimals[0], static_cast<int8_t>(r.decimals[0]));
  decimals[1] = std::max(decimals[1], static_cast<int8_t>(r.decimals[1]));
  second_digits = std::max(second_digits, static_cast<int8_t>(r.second_digits));
  const uint32_t left = agreed(forms & r.forms);
  if (first.empty()) {
    first.assign(text);
    first_line = line;
    first_forms = r.forms;
  } else if (left == 0) {
    odd.assign(text);
    odd_line = line;
  }
  forms = left;
  if (forms != 0) ++values;
}

void TypeEvidence::merge(const TypeEvidence& next, int64_t line_offset) {
  if (forms == 0 || next.first.empty()) return;
  facts |= next.facts;
  for (int i = 0; i < 2; ++i) decimals[i] = std::max(decimals[i], next.decimals[i]);
  second_digits = std::max(second_digits, next.second_digits);
  const uint32_t left = agreed(forms & next.forms);
  if (first.empty()) {
    first = next.first;
    first_line = next.first_line + line_offset;
    first_forms = next.first_forms;
    odd = next.odd;
    odd_line = next.odd_line < 0 ? -1 : next.odd_line + line_offset;
  } else if (left == 0) {
    // If the part begins with a value that does not fit, its own odd value, if any, comes later.
    const bool at_first = next.odd_line < 0 || agreed(forms & next.first_forms) == 0;
    odd = at_first ? next.first : next.odd;
    odd_line = (at_first ? next.first_line : next.odd_line) + line_offset;
  }
  forms = left;
  values += next.values;
}

ColumnPlan decide_type(const TypeEvidence& e, char delimiter, const char* place) {
  ColumnPlan plan;
  if (e.first.empty()) {
    plan.type = ColumnType::constant;
    plan.reason = "no row has a value";
    return plan;
  }
  const std::string all = "all " + counted(e.values, "value");
  if (e.forms & kNumber) {
    plan = plan_number(e, e.forms, delimiter);
    if (plan.type == ColumnType::integer && (e.facts & kLong) != 0) {
      plan = ColumnPlan{};
      plan.reason =
          "digits, some with more than " + std::to_string(kMaxDigits) + ": kept as text, so that no digit is lost";
      return plan;
    }
    plan.reason = plan.type == ColumnType::integer ? all + (e.values == 1 ? " is a whole number" : " are whole numbers")
                  : plan.format == "%g"            ? all + " are numbers, some with more than 15 decimals"
                                        : all + " are numbers with up to " + counted(plan.decimals, "decimal");
    plan.reason += style_note(plan.style);
  } else if (e.forms & kBoolean) {
    plan.type = ColumnType::boolean;
    plan.reason = all + " are true or false";
  } else if (const uint32_t dates = (e.forms & kDates) >> kDateShift, times = (e.forms & kDatetimes) >> kDatetimeShift;
             dates != 0 || times != 0) {
    const uint32_t bits = dates != 0 ? dates : times;
    if ((bits & (bits - 1)) != 0) {
      plan.reason = "dates, but day and month are ambiguous (such as " + shown(e.first) +
                    "): kept as text; with the type given as date, " + date_format(layout_in(bits), e.facts) +
                    " is used";
      return plan;
    }
    plan.type = dates != 0 ? ColumnType::date : ColumnType::datetime;
    plan.layout = layout_in(bits);
    plan.format = dates != 0 ? date_format(plan.layout, e.facts) : datetime_format(plan.layout, e);
    plan.decimals = dates != 0 ? 0 : e.second_digits;
    plan.reason = all + (dates != 0 ? " are dates like " : " are dates with a time like ") + plan.format;
  } else {
    plan = plan_text(e, place);
  }
  return plan;
}

ColumnPlan force_type(ColumnType type, const TypeEvidence& e, char delimiter, const std::string& reason) {
  ColumnPlan plan;
  // If the values disagree, the first one determines the type, and the first value that differs is the odd one.
  const uint32_t forms = e.forms != 0 && !e.first.empty() ? e.forms : e.first_forms;
  if (type == ColumnType::integer || type == ColumnType::decimal) {
    plan = plan_number(e, forms, delimiter);
    if (type == ColumnType::integer) plan.decimals = 0, plan.format.clear();
  }
  if (type == ColumnType::date || type == ColumnType::datetime) {
    plan.layout = layout_in((forms & kDatetimes) >> kDatetimeShift);
    plan.format = type == ColumnType::date ? date_format(plan.layout, e.facts) : datetime_format(plan.layout, e);
    plan.decimals = type == ColumnType::date ? 0 : e.second_digits;
  }
  plan.type = type;
  plan.forced = true;
  plan.reason = reason;
  return plan;
}

}  // namespace tessera
