// Arrow C streams as tables.
#pragma once
#include <memory>

#include "engine/monitor.h"
#include "engine/team.h"
#include "models/table/table.h"
#include "tessera/arrow.h"

namespace tessera {

// Takes all batches and always releases the stream, also when it throws. Columns are taken in parallel and freed one by one.
//   A stream of ours (its metadata has "tessera.type") comes back as it was exported.
//   A foreign one: integers → integer (text if some have more than 15 digits), float32/64 → decimal, or integer where all are whole; bool → boolean; utf8, large_utf8
//   and dictionaries of texts → the rules for columns of text; date32/64 → date; timestamp → datetime. Then, as everywhere, constants and identifiers are seen.
// Errors: data (format that is not read, lengths, infinities, text that is not UTF-8; column and row named), or the stream's own error with its message.
Table table_import(ArrowArrayStream* stream, Team& team, const Monitor& monitor);

// The same batch by batch, in constant memory. Since no batch knows the others, a foreign stream's texts stay texts and its floats have no fixed decimals.
class TableStream {
 public:
  TableStream(ArrowArrayStream* stream, Team& team, const Monitor& monitor);  // takes the stream; team and monitor must outlive this
  ~TableStream();
  TableStream(const TableStream&) = delete;
  TableStream& operator=(const TableStream&) = delete;

  const Table& schema() const;  // columns without rows
  bool next(Table& batch);      // false: no more. Errors as table_import()

 private:
  friend Table table_import(ArrowArrayStream*, Team&, const Monitor&);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
