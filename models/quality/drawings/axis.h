// The values of a column put into the slots that a picture shows: bins, frequent values, levels, "missing".
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/data/protection/rare_categories.h"
#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

// Pictures are shown to people who may not see the real table: no count of theirs is of fewer real rows, but for 0.
constexpr int64_t kLeastDrawn = kRareRows;

// Slots in this order: bins or levels · spikes · other · unknown · missing; what a column does not need has no slot.
// Everything but `unknown` is decided by the real table, whose extremes and rare levels do not show in it.
struct Axis {
  bool numbers = false;
  // numbers: bin i holds cuts[i − 1] ≤ x < cuts[i], the first and the last being open; cuts are multiples of a round
  // step, bins with fewer than kLeastDrawn real rows are joined to a neighbour
  std::vector<double> cuts;
  double step = 0;             // width of a bin that was not joined; 0: there is one bin
  std::vector<double> spikes;  // values of a tenth of the real rows or more, apart from the bins
  // categories: the commonest levels that kLeastDrawn real rows have
  std::vector<int32_t> shown;
  std::vector<int> slot_of;                      // of each level
  int64_t other_levels = 0, unknown_levels = 0;  // real ones not shown · those the real column does not have
  int other = -1, unknown = -1, missing = -1;    // slots; −1: none
  int slots = 0;

  int slot(const ComparedColumn& column, size_t row) const;
};

// At most `bins` bins or `levels` levels.
Axis make_axis(const Comparison& c, size_t column, int bins, size_t levels);

// {kind, cuts, step, spikes} or {kind, levels}, and `rest`: what the slots behind those are.
nlohmann::json describe_axis(const Axis& axis, const Comparison& c, const Table& real, size_t column);

// Counts of real rows as they may be shown, `cols` a line: null for 1 to kLeastDrawn − 1, and for others, so that no
// line or column has a single null, or nulls of fewer than kLeastDrawn rows together: its sum, which other drawings
// tell, less its other counts would be the cell. Returns how many rows stand behind the nulls.
int64_t withhold(const std::vector<int64_t>& counts, size_t cols, nlohmann::json& shown);

}  // namespace tessera::quality
