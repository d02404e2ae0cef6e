#include "models/training/fit_to_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "engine/comm/shared_window.h"
#include "engine/passes/batch/micro_batches.h"
#include "engine/passes/passes.h"
#include "engine/plan/op_rules.h"
#include "engine/run/footprint.h"
#include "engine/run/precision.h"
#include "tables/notice.h"

namespace tessera {
namespace {

std::string megabytes(int64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

// The limit under which that many bytes fit, if this one leaves `left`. Rounded up, so that the printed limit is
// enough.
std::string limit_with(int64_t bytes, int64_t left, const Team& team) {
  return fmt::format("`memory_limit={}`", ((team.limit()->bytes() - left + bytes) / 1'000'000 + 1) * 1'000'000);
}

// `fits`: a way out: a micro-batch that fits (" `micro_batch=64` fits;"), the one that takes the least memory, or
// empty.
void check_step_fits(int64_t bytes, int64_t left, const Device& device, const FitOptions& options,
                     const RunContext& context, const std::string& fits = "") {
  if (bytes <= left) return;
  const std::string more = options.recompute == Recompute::off ? " or `recompute=auto`" : "";
  const bool here = device.is_processor();
  throw Error(
      ErrorCode::memory,
      fmt::format("A training step takes {}, and {} has {} left beside the table.\n  {}{} a smaller "
                  "`batch_size`{} needs less.",
                  megabytes(bytes), here ? "memory_limit" : device.describe(), megabytes(std::max<int64_t>(left, 0)),
                  here ? fmt::format("{} is enough;", limit_with(bytes, left, context.team))
                       : "`device=cpu` may have enough memory;",
                  fits, more));
}

int64_t bytes_of_bound(const Plan& plan) {
  int64_t bytes = 0;
  for (const Leaf& leaf : plan.leaves)
    if (leaf.kind == Leaf::bound) bytes += static_cast<int64_t>(sizeof(float)) * plan.shape(leaf.value).count();
  return bytes;
}

// A rank's own part of the shared memory for exchanges: two buffers of the size of the largest exchange.
int64_t window_bytes(const Plan& plan) {
  int64_t largest = 0;
  for (const Node& x : plan.nodes) {
    if (!is_exchange(x.op)) continue;
    const int64_t own = traits(x).sent_to_each > 0 ? plan.shape(x.out[1]).cols : 0;  // not sent
    largest = std::max(largest, plan.shape(x.in[1]).cols - own);
  }
  return largest == 0 ? 0
                      : SharedWindow::bytes(SharedWindow::whole_lines(largest * static_cast<int64_t>(sizeof(float))));
}

// The number of micro-batches of at most `most` rows, or sequences, into which a batch is cut.
int count_of_parts(const Plan& plan, int64_t batch, int64_t rows) {
  const int64_t units = units_of_batch(plan), each = units > 0 ? batch / units : 0;
  if (each == 0 || rows < each)
    throw Error(ErrorCode::usage,
                fmt::format("`micro_batch={}`: the smallest part of a batch of {} is {} (a pack of rows, or a tile of "
                            "sequences).\n  Ask for {} or more.",
                            rows, batch, each == 0 ? batch : each, each == 0 ? batch : each));
  const int64_t whole = rows / each;
  return static_cast<int>((units + whole - 1) / whole);
}

}  // namespace

StateCuts cut_and_optimize(Plan& recorded, const RankCut& cut, std::set<std::string> passes_off) {
  StateCuts states = cut_columns(recorded, cut);
  passes_off.insert("scale");  // no number of ranks changes a bit
  optimize(recorded, passes_off);
  return states;
}

Plan step_plan(const Method& method, size_t phase, int64_t steps, const FitOptions& options,
               const std::set<std::string>& passes_off, ColumnPart* columns) {
  Plan plan;
  plan.precision =
      choose_precision(options.precision, options.device ? *options.device : Device::processor()).precision;
  Recorder r(plan);
  method.record_training(r, phase, steps);
  if (columns != nullptr) columns->states = cut_and_optimize(plan, columns->cut, passes_off);
  else optimize(plan, passes_off);
  if (options.micro_batch > 0)
    micro_batches(plan, count_of_parts(plan, method.phases()[phase].batch, options.micro_batch));
  return plan;
}

int64_t bytes_of(const States& states) {
  int64_t bytes = 0;
  for (const auto& [leaf, values] : states) bytes += static_cast<int64_t>(values.size() * sizeof(float));
  return bytes;
}

int64_t beside_step(const Plan& plan, const Device& device, const States& carried, const FitOptions& options,
                    const StateCuts& cuts) {
  const int64_t weights = bytes_of(carried);
  // States are copied leaf by leaf; a new copy is complete before it replaces the old one of the same name.
  int64_t state = 0, held = weights, peak = weights;
  for (const Leaf& leaf : plan.leaves) {
    if (leaf.kind != Leaf::state) continue;
    const int64_t bytes = static_cast<int64_t>(sizeof(float)) * plan.shape(leaf.value).count();
    const auto same = carried.find(leaf.name);
    const auto cut = cuts.find(leaf.name);
    const int64_t whole = cut == cuts.end() ? bytes : static_cast<int64_t>(sizeof(float)) * cut->second.whole;
    peak = std::max(peak, held + whole);
    if (same == carried.end()) held += whole;
    state += bytes;
  }
  return weights + (device.is_processor() ? state + window_bytes(plan) : 0) + (options.keep_best ? weights : 0) + peak;
}

int64_t memory_left(const Plan& plan, const Device& device, const Team& team, int64_t beside) {
  constexpr int64_t kReserve = 20;  // a twentieth of a device's memory: recorded steps and fragmentation
  if (!device.is_processor()) {
    const int64_t free = device.free_memory();
    return free - free / kReserve - bytes_of_bound(plan);
  }
  const auto& limit = team.limit();
  return limit != nullptr && limit->bytes() > 0 ? limit->left() - beside : INT64_MAX;
}

RecomputeReport recompute_within(int64_t left, Plan& plan, const Device& device, const FitOptions& options,
                                 const std::set<std::string>& passes_off, int threads) {
  const bool reuse = wanted(passes_off, "liveness");
  return recompute(plan, options.recompute, left,
                   [&](const Plan& p) { return footprint(p, device, threads, reuse).total(); });
}

RecomputeReport fit_to_memory(Plan& plan, const Device& device, const FitOptions& options, const RunContext& context,
                              int64_t beside) {
  const int64_t left = memory_left(plan, device, context.team, beside);
  RecomputeReport report = recompute_within(left, plan, device, options, context.passes_off, context.team.size());
  check_step_fits(report.bytes_after, left, device, options, context);
  if (!report.values.empty())
    notice(context.monitor,
           fmt::format("Training takes {} instead of {}: {} recomputed instead of stored, {:.0f} % more FLOPs.",
                       megabytes(report.bytes_after), megabytes(report.bytes_before),
                       report.values.size() == 1 ? "1 value is" : fmt::format("{} values are", report.values.size()),
                       100 * (report.flops_after / report.flops_before - 1)));
  return report;
}

namespace {

// The phase with the least memory to spare, or the largest shortage, with recomputation according to the options.
struct Tightest {
  int64_t bytes = 0, left = INT64_MAX;
  bool fits() const { return bytes <= left; }
};
Tightest tightest_phase(const Method& method, const Device& device, const FitOptions& options,
                        const RunContext& context) {
  const std::vector<Phase> phases = method.phases();
  Tightest found;
  States carried = method.start(context.seed);
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].steps == 0) continue;
    method.enter(i, carried);
    Plan plan = step_plan(method, i, phases[i].steps, options, context.passes_off);
    Tightest phase{0, memory_left(plan, device, context.team, beside_step(plan, device, carried, options))};
    phase.bytes =
        recompute_within(phase.left, plan, device, options, context.passes_off, context.team.size()).bytes_after;
    if (phase.left - phase.bytes < found.left - found.bytes) found = phase;
  }
  return found;
}

// The plan contains each part of a batch, so it takes longer to compile with more parts, and more parts hardly lower
// the memory further.
constexpr int kMaxParts = 32;

// Among halves, quarters, … of the batch: the largest that fits, and the one that takes the least memory.
struct MicroBatchChoice {
  int64_t fits = 0, min = 0;
  Tightest with_min{INT64_MAX, INT64_MAX};
};
MicroBatchChoice micro_batch_within(const Method& method, const Device& device, const FitOptions& options,
                                    const RunContext& context) {
  FitOptions less = options;
  less.recompute = Recompute::off;  // the search for values to recompute would take the most time here
  int64_t batch = 0;
  for (const Phase& p : method.phases()) batch = std::max(batch, p.batch);
  const int64_t largest = options.micro_batch > 0 ? std::min(batch, options.micro_batch) : batch;
  MicroBatchChoice choice;
  for (less.micro_batch = largest / 2; less.micro_batch > 0 && batch / less.micro_batch <= kMaxParts;
       less.micro_batch /= 2)
    try {
      const Tightest phase = tightest_phase(method, device, less, context);
      if (phase.bytes < choice.with_min.bytes) choice.min = less.micro_batch, choice.with_min = phase;
      if (!phase.fits()) continue;
      choice.fits = less.micro_batch;
      break;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::usage) throw;
      break;  // there are no smaller parts
    }
  return choice;
}

// Whether micro-batches give the same result as the batch: batch norm would normalize each separately.
bool rows_are_independent(const Method& method, const FitOptions& options, const RunContext& context) {
  const std::vector<Phase> phases = method.phases();
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].steps == 0) continue;
    const Plan plan = step_plan(method, i, phases[i].steps, options, context.passes_off);
    if (std::any_of(plan.nodes.begin(), plan.nodes.end(), [](const Node& x) { return traits(x).normalizes; }))
      return false;
  }
  return true;
}

}  // namespace

int64_t micro_batch_for(const Method& method, const Device& device, const FitOptions& options,
                        const RunContext& context) {
  const auto& limit = context.team.limit();
  const bool here = device.is_processor();
  if (here && (limit == nullptr || limit->bytes() == 0)) return options.micro_batch;
  const Tightest phase = tightest_phase(method, device, options, context);
  if (phase.fits()) return options.micro_batch;
  const MicroBatchChoice choice = micro_batch_within(method, device, options, context);
  const int64_t fits = choice.fits;
  if (fits == 0)
    check_step_fits(phase.bytes, phase.left, device, options, context,
                    here && choice.with_min.bytes < phase.bytes
                        ? fmt::format(" {} is enough with `micro_batch={}`;",
                                      limit_with(choice.with_min.bytes, choice.with_min.left, context.team), choice.min)
                        : "");
  // A private fit leaves the choice to the user: what the limit leaves depends on the table's number of rows.
  if (options.micro_batch > 0 || options.privacy.epsilon > 0 || !rows_are_independent(method, options, context))
    check_step_fits(phase.bytes, phase.left, device, options, context, fmt::format(" `micro_batch={}` fits;", fits));
  notice(context.monitor,
         fmt::format(
             "A training step takes {}, and {} has {} left: each batch is processed in micro-batches of at most {}, "
             "as with `micro_batch={}`. The model differs by rounding from one trained on whole batches.",
             megabytes(phase.bytes), here ? "the memory limit" : device.describe(),
             megabytes(std::max<int64_t>(phase.left, 0)), fits, fits));
  return fits;
}

int64_t bytes_after(const Method& method, const States& carried, const RunContext& context) {
  const int64_t bytes = method.bytes_after(context);
  return bytes == 0 ? 0 : bytes + 2 * bytes_of(carried);  // as training leaves them, and as they are kept
}

void check_memory_after(int64_t bytes, int64_t held, const char* what, const std::string& instead, const Team& team) {
  const auto& limit = team.limit();
  if (bytes == 0 || limit == nullptr || limit->bytes() == 0) return;
  const int64_t left = limit->bytes() - held;
  if (bytes <= left) return;
  throw Error(
      ErrorCode::memory,
      fmt::format("{} takes up to {} after training, and memory_limit has {} left then.\n  {} is enough.{}", what,
                  megabytes(bytes), megabytes(std::max<int64_t>(left, 0)), limit_with(bytes, left, team), instead));
}

}  // namespace tessera
