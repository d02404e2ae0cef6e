// Arrow C streams as tables.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/run/monitor.h"
#include "engine/run/team.h"
#include "models/data/table/table.h"
#include "tessera/arrow.h"

namespace tessera {

// Takes all batches and always releases the stream, also when it throws. Columns are taken in parallel and freed one by
// one.
//   A stream of ours (its metadata has "tessera.type") comes back as it was exported.
//   A foreign one: integers → integer; floats and decimals → decimal, or integer where all are whole (text if an
//   integer or decimal has more than 15 digits); bool → boolean;
//   utf8 and binary of all layouts and dictionaries of them → the rules for columns of text; date32/64 → date;
//       timestamp → datetime; times of day and durations → seconds.
//   Dictionaries and runs of anything stand for their values. Then, as everywhere, constants and identifiers are seen.
//   Column::arrow remembers the format.
// Errors: data (format that is not read, lengths, infinities, text that is not UTF-8; column and row named), or the
// stream's own error with its message, or memory when the table outgrows the limit of the team. `types`: given by the
// user; usage for a column that is not there.
using GivenTypes = std::vector<std::pair<std::string, ColumnType>>;  // of columns by name
Table table_import(ArrowArrayStream* stream, Team& team, const Monitor& monitor, const GivenTypes& types = {});

// The same batch by batch, in constant memory. Since no batch knows the others, a foreign stream's texts stay texts and
// its floats have no fixed decimals.
class TableStream {
 public:
  // takes the stream; team and monitor must outlive this
  TableStream(ArrowArrayStream* stream, Team& team, const Monitor& monitor);
  ~TableStream();
  TableStream(const TableStream&) = delete;
  TableStream& operator=(const TableStream&) = delete;

  const Table& schema() const;  // columns without rows
  bool next(Table& batch);      // false: no more. Errors as table_import()

 private:
  friend Table table_import(ArrowArrayStream*, Team&, const Monitor&, const GivenTypes&);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
