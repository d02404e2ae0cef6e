// Turns a table into training data: reduced by rules, protected, encoded. Shared by fit and plan. It sets all parts of
// the model except weights: options, columns, provenance.
#pragma once
#include "models/model/model_state.h"

namespace tessera {

// Of sequences: with the index and the static columns that the table says, where none are named.
FitOptions with_sequences(FitOptions options, const Table& table, const Monitor& monitor);
// Finds the rules of a table and reduces the table by them. Of sequences: with_sequences().
Rules take_rules(Table& table, const FitOptions& options, Team& team, const Monitor& monitor);
// The columns with their own minimum number of rows or keys per stored value, before rules reduce the table.
nlohmann::json own_numbers(const Table& table);
void report_rules(const Rules& rules, const Monitor& monitor);  // one notice per rule

// For a table reduced by `rules`, whose own_numbers() are `own`. `sample`, unless null, receives the rows that a
// calibration uses, because the table is consumed.
EncodedTable prepare_rows(Model::State& state, Table&& table, const Rules& rules, const nlohmann::json& own,
                          const FitOptions& options, Table* sample, Team& team, const Monitor& monitor);
// Real rows in random order: all, or as many as a calibration uses.
Table sample_rows(const Encoder& encoder, const Table& table, uint64_t seed);

EncodedSequences prepare_sequences(Model::State& state, Table&& table, const FitOptions& options, Team& team,
                                   const Monitor& monitor);

}  // namespace tessera
