// --where: exact conditions on any columns. Terms joined by `and`: col = v, col != v, col in (v, …), <, <=, >, >=,
// between v and w, is null, is not null.
// Names with other than letters, digits, _ in double quotes; texts and dates in single quotes ('' is a quote); numbers
// bare.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "models/data/table/table.h"

namespace tessera {

struct WhereTerm {
  enum class Kind { in, not_in, range, is_null, not_null };
  int column = -1;  // index in the schema
  Kind kind = Kind::in;
  std::string text;                 // the term as written, for messages
  std::vector<std::string> values;  // in, not_in on text columns
  std::vector<double> numbers;      // in, not_in on numeric columns (dates as in Column::numbers)
  double low = 0, high = 0;         // range, with open or closed ends; ±infinity where not given
  bool low_open = false, high_open = false;
};

struct Where {
  std::vector<WhereTerm> terms;
  bool empty() const { return terms.empty(); }
};

// Parses against a schema (columns, types, values). Throws Error(condition) for an unknown column or value (with the
// nearest names and the number of values), Error(usage) for a syntax error (with the position and a caret line).
Where parse_where(const std::string& text, const Table& schema);

// keep[i] = row i of the batch meets every term; failed[t] counts the rows that miss term t. Sizes: batch.rows, terms.
void match_where(const Where& where, const Table& batch, std::vector<char>& keep, std::vector<int64_t>& failed);

}  // namespace tessera
