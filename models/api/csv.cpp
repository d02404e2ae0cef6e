#include <fmt/format.h>

#include "models/api/context.h"
#include "models/api/handles.h"
#include "models/api/lists.h"
#include "models/api/rows.h"
#include "models/table/arrow_export.h"
#include "models/table/arrow_metadata.h"
#include "models/table/csv_reader.h"
#include "models/table/csv_writer.h"
#include "models/table/example.h"

using namespace tessera;
using namespace tessera::api;

namespace {

// A schema this library made, as a table without rows.
Table schema_table(const ArrowSchema& schema) {
  Table table;
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema& child = *schema.children[i];
    Column column;
    column.name = child.name == nullptr ? "" : child.name;
    if (!restore_column(decode_metadata(child.metadata), column))
      throw Error(ErrorCode::usage, fmt::format("like: column \"{}\" does not come from a stream or a model of Tessera, so its type is not known here.", column.name));
    table.columns.push_back(std::move(column));
  }
  return table;
}

char checked_delimiter(char delimiter) {
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || static_cast<unsigned char>(delimiter) >= 0x80)
    throw Error(ErrorCode::usage, "A delimiter is one ASCII character other than a quote or a line end.");
  return delimiter;
}

}  // namespace

tessera_status tessera_csv_open(const tessera_context* context, const char* path, const tessera_csv_options* options, ArrowArrayStream* rows) {
  return guarded([&] {
    auto& out = required(rows, "rows");
    const tessera_csv_options o = read_options(options);
    CsvOptions csv;
    csv.path = &required(path, "path");
    csv.delimiter = checked_delimiter(o.delimiter);
    if (o.header < TESSERA_HEADER_DETECT || o.header > TESSERA_HEADER_NO) throw Error(ErrorCode::usage, fmt::format("header is {}; it must be a value of tessera_header.", static_cast<int>(o.header)));
    csv.header = o.header == TESSERA_HEADER_YES ? CsvOptions::Header::yes : o.header == TESSERA_HEADER_NO ? CsvOptions::Header::no : CsvOptions::Header::automatic;
    csv.missing = split_list(text_or(o.missing, ""));
    csv.types = split_pairs(text_or(o.types, ""), "--types");
    Table like;
    if (o.like != nullptr) {
      like = schema_table(*o.like);
      csv.like = &like;
      csv.more_columns = o.more_columns != 0;
    }
    Call call(context);
    csv_open(csv, call.team(), call.monitor(), &out);
  });
}

tessera_status tessera_csv_write(const tessera_context* context, ArrowArrayStream* rows, const char* path, const tessera_csv_write_options* options) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    const tessera_csv_write_options o = read_options(options);
    CsvWriteOptions csv;
    csv.path = &required(path, "path");
    csv.overwrite = o.overwrite != 0;
    if (o.delimiter != '\0') csv.delimiter = checked_delimiter(o.delimiter);
    Call call(context);
    const CsvWritten written = csv_write(incoming.get(), csv, call.monitor());
    if (o.written != nullptr) *o.written = written.rows;
  });
}

tessera_status tessera_example(const tessera_context* context, const char* name, int64_t rows, uint64_t seed, ArrowArrayStream* out) {
  return guarded([&] {
    auto& stream = required(out, "out");
    if (text_or(name, "people") != "people") throw Error(ErrorCode::usage, fmt::format("There is no example \"{}\". There is: people.", name));
    if (rows < 0) throw Error(ErrorCode::usage, fmt::format("An example of {} rows cannot be made.", rows));
    live(context, "context");
    example_people(rows, seed, &stream);
  });
}
