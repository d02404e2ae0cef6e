// Real against synthetic sequences in one JSON object (docs/quality/metrics.md gives its layout and every definition).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/quality/sequences/sequence_judges.h"
#include "tables/sequence/sequences.h"

namespace tessera {

struct EvaluateSequencesOptions {
  SequenceOptions sequences;     // how the real table was split into sequences
  quality::JudgeOptions judges;  // judges.judges 0: none
  int lags = 10, bins = 50;
  bool rules = true;              // rules of the real steps, and the synthetic steps that break them
  std::vector<std::string> rule;  // further rules, in the syntax of --where
  bool drawings = false;          // data for the page's charts (models/quality/drawings/), under "drawings"
  uint64_t seed = 0;              // of all draws
};

// Both are split the same way. Without a key the synthetic table uses the column "sequence" that
// SequenceEncoder::decode() adds, and if it lacks that column, it is split like the real one. Error(data) naming the
// table if it cannot be split, or if the columns differ. The numbers are the same for any team size.
nlohmann::json evaluate_sequences(Table&& real, Table&& synthetic, const EvaluateSequencesOptions& options, Team& team,
                                  const Monitor& monitor);

}  // namespace tessera
