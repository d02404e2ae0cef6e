// Columns of the model as columns of the table: rules may make several of one, or one of several.
#pragma once
#include "models/fitted/row_model.h"
#include "tables/expression/where.h"

namespace tessera {

class ShownColumns {
 public:
  explicit ShownColumns(const RowModel& model)
      : model_(model), table_(model.schema()), learnt_(model.encoder.schema()) {}

  const Table& table() const { return table_; }     // columns of the table, without rows
  const Table& learned() const { return learnt_; }  // columns of the model
  // Whether a column of the model decides a column of the table alone; the one that does, −1: none.
  bool decides(int learned, int column) const;
  int source(int column) const;
  // Whether a column of the model is a column of the table as it is.
  bool shows_itself(int learned) const;

  // Rows of the model with the first level of every column.
  Table first_levels(int64_t rows) const;
  // Rows of the model become rows of the table.
  void restore(Table& rows) const { model_.rules.restore(rows); }

 private:
  const RowModel& model_;
  Table table_, learnt_;
};

// The condition of rows that break a rule: what is missing breaks none.
Where broken_where(const std::string& rule, const Table& schema);

}  // namespace tessera
