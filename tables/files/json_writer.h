// Arrow streams as JSON: one record per line, or an array of records.
#pragma once
#include "tables/csv/writer.h"

namespace tessera {

// As csv_write(). Numbers and booleans are JSON values, in plain digits; dates, times and texts are strings in the
// column's format; a missing value is null. Strings of a JSON file that was read are written as strings again.
// `lines`: one record per line, else an array.
CsvWritten json_write(ArrowArrayStream* stream, const CsvWriteOptions& options, bool lines, const Monitor& monitor);

}  // namespace tessera
