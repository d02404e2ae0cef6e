// A CSV file as a table, and as an Arrow stream. Dialect, types and errors: docs/data/tables.md.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "tables/table/table.h"
#include "tessera/arrow.h"

namespace tessera {

struct CsvOptions {
  enum class Header { automatic, yes, no };
  std::string path;  // "-": standard input
  // further files: their rows follow, with the same columns in the same order
  std::vector<std::string> also;
  char delimiter = 0;  // 0: detected among , ; tab |
  Header header = Header::automatic;
  // additional spellings of "no value", in every column
  std::vector<std::string> missing;
  std::vector<std::pair<std::string, std::string>> types;  // column, type name: read the column as this type
  // column, strftime-like format of a date or datetime whose type is given; column, Column::least_rows
  std::vector<std::pair<std::string, std::string>> formats;
  std::vector<std::pair<std::string, int64_t>> least_rows;
  std::vector<std::pair<std::string, std::string>> domains;  // column, Column::domain
  std::vector<std::string> rules;                            // Table::rules
  std::vector<std::string> named;                            // columns that must be there
  // a schema: its columns, in its order, with its types. Outlives the call
  const Table* like = nullptr;
  // the file may have others: they come first, with the detected types
  bool more_columns = false;
  bool fewer_columns = false;  // the file may lack some of them
};

// Reads the whole file. The text is parsed in two passes, in pieces of 1 MiB split at row boundaries; the table is the
// same for any number of threads.
// Phases reported: "read" and "types", in bytes. Throws Error(io | data | usage | cancelled | memory); messages begin
// with "file:line:".
Table csv_read(const CsvOptions& options, Team& team, const Monitor& monitor);

// The same as a stream of one batch. The file is read here, not in get_next, so that errors keep their kind.
void csv_open(const CsvOptions& options, Team& team, const Monitor& monitor, ArrowArrayStream* out);

}  // namespace tessera
