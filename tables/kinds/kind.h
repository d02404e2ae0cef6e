// What a kind of column is: one file each in this folder, as `Rule<Op>` is for ops. Files, streams, conditions, rules
// and messages ask here for what differs from kind to kind.
#pragma once
#include <span>
#include <string>

#include "tables/kinds/arrow_type.h"
#include "tables/kinds/number_writer.h"
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
  const char* name;                        // in schemas, messages, model files
  const char* holds;                       // its cells, in messages: "whole numbers"
  const char* cell = "a text";             // one of them, in messages: "an integer"
  const char* called = "of type ";         // before its name, in messages: "a " category
  bool ordered = false;                    // its cells are compared by < and calculated with, others by = alone
  bool quantity = false;                   // numbers that are no point in time
  bool whole = false;                      // numbers without a fraction
  bool truths = false;                     // its texts say yes and no
  bool free_text = false;                  // its texts may be any: no word among them means "missing"
  bool varies = true;                      // false: one value, or nothing, in all rows
  bool regenerated = false;                // it is not learned: new texts of the same form are made
  const char* texts = "";                  // what all of its texts are (texts/text_kind.h)
  ColumnType open = ColumnType::category;  // of texts: its type where any others may follow
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

std::span<const ColumnKind* const> all_kinds();  // in the order of ColumnType
const ColumnKind& kind_of(ColumnType type);
inline const ColumnKind& kind_of(const Column& column) { return kind_of(column.type); }

inline bool is_ordered(const Column& column) { return kind_of(column).ordered; }
// Dates, with or without a time.
inline bool is_instant(ColumnType type) { return kind_of(type).day != 0; }
inline bool is_instant(const Column& column) { return is_instant(column.type); }
// Numbers that are no point in time.
inline bool is_quantity(ColumnType type) { return kind_of(type).quantity; }
inline bool is_quantity(const Column& column) { return is_quantity(column.type); }
// A point in time to less than a day.
inline bool has_time(ColumnType type) { return kind_of(type).day > 1; }
inline bool has_time(const Column& column) { return has_time(column.type); }
// Whether a schema lists the texts of a column: those that a rule puts together may be too many.
inline bool lists_values(const Column& column) { return !column.values.empty() || !kind_of(column).varies; }
inline bool is_whole(const Column& column) { return kind_of(column).whole; }
// Counts, years, cents: whole numbers that are no dates; and numbers with a fraction.
inline bool is_count(const Column& column) { return is_quantity(column) && is_whole(column); }
inline bool has_fractions(const Column& column) { return is_quantity(column) && !is_whole(column); }
// Days without a time.
inline bool is_day(const Column& column) { return is_instant(column) && !has_time(column); }
// The least number of `to` that is not before x of `from`, in a column that has an order with it: seconds of a date,
// the date of a midnight or the one after a time.
double in_unit_of(const Column& to, const Column& from, double x);

// "a category", "of type integer"
std::string type_in_words(const Column& column);

// One cell for a message: spelled as in the file, texts in quotes; "nothing": it is missing.
std::string cell_text(const Column& column, int64_t row);
// A cell as a text that gives the same value again, whatever the column's format.
std::string value_text(const Column& column, size_t row);

// The cells of a column become others, of which the caller sets the values.
void become_count(Column& column, int digits = 0);            // digits after the point, or kAllDigits
void become_moment(Column& column, bool day, bool time);      // as "%Y-%m-%d", "%H:%M:%S" or both
void become_regenerated(Column& column, std::string reason);  // by Column::kind

}  // namespace tessera
