#include "tables/arrow/import.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/text/ascii.h"
#include "base/text/utf8.h"
#include "tables/arrow/column.h"
#include "tables/arrow/export.h"
#include "tables/arrow/holder.h"
#include "tables/arrow/metadata.h"
#include "tables/kinds/kind.h"
#include "tables/kinds/row_formats.h"
#include "tables/table/suggestions.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

constexpr int64_t kMaxColumns = 1 << 20;

[[noreturn]] void fail_producer(const std::string& what) {
  throw Error(ErrorCode::data, what + "\n  The program that made the stream is at fault.");
}

[[noreturn]] void fail_stream(ArrowArrayStream* stream, int error) {
  const char* message = stream->get_last_error == nullptr ? nullptr : stream->get_last_error(stream);
  throw Error(code_of(error), message != nullptr && *message != 0
                                  ? message
                                  : std::string("The Arrow stream failed: ") + std::strerror(error) + ".");
}

// body(); what is wrong with the rows of a file says which file it is.
template <class Body>
auto naming_file(const ArrowArrayStream& stream, Body body) {
  try {
    return body();
  } catch (const Error& e) {
    const std::string file = e.code() == ErrorCode::data ? file_of(stream) : "";
    std::string what = e.what();
    if (file.empty()) throw;
    if (constexpr std::string_view kStream = "Arrow stream"; what.starts_with(kStream))  // ", row 7: …"
      throw Error(e.code(), what.replace(0, kStream.size(), file));
    what[0] = lower(what[0]);
    throw Error(e.code(), file + ": " + what);
  }
}

const GivenType* wanted_type(const GivenTypes& types, const std::string& column) {
  for (const GivenType& given : types)
    if (given.column == column) return &given;
  return nullptr;
}

std::vector<ColumnImport> open_columns(const ArrowSchema& schema, const GivenTypes& types,
                                       const std::shared_ptr<MemoryLimit>& limit) {
  if (schema.release == nullptr) fail_producer("The Arrow stream returns neither a schema nor an error.");
  if (schema.format == nullptr || std::string_view(schema.format) != "+s" || schema.n_children < 0 ||
      (schema.n_children > 0 && schema.children == nullptr))
    throw Error(ErrorCode::data,
                "The Arrow stream does not hold tables: its batches are not structs.\n  Pass record batches with one "
                "child per column.");
  if (schema.n_children == 0)
    throw Error(ErrorCode::data, "The Arrow stream's table has no columns.\n  Pass at least one column.");
  if (schema.n_children > kMaxColumns)
    throw Error(ErrorCode::data, "The Arrow stream's table has " + grouped(schema.n_children) +
                                     " columns.\n  At most " + grouped(kMaxColumns) + " are supported.");
  std::vector<ColumnImport> columns;
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  for (int64_t j = 0; j < schema.n_children; ++j) {
    const ArrowSchema* child = schema.children[j];
    const std::string name = child == nullptr || child->name == nullptr ? "" : child->name;
    if (name.empty())
      throw Error(ErrorCode::data,
                  "Column " + std::to_string(j + 1) + " of the Arrow stream has no name.\n  Name every column.");
    if (find_bad_utf8(name.data(), name.data() + name.size()) != name.data() + name.size())
      throw Error(ErrorCode::data,
                  "The name of column " + std::to_string(j + 1) + " of the Arrow stream is not UTF-8.\n  Rename it.");
    if (!seen.insert(name).second)
      throw Error(ErrorCode::data,
                  "The Arrow stream has two columns named \"" + name + "\".\n  Give every column a unique name.");
    columns.emplace_back(*child, name, wanted_type(types, name), limit);
    names.push_back(name);
  }
  for (const GivenType& given : types)
    if (seen.count(given.column) == 0)
      throw Error(ErrorCode::usage, "`types`: there is no column \"" + given.column + "\"." +
                                        nearest_names(given.column, names) + "\n  Name a column of the stream.");
  return columns;
}

// The child arrays are moved out of the batch (as the interface allows), so that each is freed as soon as it is read.
void take_batch(ArrowArray& batch, std::vector<ColumnImport>& columns, Team& team) {
  if (batch.length < 0 || batch.offset < 0 || batch.length > INT64_MAX / 64 || batch.offset > INT64_MAX / 64 ||
      batch.n_children != static_cast<int64_t>(columns.size()) || batch.children == nullptr)
    fail_producer("A batch of the Arrow stream has " + counted(batch.n_children, "column") + " and " +
                  counted(batch.length, "row") + "; its schema has " +
                  counted(static_cast<int64_t>(columns.size()), "column") + ".");
  const auto* validity = batch.null_count != 0 && batch.n_buffers >= 1 && batch.buffers != nullptr
                             ? static_cast<const uint8_t*>(batch.buffers[0])
                             : nullptr;
  if (batch.null_count > 0 && validity == nullptr)
    fail_producer("A batch of the Arrow stream has " + std::to_string(batch.null_count) +
                  " missing rows, but no bitmap.");
  team.for_each(batch.n_children, [&](int64_t j) {
    ArrowArray* given = batch.children[j];
    if (given == nullptr || given->release == nullptr)
      fail_producer("A batch of the Arrow stream lacks column " + std::to_string(j + 1) + ".");
    Released<ArrowArray> child;
    child.value = *given;
    given->release = nullptr;
    columns[static_cast<size_t>(j)].add(child.value, batch.offset, batch.length, validity);
    columns[static_cast<size_t>(j)].relax();
  });
}

// A table of another call counts as one of this call.
void count_memory(Table& table, Team& team) {
  int64_t texts = 0;
  for (Column& c : table.columns) {
    c.numbers.count_by(team.limit()), c.codes.count_by(team.limit());
    for (const std::string& text : c.values) texts += static_cast<int64_t>(sizeof(std::string) + text.capacity());
  }
  table.held = team.share(texts, "the table");
}

}  // namespace

struct TableStream::State {
  // whole: batches are one table, so that rows with formats of their own need not come as their texts
  State(ArrowArrayStream* given, Team& t, const Monitor& m, GivenTypes types, bool whole)
      : team(t), monitor(m), wanted(std::move(types)) {
    stream.value = *given;  // moved, as the interface allows
    given->release = nullptr;
    if (stream.value.release == nullptr)
      throw Error(ErrorCode::usage, "The Arrow stream was already released.\n  A stream can be consumed only once.");
    if (stream.value.get_schema == nullptr || stream.value.get_next == nullptr)
      fail_producer("The Arrow stream lacks its functions get_schema or get_next.");
    if (const int error = stream.value.get_schema(&stream.value, &schema.value)) {
      schema.value.release = nullptr;  // contents left by a failed call are not ours to release
      fail_stream(&stream.value, error);
    }
    naming_file(stream.value, [&] {
      std::vector<ColumnImport> columns = open(false);
      for (ColumnImport& c : columns) bare.columns.push_back(c.finish(false));
      restore_table(decode_metadata(schema.value.metadata), bare);
    });
    own = own_tables(stream.value);
    for (const GivenType& given : wanted)
      if (const Column* c = bare.find(given.column);
          own.schema != nullptr && own.schema->find(c->name)->type != given.type)
        own = {};
    if (own.schema == nullptr) return;
    const std::vector<Column>& own_columns = own.schema->columns;
    const auto as_texts = [](const Column& c) { return by_row(c) && !is_quantity(c); };
    if (!whole && std::any_of(own_columns.begin(), own_columns.end(), as_texts)) own = {};
    else bare.columns = own_columns;  // an Arrow schema does not say in which type a text came
  }

  // The next table of a stream of our own; false: no more.
  bool take_own(Table& batch) {
    monitor.check_cancelled("read");
    bool more = false;
    if (const int error = next_own_table(stream.value, batch, more)) fail_stream(&stream.value, error);
    batch.dialect = bare.dialect, batch.rules = bare.rules;
    return more;
  }

  // A batch is counted on arrival; the columns of a whole table count themselves.
  std::vector<ColumnImport> open(bool whole) const {
    return open_columns(schema.value, wanted, whole ? team.limit() : nullptr);
  }

  // Adds one batch to the columns; returns its number of rows, −1 at the end. Memory is counted before it is allocated.
  int64_t take(std::vector<ColumnImport>& columns, MemoryShare& held, bool whole) {
    monitor.check_cancelled("read");
    Released<ArrowArray> batch;
    if (const int error = stream.value.get_next(&stream.value, &batch.value)) {
      batch.value.release = nullptr;
      fail_stream(&stream.value, error);
    }
    if (batch.value.release == nullptr) return -1;
    constexpr int64_t kMaxRows = int64_t{1} << 40;  // an invalid length of a batch must not overflow the sum
    int64_t bytes = 0;
    for (const ColumnImport& c : columns) bytes += c.bytes();
    if (!whole)
      bytes += static_cast<int64_t>(columns.size()) * std::clamp<int64_t>(batch.value.length, 0, kMaxRows) *
               static_cast<int64_t>(sizeof(int32_t));
    held.resize(bytes, "the table");
    naming_file(stream.value, [&] { take_batch(batch.value, columns, team); });
    return batch.value.length;
  }

  Table finish(std::vector<ColumnImport>& columns, int64_t rows, bool whole) {
    Table table;
    table.rows = rows;
    table.dialect = bare.dialect, table.rules = bare.rules;
    table.columns.resize(columns.size());
    naming_file(stream.value, [&] {
      team.for_each(static_cast<int64_t>(columns.size()), [&](int64_t j) {
        table.columns[static_cast<size_t>(j)] = columns[static_cast<size_t>(j)].finish(whole);
        table.columns[static_cast<size_t>(j)].relax();
      });
    });
    return table;
  }

  Released<ArrowArrayStream> stream;
  Released<ArrowSchema> schema;
  OwnTables own;
  Table bare;
  Team& team;
  const Monitor& monitor;
  GivenTypes wanted;
};

TableStream::TableStream(ArrowArrayStream* stream, Team& team, const Monitor& monitor)
    : state_(std::make_unique<State>(stream, team, monitor, GivenTypes{}, false)) {}
TableStream::~TableStream() = default;
const Table& TableStream::schema() const { return state_->bare; }

bool TableStream::next(Table& batch) {
  if (state_->own.schema != nullptr) return state_->take_own(batch);
  std::vector<ColumnImport> columns = state_->open(false);
  MemoryShare held = state_->team.share(0, "a batch");
  const int64_t rows = state_->take(columns, held, false);
  if (rows >= 0) batch = state_->finish(columns, rows, false);
  return rows >= 0;
}

Table table_import(ArrowArrayStream* stream, Team& team, const Monitor& monitor, const GivenTypes& types) {
  TableStream::State state(stream, team, monitor, types, true);
  if (state.own.whole) {
    Table table = state.bare;
    state.take_own(table);
    count_memory(table, team);
    return table;
  }
  std::vector<ColumnImport> columns = state.open(true);
  int64_t rows = 0;
  MemoryShare held = team.share(0, "the table");
  for (int64_t more; (more = state.take(columns, held, true)) >= 0;) rows += more;
  Table table = state.finish(columns, rows, true);
  table.held = std::move(held);
  return table;
}

}  // namespace tessera
