// Categories that few rows hold say who, not what: they are taken out of a table before anything is learnt from it, so
// that a model cannot tell them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/run/team.h"
#include "models/data/table/table.h"

namespace tessera {

constexpr int64_t kRareRows = 5;  // what a category needs by default: the usual least cell of published statistics

struct RareColumn {
  std::string name;
  int64_t values = 0, rows = 0;  // categories that are gone, and how many rows held one
  bool regenerated = false;      // so many that the column became an identifier
};

// In columns of the type category, a value that fewer than `least` rows hold is replaced by one of the others, drawn by
// their frequencies and keyed by (seed, column, row). A column in which such values fill more than half of the rows
// names its rows: it becomes an identifier, whose values are regenerated.
// A reason that quotes a value becomes one that does not. The value of a constant column that fewer rows hold becomes
// missing. least ≤ 1 changes nothing.
// `holder`, unless empty, names who each row belongs to, the rows of one holder side by side: then a value needs
// `least` holders, however many rows each has, and what replaces a value of a holder is the same in all of that
// holder's rows.
std::vector<RareColumn> protect_rare_categories(Table& table, int64_t least, uint64_t seed, Team& team,
                                                std::span<const int32_t> holder = {});

}  // namespace tessera
