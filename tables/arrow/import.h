// Arrow C streams as tables.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "tables/table/table.h"
#include "tessera/arrow.h"

namespace tessera {

// Takes all batches and always releases the stream, also when it throws. Columns are taken in parallel and freed one by
// one.
//   Our own stream hands its table over; one that came through another program (its metadata has "tessera.type") is
//   imported as it was exported.
//   A foreign one: integers → integer; floats and decimals → decimal, or integer if all are whole (text if an integer
//   or decimal has more than 15 digits); bool → boolean;
//   utf8 and binary of all layouts and dictionaries of them → the rules for columns of text; date32/64 → date;
//       timestamp → datetime; times of day and durations → seconds.
//   Dictionaries and runs are read as their values. Then constants and identifiers are detected as for every table.
//   Column::arrow stores the format.
// Errors: data (unsupported format, lengths, infinities, text that is not UTF-8; column and row named), or the stream's
// own error with its message, or memory if the table exceeds the team's limit. `types`: given by the user; usage for an
// unknown column.
struct GivenType {
  std::string column;
  ColumnType type;
  std::optional<std::string> format = {};  // of texts that can be read in several ways
  std::string kind = {};                   // of identifiers: what the texts are
};
using GivenTypes = std::vector<GivenType>;
Table table_import(ArrowArrayStream* stream, Team& team, const Monitor& monitor, const GivenTypes& types = {});

// The same batch by batch, in constant memory. Batches are independent, so a foreign stream's texts stay texts and its
// floats have no fixed decimals.
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
