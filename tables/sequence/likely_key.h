// A column that identifies sequences in a table that is read as rows: visits of patients, transactions of accounts.
#pragma once
#include <string>
#include <vector>

#include "tables/table/table.h"

namespace tessera {

struct LikelyKey {
  std::string column;
  int64_t values = 0;
  std::vector<std::string> statics;  // columns with one value for each of them
};

// The column of texts of which many values have several rows each, within which at least two other columns do not vary;
// no name: there is none. Of several, the one with the most such columns.
LikelyKey likely_key(const Table& table);

}  // namespace tessera
