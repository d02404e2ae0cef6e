// The options for reading a CSV file, from the C interface.
#pragma once
#include "tables/csv/reader.h"
#include "tessera/tessera.h"

namespace tessera::api {

char checked_delimiter(char delimiter);  // Error(usage) for a quote, a line end, or a byte beyond ASCII

// All but `like`. Errors: usage; data, io, of a schema file.
CsvOptions csv_options(const tessera_csv_options& o, const std::string& path);

}  // namespace tessera::api
