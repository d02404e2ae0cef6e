// Arrow streams as CSV files.
#pragma once
#include <cstdint>
#include <string>

#include "engine/run/monitor.h"
#include "models/data/csv/reader.h"
#include "tessera/arrow.h"

namespace tessera {

struct CsvWriteOptions {
  std::string path;        // "-": standard output
  bool overwrite = false;  // replace a file that is there
  char delimiter = ',';
  bool fsync = true;  // the bytes are on the disk when the call returns
};

struct CsvWritten {
  int64_t rows = 0;
  int64_t bytes = 0;
};

// Writes header and rows, UTF-8, "\n" at line ends, and always releases the stream. The file appears whole or not at
// all: it is written beside its place under a name of its own, then renamed; on any error that is removed and what was
// there before stays.
// Missing values are empty fields ("" where the table has one column, since a blank line is no row). Values as they
// were read: integers whole, decimals with the column's digits, dates in the column's format, categories and booleans
// as spelled; quotes only where they are needed.
// Streams that are not ours are written too (formats as table_import()). Phase reported: "write", in rows.
// Throws Error(io): the file is there and overwrite is off, directory, permission, full disk, closed pipe · the
// stream's own error.
CsvWritten csv_write(ArrowArrayStream* stream, const CsvWriteOptions& options, const Monitor& monitor);

}  // namespace tessera
