// Categories that few rows hold identify individuals: they are removed from a table before anything is learned from it,
// so that a model cannot reveal them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/threads/team.h"
#include "tables/table/table.h"

namespace tessera {

constexpr int64_t kRareRows =
    5;  // rows a category needs by default: the usual minimum cell size of published statistics

struct RareColumn {
  std::string name;
  int64_t values = 0, rows = 0;  // removed categories, and the number of their rows
  bool regenerated = false;      // too many were removed: the column became an identifier
};

// In columns of the type category, a value that fewer than `least` rows hold is replaced by one of the others, drawn by
// their frequencies and keyed by (seed, column, row). A column in which such values fill more than half of the rows
// identifies its rows: it becomes an identifier, whose values are regenerated.
//   Numbers after letters that `least` rows share (250.02, V45) are merged instead, in a column in which values of
// `least` rows fill a tenth of the rows: their numbers are protected as those of a numeric column
// (protected_numbers.h), and Column::least_rows tells the encoder not to learn the results one by one.
// A reason that quotes a value becomes one that does not. The value of a constant column that fewer rows hold becomes
// missing. least ≤ 1 changes nothing.
// `holder`, unless empty, gives the owner of each row, with adjacent rows per owner: then a value needs `least` owners,
// however many rows each has, and all rows of an owner get the same replacement.
std::vector<RareColumn> protect_rare_categories(Table& table, int64_t least, uint64_t seed, Team& team,
                                                std::span<const int32_t> holder = {});

}  // namespace tessera
