// Encodes a column of few values as one choice: one level per value, one for all rare values, missing last.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tables/table/table.h"

namespace tessera {

struct LevelCode {
  // Levels are numbers (of a numeric column, ascending) or texts (in order of first appearance); the other vector is
  // empty.
  std::vector<double> numbers;
  std::vector<std::string> texts;
  // Texts without their own level, and their rows as cumulative sums. They share the level after the last text.
  std::vector<std::string> rare;
  std::vector<uint64_t> rare_rows;
  bool missing = false;  // the last level is the missing value

  int levels() const { return static_cast<int>(numbers.size() + texts.size()); }
  int width() const { return levels() + (rare.empty() ? 0 : 1) + (missing ? 1 : 0); }
  int rare_level() const { return rare.empty() ? -1 : levels(); }
  int missing_level() const { return missing ? width() - 1 : -1; }

  // Levels of a text column: all its values of at least Column::least_rows rows, or, above `limit` levels, the
  // limit − 1 most frequent (the earlier of equally frequent ones).
  static LevelCode of_texts(const Column& column, int64_t limit);

  // Level of each of the column's values (texts) for encode(); −1 if it has none.
  std::vector<int32_t> levels_of(const std::vector<std::string>& values) const;
  int32_t level_of(double number) const;  // −1: none

  // The rare text selected by a 64-bit uniform number, by frequency.
  size_t draw_rare(uint64_t uniform) const;
};

}  // namespace tessera
