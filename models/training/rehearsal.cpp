#include "models/training/rehearsal.h"

#include <algorithm>

#include "engine/passes/passes.h"
#include "engine/run/footprint.h"
#include "engine/storage/process_memory.h"
#include "models/training/fit_to_memory.h"
#include "models/training/rank_states.h"

namespace tessera {
namespace {

constexpr int64_t kOwnMap = int64_t{32} << 20;  // glibc's largest M_MMAP_THRESHOLD

int64_t bytes_of(const States& states) {
  int64_t bytes = 0;
  for (const auto& [leaf, values] : states) bytes += static_cast<int64_t>(values.size() * sizeof(float));
  return bytes;
}

int64_t bytes_of_state(const Plan& plan, bool moments) {
  int64_t bytes = 0;
  for (const Leaf& leaf : plan.leaves) {
    if (leaf.kind == Leaf::state && is_moment(leaf.name) == moments)
      bytes += static_cast<int64_t>(sizeof(float)) * plan.shape(leaf.value).count();
  }
  return bytes;
}

// What the trainer holds beside a step's program, while it measures or saves.
int64_t beside_step(const Plan& plan, const States& carried, const FitOptions& options) {
  const int64_t weights = bytes_of(carried);
  int64_t all = weights;  // with the step's own, in place of those of the same name
  for (const Leaf& leaf : plan.leaves) {
    if (leaf.kind != Leaf::state) continue;
    const auto same = carried.find(leaf.name);
    const auto had = same == carried.end() ? 0 : static_cast<int64_t>(same->second.size());
    all += static_cast<int64_t>(sizeof(float)) * (plan.shape(leaf.value).count() - had);
  }
  const int64_t snapshot = bytes_of_state(plan, false) + bytes_of_state(plan, true);  // for the search of a NaN
  return snapshot + (options.keep_best ? weights : 0) + std::max(weights, all);
}

}  // namespace

int64_t bytes_of(const EncodedTable& t) {
  return static_cast<int64_t>(t.alphas.capacity() * sizeof(float) + t.codes.capacity() * sizeof(int32_t));
}

Trained rehearse(const Method& method, HeldOut* held_out, const FitOptions& options, const RunContext& context) {
  Rehearsal& r = *options.rehearsal;
  States carried = method.start(context.seed);
  if (held_out != nullptr) (void)held_out->measure(carried);  // its memory is taken with its first run
  const Device& device = options.device ? *options.device : Device::processor();
  const bool here = device.is_processor();
  const auto& limit = context.team.limit();
  r.arrays = std::max(r.arrays, limit->held());
  r.resident = std::max(r.resident, process_memory().resident);
  // The allocator maps a block by itself, and gives it back, unless it has had a larger one back, but below kOwnMap.
  int64_t largest = 0, kept = 0;
  const std::vector<Phase> phases = method.phases();
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].steps == 0) continue;
    method.enter(i, carried);
    Plan plan = step_plan(method, i, phases[i].steps, options, context.passes_off);
    const RecomputeReport made_again = recompute_within(room_for(plan, device, context.team), plan, device, options,
                                                        context.passes_off, context.team.size());
    const Footprint takes = footprint(plan, device, context.team.size(), wanted(context.passes_off, "liveness"));
    r.step = std::max(r.step, takes.total());
    const int64_t now = process_memory().resident;  // the passes have left memory to the allocator
    r.training = std::max(r.training, now + kept + (here ? takes.total() : 0) + beside_step(plan, carried, options));
    if (here && takes.activations < largest) kept += takes.activations;
    if (here && takes.activations < kOwnMap) largest = std::max(largest, takes.activations);
    r.phases.push_back({{"phase", phases[i].name},
                        {"batch", phases[i].batch},
                        {"weights_bytes", bytes_of_state(plan, false)},
                        {"moments_bytes", bytes_of_state(plan, true)},
                        {"state_bytes", takes.state},
                        {"activation_bytes", takes.activations},
                        {"scratch_bytes", takes.scratch},
                        {"bytes", takes.total()},
                        {"made_again", made_again.values.size()},
                        {"bytes_without_recompute", made_again.bytes_before}});
  }
  r.reached = true;
  release_freed_memory();  // as the trainer does
  Trained out;
  const Deadline at_once(0, options.now);  // the steps of a prior end after the first
  out.kept = method.keep(carried,          // a copy: the trainer still has its own
                         {context.seed, context.passes_off, context.team, context.monitor, at_once, true});
  return out;
}

}  // namespace tessera
