// Rows of a table as a table of their own.
#pragma once
#include <vector>

#include "tables/table/table.h"

namespace tessera {

// In this order; a row may come more than once.
inline Table pick_rows(const Table& table, const std::vector<int64_t>& rows) {
  Table out;
  out.rows = static_cast<int64_t>(rows.size());
  out.dialect = table.dialect, out.rules = table.rules;
  for (const Column& c : table.columns) out.columns.push_back(c.pick(rows));
  return out;
}

}  // namespace tessera
