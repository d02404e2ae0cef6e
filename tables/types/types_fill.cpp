#include "tables/types/types_fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/text/ascii.h"
#include "base/text/option_text.h"
#include "base/text/printable.h"
#include "tables/formats/calendar.h"
#include "tables/formats/moments.h"
#include "tables/kinds/cells.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/table/decimals.h"
#include "tables/texts/text_kind.h"
#include "tables/types/keys.h"

namespace tessera {
namespace {

constexpr int64_t kMinIdentifiers = 20;

CellStatus fill_number(std::string_view text, const ColumnPlan& plan, double& value) {
  if (plan.clock) return read_clock(text, value) ? CellStatus::ok : CellStatus::wrong;
  switch (plan.dressed ? plan.number.read(text, value) : read_number(text, plan.style, value)) {
    case Reading::ok: break;
    case Reading::too_large: return CellStatus::too_large;
    case Reading::infinite: return CellStatus::infinite;
    case Reading::no: return CellStatus::wrong;
  }
  constexpr double kExact = 9007199254740992.0;  // 2⁵³
  if (plan.type == ColumnType::integer &&
      !(std::fabs(value) <= kExact && static_cast<double>(static_cast<int64_t>(value)) == value))
    return CellStatus::wrong;
  if (plan.type == ColumnType::integer) value += 0.0;  // -0 is 0
  return CellStatus::ok;
}

// The format of a number with as many digits behind the point as this text.
std::string digits_format(std::string_view text) {
  const size_t point = text.find('.');
  NumberFormat f;
  f.least = f.most = point == std::string_view::npos ? 0 : static_cast<int>(text.size() - point) - 1;
  return f.text();
}

// Whether the digits of each number follow from the number: 12 but 12.50, or 3.0, 2.5 and 2.125. The column's format
// says them then.
bool follow_from_numbers(const Column& column) {
  std::vector<int32_t> format(kMaxDigits + 1, -1);
  for (size_t i = 0; i < column.numbers.size(); ++i) {
    if (column.codes[i] < 0) continue;
    size_t needed = 0;
    while (needed < kMaxDigits && round_decimals(column.numbers[i], static_cast<int>(needed)) != column.numbers[i])
      ++needed;
    if (format[needed] >= 0 && format[needed] != column.codes[i]) return false;
    format[needed] = column.codes[i];
  }
  return true;
}

std::string expected(const ColumnPlan& plan) {
  if (plan.dressed || plan.clock) return "written like " + plan.format;
  return kind_of(plan.type).cell;
}

CellStatus fill_moment(std::string_view text, const ColumnPlan& plan, const MissingWords& missing, size_t at,
                       Column& column, Dictionary& dictionary) {
  Moment m;
  const auto read = [&] {
    if (!read_moment(without_point_zero(text), m) || (plan.type == ColumnType::date && m.has_time)) return false;
    m.layouts &= plan.layouts | 1;  // ISO fits every format
    return m.layouts != 0;
  };
  column.numbers[at] = kMissing;
  if (plan.by_row()) column.codes[at] = -1;
  if (missing.always(text)) return CellStatus::ok;
  if (!read()) return MissingWords::usual(text) ? CellStatus::ok : CellStatus::wrong;
  const LayoutBits own = m.layouts & plan.layouts;
  const int layout = std::countr_zero(own != 0 ? own : m.layouts);
  const double day = day_of(m, layout);
  column.numbers[at] =
      plan.type == ColumnType::date ? day : day * kSecondsPerDay + m.time.seconds - static_cast<double>(m.offset) * 60;
  if (!plan.by_row()) return CellStatus::ok;
  if (own == 0 || (plan.type == ColumnType::datetime && !m.has_time)) {
    column.codes[at] = dictionary.code(plan.format);
    return CellStatus::ok;
  }
  column.codes[at] =
      dictionary.code(plan.date_formats[static_cast<size_t>(layout)] + plan.clock_format + std::string(m.zone));
  return CellStatus::ok;
}

// One spelling each for true and false: the first one.
void join_spellings(Column& column) {
  std::vector<std::string> values;
  std::vector<int32_t> to(column.values.size());
  int32_t code_of[2] = {-1, -1};
  for (size_t i = 0; i < to.size(); ++i) {
    bool truth = false;
    read_boolean(column.values[i], true, truth);
    if (code_of[truth] < 0) {
      code_of[truth] = static_cast<int32_t>(values.size());
      values.push_back(column.values[i]);
    }
    to[i] = code_of[truth];
  }
  if (values.size() == to.size()) return;
  for (int32_t& code : column.codes)
    if (code >= 0) code = to[static_cast<size_t>(code)];
  column.values = std::move(values);
}

bool is_same_throughout(const Bulk<double>& numbers) {
  for (const double v : numbers)
    if (!(v == numbers[0])) return false;
  return true;
}

// Numbers as their texts.
void become_texts(Column& column, ColumnType type, std::string reason) {
  const NumberWriter writer(column);
  Dictionary texts;
  std::string text;
  column.codes.resize(column.numbers.size());
  for (size_t i = 0; i < column.numbers.size(); ++i) {
    text.clear();
    if (column.numbers[i] == column.numbers[i]) writer.write(column.numbers[i], text);
    column.codes[i] = text.empty() ? -1 : texts.code(text);
  }
  column.values = texts.take_values();
  column.type = type;
  column.reason = std::move(reason);
  column.numbers.release();
  column.decimals = 0;
  column.format.clear();
  column.arrow.clear();
}

// Times of day that each occur in several rows, such as quarters of an hour: only these are sampled.
void become_slots(Column& column) {
  constexpr size_t kMaxSlots = 256, kRowsOfEach = 5;
  std::vector<double> distinct;
  for (const double v : column.numbers) {
    if (v != v) continue;
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), v);
    if (at == distinct.end() || *at != v) distinct.insert(at, v);
    if (distinct.size() > kMaxSlots) return;
  }
  if (distinct.empty() || distinct.size() * kRowsOfEach > column.numbers.size()) return;
  become_texts(column, ColumnType::category,
               "times like " + column.format + ", " + counted(static_cast<int64_t>(distinct.size()), "value") +
                   " that repeat: kept as categories");
}

void finish_numbers(Column& column, const ColumnPlan& plan, const std::string& first) {
  const auto rows = static_cast<int64_t>(column.numbers.size());
  if (rows > 0 && column.values.empty() && is_same_throughout(column.numbers)) {
    column.type = ColumnType::constant;
    column.reason = rows == 1 ? "the only row holds \"" + first + '"' : "every row holds \"" + first + '"';
    column.values = {first};
    column.codes.assign(static_cast<size_t>(rows), 0);
  } else if (std::string why = column.type == ColumnType::integer && column.format.empty() && !plan.clock
                                   ? reason_of_key(column)
                                   : "";
             !why.empty()) {
    become_texts(column, ColumnType::identifier, std::move(why));
    column.arrow = "l";
    return;
  } else {
    if (plan.clock) become_slots(column);
    return;
  }
  column.numbers.release();
  column.decimals = 0;
  column.format.clear();
  column.arrow.clear();
}

void finish_codes(Column& column) {
  int64_t held = 0;
  column.codes.each_part([&](std::span<const int32_t> codes, size_t) {
    for (const int32_t code : codes) held += code >= 0;
  });
  const auto distinct = static_cast<int64_t>(column.values.size());
  if (distinct == 1 && held == column.size()) {
    column.type = ColumnType::constant;
    column.reason =
        held == 1 ? "the only row holds \"" + column.values[0] + '"' : "every row holds \"" + column.values[0] + '"';
  } else if (column.type == ColumnType::category && distinct == held && distinct >= kMinIdentifiers) {
    // no example: the reason is stored in the model, identifiers must not be
    become_regenerated(column, grouped(distinct) + " texts, all distinct");
  } else if (std::string why = column.type == ColumnType::category ? reason_of_key(column) : ""; !why.empty()) {
    become_regenerated(column, std::move(why));
  } else if (column.type == ColumnType::category && distinct > 0 && column.reason.rfind("text, such", 0) == 0) {
    column.reason = "text with " + grouped(distinct) + (distinct == 1 ? " value" : " distinct values");
  }
}

// Detects the kind of texts that hardly repeat.
void recognise_texts(Column& column) {
  const auto distinct = static_cast<int64_t>(column.values.size());
  if (column.type != ColumnType::identifier &&
      (column.type != ColumnType::category || distinct < kMinIdentifiers || 2 * distinct < column.size()))
    return;
  const std::vector<std::string_view> texts(column.values.begin(), column.values.end());
  const TextKind kind = text_kind_of(texts, column.name);
  if (kind == TextKind::plain) return;
  column.kind = name(kind);
  if (kind_of(column).regenerated) become_regenerated(column, column.reason);
  if (column.reason != described(kind)) column.reason += std::string(": ") + described(kind);
}

// As many others as text_kind_of() allows are not learned.
void check_given_kind(const Column& column, const std::string& place) {
  TextKind kind = TextKind::plain;
  if (column.kind.empty() || !parse_text_kind(column.kind, kind)) return;
  std::vector<char> other(column.values.size());
  for (size_t v = 0; v < other.size(); ++v) other[v] = !may_be(kind, column.values[v]);
  const auto others = std::count(other.begin(), other.end(), 1);
  if (5 * others <= std::ssize(other)) return;
  const auto row = std::find_if(column.codes.begin(), column.codes.end(),
                                [&](int32_t code) { return code >= 0 && other[static_cast<size_t>(code)] != 0; });
  throw Error(
      ErrorCode::data,
      fmt::format("{}: column \"{}\" was given the type {}, but row {} holds \"{}\"; {} of its {} are no {}.\n  "
                  "Read the column as text with {}, or give it the type that it has.",
                  place, column.name, column.kind, row - column.codes.begin() + 1,
                  printable(column.values[static_cast<size_t>(*row)].substr(0, 200)), grouped(others),
                  counted(std::ssize(other), "distinct text"), described(kind), type_option(column.name, "category")));
}

}  // namespace

Column make_column(const std::string& name, const ColumnPlan& plan, int64_t rows, std::shared_ptr<MemoryLimit> limit) {
  Column column;
  column.numbers = Bulk<double>(limit, "the table");
  column.codes = Bulk<int32_t>(std::move(limit), "the table");
  column.name = name;
  column.type = plan.type;
  column.kind = plan.kind;
  column.reason = plan.reason;
  column.decimals = plan.decimals;
  column.format = plan.format;
  column.arrow = plan.arrow;
  if (kind_of(plan.type).ordered) column.numbers.resize(static_cast<size_t>(rows));
  if (!kind_of(plan.type).ordered || plan.by_row()) column.codes.resize(static_cast<size_t>(rows));
  return column;
}

CellStatus fill_cell(std::string_view text, const ColumnPlan& plan, const MissingWords& missing, int64_t row,
                     Column& column, Dictionary& dictionary) {
  const auto at = static_cast<size_t>(row);
  bool truth;
  double value;
  CellStatus result;
  switch (plan.type) {
    case ColumnType::integer:
    case ColumnType::decimal:
      if (plan.own_digits) column.codes[at] = -1;
      result = fill_number(text, plan, value);
      // A few words look like infinities and NaNs: the user's missing values take precedence.
      if (result != CellStatus::ok || missing.has_extra()) {
        if (missing.always(text) || MissingWords::usual(text)) {
          column.numbers[at] = kMissing;
          return CellStatus::ok;
        }
        if (result != CellStatus::ok) return result;
      }
      column.numbers[at] = value;
      if (plan.own_digits) column.codes[at] = dictionary.code(digits_format(text));
      return CellStatus::ok;
    case ColumnType::date:
    case ColumnType::datetime: return fill_moment(text, plan, missing, at, column, dictionary);
    case ColumnType::boolean:
      if (missing.always(text)) column.codes[at] = -1;
      else if (read_boolean(text, plan.forced, truth)) column.codes[at] = dictionary.code(text);
      else if (MissingWords::usual(text)) column.codes[at] = -1;
      else return CellStatus::wrong;
      return CellStatus::ok;
    default:
      if (text.size() > kMaxTextBytes) return CellStatus::too_long;
      column.codes[at] =
          missing.always(text) || (plan.type == ColumnType::constant && !plan.forced) ? -1 : dictionary.code(text);
      return CellStatus::ok;
  }
}

void fail_fill(CellStatus why, const std::string& place, const std::string& column, const std::string& value,
               const ColumnPlan& plan, bool by_model) {
  if (why == CellStatus::too_long)
    throw Error(ErrorCode::data, place + ": column \"" + column + "\" holds a text of " + std::to_string(value.size()) +
                                     " bytes; the limit is " + std::to_string(kMaxTextBytes) +
                                     ".\n  Shorten it, or omit the column.");
  const std::string shown = printable(value.substr(0, 200));
  const std::string head = place + ": column \"" + column + "\" holds \"" + shown + "\", which is ",
                    as_text = by_model ? "" : "Read the column as text with " + type_option(column, "category") + ", ",
                    way_out = by_model ? "Write it as the column's other values, or leave the cell empty."
                                       : "or mark it missing with " + option_text("missing", shown) + ".";
  switch (why) {
    case CellStatus::infinite:
      throw Error(ErrorCode::data, head + "infinite: no model can learn it.\n  " +
                                       (by_model ? "" : "Replace it by a number or leave it empty, ") + way_out);
    case CellStatus::too_large:
      throw Error(ErrorCode::data, head + "too large for a double (1.8e308).\n  " + as_text + way_out);
    default: throw Error(ErrorCode::data, head + "not " + expected(plan) + ".\n  " + as_text + way_out);
  }
}

void finish_column(Column& column, const ColumnPlan& plan, Dictionary& dictionary, const std::string& first,
                   const std::string& place) {
  if (has_numbers(column)) {
    if (dictionary.size() > 1 && !(plan.own_digits && follow_from_numbers(column))) {
      column.values = dictionary.take_values();
    } else if (plan.own_digits) {
      column.codes = column.codes.empty_like();
    } else if (plan.by_row()) {
      if (dictionary.size() == 1) column.format = dictionary.take_values().front();
      column.codes = column.codes.empty_like();
    }
    if (!plan.forced) finish_numbers(column, plan, first);
    return;
  }
  column.values = dictionary.take_values();
  if (column.type == ColumnType::boolean) join_spellings(column);
  if (plan.forced) return check_given_kind(column, place);
  finish_codes(column);
  recognise_texts(column);
}

}  // namespace tessera
