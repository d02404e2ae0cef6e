// Fills the missing cells of a CSV file; all other bytes stay.
#pragma once
#include <string>

#include "models/sampling/given/given_rows.h"
#include "tables/csv/reader.h"

namespace tessera {

struct Imputed {
  GivenReport report;
  int64_t cells = 0;  // filled cells
};

// A file of given cells with columns of the model's `schema`, any of them, in any order. `others`: it may have further
// columns.
Table read_given(const Table& schema, CsvOptions csv, bool others, Team& team, const Monitor& monitor);

// The place of a row of a file for messages, "partial.csv:3"; the file for row −1.
std::function<std::string(int64_t row)> place_in(const std::string& file, const std::string& dialect, int64_t rows);

// Error(io | data | usage); the output is written atomically.
Imputed impute(std::shared_ptr<const RowModel> model, const CsvOptions& csv, const std::string& output, bool overwrite,
               GivenOptions options, Team& team, const Monitor& monitor);

}  // namespace tessera
