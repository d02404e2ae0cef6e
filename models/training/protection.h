// Rare values removed from a table before training: for the progress, and for the model's provenance.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "engine/run/monitor.h"
#include "models/data/protection/protected_numbers.h"
#include "models/data/sequence/sequences.h"
#include "models/training/fit_options.h"

namespace tessera {

nlohmann::json leave_out_rare(Table& table, const FitOptions& options, Team& team, const Monitor& monitor);
// Of steps and statics alike. Where a key tells sequences apart a category must occur in `rare_rows` keys; of windows
// of one series rows count.
nlohmann::json leave_out_rare(Sequences& sequences, const FitOptions& options, Team& team, const Monitor& monitor);
// `emptied`: what protect_numbers() said.
nlohmann::json describe_protection(const std::vector<EmptiedColumn>& emptied, const FitOptions& options,
                                   const Monitor& monitor);

// The table cut into sequences, protected. `provenance` receives what is to be said of it.
Sequences cut_protected(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor,
                        nlohmann::json& provenance);

}  // namespace tessera
