// Identifies the run of a checkpoint or a model: the table, and the options that shape its bits.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "engine/run/team.h"
#include "models/training/fit_options.h"

namespace tessera {

struct RunIdentity {
  // of each its "name", "type" and the "fingerprint" of its values; null where only the table as a whole is known
  nlohmann::json columns;
  std::string table;  // fingerprint
  int64_t rows = 0;
  nlohmann::json options;  // by the name the command line has for them, with presets applied

  // Throws what keeps `*this` from going on with something of the run `was`, which `place` (a file) holds: Error(data)
  // naming the column, Error(usage) naming the options, each with what it was and what it is now, and `way_out`.
  void check_same(const RunIdentity& was, const std::string& place, const std::string& way_out) const;

  // The first thing in which the tables differ, and all options that do: "--seed was 1, now 2". "": in none.
  std::string other_table(const RunIdentity& was) const;
  std::string other_options(const RunIdentity& was) const;

  nlohmann::json to_json() const;                            // all of it
  nlohmann::json summary() const;                            // without columns: what a model keeps
  static RunIdentity from_json(const nlohmann::json& json);  // of either; Error(format)
};

RunIdentity identify(const Table& table, const FitOptions& options, Team& team);

}  // namespace tessera
