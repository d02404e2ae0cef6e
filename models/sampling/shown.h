// Relates columns of the model to columns of the table: rules may derive several from one, or one from several.
#pragma once
#include "models/fitted/row_model.h"
#include "tables/expression/where.h"
#include "tables/kinds/kind.h"

namespace tessera {

class ShownColumns {
 public:
  explicit ShownColumns(const RowModel& model)
      : model_(model), table_(model.schema()), learned_(model.encoder.schema()) {}

  const Table& table() const { return table_; }      // columns of the table, without rows
  const Table& learned() const { return learned_; }  // columns of the model
  // Whether a column of the model holds numbers, dates or times; none (−1) does not.
  bool learns_numbers(int column) const {
    return column >= 0 && is_ordered(learned_.columns[static_cast<size_t>(column)]);
  }
  // Whether one column of the model alone decides a column of the table; its index, or −1 if there is none.
  bool decides(int learned, int column) const;
  int source(int column) const;
  // Whether a column of the model is an unchanged column of the table.
  bool shows_itself(int learned) const;

  // The smallest and the largest number of a column that one column of the model decides, whatever it is learned as,
  // shown by rules and written.
  Column ends(int column, int source) const;

  // Rows of the model with the first level of every column.
  Table first_levels(int64_t rows) const;
  // Rows of the model become rows of the table.
  void restore(Table& rows) const { model_.rules.restore(rows); }

 private:
  const RowModel& model_;
  Table table_, learned_;
};

// The condition of rows that break a rule; missing values break none.
Where broken_where(const std::string& rule, const Table& schema);

}  // namespace tessera
