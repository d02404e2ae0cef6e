// Seconds since 1970-01-01T00:00:00, without a zone.
#include <fmt/format.h>

#include <cstdlib>

#include "tables/formats/moments.h"
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

constinit const ColumnKind kDatetime{
    .type = ColumnType::datetime,
    .name = "datetime",
    .holds = "dates with times",
    .cell = "a date with time in this column's format",
    .ordered = true,
    .unit = kSecondsPerDay,
    .day = kSecondsPerDay,
    .pattern = "%Y-%m-%d %H:%M:%S",
    .arrow =
        [](const Column& column) {
          const char* unit = column.decimals == 0 ? "tss:" : column.decimals <= 3 ? "tsm:" : "tsu:";
          int minutes = 0;
          if (!has_offset(column.format, minutes)) return std::string(unit);
          if (minutes == 0) return std::string(unit) + "UTC";
          const int distance = std::abs(minutes);
          return fmt::format("{}{}{:02}:{:02}", unit, minutes < 0 ? '-' : '+', distance / 60, distance % 60);
        },
    .fits = [](const ArrowType& type) { return type.kind == ArrowKind::moment; },
    .read =
        [](const Column& column, const std::string& text, double& x) {
          if (read_datetime(text, column.format, x)) return true;
          if (!read_date(text, "%Y-%m-%d", x)) return false;
          x *= kSecondsPerDay;
          return true;
        },
    .example = "'2020-01-31' or '2020-01-31T23:59:59'",
    .write = [](const Column& column, size_t row,
                std::string& out) { write_datetime(column.numbers[row], column.format, column.decimals, out); },
};

}  // namespace tessera::kinds
