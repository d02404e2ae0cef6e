#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/text/option_text.h"
#include "models/api/rows.h"
#include "models/api/support/context.h"
#include "models/api/support/csv_options.h"
#include "models/api/support/file_uses.h"
#include "models/api/support/handles.h"
#include "tables/arrow/export.h"
#include "tables/arrow/import.h"
#include "tables/arrow/metadata.h"
#include "tables/csv/example.h"
#include "tables/csv/reader.h"
#include "tables/csv/writer.h"
#include "tables/files/json_writer.h"
#include "tables/files/table_file.h"
#include "tables/kinds/arrow_type.h"
#include "tables/kinds/kind.h"
#include "tables/text_endings.h"

using namespace tessera;
using namespace tessera::api;

namespace {

// The type of a column of another program, where its Arrow format alone decides it; empty: its values do too.
std::optional<ColumnType> foreign_type(const ArrowSchema& column) {
  const auto arrow = ArrowType::parse(column.format == nullptr || column.dictionary != nullptr ? "" : column.format);
  if (!arrow || arrow->kind == ArrowKind::none) return {};
  const ColumnType type = type_of(arrow->kind);
  return tessera::kind_of(type).free_text || (is_quantity(type) && !tessera::kind_of(type).whole) ? std::nullopt
                                                                                                  : std::optional(type);
}

// A schema as a table without rows; columns of other programs whose type is open are left out.
Table schema_table(const ArrowSchema& schema) {
  Table table;
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema& child = *schema.children[i];
    Column column;
    column.name = child.name == nullptr ? "" : child.name;
    if (!restore_column(decode_metadata(child.metadata), column)) {
      const auto type = foreign_type(child);
      if (!type) continue;
      column.type = *type, column.format.clear();
    }
    table.columns.push_back(std::move(column));
  }
  return table;
}

void open_csv(const tessera_context* context, const std::vector<std::string>& paths, const tessera_csv_options& o,
              ArrowArrayStream& out) {
  CsvOptions csv = csv_options(o, paths[0]);
  csv.also.assign(paths.begin() + 1, paths.end());
  Table like;
  if (o.like != nullptr) {
    like = schema_table(*o.like);
    csv.like = &like;
    csv.more_columns = o.more_columns != 0 || static_cast<int64_t>(like.columns.size()) < o.like->n_children;
  }
  for (const std::string& path : paths) {
    check_is_text(path);
    if (text_ending(path).json && (o.delimiter != 0 || o.header != TESSERA_HEADER_DETECT))
      throw Error(ErrorCode::usage, path + ": `delimiter` and `header` are for CSV files.");
  }
  api::Call call(context);
  csv_open(csv, call.team(), call.monitor(), &out);
}

bool is_like_input(const tessera_csv_write_options& o) {
  const std::string format = text_or(o.format, "like-input");
  if (!format.empty() && format != "like-input" && format != "plain")
    throw Error(ErrorCode::usage, fmt::format("{}: there are like-input and plain.", option_text("format", format)));
  return format != "plain";
}

void write_text(const tessera_context* context, ArrowArrayStream* rows, const char* path,
                const tessera_csv_write_options& o) {
  CsvWriteOptions csv;
  csv.path = path;
  csv.overwrite = o.overwrite != 0;
  const TextEnding ending = text_ending(path);
  csv.delimiter = o.delimiter != '\0' ? checked_delimiter(o.delimiter) : ending.delimiter;
  csv.like_input = is_like_input(o);
  csv.compression = ending.compression;
  if (ending.json && o.delimiter != '\0')
    throw Error(ErrorCode::usage, fmt::format("{}: `delimiter` is for CSV files.", path));
  api::Call call(context);
  const CsvWritten written =
      ending.json ? json_write(rows, csv, ending.lines, call.monitor()) : csv_write(rows, csv, call.monitor());
  if (o.written != nullptr) *o.written = written.rows;
}

// Whether a column was another text in the fitted table than it is in the stream, a number for instance.
bool texts_differ(ArrowArrayStream* rows) {
  ArrowSchema schema{};
  if (rows->get_schema(rows, &schema) != 0) return false;  // who reads the stream says why
  bool differ = false;
  for (int64_t j = 0; j < schema.n_children; ++j)
    differ |= decode_metadata(schema.children[j]->metadata).contains(kArrowKey);
  schema.release(&schema);
  return differ;
}

// The rows with the texts of the fitted table.
void as_fitted(const std::shared_ptr<api::Call>& call, ArrowArrayStream* rows, ArrowArrayStream* out) {
  const auto tables = std::make_shared<TableStream>(rows, call->team(), call->monitor());
  table_stream(
      tables->schema(), [call, tables](Table& batch) { return tables->next(batch); }, out, true);
}

}  // namespace

tessera_status tessera_table_open(const tessera_context* context, const char* const* paths, size_t count,
                                  const tessera_csv_options* options, ArrowArrayStream* rows) {
  return guarded([&] {
    auto& out = required(rows, "rows");
    required(paths, "paths");
    if (count == 0) throw Error(ErrorCode::usage, "No input file is named.");
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.emplace_back(&required(paths[i], "paths[i]"));
    names = expand_paths(names);
    check_each_once(names);
    const tessera_csv_options o = read_options(options);
    const bool csv = kind_of_input(names[0]) == FileKind::csv;
    const auto other = std::find_if(names.begin() + 1, names.end(), [&](const std::string& name) {
      return (kind_of_input(name) == FileKind::csv) != csv;
    });
    if (other != names.end())
      throw Error(
          ErrorCode::usage,
          fmt::format("{} is a text file and {} is not: files that are read together must have the same format.",
                      csv ? names[0] : *other, csv ? *other : names[0]));
    if (o.max_rows < 0)
      throw Error(ErrorCode::usage, fmt::format("`max_rows={}`: it must be 0 (all) or more.", o.max_rows));
    if (o.max_rows > 0 && csv)
      throw Error(ErrorCode::usage,
                  names[0] + ": `max_rows` is for Parquet and Arrow files, which state their number of rows.");
    if (csv) return open_csv(context, names, o, out);
    if (text_or(o.types, "") != "" || text_or(o.missing, "") != "" || o.delimiter != 0 ||
        o.header != TESSERA_HEADER_DETECT || text_or(o.schema, "") != "")
      throw Error(ErrorCode::usage,
                  names[0] +
                      ": `types`, `schema`, `missing`, `delimiter` and `header` are for text files; the columns "
                      "of this file have types. Cast them in the file.");
    const auto call = std::make_shared<api::Call>(context);
    call->monitor().check_cancelled("read");
    open_arrow_files(
        names, {o.max_rows, o.sample_seed},
        [call](int64_t n, bool finished) {
          const auto done = static_cast<double>(n);
          call->monitor().check_cancelled("read");
          call->monitor().report({"read", done, finished ? done : 0, "rows", "", finished});
        },
        &out);
  });
}

tessera_status tessera_table_write(const tessera_context* context, ArrowArrayStream* rows, const char* path,
                                   const tessera_csv_write_options* options) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    const tessera_csv_write_options o = read_options(options);
    if (kind_of_output(&required(path, "path")) == FileKind::csv) return write_text(context, incoming.get(), path, o);
    if (o.delimiter != '\0') throw Error(ErrorCode::usage, fmt::format("{}: `delimiter` is for CSV files.", path));
    const auto call = std::make_shared<api::Call>(context);
    call->monitor().check_cancelled("write");
    ArrowArrayStream fitted{};
    const bool differ = texts_differ(incoming.get());
    if (differ) as_fitted(call, incoming.get(), &fitted);
    const int64_t written = write_arrow_file(differ ? &fitted : incoming.get(), path, o.overwrite != 0);
    if (o.written != nullptr) *o.written = written;
  });
}

tessera_status tessera_example(const tessera_context* context, const char* name, int64_t rows, uint64_t seed,
                               ArrowArrayStream* out) {
  return guarded([&] {
    auto& stream = required(out, "out");
    if (text_or(name, "people") != "people")
      throw Error(ErrorCode::usage, fmt::format("There is no example \"{}\". Known: people.", name));
    if (rows < 0) throw Error(ErrorCode::usage, fmt::format("An example cannot have {} rows.", rows));
    live(context, "context");
    example_people(rows, seed, &stream);
  });
}
