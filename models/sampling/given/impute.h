// The missing cells of a CSV file, filled; every other byte of it as it is.
#pragma once
#include <string>

#include "models/sampling/given/given_rows.h"
#include "tables/csv/reader.h"

namespace tessera {

struct Imputed {
  GivenReport report;
  int64_t cells = 0;  // that were filled
};

// A file of given cells as the model's columns: any of them, in any order. `others`: it may have further columns.
Table read_given(const RowModel& model, CsvOptions csv, bool others, Team& team, const Monitor& monitor);

// The place of a row of a file for messages, "partial.csv:3": of row −1 the file.
std::function<std::string(int64_t row)> place_in(const std::string& file, const std::string& dialect, int64_t rows);

// Error(io | data | usage); the output is written whole or not at all.
Imputed impute(std::shared_ptr<const RowModel> model, const CsvOptions& csv, const std::string& output, bool overwrite,
               GivenOptions options, Team& team, const Monitor& monitor);

}  // namespace tessera
