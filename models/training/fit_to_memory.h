// A training step within the memory that is left of the limit.
#pragma once
#include <set>
#include <string>

#include "engine/passes/columns/columns.h"
#include "engine/passes/recompute.h"
#include "models/method/method.h"
#include "models/training/fit_options.h"

namespace tessera {

// A rank's columns of a plan as recorded, through all passes but those that are off.
StateCuts cut_and_optimise(Plan& recorded, const RankCut& cut, std::set<std::string> passes_off);

// The plan of one phase's step of `steps` as it runs: recorded, in the options' precision, through all passes but those
// that are off, in micro-batches. Error(usage) for one that is smaller than what a step is made of.
// With `columns`, the part of that rank, and what it has of the states.
struct ColumnPart {
  RankCut cut;
  StateCuts states{};
};
Plan step_plan(const Method& method, size_t phase, int64_t steps, const FitOptions& options,
               const std::set<std::string>& passes_off, ColumnPart* columns = nullptr);

int64_t bytes_of(const States& states);

// Bytes of the host that the trainer holds beside the program of a step: `carried`, the states of start() and enter(),
// a copy of all states while it measures or saves, those that ranks have parts of whole (`cuts`), one for the search of
// a NaN, and what ranks exchange through shared memory.
int64_t beside_step(const Plan& plan, const Device& device, const States& carried, const FitOptions& options,
                    const StateCuts& cuts = {});

// Bytes that are left for a step: of the host's limit, less those `beside` it, or below 0; of a device what is free,
// less a part that is kept free and what the plan binds. INT64_MAX where nothing bounds it.
int64_t room_for(const Plan& plan, const Device& device, const Team& team, int64_t beside);

// Recomputation as the options ask for it, to take at most `room` bytes on the device.
RecomputeReport recompute_within(int64_t room, Plan& plan, const Device& device, const FitOptions& options,
                                 const std::set<std::string>& passes_off, int threads);

// Makes values again where the options ask for it or room_for() has none for them, and tells so. Error(memory) before
// any allocation if the step does not fit even so, with the limit that has room for it.
RecomputeReport fit_to_memory(Plan& plan, const Device& device, const FitOptions& options, const RunContext& context,
                              int64_t beside);

// The micro-batch of a run, before its first phase: as asked for. Where none was, the batch has no room (room_for) and
// its rows do not depend on one another, the largest half, quarter, … that has, which a notice tells.
// 0: the batch. Error(memory) as above, with the --micro-batch that has room.
int64_t micro_batch_for(const Method& method, const Device& device, const FitOptions& options,
                        const RunContext& context);

// What a method keeps of a training takes so much at most, with the states that training leaves.
int64_t bytes_after(const Method& method, const States& carried, const RunContext& context);
// What follows the steps has room, too: `bytes` of `what`, beside what the limit holds by then. Error(memory) before
// any work, with the limit that has room and `instead`, a sentence.
void check_room_after(int64_t bytes, int64_t held, const char* what, const std::string& instead, const Team& team);

}  // namespace tessera
