#include "models/training/fit_to_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "engine/passes/passes.h"
#include "engine/run/footprint.h"
#include "engine/run/precision.h"
#include "models/data/notice.h"

namespace tessera {
namespace {

std::string megabytes(int64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

// Rounded up, so that a limit that is given as it is printed does.
std::string limit_of(int64_t bytes) { return fmt::format("{}MB", bytes / 1'000'000 + 1); }

// Bytes that are left for a step; INT64_MAX where nothing bounds it.
int64_t room_of(const Device& device, const RunContext& context) {
  const std::shared_ptr<MemoryLimit>& limit = context.team.limit();
  return limit != nullptr && device.is_processor() ? limit->room() : INT64_MAX;  // the limit is the host's
}

void check_room(int64_t bytes, int64_t room, const FitOptions& options, const RunContext& context) {
  if (bytes <= room) return;
  const std::string more = options.recompute == Recompute::off ? " or --recompute auto" : "";
  throw Error(ErrorCode::memory,
              fmt::format("A training step takes {}, and memory_limit has {} left beside the table.\n  "
                          "--memory-limit {} has room for it; a smaller --batch-size{} needs less.",
                          megabytes(bytes), megabytes(room), limit_of(context.team.limit()->held() + bytes), more));
}

}  // namespace

Plan step_plan(const Method& method, size_t phase, int64_t steps, const FitOptions& options,
               const std::set<std::string>& passes_off) {
  Plan plan;
  Recorder r(plan);
  method.record_training(r, phase, steps);
  const Device& device = options.device ? *options.device : Device::processor();
  plan.precision = choose_precision(options.precision, device).precision;
  optimise(plan, passes_off);
  return plan;
}

RecomputeReport recompute_within(int64_t room, Plan& plan, const Device& device, const FitOptions& options,
                                 const std::set<std::string>& passes_off, int threads) {
  const bool reuse = wanted(passes_off, "liveness");
  return recompute(plan, options.recompute, room,
                   [&](const Plan& p) { return footprint(p, device, threads, reuse).total(); });
}

RecomputeReport fit_to_memory(Plan& plan, const Device& device, const FitOptions& options, const RunContext& context) {
  const int64_t room = room_of(device, context);
  const RecomputeReport report = recompute_within(room, plan, device, options, context.passes_off, context.team.size());
  check_room(report.bytes_after, room, options, context);
  if (!report.values.empty())
    notice(context.monitor,
           fmt::format("Training takes {} instead of {}: {} made again instead of kept, {:.0f} % more FLOPs.",
                       megabytes(report.bytes_after), megabytes(report.bytes_before),
                       report.values.size() == 1 ? "1 value is" : fmt::format("{} values are", report.values.size()),
                       100 * (report.flops_after / report.flops_before - 1)));
  return report;
}

void check_phases_fit(const Method& method, const Device& device, const FitOptions& options,
                      const RunContext& context) {
  const std::vector<Phase> phases = method.phases();
  const int64_t room = room_of(device, context);
  if (room == INT64_MAX || phases.size() < 2) return;  // one phase is checked as it begins
  int64_t most = 0;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].steps == 0) continue;
    Plan plan = step_plan(method, i, phases[i].steps, options, context.passes_off);
    const RecomputeReport report =
        recompute_within(room, plan, device, options, context.passes_off, context.team.size());
    most = std::max(most, report.bytes_after);
  }
  check_room(most, room, options, context);
}

}  // namespace tessera
