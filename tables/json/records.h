// JSON records as CSV text: one record per line, or an array of records.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/monitor.h"
#include "base/storage/compression.h"

namespace tessera {

// Writes a header and one row per record to `sink`. Columns are the names of all records, in order of first appearance;
// a name that a record lacks, and null, are missing values. Strings are quoted; numbers keep their spelling.
// Error(data) naming `file`, line or record, and the name: invalid JSON, a record that is not an object or holds an
// object or an array, a name that occurs twice in a record, no records.
void records_as_csv(std::string_view json, const std::string& file, const Monitor& monitor, const ByteSink& sink);

// Outside of strings, NaN becomes an empty string, which is a missing value: Python writes missing numbers so, and JSON
// has no word for them.
void empty_nan(std::span<char> json);

}  // namespace tessera
