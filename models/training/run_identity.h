// Identifies the run of a checkpoint or a model: the table, and the options that shape its bits.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "base/threads/team.h"
#include "models/training/fit_options.h"

namespace tessera {

struct RunIdentity {
  // each with "name", "type" and the "fingerprint" of its values; null if only the whole table's is known
  nlohmann::json columns;
  std::string table;  // fingerprint
  int64_t rows = 0;
  nlohmann::json options;  // by their keys, with presets applied

  // Throws if `*this` cannot continue from the run `was` in the file `place`: Error(data) naming the column,
  // Error(usage) naming the options with their old and new values, and `way_out`.
  void check_same(const RunIdentity& was, const std::string& place, const std::string& way_out) const;

  // The first difference between the tables, and all different options: "`seed` was 1, now 2". "": none.
  std::string other_table(const RunIdentity& was) const;
  std::string other_options(const RunIdentity& was) const;

  nlohmann::json to_json() const;                            // all of it
  nlohmann::json summary() const;                            // without columns: stored in a model
  static RunIdentity from_json(const nlohmann::json& json);  // from either; Error(format)
};

RunIdentity identify(const Table& table, const FitOptions& options, Team& team);

}  // namespace tessera
