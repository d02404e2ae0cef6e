// Whole numbers: counts, years, amounts in cents; times of day and durations in seconds, if their format says so.
#include "tables/kinds/kinds.h"

namespace tessera::kinds {

bool fits_quantity(const ArrowType& type) {
  return type.kind == ArrowKind::whole || type.kind == ArrowKind::real || type.kind == ArrowKind::exact ||
         type.kind == ArrowKind::span;
}

constinit const ColumnKind kWhole{
    .type = ColumnType::integer,
    .name = "integer",
    .holds = "whole numbers",
    .cell = "an integer",
    .ordered = true,
    .quantity = true,
    .whole = true,
    .arrow = [](const Column&) { return std::string("l"); },
    .fits = fits_quantity,
    .read = read_quantity,
    .example = "42",
    .write = write_quantity,
};

}  // namespace tessera::kinds
