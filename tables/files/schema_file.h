// A schema file: what a user says of a table's columns, in JSON (docs/data/schema.md).
#pragma once
#include <string>
#include <string_view>

#include "tables/csv/reader.h"

namespace tessera {

// Adds what the file says to `options`; types that are already given there stay. Error(io) if it cannot be read,
// Error(usage) naming the file, the column and what is wrong.
void read_schema_file(const std::string& path, CsvOptions& options);

// The text of a schema file with the columns of a table, of what inspect() gave as JSON. Error(format) for other JSON.
std::string schema_text(std::string_view inspected);

}  // namespace tessera
