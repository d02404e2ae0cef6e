#include "models/estimate.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/passes/passes.h"
#include "engine/run/footprint.h"
#include "models/prepared.h"
#include "models/training/fit_to_memory.h"
#include "models/training/trainer.h"
#include "models/training/validation.h"

namespace tessera {
namespace {

int64_t bytes_of(const EncodedTable& t) {
  return static_cast<int64_t>(t.alphas.capacity() * sizeof(float) + t.codes.capacity() * sizeof(int32_t));
}
int64_t bytes_of(const Table& t) {
  int64_t bytes = 0;
  for (const Column& c : t.columns)
    bytes += static_cast<int64_t>(c.numbers.capacity() * sizeof(double) + c.codes.capacity() * sizeof(int32_t));
  return bytes;
}
// Rows held out are copied beside the others.
int64_t held_out_bytes(const EncodedTable& t, const FitOptions& options) {
  const bool holds = measures(options) && (!options.patience_if_possible || can_hold_out(t));
  return holds ? bytes_of(t) : 0;
}

int64_t bytes_of_state(const Plan& plan, bool moments) {
  int64_t bytes = 0;
  for (const Leaf& leaf : plan.leaves) {
    const bool moment = leaf.name.ends_with(".m") || leaf.name.ends_with(".v");
    if (leaf.kind == Leaf::state && moment == moments) bytes += 4 * plan.shape(leaf.value).count();
  }
  return bytes;
}

// One phase of a method: its plan as the trainer makes it.
struct Step {
  Footprint takes;
  nlohmann::json json;
};
Step step_of(const Method& method, size_t phase, const FitOptions& options, const Device& device, const Team& team,
             int64_t room) {
  const std::set<std::string> off(options.passes_off.begin(), options.passes_off.end());
  const Phase spec = method.phases()[phase];
  Plan plan = step_plan(method, phase, spec.steps, options, off);
  const RecomputeReport made_again = recompute_within(room, plan, device, options, off, team.size());
  const Footprint takes = footprint(plan, device, team.size(), wanted(off, "liveness"));
  return {takes,
          {{"phase", spec.name},
           {"batch", spec.batch},
           {"weights_bytes", bytes_of_state(plan, false)},
           {"moments_bytes", bytes_of_state(plan, true)},
           {"state_bytes", takes.state},
           {"activation_bytes", takes.activations},
           {"scratch_bytes", takes.scratch},
           {"bytes", takes.total()},
           {"made_again", made_again.values.size()},
           {"bytes_without_recompute", made_again.bytes_before}}};
}

// The phases of a method, appended to `phases`; the largest of them.
Footprint largest(const Method& method, const FitOptions& options, const Device& device, const Team& team, int64_t room,
                  nlohmann::json& phases) {
  Footprint most;
  const std::vector<Phase> all = method.phases();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].steps == 0) continue;
    const Step s = step_of(method, i, options, device, team, room);
    if (s.takes.total() > most.total()) most = s.takes;
    phases.push_back(s.json);
  }
  return most;
}

}  // namespace

nlohmann::json estimate_memory(Table&& table, const FitOptions& options, Team& asked, const Monitor& monitor) {
  std::optional<Team> counting;  // what arrays take is known where a limit counts them
  Team& team = asked.limit() ? asked : counting.emplace(asked.size(), std::make_shared<MemoryLimit>());
  const Device& device = options.device ? *options.device : Device::processor();
  const bool here = device.is_processor();
  const int64_t rows = table.rows, table_bytes = bytes_of(table);
  const auto prepared = prepare(std::move(table), options, team, monitor);
  const bool sequences = prepared->sequence_method != nullptr;
  const int64_t encoded = sequences ? bytes_of(prepared->sequences.steps) + bytes_of(prepared->sequences.attributes)
                                    : bytes_of(prepared->rows);
  const int64_t held = std::max(team.limit()->held(), encoded);
  const int64_t held_out = sequences ? 0 : held_out_bytes(prepared->rows, options);
  const int64_t room = here ? team.limit()->room() : INT64_MAX;
  nlohmann::json phases = nlohmann::json::array();
  Footprint most;
  if (prepared->attribute_method) most = largest(*prepared->attribute_method, options, device, team, room, phases);
  const Footprint own = largest(prepared->method(), options, device, team, room, phases);
  if (own.total() > most.total()) most = own;
  // The columns of a table are given back one by one while it is encoded.
  const int64_t limit = std::max(table_bytes + encoded, held + held_out + (here ? most.total() : 0));
  return {{"method", options.method},
          {"preset", options.preset},
          {"rows", rows},
          {"threads", team.size()},
          {"device", here ? "cpu" : "cuda"},
          {"table_bytes", table_bytes},
          {"encoded_bytes", encoded},
          {"row_lists_bytes", held - encoded},
          {"held_out_bytes", held_out},
          {"phases", phases},
          {"training_bytes", most.total()},
          {"device_bytes", here ? 0 : most.total() + encoded},
          {"limit_bytes", limit}};
}

}  // namespace tessera
