// CSV: any bytes are a table or an error with a place. What was read is written and read again: the same rows.
//   input: delimiter, header, then the file
#include <memory>

#include "fuzz/input.h"
#include "tables/arrow/export.h"
#include "tables/csv/dialect.h"
#include "tables/csv/reader.h"
#include "tables/csv/scan.h"
#include "tables/csv/writer.h"

using namespace tessera;

namespace {

// On memory that ends where the text ends, so that a byte read beyond is seen.
void scan_exactly(std::string_view text, char delimiter) {
  const std::unique_ptr<char[]> copy(new char[text.size()]);
  std::memcpy(copy.get(), text.data(), text.size());
  const char *begin = copy.get(), *end = begin + text.size();
  if (delimiter == 0) delimiter = find_delimiter(begin, end);
  find_header(begin, end, delimiter);
  std::string scratch;
  try {
    for (CsvScanner scanner(begin, end, delimiter); scanner.next();)
      for (size_t j = 0; j < scanner.count(); ++j) csv_text(scanner.fields()[j], scratch);
  } catch (const CsvFault&) {}
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Bytes in(data, size);
  CsvOptions options;
  constexpr char kDelimiters[] = {0, ',', ';', '\t', '|', 'x', ' '};
  options.delimiter = in.one_of(kDelimiters);
  constexpr CsvOptions::Header kHeaders[] = {CsvOptions::Header::automatic, CsvOptions::Header::yes,
                                             CsvOptions::Header::no};
  options.header = in.one_of(kHeaders);
  const std::string_view text = in.rest();
  scan_exactly(text, options.delimiter);

  static Team team(1);
  const Monitor monitor;
  try {
    const fuzz::MemoryFile file(text);
    options.path = file.path();
    Table table = csv_read(options, team, monitor);
    const int64_t rows = table.rows;
    const size_t columns = table.columns.size();
    ArrowArrayStream stream;
    table_export(std::move(table), &stream);
    CsvWriteOptions write;
    write.path = fuzz::scratch_path();
    write.overwrite = true;
    write.delimiter = ',';
    write.fsync = false;
    csv_write(&stream, write, monitor);
    options = {};
    options.path = write.path;
    options.delimiter = ',';
    options.header = CsvOptions::Header::yes;
    const Table again = csv_read(options, team, monitor);
    if (again.rows != rows || again.columns.size() != columns) __builtin_trap();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) __builtin_trap();
  }
  return 0;
}
