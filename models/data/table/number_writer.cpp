#include "models/data/table/number_writer.h"

#include <algorithm>

#include "models/data/formats/durations.h"
#include "models/data/formats/moments.h"

namespace tessera {

NumberWriter::NumberWriter(const Column& column)
    : kind_(column.type == ColumnType::integer ? Kind::whole : Kind::fixed),
      decimals_(column.type == ColumnType::integer ? 0 : column.decimals),
      format_(column.format) {
  if (column.type == ColumnType::date) kind_ = Kind::date;
  else if (column.type == ColumnType::datetime) kind_ = Kind::datetime;
  else if (format_ == "%g") kind_ = Kind::shortest;
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
    case Kind::picture: picture_.write(value, out); break;
    case Kind::time_of_day: write_time_of_day(value, format_, decimals_, out); break;
    case Kind::duration: write_duration(value, format_, decimals_, out); break;
    case Kind::date: write_date(value, format_, out); break;
    case Kind::datetime: write_datetime(value, format_, decimals_, out); break;
  }
}

void limit_digits(Column& column) {
  NumberFormat f;
  if (column.type != ColumnType::decimal || !NumberFormat::parse(column.format, f) || f.exponent > 0) return;
  f.most = std::min(f.most, column.decimals);
  f.least = std::min(f.least, f.most);
  column.format = f.text();
}

}  // namespace tessera
