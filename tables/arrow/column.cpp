#include "tables/arrow/column.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text/utf8.h"
#include "tables/arrow/day_key.h"
#include "tables/arrow/float16.h"
#include "tables/arrow/import.h"
#include "tables/arrow/metadata.h"
#include "tables/arrow/wide_decimal.h"
#include "tables/formats/calendar.h"
#include "tables/formats/moments.h"
#include "tables/kinds/kind.h"
#include "tables/table/decimals.h"
#include "tables/types/types.h"
#include "tables/types/types_fill.h"

namespace tessera {
namespace {

// A format of the Arrow C interface as data frames name the type.
std::string type_in_words(std::string_view format) {
  constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"b", "bool"},    {"c", "int8"},    {"C", "uint8"},    {"s", "int16"},     {"S", "uint16"},
      {"i", "int32"},   {"I", "uint32"},  {"l", "int64"},    {"L", "uint64"},    {"e", "float16"},
      {"f", "float32"}, {"g", "float64"}, {"u", "string"},   {"U", "string"},    {"vu", "string"},
      {"z", "binary"},  {"Z", "binary"},  {"vz", "binary"},  {"tD", "duration"}, {"ts", "timestamp"},
      {"td", "date"},   {"tt", "time"},   {"d:", "decimal"}, {"w:", "binary"},   {"ti", "interval"}};
  for (const auto& [begin, name] : kNames)
    if (format == begin || (begin.size() == 2 && begin[0] != 'v' && format.substr(0, 2) == begin)) return name;
  return "\"" + std::string(format) + "\"";
}

constexpr int64_t kMaxExact = 999999999999999;  // 15 digits

bool is_exact(double v, int decimals) {
  return std::fabs(v) >= 9e15 || std::nearbyint(v * kPowersOfTen[decimals]) / kPowersOfTen[decimals] == v;
}

int second_digits(double seconds) {
  auto micros = static_cast<int64_t>(std::nearbyint((seconds - std::floor(seconds)) * 1e6));
  int digits = micros == 0 ? 0 : 6;
  for (; digits > 0 && micros % 10 == 0; micros /= 10) --digits;
  return digits;
}

// 0.1f means 0.1, not 0.10000000149.
double widened(float f) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, f).ptr;
  double v = 0;
  read_number({text, static_cast<size_t>(end - text)}, NumberStyle::point, v);
  return v;
}

}  // namespace

ColumnImport::ColumnImport(const ArrowSchema& schema, std::string name, const GivenType* wanted,
                           std::shared_ptr<MemoryLimit> limit)
    : schema_(&schema),
      type_(ArrowValues::type_of(schema, name)),
      wanted_(wanted == nullptr ? std::nullopt : std::optional(wanted->type)),
      format_(wanted == nullptr ? std::nullopt : wanted->format),
      kind_(wanted == nullptr ? "" : wanted->kind),
      limit_(std::move(limit)),
      numbers_(limit_, "the table"),
      codes_(limit_, "the table") {
  column_.name = name;
  const auto metadata = decode_metadata(schema.metadata);
  const auto given = metadata.find("tessera.type");
  if (given != metadata.end() && metadata.count("tessera.reason") == 0 && !wanted_) {
    wanted_.emplace();
    if (!parse_given_type(given->second, *wanted_, kind_))
      throw Error(ErrorCode::usage, "The metadata of column \"" + name + "\" give it the type \"" +
                                        given->second.substr(0, 60) + "\".\n  Types are " + given_type_names() + ".");
  }
  // Numbers as texts are read by the rules for text, as they were before.
  ours_ = metadata.contains("tessera.reason") && restore_column(metadata, column_) &&
          (!wanted_ || *wanted_ == column_.type) &&
          (kind_of(column_).free_text || (type_.kind != ArrowKind::text && fits_arrow(column_.type, type_)));
  if (!ours_) {
    // Dates of which each row has its own format travel as texts.
    if (metadata.contains("tessera.reason") && !wanted_ && type_.kind == ArrowKind::text && is_instant(column_))
      wanted_ = column_.type, reason_ = column_.reason;
    column_ = Column{};
    column_.name = std::move(name);
    as_text_ = wanted_ && !is_natural(*wanted_, type_.kind);
    return;
  }
  // Ours, and texts, although transferred as numbers.
  as_text_ = (kind_of(column_).free_text && type_.kind != ArrowKind::text) ||
             (kind_of(column_).truths && type_.kind != ArrowKind::boolean);
  if (!as_text_) return;
  for (const std::string& v : column_.values) dictionary_.code(v);
  column_.values.clear();
}

void ColumnImport::add(const ArrowArray& array, int64_t start, int64_t length, const uint8_t* row_validity) {
  const ArrowValues values(*schema_, array, start, length, column_.name);
  row_validity_ = row_validity;
  row_start_ = start;
  if (type_.kind == ArrowKind::none) codes_.insert(codes_.end(), static_cast<size_t>(length), -1);
  else if (type_.kind == ArrowKind::text) add_text(values);
  else if (as_text_) add_spelled(values);
  else if (type_.kind == ArrowKind::boolean) add_boolean(values);
  else if (type_.kind == ArrowKind::whole) add_whole(values);
  else if (type_.kind == ArrowKind::exact) add_exact(values);
  else add_numbers(values);
}

Column ColumnImport::finish(bool whole) {
  column_.codes = std::exchange(codes_, codes_.empty_like());
  column_.numbers = std::exchange(numbers_, numbers_.empty_like());
  const char* format = ArrowValues::values_of(*schema_).format;
  Column out;
  if (ours_) {
    if (as_text_ || kind_of(column_).free_text) column_.values = dictionary_.take_values();
    out = std::move(column_);
    if (is_day(out) && type_.kind != ArrowKind::day && !as_text_) read_day_keys(out.numbers);
  } else if (!whole) {
    out = finish_part();
  } else {
    out = type_.kind == ArrowKind::text || as_text_ ? finish_text() : finish_foreign();
  }
  if (ours_ && !out.arrow.empty()) return out;
  // dictionaries of text are the default; those of bytes are what Parquet files with binary columns are read as
  const bool usual = schema_->dictionary != nullptr && type_.kind == ArrowKind::text && !type_.bytes;
  remember_arrow(usual && kind_of(out).free_text ? "" : format, out);
  return out;
}

int64_t ColumnImport::bytes() const {
  const size_t arrays =
      limit_ != nullptr ? 0 : numbers_.capacity() * sizeof(double) + codes_.capacity() * sizeof(int32_t);
  return static_cast<int64_t>(arrays + 2 * text_bytes_ + static_cast<size_t>(dictionary_.size()) * 48);
}

bool ColumnImport::is_missing(const ArrowValues& values, int64_t i) const {
  if (row_validity_ != nullptr && (row_validity_[(row_start_ + i) / 8] >> ((row_start_ + i) % 8) & 1) == 0) return true;
  return values.is_null(i);
}

void ColumnImport::fail_value(int64_t row, const std::string& what, const std::string& way_out) const {
  throw Error(ErrorCode::data, "Arrow stream, row " + std::to_string(row + 1) + ": column \"" + column_.name +
                                   "\" holds " + what + ".\n  " + way_out);
}

void ColumnImport::check_text(std::string_view text) const {
  const char* end = text.data() + text.size();
  if (find_bad_utf8(text.data(), end) != end)
    fail_value(static_cast<int64_t>(codes_.size()), "bytes that are not UTF-8",
               type_.bytes ? "Omit binary columns, or convert them to text." : "Convert the texts first.");
  if (text.find('\0') != std::string_view::npos)
    fail_value(static_cast<int64_t>(codes_.size()), "a NUL byte", "Remove it: text must not contain it.");
}

int32_t ColumnImport::code_of_text(std::string_view text) {
  if (text.size() > kMaxTextBytes)  // not read first: a false offset may end it beyond its buffer
    fail_value(static_cast<int64_t>(codes_.size()),
               "a text of " + std::to_string(text.size()) + " bytes; the limit is " + std::to_string(kMaxTextBytes),
               "Shorten it, or omit the column.");
  const int32_t before = dictionary_.size();
  const int32_t code = dictionary_.code(text);
  if (dictionary_.size() != before) {
    check_text(text);
    text_bytes_ += text.size();
    if (!ours_) first_rows_.push_back(static_cast<int64_t>(codes_.size()));
  }
  return code;
}

void ColumnImport::add_text(const ArrowValues& values) {
  std::vector<int32_t> of_index;  // index into the dictionary → our code; −2: not met yet
  const ArrowValues* d = values.dictionary();
  if (d != nullptr) {
    of_index.assign(static_cast<size_t>(d->length()), -2);
    // A dictionary of our own streams is the column's complete list of values, including those not in this batch.
    for (int64_t k = 0; ours_ && !values.is_runs() && k < d->length(); ++k)
      of_index[static_cast<size_t>(k)] = d->is_null(k) ? -1 : code_of_text(d->text(k));
  }
  codes_.reserve(codes_.size() + static_cast<size_t>(values.length()));
  for (int64_t i = 0; i < values.length(); ++i) {
    int32_t code = -1;
    if (is_missing(values, i)) {
    } else if (d != nullptr) {
      int32_t& known = of_index[static_cast<size_t>(values.index(i))];
      if (known < 0) known = code_of_text(values.text(i));
      code = known;
    } else {
      code = code_of_text(values.text(i));
    }
    codes_.push_back(code);
  }
}

void ColumnImport::add_boolean(const ArrowValues& values) {
  // The spellings, ours or plain, in order of first appearance.
  for (int64_t i = 0; i < values.length(); ++i) {
    if (is_missing(values, i)) {
      codes_.push_back(-1);
      continue;
    }
    const bool truth = values.truth(i);
    size_t v = 0;
    for (bool seen = false; v < column_.values.size(); ++v)
      if (read_boolean(column_.values[v], true, seen) && seen == truth) break;
    if (v == column_.values.size()) column_.values.push_back(truth ? "true" : "false");
    codes_.push_back(static_cast<int32_t>(v));
  }
}

// Numbers of more than 15 digits would lose digits as doubles: the column becomes text.
void ColumnImport::turn_to_text() {
  as_text_ = true;
  codes_.reserve(numbers_.size());
  for (const double v : numbers_) {
    scratch_.clear();
    if (v == v) spell(v, scratch_);
    codes_.push_back(v != v ? -1 : code_of_text(scratch_));
  }
  numbers_.release();
}

void ColumnImport::add_whole(const ArrowValues& values) {
  numbers_.reserve(numbers_.size() + static_cast<size_t>(values.length()));
  for (int64_t i = 0; i < values.length(); ++i) {
    const bool missing = is_missing(values, i);
    const int64_t v = missing ? 0 : values.whole(i);
    const bool unsigned_large = !missing && values.is_too_large(i);
    if (!as_text_ && !ours_ && (unsigned_large || v > kMaxExact || v < -kMaxExact)) turn_to_text();
    if (as_text_)
      codes_.push_back(
          missing ? -1 : code_of_text(unsigned_large ? std::to_string(static_cast<uint64_t>(v)) : std::to_string(v)));
    else
      numbers_.push_back(missing          ? kMissing
                         : unsigned_large ? static_cast<double>(static_cast<uint64_t>(v))
                                          : static_cast<double>(v));
  }
}

void ColumnImport::add_exact(const ArrowValues& values) {
  for (int64_t i = 0; i < values.length(); ++i) {
    double v = kMissing;
    scratch_.clear();
    if (!is_missing(values, i)) {
      values.exact(i, scratch_);
      read_number(scratch_, NumberStyle::point, v);
      if (!as_text_ && !ours_ && significant_digits(scratch_) > 15) {
        std::string digits = std::move(scratch_);
        turn_to_text();
        scratch_ = std::move(digits);
      }
    }
    if (as_text_) codes_.push_back(v != v ? -1 : code_of_text(scratch_));
    else numbers_.push_back(v);
  }
}

double ColumnImport::number(const ArrowValues& values, int64_t i) const {
  const double v = values.number(i);
  if (std::isinf(v))
    fail_value(static_cast<int64_t>(numbers_.size() + codes_.size()), "an infinity",
               "Replace it by a number or by null: no model can learn it.");
  if (!ours_ && (type_.kind == ArrowKind::day || type_.kind == ArrowKind::moment)) check_calendar(v);
  if (!ours_ && type_.kind == ArrowKind::span && type_.layout == 't' &&
      !(v >= 0 && v <= kSecondsPerDay))  // 24:00 is the end of a day
    fail_value(static_cast<int64_t>(numbers_.size() + codes_.size()), fmt::format("a time of day of {} seconds", v),
               "Replace it by null or by a time from 0:00 to 24:00.");
  if (type_.kind != ArrowKind::real || type_.width == 8 || v != v) return v;
  return type_.width == 4 ? widened(static_cast<float>(v)) : widened_half(v);
}

// Text has four digits for a year, and Parquet stores seconds as milliseconds, so other times could be learned but not
// written.
void ColumnImport::check_calendar(double v) const {
  const double day = type_.kind == ArrowKind::day ? v : std::floor(v / kSecondsPerDay);
  if (v != v || (day >= static_cast<double>(kFirstDay) && day <= static_cast<double>(kLastDay))) return;
  const char* unit = type_.kind == ArrowKind::day ? "days" : "seconds";
  fail_value(static_cast<int64_t>(numbers_.size() + codes_.size()),
             fmt::format("a time {:.0f} {} from 1970, which is outside the years 1 to 9999", v, unit),
             "Replace it by null or by a time within these years.");
}

void ColumnImport::add_numbers(const ArrowValues& values) {
  numbers_.reserve(numbers_.size() + static_cast<size_t>(values.length()));
  for (int64_t i = 0; i < values.length(); ++i)
    numbers_.push_back(is_missing(values, i) ? kMissing : number(values, i));
}

// A value as a CSV file would hold it.
void ColumnImport::spell(double v, std::string& out) const {
  if (type_.kind == ArrowKind::day) return write_date(v, "%Y-%m-%d", out);
  if (type_.kind == ArrowKind::moment)
    return write_datetime(v, type_.zoned ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%dT%H:%M:%S", second_digits(v), out);
  if (type_.kind == ArrowKind::exact) {  // with all digits of its scale, as those that follow
    WideInteger wide;
    std::string shortest;
    write_shortest(v, shortest);
    read_wide(shortest, type_.precision, type_.scale, wide);
    return write_wide(wide, type_.scale, out);
  }
  int decimals = 0;
  while (decimals < 15 && !is_exact(v, decimals)) ++decimals;
  if (is_exact(v, decimals)) write_decimal(v, decimals, out);
  else write_shortest(v, out);
}

// Values converted to texts, each distinct one once.
void ColumnImport::add_spelled(const ArrowValues& values) {
  for (int64_t i = 0; i < values.length(); ++i) {
    scratch_.clear();
    bool missing = is_missing(values, i);
    if (missing) {
    } else if (type_.kind == ArrowKind::boolean) {
      scratch_ = values.truth(i) ? "true" : "false";
    } else if (type_.kind == ArrowKind::whole) {
      scratch_ = values.is_too_large(i) ? std::to_string(static_cast<uint64_t>(values.whole(i)))
                                        : std::to_string(values.whole(i));
    } else if (type_.kind == ArrowKind::exact) {
      values.exact(i, scratch_);
    } else {
      const double v = number(values, i);
      missing = v != v;
      if (!missing) spell(v, scratch_);
    }
    codes_.push_back(missing ? -1 : code_of_text(scratch_));
  }
}

Column ColumnImport::finish_part() {
  const bool text = type_.kind == ArrowKind::text || as_text_;
  column_.type = type_of(text ? ArrowKind::text : type_.kind);
  if (text) column_.values = dictionary_.take_values();
  else if (has_fractions(column_)) become_count(column_, kAllDigits);
  else if (has_time(column_)) plan_moment(column_.decimals, column_.format);
  else column_.format = kind_of(column_).pattern;
  return std::move(column_);
}

Column ColumnImport::finish_text() {
  TypeEvidence evidence;
  const MissingWords missing;
  for (int32_t c = 0; c < dictionary_.size(); ++c)
    evidence.add(dictionary_.value(c), first_rows_[static_cast<size_t>(c)] + 1, missing);
  if (!evidence.is_text()) {
    evidence.values = 0;
    column_.codes.each_part([&](std::span<const int32_t> codes, size_t) {
      for (const int32_t c : codes)
        evidence.values +=
            c >= 0 && !missing.always(dictionary_.value(c)) && !MissingWords::usual(dictionary_.value(c));
    });
  }
  ColumnPlan plan;
  if (wanted_) plan = force_type(*wanted_, evidence, 0, reason_, format_ ? &*format_ : nullptr, kind_);
  else if (!as_text_) plan = decide_type(evidence, 0, "row");
  else plan.reason = "numbers, some with more than 15 digits: kept as text, so that no digit is lost";
  const Bulk<int32_t> codes = std::move(column_.codes);
  const auto rows = static_cast<int64_t>(codes.size());
  Column column = make_column(column_.name, plan, rows, limit_);
  // Each distinct text is read once.
  Column once = make_column(column_.name, plan, dictionary_.size());
  Dictionary texts;
  for (int32_t c = 0; c < dictionary_.size(); ++c) {
    const CellStatus fill = fill_cell(dictionary_.value(c), plan, missing, c, once, texts);
    if (fill != CellStatus::ok)
      fail_fill(fill, "Arrow stream, row " + std::to_string(first_rows_[static_cast<size_t>(c)] + 1), column_.name,
                std::string(dictionary_.value(c)), plan);
  }
  codes.each_part([&](std::span<const int32_t> part, size_t first) {
    for (size_t i = 0; i < part.size(); ++i) {
      const int32_t c = part[i];
      if (!column.numbers.empty()) column.numbers[first + i] = c < 0 ? kMissing : once.numbers[static_cast<size_t>(c)];
      if (!column.codes.empty()) column.codes[first + i] = c < 0 ? -1 : once.codes[static_cast<size_t>(c)];
    }
    column.relax();
  });
  finish_column(column, plan, texts, evidence.first, "Arrow stream");
  if (plan.forced && !kind_of(plan.type).varies && column.values.size() > 1)
    throw Error(ErrorCode::data, "Arrow stream: column \"" + column.name + "\" should be constant, but holds \"" +
                                     column.values[0] + "\" and \"" + column.values[1] +
                                     "\".\n  Give it the type category.");
  return column;
}

Column ColumnImport::finish_foreign() {
  ColumnPlan plan;
  plan.forced = wanted_.has_value();
  plan.reason = plan.forced ? "the type was given"
                            : "the table gives it as " + type_in_words(ArrowValues::values_of(*schema_).format);
  plan.type = type_of(type_.kind);
  if (type_.kind == ArrowKind::none) plan.reason = "no row has a value";
  else if (wanted_) plan.type = *wanted_;
  Dictionary dictionary;
  for (const std::string& v : column_.values) dictionary.code(v);  // of booleans
  if (type_.kind == ArrowKind::moment) plan_moment(plan.decimals, plan.format);
  else if (is_quantity(type_of(type_.kind)) && type_.kind != ArrowKind::whole) plan_real(plan);
  else plan.format = kind_of(plan.type).pattern;
  if (!wanted_ && are_day_keys(plan.type)) {
    plan.type = type_of(ArrowKind::day), plan.format = "%Y%m%d";
    plan.reason = "whole numbers that are days, such as 20240131";
  }
  column_.type = plan.type;
  column_.reason = plan.reason;
  column_.decimals = plan.decimals;
  column_.format = plan.format;
  std::string first;
  if (!column_.numbers.empty() && column_.numbers[0] == column_.numbers[0]) spell(column_.numbers[0], first);
  const bool none = std::all_of(column_.numbers.begin(), column_.numbers.end(), [](double x) { return x != x; });
  if (none && !column_.numbers.empty() && !plan.forced) {
    column_.type = type_of(ArrowKind::none), column_.reason = "no row has a value", column_.decimals = 0,
    column_.format.clear();
    column_.codes.assign(column_.numbers.size(), -1);
    column_.numbers.release();
  }
  finish_column(column_, plan, dictionary, first, "Arrow stream");
  if (is_day(column_) && type_.kind != ArrowKind::day) read_day_keys(column_.numbers);
  return std::move(column_);
}

// As five or more texts of a CSV file would be.
bool ColumnImport::are_day_keys(ColumnType type) const {
  constexpr int64_t kMin = 5;
  int64_t days = 0;
  if (!is_quantity(type) || !kind_of(type).whole || !fits_arrow(type_of(ArrowKind::day), type_)) return false;
  for (const double key : column_.numbers) {
    if (key != key) continue;
    if (!is_recent_year(static_cast<int>(std::clamp(key / 10000, -1.0, 1e5))) || day_of_key(key) != day_of_key(key))
      return false;
    ++days;
  }
  return days >= kMin;
}

void ColumnImport::read_day_keys(Bulk<double>& numbers) const {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double key = numbers[i];
    numbers[i] = day_of_key(key);
    if (key == key && numbers[i] != numbers[i])
      fail_value(static_cast<int64_t>(i), fmt::format("{:.0f}, which is no day", key),
                 "Give the column the type integer, or write days like 20240131.");
  }
}

void ColumnImport::plan_real(ColumnPlan& plan) const {
  bool large = false;
  int& decimals = plan.decimals;
  column_.numbers.each_part([&](std::span<const double> numbers, size_t) {
    for (const double v : numbers) {
      if (v != v) continue;
      while (decimals < 15 && !is_exact(v, decimals)) ++decimals;
      if (decimals == 15 && !is_exact(v, 15)) plan.format = "%g";
      large |= std::fabs(v) > static_cast<double>(kMaxExact);
    }
  });
  const bool whole = decimals == 0 && !large;
  if (!wanted_) plan.type = type_of(whole ? ArrowKind::whole : ArrowKind::real);
  if (whole && type_.kind == ArrowKind::real) plan.reason = "floating point, but every value is whole";
  for (size_t i = 0; wanted_ && kind_of(*wanted_).whole && i < column_.numbers.size(); ++i)
    if (const double v = column_.numbers[i];
        v == v && !(std::fabs(v) <= 9007199254740992.0 && v == std::nearbyint(v))) {
      std::string text;
      write_shortest(v, text);
      fail_value(static_cast<int64_t>(i), text + ", which is not an integer",
                 "Give the column the type decimal, or round it first.");
    }
}

void ColumnImport::plan_moment(int& decimals, std::string& format) const {
  format = type_.zoned ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%dT%H:%M:%S";
  column_.numbers.each_part([&](std::span<const double> numbers, size_t) {
    for (const double v : numbers)
      if (v == v) decimals = std::max(decimals, second_digits(v));
  });
}

}  // namespace tessera
