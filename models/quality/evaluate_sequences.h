// Real against synthetic sequences in one JSON object (docs/quality/metrics.md gives its layout and every definition).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/quality/sequences/sequence_judges.h"
#include "tables/sequence/sequences.h"

namespace tessera {

struct EvaluateSequencesOptions {
  SequenceOptions sequences;     // how the real table was cut into sequences
  quality::JudgeOptions judges;  // judges.judges 0: none
  int lags = 10, bins = 50;
  bool rules = true;              // rules of the real steps, and the synthetic steps that break them
  std::vector<std::string> rule;  // further rules, in the language of --where
  bool drawings = false;          // data for the page's drawings (models/quality/drawings/), under "drawings"
  uint64_t seed = 0;              // of all draws
};

// Both are cut the same way. Without a key the synthetic table uses the column "sequence" that
// SequenceEncoder::decode() adds, and if it lacks that, it is cut like the real one. Error(data) if a table cannot be
// cut (the message names it), or the columns differ. The same numbers for any team size.
nlohmann::json evaluate_sequences(Table&& real, Table&& synthetic, const EvaluateSequencesOptions& options, Team& team,
                                  const Monitor& monitor);

}  // namespace tessera
