#include "engine/run/compile.h"

#include "engine/passes/passes.h"
#include "engine/run/footprint.h"
#include "engine/run/precision.h"

namespace tessera {

namespace {

Plan optimized(const Target& target, Purpose purpose, const std::function<void(Recorder&)>& record) {
  Plan plan;
  plan.precision = choose_precision(target.precision, target.device).precision;
  Recorder r(plan);
  r.start_purposes(purpose);
  record(r);
  optimize(plan, target.passes_off);
  return plan;
}

}  // namespace

std::unique_ptr<Program> compile(const Target& target, Purpose purpose, const std::function<void(Recorder&)>& record) {
  return std::make_unique<Program>(optimized(target, purpose, record), target.device, target.team, target.seed,
                                   wanted(target.passes_off, "liveness"));
}

int64_t bytes_of_program(const Target& target, Purpose purpose, const std::function<void(Recorder&)>& record) {
  return footprint(optimized(target, purpose, record), target.device, target.team.size(),
                   wanted(target.passes_off, "liveness"))
      .total();
}

}  // namespace tessera
