// What tests of expressions ask of a table: the rows that meet one, and the error of one that does not fit it.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tables/expression/where.h"

namespace tessera {

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
  try {
    parse_where(expression, table, option);
    ADD_FAILURE() << expression << " was accepted";
  } catch (const Error& e) {
    const std::string said = e.what();
    EXPECT_EQ(static_cast<int>(code), static_cast<int>(e.code())) << expression << ": " << said;
    EXPECT_EQ(said.rfind(std::string(option) + ": ", 0), 0u) << said;
    for (const std::string& f : fragments)
      EXPECT_NE(said.find(f), std::string::npos) << expression << " lacks \"" << f << "\":\n" << said;
  }
}

}  // namespace tessera
