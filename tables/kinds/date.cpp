// Days since 1970-01-01.
#include "tables/formats/moments.h"
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kDate{
    .type = ColumnType::date,
    .name = "date",
    .holds = "dates",
    .cell = "a date in this column's format",
    .ordered = true,
    .whole = true,
    .day = 1,
    .pattern = "%Y-%m-%d",
    .arrow = [](const Column&) { return std::string("tdD"); },
    .fits =
        [](const ArrowType& type) {
          const bool key = type.kind == ArrowKind::whole ? type.width >= 4 : type.width >= 8;  // as 20240131
          return type.kind == ArrowKind::day ||
                 ((type.kind == ArrowKind::whole || type.kind == ArrowKind::real) && key);
        },
    .read =
        [](const Column& column, const std::string& text, double& x) {
          if (read_date(text, column.format, x)) return true;
          if (!read_datetime(text, column.format, x)) return false;
          x /= kSecondsPerDay;
          return true;
        },
    .example = "'2020-01-31'",
    .write = [](const Column& column, size_t row,
                std::string& out) { write_date(column.numbers[row], column.format, out); },
};

}  // namespace tessera::kinds
