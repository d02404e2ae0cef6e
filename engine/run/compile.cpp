#include "engine/run/compile.h"

#include "engine/passes/passes.h"
#include "engine/run/precision.h"

namespace tessera {

std::unique_ptr<Program> compile(const Target& target, Purpose purpose, const std::function<void(Recorder&)>& record) {
  Plan plan;
  plan.precision = choose_precision(target.precision, target.device).precision;
  Recorder r(plan);
  r.start_purposes(purpose);
  record(r);
  optimise(plan, target.passes_off);
  return std::make_unique<Program>(std::move(plan), target.device, target.team, target.seed,
                                   wanted(target.passes_off, "liveness"));
}

}  // namespace tessera
