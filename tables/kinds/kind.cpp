#include "tables/kinds/kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tables/formats/durations.h"
#include "tables/formats/number_format.h"
#include "tables/formats/values.h"
#include "tables/kinds/kinds.h"

namespace tessera {

namespace {

constexpr std::array<const ColumnKind*, 9> kKinds{&kinds::kWhole,      &kinds::kDecimal,  &kinds::kBoolean,
                                                  &kinds::kCategory,   &kinds::kDate,     &kinds::kDatetime,
                                                  &kinds::kIdentifier, &kinds::kConstant, &kinds::kUuid};

}  // namespace

std::span<const ColumnKind* const> all_kinds() { return kKinds; }

const ColumnKind& kind_of(ColumnType type) { return *kKinds[static_cast<size_t>(type)]; }

const char* name(ColumnType type) { return kind_of(type).name; }

bool parse_column_type(const std::string& text, ColumnType& t) {
  const auto at = std::find_if(kKinds.begin(), kKinds.end(), [&](const ColumnKind* k) { return text == k->name; });
  if (at != kKinds.end()) t = (*at)->type;
  return at != kKinds.end();
}

std::string type_in_words(const Column& column) { return std::string(kind_of(column).called) + name(column.type); }

std::string value_text(const Column& column, size_t row) {
  return is_numeric(column.type) ? fmt::format("{}", column.numbers[row] + 0.0)
                                 : column.values[static_cast<size_t>(column.codes[row])];
}

double in_unit_of(const Column& to, const Column& from, double x) {
  const double units = kind_of(to).unit / kind_of(from).unit;
  return units == 1 || !is_instant(to) || !is_instant(from) ? x : std::ceil(x * units);
}

void become_count(Column& column, int digits) {
  column.type = digits == 0 ? ColumnType::integer : ColumnType::decimal;
  column.decimals = digits == kAllDigits ? 15 : digits;
  column.format = digits == kAllDigits ? "%g" : "";
  column.arrow.clear();
}

void become_moment(Column& column, bool day, bool time) {
  column.type = !day ? ColumnType::integer : time ? ColumnType::datetime : ColumnType::date;
  column.decimals = 0;
  column.format = day ? kind_of(column).pattern : "%H:%M:%S";
  column.arrow.clear();
}

void become_regenerated(Column& column, std::string reason) {
  const auto known = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const ColumnKind* k) { return k->regenerated && column.kind == k->texts; });
  column.type = known == kKinds.end() ? ColumnType::identifier : (*known)->type;
  column.reason = std::move(reason);
  remember_arrow(std::string(column.arrow), column);  // regenerated texts need not be valid dates
}

std::string cell_text(const Column& column, int64_t row) {
  if (column.is_missing(row)) return "nothing";
  std::string out;
  kind_of(column).write(column, static_cast<size_t>(row), out);
  return out;
}

namespace kinds {

std::string no_arrow(const Column&) { return ""; }

bool fits_everything(const ArrowType&) { return true; }

void write_text(const Column& column, size_t row, std::string& out) {
  out += '"' + column.values[static_cast<size_t>(column.codes[row])] + '"';
}

bool read_quantity(const Column& column, const std::string& text, double& x) {
  if (is_clock_format(column.format)) {
    if (read_clock(text, x)) return true;
  } else if (NumberFormat f; !column.format.empty() && NumberFormat::parse(column.format, f)) {
    if (f.read(text, x) == Reading::ok) return true;
  }
  return read_finite(text, x);
}

void write_quantity(const Column& column, size_t row, std::string& out) { write_shortest(column.numbers[row], out); }

}  // namespace kinds
}  // namespace tessera
