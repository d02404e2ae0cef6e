#include "models/training/fit_to_memory.h"

#include <fmt/format.h>

#include "engine/error.h"
#include "engine/passes/passes.h"
#include "engine/run/footprint.h"
#include "models/training/checkpoint.h"

namespace tessera {
namespace {

std::string megabytes(int64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

// Rounded up, so that a limit that is given as it is printed does.
std::string limit_of(int64_t bytes) { return fmt::format("{}MB", bytes / 1'000'000 + 1); }

}  // namespace

RecomputeReport fit_to_memory(Plan& plan, const Device& device, const FitOptions& options, const RunContext& context) {
  const std::shared_ptr<MemoryLimit>& limit = context.team.limit();
  const bool bounded = limit != nullptr && device.is_processor();  // the limit is the host's
  const int64_t room = bounded ? limit->room() : INT64_MAX;
  const bool reuse = wanted(context.passes_off, "liveness");
  const RecomputeReport report = recompute(plan, options.recompute, room, [&](const Plan& p) {
    return footprint(p, device, context.team.size(), reuse).total();
  });
  if (report.bytes_after > room) {
    const std::string more = options.recompute == Recompute::off ? " or --recompute auto" : "";
    throw Error(ErrorCode::memory,
                fmt::format("A training step takes {}, and the memory limit has {} left beside the table.\n  "
                            "--memory-limit {} has room for it; a smaller --batch-size{} needs less.",
                            megabytes(report.bytes_after), megabytes(room),
                            limit_of(limit->held() + report.bytes_after), more));
  }
  if (!report.values.empty())
    notice(context.monitor,
           fmt::format("Training takes {} instead of {}: {} made again instead of kept, {:.0f} % more FLOPs.",
                       megabytes(report.bytes_after), megabytes(report.bytes_before),
                       report.values.size() == 1 ? "1 value is" : fmt::format("{} values are", report.values.size()),
                       100 * (report.flops_after / report.flops_before - 1)));
  return report;
}

}  // namespace tessera
