// Assigns the values of a column to the slots of a chart: bins, frequent values, levels, "missing".
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/quality/metrics/comparison.h"
#include "tables/protection/rare_categories.h"

namespace tessera::quality {

// Charts are shown to people who may not see the real table: every count of real rows is 0 or at least this.
constexpr int64_t kMinDrawn = kRareRows;

// Slots in this order: bins or levels · spikes · other · unknown · missing; slots that a column does not need are
// absent. Everything except `unknown` is determined by the real table, without revealing its extremes and rare levels.
struct Axis {
  bool numbers = false;
  // numbers: bin i holds cuts[i − 1] ≤ x < cuts[i], the first and the last being open; cuts are multiples of a round
  // step, bins with fewer than kMinDrawn real rows are merged with a neighbor
  std::vector<double> cuts;
  double step = 0;             // width of an unmerged bin; 0: a single bin
  std::vector<double> spikes;  // values of a tenth of the real rows or more, outside the bins
  // categories: the most frequent levels with at least kMinDrawn real rows
  std::vector<int32_t> shown;
  std::vector<int> slot_of;                      // of each level
  int64_t other_levels = 0, unknown_levels = 0;  // real levels not shown · levels that the real column does not have
  int other = -1, unknown = -1, missing = -1;    // slots; −1: none
  int slots = 0;

  int slot(const ComparedColumn& column, size_t row) const;
};

// At most `bins` bins or `levels` levels.
Axis make_axis(const Comparison& c, size_t column, int bins, size_t levels);

// {kind, cuts, step, spikes} or {kind, levels}, and `rest`: the meanings of the remaining slots.
nlohmann::json describe_axis(const Axis& axis, const Comparison& c, const Table& real, size_t column);

// Counts of real rows as they may be shown, `cols` per line: null for 1 to kMinDrawn − 1, and for some others, so
// that no line or column has a single null, or nulls of fewer than kMinDrawn rows in total: otherwise the cell would be
// its line's sum, which other charts reveal, minus the other counts. Returns the number of rows in the null cells.
int64_t withhold(const std::vector<int64_t>& counts, size_t cols, nlohmann::json& shown);

}  // namespace tessera::quality
