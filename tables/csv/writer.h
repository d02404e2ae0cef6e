// Arrow streams as CSV files.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/monitor.h"
#include "base/storage/compression.h"
#include "tables/csv/reader.h"
#include "tessera/arrow.h"

namespace tessera {

struct CsvWriteOptions {
  std::string path;        // "-": standard output
  bool overwrite = false;  // replace an existing file
  char delimiter = 0;      // 0: the input's, or a comma
  // values and file as in the input, so far as the stream knows it; else numbers with a point and nothing around them,
  // ISO 8601, and a plain file
  bool like_input = true;
  bool fsync = true;  // the bytes are synced when the call returns
  Compression compression = Compression::none;
};

struct CsvWritten {
  int64_t rows = 0;
  int64_t bytes = 0;  // of the file
};

// The format that other programs read without being told.
void make_plain(Column& column);

// Writes header and rows, UTF-8, "\n" at line ends, and always releases the stream. The file appears whole or not at
// all: it is written under a temporary name in the same folder, then renamed; on any error that is removed and the
// previous file stays.
// Missing values are empty fields ("" if the table has one column, because a blank line is not a row). Values keep
// their input form: integers whole, decimals with the column's digits, formats as read, categories and booleans as
// spelled; quotes only where needed, or where the input had them.
// Foreign streams are written too (formats as table_import()). Phase reported: "write", in rows.
// Throws Error(io): the file exists and overwrite is off, directory, permission, full disk, closed pipe · the stream's
// own error.
CsvWritten csv_write(ArrowArrayStream* stream, const CsvWriteOptions& options, const Monitor& monitor);

// Appends a field: in quotes if a reader would otherwise misread it (delimiter, quote, line end, spaces at the ends, or
// empty), or `always`.
void append_field(std::string_view text, char delimiter, std::string& out, bool always = false);

}  // namespace tessera
