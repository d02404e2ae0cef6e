#include "tables/kinds/number_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tables/formats/durations.h"
#include "tables/formats/moments.h"
#include "tables/table/decimals.h"

namespace tessera {

namespace {

int fine_decimals(const std::string& format) { return std::clamp(std::atoi(format.c_str() + 2), 0, kMaxFine); }

}  // namespace

NumberWriter::NumberWriter(const Column& column)
    : kind_(column.type == ColumnType::integer ? Kind::whole : Kind::fixed),
      decimals_(column.type == ColumnType::integer ? 0 : column.decimals),
      format_(column.format) {
  if (column.type == ColumnType::date) kind_ = Kind::date;
  else if (column.type == ColumnType::datetime) kind_ = Kind::datetime;
  else if (format_ == "%g") kind_ = Kind::shortest;
  else if (is_shortest(format_)) kind_ = Kind::fine, decimals_ = fine_decimals(format_);
  else if (is_clock_format(format_))
    kind_ = format_.find("%I") != std::string::npos || format_.find("%-I") != std::string::npos ? Kind::time_of_day
                                                                                                : Kind::duration;
  else if (!format_.empty() && NumberFormat::parse(format_, picture_)) kind_ = Kind::picture;
}

void NumberWriter::write(double value, std::string& out) const {
  switch (kind_) {
    case Kind::whole: out += std::to_string(static_cast<int64_t>(value)); break;
    case Kind::fixed: write_decimal(value, decimals_, out); break;
    case Kind::shortest: write_shortest(value, out); break;
    case Kind::fine: write_fine(value, decimals_, out); break;
    case Kind::picture: picture_.write(value, out); break;
    case Kind::time_of_day: write_time_of_day(value, format_, decimals_, out); break;
    case Kind::duration: write_duration(value, format_, decimals_, out); break;
    case Kind::date: write_date(value, format_, out); break;
    case Kind::datetime: write_datetime(value, format_, decimals_, out); break;
  }
}

namespace {

bool has_exponent(const Column& c, NumberFormat& f) {
  return c.type == ColumnType::decimal && c.format.find_first_of("eE") != std::string::npos &&
         NumberFormat::parse(c.format, f) && f.exponent > 0;
}

}  // namespace

int digits_of(const Column& column) {
  return column.type == ColumnType::decimal && is_shortest(column.format) ? kAllDigits : decimals_of(column);
}

double rounded(double x, int digits) { return digits == kAllDigits ? x : round_decimals(x, digits); }

double as_written(const Column& column, double x) {
  if (column.type != ColumnType::decimal || column.decimals > 15 || column.format == "%g") return x;
  if (is_shortest(column.format)) {
    std::string text;
    write_fine(x, fine_decimals(column.format), text);
    return read_finite(text, x), x;
  }
  if (NumberFormat f; has_exponent(column, f)) return f.with_its_digits(x);
  const double scale = std::pow(10.0, column.decimals), scaled = x * scale;
  return std::abs(scaled) < 0x1p53 ? std::nearbyint(scaled) / scale : x;
}

void round_as_written(Column& column) {
  if (column.type != ColumnType::decimal || column.decimals > 15 || column.format == "%g") return;
  if (NumberFormat f; has_exponent(column, f)) {
    for (double& x : column.numbers) x = f.with_its_digits(x);
    return;
  }
  const bool fine = is_shortest(column.format);
  const double grid = grid_of(column.decimals);
  for (double& x : column.numbers)
    if (fine ? x == x : std::abs(x) * grid >= 0x1p51) x = as_written(column, x);  // on_grid() leaves them
}

void limit_digits(Column& column) {
  NumberFormat f;
  if (column.type != ColumnType::decimal || !NumberFormat::parse(column.format, f) || f.exponent > 0) return;
  f.most = std::min(f.most, column.decimals);
  f.least = std::min(f.least, f.most);
  column.format = f.text();
}

}  // namespace tessera
