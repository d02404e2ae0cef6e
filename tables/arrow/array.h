// Columns as Arrow arrays.
#pragma once
#include <string>
#include <vector>

#include "tables/table/table.h"
#include "tessera/arrow.h"

namespace tessera {

// The exported format of a column, and that of its dictionary's values ("": no dictionary).
struct ArrowFormat {
  std::string format, values;
  bool operator==(const ArrowFormat&) const = default;
};

// Texts: dictionary<int32, utf8>, or, if plain ones are requested, the imported format, else utf8. Everything else: the
// imported format, or the default (tables/kinds/arrow_type.h). large: texts of more than 2 GiB.
ArrowFormat arrow_format(const Column& column, bool plain_texts, bool large);

// An array that owns the column's memory. Throws Error(unsupported | format | memory).
void make_column_array(Column&& column, const ArrowFormat& format, ArrowArray* out);

// A batch of the table's columns.
void make_batch(Table&& table, const std::vector<ArrowFormat>& formats, ArrowArray* out);

}  // namespace tessera
