// What a kind of column is: one file each in this folder, as `Rule<Op>` is for ops. Files, streams, conditions, rules
// and messages ask here for what differs from kind to kind.
#pragma once
#include <string>

#include "tables/kinds/arrow_type.h"
#include "tables/table/table.h"

namespace tessera {

namespace kinds {
// What kinds of texts share.
std::string no_arrow(const Column& column);
bool fits_everything(const ArrowType& type);
void write_text(const Column& column, size_t row, std::string& out);
}  // namespace kinds

// What is not said of a kind is as for texts.
struct ColumnKind {
  ColumnType type;
  const char* name;          // in schemas, messages, model files
  const char* holds;         // its cells, in messages: "whole numbers"
  bool numbers = false;      // cells are Column::numbers, else codes of Column::values
  bool quantity = false;     // numbers that are no point in time
  bool whole = false;        // numbers without a fraction
  double unit = 1;           // of expressions, in Column::numbers: they calculate with days, a datetime holds seconds
  double day = 0;            // in Column::numbers; 0: no point in time
  const char* pattern = "";  // how it is written where no file says otherwise: "%Y-%m-%d"

  // The Arrow format of a column that came from no stream; "": texts, which are dictionaries.
  std::string (*arrow)(const Column& column) = kinds::no_arrow;
  // Whether its cells can be values of this Arrow type. Everything can be text.
  bool (*fits)(const ArrowType& type) = kinds::fits_everything;
  // A text of a condition as a number of the column: as the column writes it, or plain. Null: the kind holds texts.
  bool (*read)(const Column& column, const std::string& text, double& x) = nullptr;
  // How read() wants it, for messages: "'2020-01-31'".
  const char* example = "'text'";
  // A cell in a message.
  void (*write)(const Column& column, size_t row, std::string& out) = kinds::write_text;
};

const ColumnKind& kind_of(ColumnType type);
inline const ColumnKind& kind_of(const Column& column) { return kind_of(column.type); }

// Dates, with or without a time.
inline bool is_instant(ColumnType type) { return kind_of(type).day != 0; }
inline bool is_instant(const Column& column) { return is_instant(column.type); }
// Numbers that are no point in time.
inline bool is_quantity(ColumnType type) { return kind_of(type).quantity; }
inline bool is_quantity(const Column& column) { return is_quantity(column.type); }
// A point in time to less than a day.
inline bool has_time(ColumnType type) { return kind_of(type).day > 1; }
inline bool has_time(const Column& column) { return has_time(column.type); }
inline bool is_whole(const Column& column) { return kind_of(column).whole; }

// One cell for a message: spelled as in the file, texts in quotes; "nothing": it is missing.
std::string cell_text(const Column& column, int64_t row);

}  // namespace tessera
