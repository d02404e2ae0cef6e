// A training step within the memory that the limit leaves.
#pragma once
#include <set>
#include <string>

#include "engine/passes/columns/columns.h"
#include "engine/passes/recompute.h"
#include "models/method/method.h"
#include "models/training/fit_options.h"

namespace tessera {

// Cuts a recorded plan to a rank's columns and runs all passes except those that are off.
StateCuts cut_and_optimize(Plan& recorded, const RankCut& cut, std::set<std::string> passes_off);

// The final plan of a phase's step: recorded, in the options' precision, after all passes except those that are off, in
// micro-batches. Throws Error(usage) for a micro-batch that is smaller than a pack or tile. With `columns`, the part of
// that rank, and its parts of the states.
struct ColumnPart {
  RankCut cut;
  StateCuts states{};
};
Plan step_plan(const Method& method, size_t phase, int64_t steps, const FitOptions& options,
               const std::set<std::string>& passes_off, ColumnPart* columns = nullptr);

int64_t bytes_of(const States& states);

// Bytes of the host that the trainer holds beside the program of a step: `carried`, the states of start() and enter(),
// a copy of all states while it measures or saves (whole, also for states that ranks divide: `cuts`), one for the
// search for a NaN, and the shared memory for exchanges.
int64_t beside_step(const Plan& plan, const Device& device, const States& carried, const FitOptions& options,
                    const StateCuts& cuts = {});

// Bytes that are left for a step: on the host, the limit's rest less `beside`, possibly below 0; on a device, its free
// memory less a reserve and the plan's bound leaves. INT64_MAX: unlimited.
int64_t memory_left(const Plan& plan, const Device& device, const Team& team, int64_t beside);

// Recomputation according to the options, to take at most `left` bytes on the device.
RecomputeReport recompute_within(int64_t left, Plan& plan, const Device& device, const FitOptions& options,
                                 const std::set<std::string>& passes_off, int threads);

// Recomputes values if the options require it or the step does not fit memory_left(), and reports it. Throws
// Error(memory) before any allocation if the step still does not fit, naming the limit that is enough.
RecomputeReport fit_to_memory(Plan& plan, const Device& device, const FitOptions& options, const RunContext& context,
                              int64_t beside);

// The micro-batch of a run, determined before its first phase: the given one. If none is given, the batch does not fit
// (memory_left()), its rows are independent and the fit is not private: the largest half, quarter, … that fits, with a
// notice. 0: the batch. Throws Error(memory) as above, naming the micro-batch that fits.
int64_t micro_batch_for(const Method& method, const Device& device, const FitOptions& options,
                        const RunContext& context);

// Maximum bytes of Method::keep(), including the states that training leaves.
int64_t bytes_after(const Method& method, const States& carried, const RunContext& context);
// Checks that a stage after the steps fits too: `bytes` for `what`, beside the `held` bytes that the limit counts by
// then. Throws Error(memory) before any work, with the limit that is enough and the sentence `instead`.
void check_memory_after(int64_t bytes, int64_t held, const char* what, const std::string& instead, const Team& team);

}  // namespace tessera
