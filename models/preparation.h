// Turns a table into training data: reduced by rules, protected, encoded. Shared by fit and plan. Of the model it makes
// the parts other than weights: options, columns, provenance.
#pragma once
#include "models/model_state.h"

namespace tessera {

// The rules of a table, which it is reduced by.
Rules take_rules(Table& table, const FitOptions& options, Team& team, const Monitor& monitor);
void say(const Rules& rules, const Monitor& monitor);  // a notice each

// Of a table reduced by `rules`. `sample`, unless null, receives the rows a calibration looks at: they are gone
// afterwards.
EncodedTable prepare_rows(Model::State& state, Table&& table, const Rules& rules, const FitOptions& options,
                          Table* sample, Team& team, const Monitor& monitor);
// Real rows in random order, all of them or as many as a calibration looks at.
Table sample_rows(const Encoder& encoder, const Table& table, uint64_t seed);

EncodedSequences prepare_sequences(Model::State& state, Table&& table, const FitOptions& options, Team& team,
                                   const Monitor& monitor);

}  // namespace tessera
