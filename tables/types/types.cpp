#include "tables/types/types.h"

#include <fmt/format.h>

#include <bit>

#include "tables/formats/durations.h"
#include "tables/formats/moments.h"
#include "tables/kinds/kind.h"
#include "tables/texts/text_kind.h"

namespace tessera {
namespace {

bool same_words(std::string_view text, std::string_view small) {
  if (text.size() != small.size()) return false;
  for (size_t i = 0; i < small.size(); ++i)
    if ((text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]) != small[i]) return false;
  return true;
}

}  // namespace

bool parse_given_type(const std::string& text, ColumnType& type, std::string& kind) {
  kind.clear();
  if (parse_column_type(text, type)) {
    kind = kind_of(type).texts;
    return true;
  }
  TextKind of = TextKind::plain;
  if (!parse_text_kind(text, of) || of == TextKind::plain) return false;
  type = ColumnType::identifier, kind = text;
  return true;
}

std::string given_type_names() {
  std::string names;
  for (const ColumnKind* kind : all_kinds())
    names += (names.empty() ? "" : kind == all_kinds().back() ? " and " : ", ") + std::string(kind->name);
  return names + "; identifiers whose texts are known: " + text_kind_names();
}

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
  constexpr size_t kMaxBytes = 40;
  size_t cut = std::min(value.size(), kMaxBytes);
  while (cut > 0 && cut < value.size() && (static_cast<unsigned char>(value[cut]) & 0xC0) == 0x80) --cut;
  return std::string("\"").append(value, 0, cut).append(cut < value.size() ? "…\"" : "\"");
}

// Whether marks stand before three digits alone, beside whole numbers of three digits without one and none of more:
// 950 and 1,200. Fractions would also have one digit or two.
bool marks_are_groups(const TypeEvidence& e, bool comma) {
  const DigitRange written = e.written[comma];
  return written.low == 0 && written.high == 3 && (e.facts & fact::kHundreds) != 0 &&
         (e.facts & (fact::kUngrouped | fact::kExponent)) == 0;
}

// The reading of numbers in a column's format.
uint32_t kind_of_format(const std::string& format) {
  NumberFormat f;
  if (!NumberFormat::parse(format, f)) return form::kPoint;
  if (f.mark == ',') return f.group == "." ? form::kDots : form::kComma;
  return f.group == "," ? form::kThousands : f.group == kLakhs ? form::kLakhs : form::kPoint;
}

NumberStyle style_of(const TypeEvidence& e, uint32_t kinds, char delimiter, const std::string* format) {
  if (const uint32_t known = format == nullptr ? 0 : kinds & kind_of_format(*format)) kinds = known;
  const bool dots = (kinds & form::kDots) != 0 && marks_are_groups(e, false);
  if (kinds & form::kPoint && !dots) return NumberStyle::point;
  // "1,234" alone can be either; if ',' is the delimiter, a quoted one is seldom the decimal mark.
  const bool both = (kinds & form::kThousands) != 0 && (kinds & form::kComma) != 0;
  if (kinds & form::kComma && !dots && !(both && (delimiter == ',' || marks_are_groups(e, true))))
    return NumberStyle::comma;
  if (dots) return NumberStyle::dots;
  if (kinds & form::kThousands) return NumberStyle::thousands;
  if (kinds & form::kLakhs) return NumberStyle::lakhs;
  if (kinds & form::kDots) return NumberStyle::dots;
  return NumberStyle::point;
}

int layout_in(LayoutBits bits) { return bits == 0 ? 0 : std::countr_zero(bits); }

// "[fr title]", or nothing for English as usual.
std::string names_tag(const MonthNames& names, uint32_t cases) {
  constexpr const char* kCases[] = {"", "upper", "lower", "title"};
  const char* spelling = (cases & 0xF) == 0 ? "" : kCases[std::countr_zero(cases)];
  std::string tag = names.tag;
  if (*spelling != 0) tag += (tag.empty() ? "" : " ") + std::string(spelling);
  return tag.empty() ? "" : '[' + tag + ']';
}

std::string date_format(int layout, const TypeEvidence& e) {
  const Forms& forms = e.forms;
  std::string format = kDateLayouts[layout].format;
  const auto replace = [&](const char* what, const char* by) {
    if (const size_t at = format.find(what); at != std::string::npos) format.replace(at, 2, by);
  };
  if ((e.unpadded >> layout & 1) != 0) replace("%d", "%-d"), replace("%m", "%-m");
  if ((e.facts & fact::kPointZero) != 0 && layout_in(kCompactLayout) == layout) format += ".0";
  const std::string weekday = forms.weekdays == 0 ? "" : kWeekdays[std::countr_zero(forms.weekdays)];
  if (format.find("%b") == std::string::npos || forms.names == 0) return weekday + format;
  const MonthNames& names = kMonthNames[std::countr_zero(forms.names) % kMonthLists];
  if (names.whole) replace("%b", "%B");
  return names_tag(names, forms.cases) + weekday + format;
}

// Of a time of day: "%H:%M:%S", "%-I:%M %p".
std::string clock_format(uint32_t kinds, uint32_t facts) {
  const bool twelve = (kinds & form::kTwentyFour) == 0;
  std::string format = (facts & fact::kBareHour) != 0 ? "%-" : "%";
  const char* colon = (facts & fact::kBasicTime) != 0 ? "" : (facts & fact::kDottedTime) != 0 ? "." : ":";
  format += std::string(twelve ? "I" : "H") + colon + "%M";
  if ((facts & fact::kSeconds) != 0) format += std::string(colon) + "%S";
  if (twelve)
    format += std::string((facts & fact::kHalfSpace) != 0 ? " %" : "%") + ((facts & fact::kHalfLower) != 0 ? 'P' : 'p');
  return format;
}

std::string zone_format(const TypeEvidence& e) {
  if ((e.forms.kinds & form::kLocal) != 0 || (e.forms.kinds & form::kUtc) == 0) return "";
  return e.zone.empty() ? "Z" : e.zone;
}

std::string time_format(const TypeEvidence& e) {
  const bool any_time = (e.facts & fact::kTimes) != 0;
  const char* between = (e.facts & fact::kCommaSpace) != 0           ? ", "
                        : (e.facts & fact::kSpace) != 0 || !any_time ? " "
                        : (e.facts & fact::kLetterT) != 0            ? "T"
                                                                     : ":";
  return between + clock_format(e.forms.kinds, any_time ? e.facts : e.facts | fact::kSeconds);
}

// Of a date or datetime: one layout, or one of each shape that its values have. False: there are several.
bool set_layouts(const TypeEvidence& e, bool date, LayoutBits layouts, ColumnPlan& plan) {
  bool single = true;
  for (int i = 0; i < kDateLayoutCount; ++i)
    if ((layouts >> i & 1) != 0) single &= std::has_single_bit(layouts & same_shape(i));
  const LayoutBits first = e.first_forms.layouts & layouts;
  const int layout = layout_in(first != 0 ? first : layouts);
  if (!single) layouts = LayoutBits{1} << layout;
  plan.layouts = layouts;
  plan.clock_format = date ? "" : time_format(e);
  plan.format = date_format(layout, e) + plan.clock_format + (date ? "" : zone_format(e));
  if (std::has_single_bit(layouts) && (date || (e.facts & fact::kManyZones) == 0)) return single;
  for (int i = 0; i < kDateLayoutCount; ++i)
    plan.date_formats.push_back((layouts >> i & 1) != 0 ? date_format(i, e) : "");
  return single;
}

const char* style_note(NumberStyle style) {
  switch (style) {
    case NumberStyle::comma: return ", written with a decimal comma";
    case NumberStyle::thousands: return ", written with commas between thousands";
    case NumberStyle::lakhs: return ", written with commas between thousands, lakhs and crores";
    case NumberStyle::dots: return ", written with points between thousands and a decimal comma";
    case NumberStyle::point: break;
  }
  return "";
}

// Digits after the decimal mark: fixed if all values have as many, or if zeros pad to it (12, 12.50); else as many as
// each value needs.
void set_digits(const TypeEvidence& e, bool comma, NumberFormat& f) {
  const DigitRange written = e.written[comma], padded = e.padded[comma];
  const bool filled = padded.high > written.low && padded.high == written.high && written.high == e.decimals[comma];
  f.least = filled ? written.high : std::min(written.low, written.high);
  f.most = padded.high > written.low ? std::max<int>(e.decimals[comma], f.least) : written.high;
}

SignPlace sign_place(uint32_t facts) {
  return (facts & fact::kSignAround) != 0     ? SignPlace::around
         : (facts & fact::kSignBrackets) != 0 ? SignPlace::brackets
         : (facts & fact::kSignBehind) != 0   ? SignPlace::behind
         : (facts & fact::kSignInside) != 0   ? SignPlace::inside
                                              : SignPlace::front;
}

NumberFormat number_format(const TypeEvidence& e, NumberStyle style) {
  NumberFormat f;
  NumberAffix affix;
  std::string plain;
  if (e.forms.affix > 1 && split_affix(with_plain_minus(e.first, plain), affix))
    f.prefix = affix.prefix, f.suffix = affix.suffix;
  const bool comma = style == NumberStyle::comma || style == NumberStyle::dots;
  f.mark = comma ? ',' : '.';
  f.group = e.forms.separator != 0            ? std::string(group_separator(e.forms.separator))
            : style == NumberStyle::thousands ? ","
            : style == NumberStyle::lakhs     ? std::string(kLakhs)
            : style == NumberStyle::dots      ? "."
                                              : "";
  set_digits(e, comma, f);
  f.significant = e.significant.limit();
  f.plus = (e.facts & fact::kPlus) != 0 && (e.facts & fact::kNoPlus) == 0;
  f.plus_zero = f.plus && (e.facts & fact::kPlusZero) != 0;
  f.sign = sign_place(e.facts);
  f.typeset = (e.facts & fact::kTypesetMinus) != 0;
  if ((e.facts & fact::kExponent) == 0 || (e.facts & fact::kNoExponent) != 0) return f;
  f.exponent = std::clamp<int>(e.exponent_digits.low, 1, 3), f.significant = 0;
  f.upper_exponent = (e.facts & fact::kUpperExponent) != 0;
  f.plus_exponent = (e.facts & fact::kPlusExponent) != 0;
  return f;
}

ColumnPlan plan_number(const TypeEvidence& e, char delimiter, bool whole = false, const std::string* format = nullptr) {
  ColumnPlan plan;
  plan.style = style_of(e, e.forms.kinds, delimiter, format);
  const bool comma = plan.style == NumberStyle::comma || plan.style == NumberStyle::dots;
  plan.decimals = whole ? 0 : e.decimals[comma];
  // R writes 200000 as 2e+05 among whole numbers; a column of exponents only holds measurements.
  const bool exponents = (e.facts & fact::kExponent) != 0, mixed = exponents && (e.facts & fact::kNoExponent) != 0;
  const bool fractions = plan.decimals > 0 || (e.facts & fact::kTiny) != 0;
  const bool counts = !fractions && (!exponents || (mixed && (e.facts & fact::kLarge) == 0));
  plan.type = whole || counts ? ColumnType::integer : ColumnType::decimal;
  plan.number = number_format(e, plan.style);
  plan.dressed =
      e.forms.affix > 1 || e.forms.separator != 0 || (e.facts & (fact::kLedgerSigns | fact::kTypesetMinus)) != 0;
  const DigitRange written = e.written[comma], padded = e.padded[comma];
  plan.own_digits = plan.type == ColumnType::decimal && plan.style == NumberStyle::point && !plan.dressed &&
                    !exponents && padded.high > 0 && written.low < written.high && written.high <= kMaxDigits;
  NumberFormat plain;
  plain.least = plain.most = plan.decimals;
  if (plan.number == plain) return plan;
  // Fixed digits would truncate some values; others came with an exponent only where one is shorter.
  if (plan.type == ColumnType::decimal && !plan.dressed && plan.number.exponent == 0 && plan.number.mark == '.' &&
      ((e.facts & fact::kTiny) != 0 || mixed)) {
    plan.format =
        (exponents ? "%g" : "%." + std::to_string(e.fine) + "f") + significant_suffix(plan.number.significant);
  } else {
    plan.number.most = std::min(std::max(plan.number.most, plan.number.exponent > 0 ? 0 : plan.decimals), kMaxDigits);
    plan.number.least = std::min(plan.number.least, plan.number.most);
    // digits of whole numbers are zeros (3.0), unless a value that is none will be refused
    if (whole && plan.number.exponent == 0 && e.decimals[comma] > 0) plan.number.least = plan.number.most = 0;
    plan.format = plan.number == plain ? "" : plan.number.text();
  }
  return plan;
}

// The number of digits written, with trailing zeros, if equal for all values; else the number needed.
int digits_of_seconds(const TypeEvidence& e) {
  return e.second_written.low == e.second_written.high ? std::max(e.second_written.high, e.second_digits)
                                                       : e.second_digits;
}

// Seconds, written as times of day or durations.
ColumnPlan plan_clock(const TypeEvidence& e) {
  ColumnPlan plan;
  const bool time = (e.forms.kinds & form::kClock) != 0;
  plan.clock = true;
  plan.decimals = digits_of_seconds(e);
  plan.type = plan.decimals == 0 ? ColumnType::integer : ColumnType::decimal;
  const auto kind = static_cast<Duration::Kind>(layout_in((e.forms.kinds & form::kSpans) / form::kSpanClock));
  plan.format = time ? clock_format(e.forms.kinds, e.facts)
                     : duration_format(kind, (e.facts & fact::kBareHour) == 0, (e.facts & fact::kSeconds) != 0);
  plan.arrow = std::string(time ? "tt" : "tD") + (plan.decimals == 0 ? 's' : plan.decimals <= 3 ? 'm' : 'u');
  plan.reason = "all " + counted(e.values, "value") + (time ? " are times of day like " : " are durations like ") +
                plan.format + ", held in seconds";
  return plan;
}

// Whether the value that does not fit is a date too, in another format.
bool are_dates_of_several_formats(const TypeEvidence& e) {
  constexpr uint32_t kDates = form::kDate | form::kDatetime;
  Reads odd;
  read_forms(e.odd, odd);
  return (e.first_forms.kinds & kDates) != 0 && (odd.forms.kinds & kDates) != 0;
}

ColumnPlan plan_text(const TypeEvidence& e, const char* place) {
  ColumnPlan plan;
  if (e.odd_line < 0) {
    plan.reason = (e.facts & fact::kLeadingZero) != 0 ? "codes with leading zeros, such as " + shown(e.first)
                                                      : "text, such as " + shown(e.first);
    return plan;
  }
  const bool dates = are_dates_of_several_formats(e);
  plan.reason = (dates ? std::string(kDatesButText) : "text: ") + place + ' ' + std::to_string(e.odd_line) + " holds " +
                shown(e.odd) + ", after " + counted(e.values, "value") + " such as " + shown(e.first);
  if (dates) plan.reason += "; both are dates, in formats of their own: write all of them alike, such as 2024-12-31";
  return plan;
}

}  // namespace

bool MissingWords::usual(std::string_view text) {
  constexpr std::string_view kNoDay = "0000-00-00", kNoMoment = "0000-00-00 00:00:00";  // of MySQL
  if (text.size() > 4) return text == kNoDay || text == kNoMoment;
  constexpr std::string_view kWords[] = {"na",  "n/a",  "#n/a", "nan", "null", "none", "nil",
                                         "nat", "<na>", "-",    "--",  "?",    "."};
  for (const std::string_view word : kWords)
    if (same_words(text, word)) return true;
  return false;
}

void SignificantDigits::add(int digits, int decimals) {
  merge([&] {
    SignificantDigits one;
    one.most_ = static_cast<int8_t>(std::min<int>(digits, INT8_MAX)), one.decimals_ = static_cast<int8_t>(decimals);
    one.longest_ = decimals > 0 ? 1 : 0;
    return one;
  }());
}

void SignificantDigits::merge(const SignificantDigits& o) {
  if (o.most_ < most_) return;
  if (o.most_ > most_) return void(*this = o);
  const auto high = std::max(decimals_, o.decimals_);
  const int64_t longest = (decimals_ == high ? longest_ : 0) + (o.decimals_ == high ? o.longest_ : 0);
  shorter_ += longest_ + o.shorter_ + o.longest_ - longest;
  longest_ = longest, decimals_ = high;
}

// With a fixed number of decimals, numbers of the most digits have all of them but where the last one is zero: a tenth
// of them. Fewer than six digits are seldom a program's limit; doubles have 15 to 17.
int SignificantDigits::limit() const {
  constexpr int kMinDigits = 6;
  constexpr int64_t kShorter = 4;
  return most_ >= kMinDigits && most_ <= kMaxDigits && longest_ > 0 && shorter_ >= kShorter ? most_ : 0;
}

void TypeEvidence::add_facts(const Reads& r) {
  facts |= r.facts;
  for (size_t i = 0; i < 2; ++i) {
    decimals[i] = std::max(decimals[i], static_cast<int8_t>(r.decimals[i]));
    written[i].add(r.written[i]);
    padded[i].add(r.padded[i]);
  }
  groups.add(r.groups);
  if (r.exponent_digits > 0) exponent_digits.add(r.exponent_digits);
  fine = std::max(fine, static_cast<int8_t>(r.fine));
  if (r.significant > 0) significant.add(r.significant, std::max(r.decimals[0], r.fine));
  unpadded |= r.unpadded;
  second_digits = std::max(second_digits, static_cast<int8_t>(r.second_digits));
  second_written.add(r.second_written);
  if (r.zone.empty()) return;
  if (zone.empty()) zone = r.zone;
  if (zone != r.zone) facts |= fact::kManyZones;
}

void TypeEvidence::merge_facts(const TypeEvidence& next) {
  facts |= next.facts;
  for (size_t i = 0; i < 2; ++i) {
    decimals[i] = std::max(decimals[i], next.decimals[i]);
    written[i].merge(next.written[i]);
    padded[i].merge(next.padded[i]);
  }
  groups.merge(next.groups);
  exponent_digits.merge(next.exponent_digits);
  fine = std::max(fine, next.fine);
  significant.merge(next.significant);
  unpadded |= next.unpadded;
  second_digits = std::max(second_digits, next.second_digits);
  second_written.merge(next.second_written);
  if (next.zone.empty()) return;
  if (zone.empty()) zone = next.zone;
  if (zone != next.zone) facts |= fact::kManyZones;
}

namespace {

// As a number or a boolean of JSON is written.
bool is_json_value(std::string_view text, const Forms& forms) {
  return text == "true" || text == "false" ||
         ((forms.kinds & form::kPoint) != 0 && text.find_first_not_of("0123456789.-eE") == text.npos);
}

}  // namespace

void TypeEvidence::add(std::string_view text, int64_t line, const MissingWords& missing, bool is_string) {
  if (is_text()) return;
  if (missing.always(text)) return add_gap(text);
  Reads r;
  read_forms(text, r);
  if (is_string && is_json_value(text, r.forms)) r.forms.kinds &= ~(form::kNumber | form::kBoolean);
  if (r.forms.kinds == 0 && r.facts == 0 && MissingWords::usual(text)) return add_gap(text);
  add_facts(r);
  const Forms left = agreed(forms, r.forms);
  if (first.empty()) {
    first.assign(text);
    first_line = line;
    first_forms = r.forms;
  } else if (left.kinds == 0) {
    odd.assign(text);
    odd_line = line;
  }
  forms = left;
  if (!is_text()) ++values;
}

void TypeEvidence::merge(const TypeEvidence& next, int64_t line_offset) {
  if (is_text()) return;
  if (next.gap) add_gap(*next.gap);
  if (next.first.empty()) return;
  merge_facts(next);
  const Forms left = agreed(forms, next.forms);
  if (first.empty()) {
    first = next.first;
    first_line = next.first_line + line_offset;
    first_forms = next.first_forms;
    odd = next.odd;
    odd_line = next.odd_line < 0 ? -1 : next.odd_line + line_offset;
  } else if (left.kinds == 0) {
    // If the part begins with a value that does not fit, its own odd value, if any, comes later.
    const bool at_first = next.odd_line < 0 || agreed(forms, next.first_forms).kinds == 0;
    odd = at_first ? next.first : next.odd;
    odd_line = (at_first ? next.first_line : next.odd_line) + line_offset;
  }
  forms = left;
  values += next.values;
}

namespace {

// Whether the digits in groups are amounts, not the blocks of a number that somebody is called or found by; and whole
// numbers in brackets, negative ones beside positive ones, not the numbers of a list.
bool are_amounts(const TypeEvidence& e) {
  constexpr uint32_t kAmounts = fact::kNoPlus | fact::kPlus | fact::kMark;
  if ((e.facts & fact::kLedgerSigns) != 0 && (e.facts & kAmounts) == 0) return false;
  return e.forms.separator == 0 || e.groups.low != e.groups.high || e.forms.affix > 1 || (e.facts & fact::kMark) != 0;
}

// Whole numbers that all are days: five or more of them are not so by chance.
bool are_compact_days(const TypeEvidence& e) {
  constexpr int64_t kMin = 5;
  return (e.forms.kinds & form::kDate) != 0 && e.values >= kMin;
}

ColumnPlan decide_number(const TypeEvidence& e, char delimiter) {
  const std::string all = "all " + counted(e.values, "value");
  ColumnPlan plan = plan_number(e, delimiter);
  if (plan.type == ColumnType::integer && (e.facts & fact::kLong) != 0) {
    plan = ColumnPlan{};
    plan.reason =
        "digits, some with more than " + std::to_string(kMaxDigits) + ": kept as text, so that no digit is lost";
    return plan;
  }
  plan.reason = plan.type == ColumnType::integer ? all + (e.values == 1 ? " is a whole number" : " are whole numbers")
                : (e.facts & fact::kTiny) != 0   ? all + " are numbers, some with more than 15 decimals"
                                                 : all + " are numbers with up to " + counted(plan.decimals, "decimal");
  if (const int digits = significant_digits_of(plan.format); digits > 0)
    plan.reason += fmt::format(" and {} significant digits", digits);
  if (plan.dressed || plan.number.plus || plan.number.exponent > 0) plan.reason += ", written like " + plan.format;
  else plan.reason += style_note(plan.style);
  return plan;
}

ColumnPlan decide_moment(const TypeEvidence& e) {
  ColumnPlan plan;
  const bool date = (e.forms.kinds & form::kDate) != 0;
  const LayoutBits bits = e.forms.date_layouts();
  if (!set_layouts(e, date, bits, plan)) {
    plan = ColumnPlan{};
    plan.reason = std::string(kDatesButText) +
                  ((bits & kShortYears) != 0 ? "day, month and year are" : "day and month are") +
                  " ambiguous (such as " + shown(e.first) + "): kept as text; with the type given as date, " +
                  date_format(layout_in(bits), e) + " is used";
    return plan;
  }
  plan.type = date ? ColumnType::date : ColumnType::datetime;
  plan.decimals = date ? 0 : digits_of_seconds(e);
  plan.reason =
      "all " + counted(e.values, "value") + (date ? " are dates like " : " are dates with a time like ") + plan.format;
  for (const std::string& format : plan.date_formats)
    if (!format.empty() && plan.format.compare(0, format.size(), format) != 0) plan.reason += " or " + format;
  if ((bits & kShortYears) != 0) plan.reason += ", in the years 1969 to 2068";
  if ((e.facts & fact::kManyZones) != 0) plan.reason += ", at several offsets from UTC";
  return plan;
}

}  // namespace

ColumnPlan decide_type(const TypeEvidence& e, char delimiter, const char* place) {
  ColumnPlan plan;
  if (e.first.empty()) {
    plan.type = ColumnType::constant;
    plan.reason = "no row has a value";
    return plan;
  }
  if (e.forms.kinds & form::kAddress) {
    plan.reason = "IPv4 addresses";
    return plan;
  }
  if ((e.forms.kinds & form::kNumber) != 0 && are_amounts(e) && !are_compact_days(e))
    return decide_number(e, delimiter);
  if (e.forms.kinds & form::kBoolean) {
    plan.type = ColumnType::boolean;
    plan.reason = "all " + counted(e.values, "value") + " are true or false";
    return plan;
  }
  if (e.forms.kinds & (form::kDate | form::kDatetime)) return decide_moment(e);
  if (e.forms.kinds & (form::kClock | form::kSpans)) return plan_clock(e);
  return plan_text(e, place);
}

ColumnPlan force_type(ColumnType type, const TypeEvidence& e, char delimiter, const std::string& reason,
                      const std::string* format, const std::string& kind) {
  ColumnPlan plan;
  // If the values disagree, the first one determines the type, and the first value that differs is the odd one.
  TypeEvidence of = e;
  if (e.is_text()) of.forms = e.first_forms;
  if (of.forms.kinds == 0 || e.first.empty()) of.forms = Forms{.kinds = form::kLocal | form::kTwentyFour};
  if (type == ColumnType::integer || type == ColumnType::decimal) {
    const bool clock = (of.forms.kinds & (form::kClock | form::kSpans)) != 0;
    plan = clock ? plan_clock(of) : plan_number(of, delimiter, type == ColumnType::integer, format);
  }
  if (type == ColumnType::date || type == ColumnType::datetime) {
    const bool any = (of.forms.kinds & (form::kDate | form::kDatetime)) != 0;
    const LayoutBits all = any ? of.forms.date_layouts() : 1;
    const int known = format == nullptr ? 0 : layout_of(*format);
    const bool fits = format != nullptr && (all >> known & 1) != 0;
    // of layouts of the same shape the known one, else the first
    const LayoutBits chosen = fits ? all & ~(same_shape(known) & ~(LayoutBits{1} << known)) : all;
    if (!set_layouts(of, type == ColumnType::date, chosen, plan)) {
      of.first_forms.layouts = LayoutBits{1} << layout_in(chosen);
      set_layouts(of, type == ColumnType::date, of.first_forms.layouts, plan);
    }
    plan.decimals = type == ColumnType::date ? 0 : digits_of_seconds(e);
  }
  plan.type = type;
  plan.kind = kind;
  plan.forced = true;
  plan.reason = reason;
  return plan;
}

}  // namespace tessera
