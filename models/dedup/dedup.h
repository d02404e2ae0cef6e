// Rows that are copies, exact or near, of other rows (docs/use/dedup.md).
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "tables/table/table.h"

namespace tessera {

class Device;

struct DedupOptions {
  std::string mode = "auto";         // exact, fuzzy, nearest, documents, semantic
  double threshold = 0;              // similarity of near copies; 0: the default one
  std::vector<std::string> columns;  // to compare; none: all
  Device* device = nullptr;          // that compares rows in mode nearest; null: the processor
};

struct RowCopy {
  int32_t row, of;  // `of`: a lower row of the table, or a row of the table it is compared against
  bool exact;
  double similarity;
};

// Whether near copies are to be dropped: a threshold is given, or texts are compared. No default tells copies from rows
// of people who are alike.
bool drops_near_copies(const DedupOptions& options);

// Rows of `table` that are copies of lower rows of it, or of rows of `against` unless that is null; ascending.
// `report`: the JSON object of docs/use/dedup.md. The tables are unchanged on return. The result is the same for any
// team size. Throws Error(usage) for an unknown mode, threshold or column, Error(data) if the columns differ.
std::vector<RowCopy> find_copies(Table& table, Table* against, const DedupOptions& options, Team& team,
                                 const Monitor& monitor, nlohmann::json& report);

// The rows that are not among the copies.
Table without_copies(Table&& table, const std::vector<RowCopy>& copies);
// The same as lines of the CSV file that the table was read from, byte for byte. Returns false and writes nothing if
// `source` is not CSV or `output` has another format.
bool write_without_copies(const std::string& source, const Table& table, const std::vector<RowCopy>& copies,
                          const std::string& output, bool overwrite, const Monitor& monitor);
// A table of the copies: row, of (both from 1), kind (exact, near), similarity.
Table table_of_copies(const std::vector<RowCopy>& copies);

}  // namespace tessera
