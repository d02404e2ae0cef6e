#include "tables/sequence/cell_text.h"

#include "tables/formats/moments.h"
#include "tables/formats/values.h"

namespace tessera {

std::string cell_text(const Column& column, int64_t row) {
  if (column.is_missing(row)) return "nothing";
  std::string out;
  const auto at = static_cast<size_t>(row);
  switch (column.type) {
    case ColumnType::integer:
    case ColumnType::decimal: write_shortest(column.numbers[at], out); return out;
    case ColumnType::date: write_date(column.numbers[at], column.format, out); return out;
    case ColumnType::datetime: write_datetime(column.numbers[at], column.format, column.decimals, out); return out;
    default: return "\"" + column.values[static_cast<size_t>(column.codes[at])] + "\"";
  }
}

}  // namespace tessera
