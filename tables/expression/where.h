// --where and rules: exact conditions on any columns. Terms joined by `and`, `or`, `not` and parentheses: col = v,
// col != v, col in (v, …), <, <=, >, >=, between v and w, like 'pattern', is null, is not null; arithmetic on both
// sides of a comparison.
// Names that contain other characters than letters, digits and _ are in double quotes; texts and dates in single quotes
// ('' is a quote); numbers are bare.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tables/expression/arithmetic.h"
#include "tables/table/table.h"

namespace tessera {

struct Where;

struct WhereTerm {
  enum class Kind { in, not_in, range, like, is_null, not_null, compare, same_text, any };
  enum class Relation { equal, unequal, less, less_equal, greater, greater_equal };
  // Index in the schema; −1 for compare and same_text, which have their columns in left and right, and for alternatives
  // over several columns.
  int column = -1;
  Kind kind = Kind::in;
  std::string text;                 // the term as written, for messages
  std::vector<std::string> values;  // in, not_in on text columns; the pattern of like
  std::vector<double> numbers;      // in, not_in on numeric columns (dates as in Column::numbers)
  double low = 0, high = 0;         // range, with open or closed ends; ±infinity where not given
  bool low_open = false, high_open = false;
  bool negated = false;    // `not` before a term: met if no value is missing and the term is not met
  Arithmetic left, right;  // compare; same_text: two text columns
  std::string left_text, right_text;
  Relation relation = Relation::equal;
  double tolerance = 0;             // compare: for an equality, half a unit of the column's last digit
  std::vector<Where> alternatives;  // any: met if one of them is
};

// Every term must be met.
struct Where {
  std::vector<WhereTerm> terms;
  bool empty() const { return terms.empty(); }
};

std::vector<double> numbers_of(const WhereTerm& term);  // numbers in the term, ends of a range included
std::vector<int> columns_of(const WhereTerm& term);     // ascending, each once
// The condition that a term implies for one column alone. None if the term does not restrict the column.
std::optional<WhereTerm> projected(const WhereTerm& term, int column);

// Parses against a schema (columns, types, values). Throws Error(condition) for an unknown column or value (with the
// nearest names and the number of values), Error(usage) for a syntax error (with the position and a caret line).
// `what` names the expression in messages.
Where parse_where(const std::string& text, const Table& schema, const char* what = "`where`");

// A notice about numbers such as 10.000 that a term compares with a column whose decimal mark is a comma: there they
// look like thousands, but a condition has decimal points. "": none.
std::string misread_numbers(const Where& where, const Table& schema);

// keep[i] = row i of the batch meets every term; failed[t] counts the rows that miss term t. Sizes: batch.rows, terms.
void match_where(const Where& where, const Table& batch, std::vector<char>& keep, std::vector<int64_t>& failed);

}  // namespace tessera
