// What tests of expressions ask of a table: the rows that meet one, and the error of one that does not fit it.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/columns.h"
#include "support/thrown.h"
#include "tables/expression/where.h"

namespace tessera {

using columns::table;

// Columns by their levels and codes, which may include levels without a row.
inline Column texts(const std::string& name, ColumnType type, std::vector<std::string> values,
                    std::vector<int32_t> codes) {
  Column c;
  c.name = name, c.type = type, c.values = std::move(values);
  c.codes.assign(codes.begin(), codes.end());
  return c;
}

// Numbers of the rows that meet an expression, one digit each.
inline std::string rows_kept(const Table& table, const std::string& expression) {
  std::vector<char> keep;
  std::vector<int64_t> failed;
  match_where(parse_where(expression, table), table, keep, failed);
  std::string rows;
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i] != 0) rows += std::to_string(i);
  return rows;
}

inline void expect_where_error(const Table& table, const std::string& expression, const char* option, ErrorCode code,
                               const std::vector<std::string>& fragments) {
  SCOPED_TRACE(expression);
  const test::Thrown e = test::thrown([&] { parse_where(expression, table, option); });
  EXPECT_EQ(e.message.rfind(std::string(option) + ": ", 0), 0u) << e.message;
  expect_parts(e, code, fragments);
}

}  // namespace tessera
