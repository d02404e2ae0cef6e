// A training step as the programs of the lab look into it: of a table, a method and its options.
#pragma once
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/passes/passes.h"
#include "engine/plan/recorder.h"
#include "engine/run/program.h"
#include "engine/schedule/fusion_data.h"
#include "models/model/model.h"
#include "models/model/prepared.h"
#include "tables/csv/reader.h"

namespace lab {

using MethodOptions = std::vector<std::pair<std::string, std::string>>;

// batch_size=100 generator_dim=64,64 …
inline MethodOptions options_of(char** begin, char** end) {
  MethodOptions options;
  for (; begin < end; ++begin) {
    const std::string option = *begin;
    const size_t equals = option.find('=');
    options.emplace_back(option.substr(0, equals), equals == std::string::npos ? "" : option.substr(equals + 1));
  }
  return options;
}

struct Step {
  std::unique_ptr<tessera::Prepared> prepared;
  tessera::Plan plan;
  int64_t batch = 0;
  uint64_t seed = 0;

  // Binds the data and sets the states that a training begins with.
  void start(tessera::Program& program) const {
    const tessera::Method& method = prepared->method();
    method.bind(program);
    tessera::States states = method.start(seed);
    for (size_t i = 0; i < method.phases().size(); ++i) method.enter(i, states);
    load_states(program, states);
  }
};

// Of the method's last phase. Error(usage) for an option that the method does not have.
inline Step step_of(const std::string& data, const std::string& method, const std::string& preset,
                    const MethodOptions& options, tessera::Team& team, const std::set<std::string>& passes_off = {}) {
  using namespace tessera;
  FitOptions o;
  o.method = method, o.preset = preset;
  apply_preset(o);
  std::string fusion;  // use=JSON: the launches
  for (const auto& [key, value] : options) {
    bool found = key == "use" || key == "sequence_length";
    if (key == "use") fusion = value;
    if (key == "sequence_length") o.sequences.length = std::atoi(value.c_str());
    for (const Option& option : o.config->options())
      if (key == option.key) option.set(value), found = true;
    if (!found) throw Error(ErrorCode::usage, method + " has no option " + key + ".");
  }
  if (o.of_sequences() && o.sequences.length < 1)
    throw Error(ErrorCode::usage, method + " learns sequences: give sequence_length=24.");
  Step s;
  s.seed = o.seed;
  CsvOptions csv;
  csv.path = data;
  s.prepared = prepare(csv_read(csv, team, {}), o, team, {});
  const Method& of = s.prepared->method();
  Recorder r(s.plan);
  of.record_training(r, of.phases().size() - 1, 100000);
  s.batch = of.phases().back().batch;
  optimize(s.plan, passes_off);
  if (!fusion.empty()) use_fusion(s.plan, fusion);
  return s;
}

}  // namespace lab
