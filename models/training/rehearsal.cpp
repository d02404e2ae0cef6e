#include "models/training/rehearsal.h"

#include <algorithm>

#include "base/storage/process_memory.h"
#include "engine/passes/passes.h"
#include "engine/run/footprint.h"
#include "models/training/fit_to_memory.h"
#include "models/training/rank_states.h"

namespace tessera {
namespace {

int64_t bytes_of_state(const Plan& plan, bool moments) {
  int64_t bytes = 0;
  for (const Leaf& leaf : plan.leaves) {
    if (leaf.kind == Leaf::state && is_moment(leaf.name) == moments)
      bytes += static_cast<int64_t>(sizeof(float)) * plan.shape(leaf.value).count();
  }
  return bytes;
}

}  // namespace

int64_t bytes_of(const EncodedTable& t) {
  return static_cast<int64_t>(t.alphas.capacity() * sizeof(float) + t.codes.capacity() * sizeof(int32_t));
}

Trained rehearse(const Method& method, std::unique_ptr<HeldOut> held_out, const FitOptions& options,
                 const RunContext& context) {
  Rehearsal& r = *options.rehearsal;
  States carried = method.start(context.seed);
  const auto& limit = context.team.limit();
  r.after = std::max(r.after, limit->held() + bytes_after(method, carried, context));
  if (held_out != nullptr) (void)held_out->measure(carried);  // allocates its memory, as its first run in training does
  const int64_t reserved = held_out != nullptr ? held_out->reserved() : 0;
  const Device& device = options.device ? *options.device : Device::processor();
  const bool here = device.is_processor();
  r.arrays = std::max(r.arrays, limit->held() - reserved);
  r.resident = std::max(r.resident, process_memory().resident);
  const std::vector<Phase> phases = method.phases();
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].steps == 0) continue;
    method.enter(i, carried);
    Plan plan = step_plan(method, i, phases[i].steps, options, context.passes_off);
    const int64_t beside = beside_step(plan, device, carried, options);
    const RecomputeReport made_again = recompute_within(memory_left(plan, device, context.team, beside), plan, device,
                                                        options, context.passes_off, context.team.size());
    const Footprint takes = footprint(plan, device, context.team.size(), wanted(context.passes_off, "liveness"));
    r.step = std::max(r.step, takes.total());
    r.held = std::max(r.held, (here ? takes.total() : 0) + beside + reserved);
    Plan own = plan;
    const Arranged arranged =  // as in a program; alive while the resident size is read
        here ? arrange(own, device, table_of(device), wanted(context.passes_off, "liveness")) : Arranged{};
    release_freed_memory();  // as the trainer does before it allocates arenas
    const int64_t others = process_memory().resident - bytes_of(carried);
    r.training = std::max(r.training, others + (here ? takes.total() : 0) + beside + reserved);
    r.phases.push_back({{"phase", phases[i].name},
                        {"batch", phases[i].batch},
                        {"weights_bytes", bytes_of_state(plan, false)},
                        {"moments_bytes", bytes_of_state(plan, true)},
                        {"state_bytes", takes.state},
                        {"activation_bytes", takes.activations},
                        {"scratch_bytes", takes.scratch},
                        {"calls_bytes", takes.calls},
                        {"bytes", takes.total()},
                        {"made_again", made_again.values.size()},
                        {"bytes_without_recompute", made_again.bytes_before}});
  }
  r.reached = true;
  held_out.reset();
  release_freed_memory();  // as the trainer does
  Trained out;
  const Deadline at_once(0, options.now);  // a prior ends after its first step
  out.kept = method.keep(carried,          // a copy: the trainer still holds its own
                         {context.seed, context.passes_off, context.team, context.monitor, at_once, true});
  return out;
}

}  // namespace tessera
