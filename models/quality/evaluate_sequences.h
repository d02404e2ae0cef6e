// Real against synthetic sequences in one JSON object (docs/quality/metrics.md gives its layout and every definition).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/data/sequence/sequences.h"
#include "models/quality/sequences/sequence_judges.h"

namespace tessera {

struct EvaluateSequencesOptions {
  SequenceOptions sequences;     // how the real table was cut into sequences
  quality::JudgeOptions judges;  // judges.judges 0: none
  int lags = 10, bins = 50;
  bool rules = true;              // rules that the real steps show, and the synthetic ones that break them
  std::vector<std::string> rule;  // further ones, as --where writes them
  bool drawings = false;          // what a page draws (models/quality/drawings/), under "drawings"
  uint64_t seed = 0;              // of all draws
};

// Both are cut the same way. Without a key the synthetic table uses the column "sequence" that
// SequenceEncoder::decode() adds, and if it lacks that is cut like the real one. Error(data) if a table cannot be cut
// (the message names it), or the columns differ. The same numbers for any team size.
nlohmann::json evaluate_sequences(Table&& real, Table&& synthetic, const EvaluateSequencesOptions& options, Team& team,
                                  const Monitor& monitor);

}  // namespace tessera
