// Removes rare values from a table before training; reports them in the progress and in the model's provenance.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "base/monitor.h"
#include "models/training/fit_options.h"
#include "tables/protection/protected_numbers.h"
#include "tables/sequence/sequences.h"

namespace tessera {

nlohmann::json leave_out_rare(Table& table, const FitOptions& options, Team& team, const Monitor& monitor);
// Applies to steps and statics. If sequences have a key, a category must occur in `rare_rows` keys; in windows of one
// series rows are counted.
nlohmann::json leave_out_rare(Sequences& sequences, const FitOptions& options, Team& team, const Monitor& monitor);
// `emptied`: the result of protect_numbers().
nlohmann::json describe_protection(const std::vector<EmptiedColumn>& emptied, const FitOptions& options,
                                   const Monitor& monitor);

// The table cut into sequences, protected. `provenance` receives a description of the protection.
Sequences cut_protected(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor,
                        nlohmann::json& provenance);

}  // namespace tessera
