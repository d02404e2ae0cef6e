// Tables with planted secrets, and populations of which a model sees one part: members, held-out rows that it does not
// see, and a reference that the attacker has.
#pragma once
#include "models/audit/model_file.h"
#include "models/audit/statistics.h"
#include "models/tables.h"
#include "privacy/by_chance.h"
#include "tables/csv/example.h"
#include "tables/csv/reader.h"

namespace tessera::privacy {

using namespace audit;

// Options as a user gets them who gives none but the method and how long it trains.
inline FitOptions options(const std::string& method, int epochs, Tier calibrate = Tier::full) {
  FitOptions o;
  o.method = method;
  apply_preset(o);
  o.seed = 3;
  o.calibrate = calibrate;
  whole::set(o, !o.config.method().rows() ? "iterations" : "epochs", std::to_string(epochs));
  return o;
}

// As the program reads it: types are found, not given.
inline Table read_csv(const std::string& text) {
  const whole::Folder folder;
  std::ofstream(folder / "t.csv", std::ios::binary) << text;
  Team team(1);
  CsvOptions o;
  o.path = folder / "t.csv";
  return csv_read(o, team, {});
}

inline Table rows_of(const Model& model, int64_t count, uint64_t seed = 1) {
  SampleOptions o;
  o.seed = seed;
  return whole::sample(model, count, o);
}

inline ModelFile file_of(const Model& model) { return ModelFile(model.bytes()); }

}  // namespace tessera::privacy
