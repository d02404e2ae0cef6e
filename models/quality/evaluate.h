// Real against synthetic: fidelity, validity, novelty and distance in one JSON object (docs/quality/metrics.md gives
// its layout and every definition).
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

struct EvaluateOptions {
  bool pairs = true;               // Column Pair Trends
  bool new_rows = true;            // NewRowSynthesis and exact copies
  bool distances = true;           // DCR and NNDR: by far the slowest part for large tables
  bool c2st = true;                // classifier two-sample tests
  bool utility = true;             // train on synthetic, test on holdout: needs a holdout
  std::string target;              // the column to predict; empty: automatic (choose_target())
  int64_t learner_rows = 100'000;  // maximum rows per table for training c2st and utility, drawn by seed
  // sdmetrics' pair thresholds; scores without them are also given
  double correlation_threshold = 0.5, association_threshold = 0.3;
  // NewRowSynthesis: numbers within this share of the synthetic value
  double match_tolerance = 0.01;
  bool rules = true;              // rules of the real table, and the synthetic rows that break them
  std::vector<std::string> rule;  // further rules, in the syntax of --where
  bool forms = true;              // written form and near-certain relations
  std::string where;              // compares only rows that satisfy it; empty: all
  bool drawings = false;          // data for the page's charts (models/quality/drawings/), under "drawings"
  // of all draws: rows, folds, the random baseline of DCR
  uint64_t seed = 0;
  Device* device = nullptr;  // that compares rows for distances; null: the processor
};

// `real` is the table the model was fitted on; `holdout` (may be null) holds rows of the same source that were not used
// for training. Columns are matched by name; identifiers are excluded and listed. Throws Error(data) naming the column
// if the tables do not match, Error(condition) for a condition that no row of a table satisfies, Error(cancelled). The
// numbers are the same for any team size.
nlohmann::json evaluate(const Table& real, const Table& synthetic, const Table* holdout, const EvaluateOptions& options,
                        Team& team, const Monitor& monitor);

}  // namespace tessera
