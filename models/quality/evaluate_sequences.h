// Real against synthetic sequences in one JSON object (docs/metrics.md gives its layout and every definition).
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "models/data/sequence/sequences.h"
#include "models/quality/sequences/sequence_judges.h"

namespace tessera {

struct EvaluateSequencesOptions {
  SequenceOptions sequences;     // how the real table was made into sequences
  quality::JudgeOptions judges;  // judges.judges 0: none is trained
  int lags = 10, bins = 50;
  uint64_t seed = 0;  // of all draws
};

// Both are cut alike; without a key the synthetic table has one all the same, the column that SequenceEncoder::decode()
// adds ("sequence"), and is cut like the real one where it has none. Error(data) where a table cannot be cut (the
// message says which), or the columns differ. Same numbers for any team size.
nlohmann::json evaluate_sequences(Table&& real, Table&& synthetic, const EvaluateSequencesOptions& options, Team& team,
                                  const Monitor& monitor);

}  // namespace tessera
