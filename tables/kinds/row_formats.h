// Columns of numbers of which each row is written in a format of its own: dates in several formats, times at several
// offsets from UTC.
#pragma once
#include "tables/kinds/number_writer.h"

namespace tessera {

// Then codes[row] is the row's format in `values`; −1: the column's.
inline bool by_row(const Column& column) { return is_numeric(column.type) && !column.values.empty(); }

inline bool holds_codes(const Column& column) { return !is_numeric(column.type) || by_row(column); }

inline NumberWriter writer_in(const Column& column, const std::string& format) {
  Column head;
  head.type = column.type, head.decimals = column.decimals, head.format = format;
  return NumberWriter(head);
}
inline NumberWriter writer_of(const Column& column, size_t row) {
  const int32_t format = by_row(column) ? column.codes[row] : -1;
  return writer_in(column, format < 0 ? column.format : column.values[static_cast<size_t>(format)]);
}

}  // namespace tessera
