// Rows as the networks of a model see them.
#pragma once
#include <string>
#include <vector>

#include "base/threads/team.h"
#include "models/fitted/row_model.h"
#include "tables/table/table.h"

namespace tessera {

struct LearnedRows {
  Table table;  // the learned columns: without those that rules compute
  // [column][row]: 1 where the model does not know the value; the table then holds the nearest one that it knows, or
  // its first text
  std::vector<std::vector<char>> unknown;
  // [column][row]: 1 where rules overwrite the value whatever it is, as that of a cell that must be missing; the table
  // then holds a usual one
  std::vector<std::vector<char>> overwritten;
  // Columns that rules compute, and 1 where their value is another one than that of the row: no row of the model is so.
  struct Computed {
    std::string column;
    std::vector<char> differs;
  };
  std::vector<Computed> computed;
};

// `rows` have the columns of model.schema(), whatever their types (quality::aligned()).
LearnedRows learned_rows(const RowModel& model, const Table& rows, Team& team);

}  // namespace tessera
