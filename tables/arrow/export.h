// Tables as Arrow C streams (https://arrow.apache.org/docs/format/CStreamInterface.html), which any program reads
// without a copy.
//   integer int64 · decimal float64 · boolean bool · date date32 · datetime timestamp[s, ms or us by its decimals]
//   category, identifier, constant: dictionary<int32, utf8>; large_utf8 if the texts need more than 2 GiB
// but a column imported in another Arrow format is exported in that (Column::arrow), texts only if plain ones are
// requested.
// Properties that Arrow cannot express (type, reason, decimals, format, the spelling of booleans) are column metadata
// under "tessera.…", read back by table_import().
#pragma once
#include <functional>

#include "tables/table/table.h"
#include "tessera/arrow.h"

namespace tessera {

// One batch that holds the table's memory; each column is freed when its array is released.
void table_export(Table&& table, ArrowArrayStream* out, bool plain_texts = false);

// Pulls tables of the schema's columns (same names and types) until next() returns false. An exception in next()
// becomes an error of the stream: its message is get_last_error(), its kind the error number
// (tables/arrow/metadata.h).
void table_stream(Table schema, std::function<bool(Table&)> next, ArrowArrayStream* out, bool plain_texts = false);

// The tables behind a stream that one of these functions made, read without Arrow; null schema: it has another maker,
// plain texts, or Arrow types that round. `whole`: of table_export().
struct OwnTables {
  const Table* schema = nullptr;
  bool whole = false;
};
OwnTables own_tables(const ArrowArrayStream& stream);
// The next of them, as get_next() gives a batch: the error number and, in the stream, its message.
int next_own_table(ArrowArrayStream& stream, Table& batch, bool& more);

}  // namespace tessera
