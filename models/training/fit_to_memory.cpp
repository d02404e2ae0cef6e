#include "models/training/fit_to_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "engine/passes/batch/micro_batches.h"
#include "engine/passes/passes.h"
#include "engine/plan/op_rules.h"
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

// `fits`: what has room as it is, " --micro-batch 64 has room as it is;", or takes least, or nothing.
void check_room(int64_t bytes, int64_t room, const FitOptions& options, const RunContext& context,
                const std::string& fits = "") {
  if (bytes <= room) return;
  const std::string more = options.recompute == Recompute::off ? " or --recompute auto" : "";
  throw Error(
      ErrorCode::memory,
      fmt::format("A training step takes {}, and memory_limit has {} left beside the table.\n  "
                  "--memory-limit {} has room for it;{} a smaller --batch-size{} needs less.",
                  megabytes(bytes), megabytes(room), limit_of(context.team.limit()->held() + bytes), fits, more));
}

// The micro-batches of at most `most` rows, or sequences, that a batch is cut into.
int count_of_parts(const Plan& plan, int64_t batch, int64_t most) {
  const int64_t units = units_of_batch(plan), each = units > 0 ? batch / units : 0;
  if (each == 0 || most < each)
    throw Error(
        ErrorCode::usage,
        fmt::format("--micro-batch {}: a batch of {} is computed in parts of {} at least (packs of rows, tiles of "
                    "sequences).\n  Ask for {} or more.",
                    most, batch, each == 0 ? batch : each, each == 0 ? batch : each));
  const int64_t whole = most / each;
  return static_cast<int>((units + whole - 1) / whole);
}

}  // namespace

Plan step_plan(const Method& method, size_t phase, int64_t steps, const FitOptions& options,
               const std::set<std::string>& passes_off, ColumnPart* columns) {
  Plan plan;
  plan.precision =
      choose_precision(options.precision, options.device ? *options.device : Device::processor()).precision;
  Recorder r(plan);
  method.record_training(r, phase, steps);
  std::set<std::string> off = passes_off;
  if (columns != nullptr) {
    columns->states = cut_columns(plan, columns->cut);
    off.insert("scale");  // no number of ranks changes a bit
  }
  optimise(plan, off);
  if (options.micro_batch > 0)
    micro_batches(plan, count_of_parts(plan, method.phases()[phase].batch, options.micro_batch));
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
  RecomputeReport report = recompute_within(room, plan, device, options, context.passes_off, context.team.size());
  check_room(report.bytes_after, room, options, context);
  if (!report.values.empty())
    notice(context.monitor,
           fmt::format("Training takes {} instead of {}: {} made again instead of kept, {:.0f} % more FLOPs.",
                       megabytes(report.bytes_after), megabytes(report.bytes_before),
                       report.values.size() == 1 ? "1 value is" : fmt::format("{} values are", report.values.size()),
                       100 * (report.flops_after / report.flops_before - 1)));
  return report;
}

namespace {

// What the largest phase takes of the device, with recomputation as asked for.
int64_t largest_phase(const Method& method, int64_t room, const Device& device, const FitOptions& options,
                      const RunContext& context) {
  const std::vector<Phase> phases = method.phases();
  int64_t most = 0;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].steps == 0) continue;
    Plan plan = step_plan(method, i, phases[i].steps, options, context.passes_off);
    most = std::max(most,
                    recompute_within(room, plan, device, options, context.passes_off, context.team.size()).bytes_after);
  }
  return most;
}

// Each part of a batch is in the plan, which takes longer to make the more of them there are; what stays of a step with
// many parts is hardly less.
constexpr int kMostParts = 32;

// Of halves of the batch: the largest that has room, and where none has the one that takes least.
struct MicroBatchChoice {
  int64_t fits = 0, least = 0, least_bytes = INT64_MAX;
};
MicroBatchChoice micro_batch_within(const Method& method, int64_t room, const Device& device, const FitOptions& options,
                                    const RunContext& context) {
  FitOptions less = options;
  less.recompute = Recompute::off;  // looking for what to make again takes longer than all else here
  int64_t batch = 0;
  for (const Phase& p : method.phases()) batch = std::max(batch, p.batch);
  const int64_t most = options.micro_batch > 0 ? std::min(batch, options.micro_batch) : batch;
  MicroBatchChoice choice;
  for (less.micro_batch = most / 2; less.micro_batch > 0 && batch / less.micro_batch <= kMostParts;
       less.micro_batch /= 2)
    try {
      const int64_t bytes = largest_phase(method, room, device, less, context);
      if (bytes < choice.least_bytes) choice.least = less.micro_batch, choice.least_bytes = bytes;
      if (bytes > room) continue;
      choice.fits = less.micro_batch;
      break;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::usage) throw;
      break;  // there are no smaller parts
    }
  return choice;
}

// Whether micro-batches compute what the batch does: batch norm would see each by itself.
bool rows_are_apart(const Method& method, const FitOptions& options, const RunContext& context) {
  const std::vector<Phase> phases = method.phases();
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].steps == 0) continue;
    const Plan plan = step_plan(method, i, phases[i].steps, options, context.passes_off);
    if (std::any_of(plan.nodes.begin(), plan.nodes.end(), [](const Node& x) { return traits(x).normalises; }))
      return false;
  }
  return true;
}

}  // namespace

int64_t micro_batch_for(const Method& method, const Device& device, const FitOptions& options,
                        const RunContext& context) {
  const int64_t room = room_of(device, context);
  if (room == INT64_MAX) return options.micro_batch;
  const int64_t most = largest_phase(method, room, device, options, context);
  if (most <= room) return options.micro_batch;
  const MicroBatchChoice choice = micro_batch_within(method, room, device, options, context);
  const int64_t fits = choice.fits;
  if (fits == 0)
    check_room(most, room, options, context,
               choice.least_bytes < most
                   ? fmt::format(" {} has with --micro-batch {};",
                                 limit_of(context.team.limit()->held() + choice.least_bytes), choice.least)
                   : "");
  if (options.micro_batch > 0 || !rows_are_apart(method, options, context))
    check_room(most, room, options, context, fmt::format(" --micro-batch {} has room as it is;", fits));
  notice(context.monitor,
         fmt::format("A training step takes {}, and the memory limit has {} left: each batch goes through it in parts "
                     "of {} at most, as with --micro-batch {}. The model differs at rounding from one without a limit.",
                     megabytes(most), megabytes(room), fits, fits));
  return fits;
}

}  // namespace tessera
