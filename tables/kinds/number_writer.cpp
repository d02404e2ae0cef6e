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
      format_(column.format),
      significant_(column.type == ColumnType::decimal ? significant_digits_of(column.format) : 0) {
  if (column.type == ColumnType::date) kind_ = Kind::date;
  else if (column.type == ColumnType::datetime) kind_ = Kind::datetime;
  else if (format_.starts_with("%g")) kind_ = Kind::shortest;
  else if (is_shortest(format_)) kind_ = Kind::fine, decimals_ = fine_decimals(format_);
  else if (is_clock_format(format_))
    kind_ = format_.find("%I") != std::string::npos || format_.find("%-I") != std::string::npos ? Kind::time_of_day
                                                                                                : Kind::duration;
  else if (!format_.empty() && NumberFormat::parse(format_, picture_)) kind_ = Kind::picture;
}

void NumberWriter::write(double value, std::string& out) const {
  if (significant_ > 0) value = with_significant(value, significant_);
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

// How the numbers of a column are rounded.
class Rounding {
 public:
  explicit Rounding(const Column& c)
      : any_(c.type == ColumnType::decimal && c.decimals <= 15),
        decimals_(c.format.starts_with("%g") ? kAllDigits
                  : is_shortest(c.format)    ? fine_decimals(c.format)
                                             : c.decimals),
        fine_(is_shortest(c.format)),
        significant_(significant_digits_of(c.format)) {
    if (NumberFormat f;
        c.format.find_first_of("eE") != std::string::npos && NumberFormat::parse(c.format, f) && f.exponent > 0)
      decimals_ = kAllDigits, significant_ = f.most + 1;
  }
  // on_grid() leaves only large numbers of fixed decimals to be rounded
  bool is_significant() const { return significant_ > 0; }
  bool rounds_all() const { return any_ && (significant_ > 0 || (fine_ && decimals_ != kAllDigits)); }
  double operator()(double x) const {
    if (!any_ || x != x) return x;
    if (fine_ && decimals_ != kAllDigits) {
      std::string text;
      write_fine(x, decimals_, text);
      read_finite(text, x);
    } else if (decimals_ != kAllDigits) {
      const double scale = std::pow(10.0, decimals_), scaled = x * scale;
      if (std::abs(scaled) < 0x1p53) x = std::nearbyint(scaled) / scale;
    }
    return significant_ > 0 ? with_significant(x, significant_) : x;
  }

 private:
  bool any_;
  int decimals_;
  bool fine_;
  int significant_;
};

}  // namespace

int digits_of(const Column& column) {
  return column.type == ColumnType::decimal && is_shortest(column.format) ? kAllDigits : decimals_of(column);
}

bool has_significant_digits(const Column& column) { return Rounding(column).is_significant(); }

double rounded(double x, int digits) { return digits == kAllDigits ? x : round_decimals(x, digits); }

double as_written(const Column& column, double x) { return Rounding(column)(x); }

void round_as_written(Column& column) {
  const Rounding as_written(column);
  if (column.type != ColumnType::decimal) return;
  const bool all = as_written.rounds_all();
  const double grid = grid_of(column.decimals);
  for (double& x : column.numbers)
    if (all || std::abs(x) * grid >= 0x1p51) x = as_written(x);
}

void limit_digits(Column& column) {
  NumberFormat f;
  if (column.type != ColumnType::decimal || !NumberFormat::parse(column.format, f) || f.exponent > 0) return;
  f.most = std::min(f.most, column.decimals);
  f.least = std::min(f.least, f.most);
  column.format = f.text();
}

void allow_digits(Column& column, int decimals) {
  column.decimals = std::max(column.decimals, decimals);
  NumberFormat f;
  if (!NumberFormat::parse(column.format, f) || f.exponent > 0 || f.most >= column.decimals) return;
  if (f.least == f.most) f.least = column.decimals;
  f.most = column.decimals;
  column.format = f.text();
}

}  // namespace tessera
