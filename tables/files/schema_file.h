// A schema file: the user's settings for a table's columns, in JSON (docs/data/schema.md).
#pragma once
#include <string>
#include <string_view>

#include "tables/csv/reader.h"

namespace tessera {

// Adds the file's settings to `options`; types that are already given there stay. Error(io) if it cannot be read,
// Error(usage) naming the file, the column and the mistake.
void read_schema_file(const std::string& path, CsvOptions& options);

// A schema file with the columns of a table, from the JSON of inspect(). Error(format) for other JSON.
std::string schema_text(std::string_view inspected);

}  // namespace tessera
