#include "models/training/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/cpu/cpu_features.h"
#include "base/storage/process_memory.h"
#include "engine/comm/nccl.h"
#include "engine/device/device.h"
#include "engine/device/device_api.h"
#include "engine/emit/launch_compiler.h"
#include "engine/passes/batch/shard.h"
#include "engine/passes/passes.h"
#include "engine/run/precision.h"
#include "engine/schedule/fusion_data.h"
#include "models/training/fit_to_memory.h"
#include "tables/notice.h"

namespace tessera {
namespace {

// A command from rank 0 to the others.
struct Command {
  enum What : int64_t { open, run, repeat, fetch, keep, end } what;
  int64_t phase = 0, steps = 0,
          step = 0;     // open: of the phase, and the one it is at · run, repeat: their number of steps
  int64_t moments = 0;  // fetch: those of the optimizer too
};

Error no_memory() { return {ErrorCode::memory, "there is not enough memory"}; }

Device& device_of(const FitOptions& options) { return options.device ? *options.device : Device::processor(); }

Error named(const Communicator& rank, const Error& e) {
  const std::string name = name_of_rank(rank.rank(), rank.size()), text = e.what();
  return text.starts_with(name) ? e : Error(e.code(), fmt::format("{}: {}", name, text));
}

std::shared_ptr<Device> gpu_of(const FitOptions& options, const Communicator& rank) {
  try {
    return std::make_shared<Device>(options.device->api(), options.ranks.gpus[static_cast<size_t>(rank.rank())]);
  } catch (const Error& e) { throw named(rank, e); }
}

// Rank 0 may be busy for long between two commands.
Command next_command(Communicator& rank) {
  const LongWait wait(rank);
  Command c{};
  rank.broadcast(&c, sizeof c);
  return c;
}

void share_states(Communicator& rank, Program& program, const RankStates& states, const States& whole) {
  states.put(rank, program, whole);
  for (const Leaf& leaf : program.plan().leaves) {
    if (leaf.kind != Leaf::state || states.cut(leaf.name)) continue;
    std::vector<float> values = program.get<float>(leaf.name);
    rank.broadcast(values.data(), static_cast<int64_t>(values.size() * sizeof(float)));
    if (rank.rank() > 0) program.put(leaf.name, values.data());
  }
}

// Repeats a run from its snapshot as far as it went; returns the first rank that sent non-finite values; −1: none.
int repeat(Communicator& rank, Program& program) {
  if (program.on_device()) {
    const int64_t exchange = program.bad_exchange();
    return rank.first_of(exchange < 0 ? Communicator::kNoExchange : exchange);
  }
  const int64_t end = program.step().step;
  program.rewind();
  rank.look_for_bad(true);
  program.run(end - program.step().step);
  const int64_t exchange = rank.bad_exchange();
  rank.look_for_bad(false);
  return rank.first_of(exchange);
}

}  // namespace

// Launches are compiled for phases of at least this many steps: shorter ones end before NVRTC does.
constexpr int64_t kMinCompiledSteps = 10'000;
constexpr int kMaxCompilers = 4;  // threads

TrainingProgram training_program(const Method& method, size_t phase, int64_t steps, const FitOptions& options,
                                 const RunContext& context, const Communicator& rank, const States& carried) {
  const bool by_columns = options.ranks.by_columns();
  Device& device = device_of(options);
  ColumnPart part{{options.ranks.shards, rank.size(), rank.rank(), rank.wires(), !device.is_processor()}};
  Plan plan = step_plan(method, phase, steps, options, context.passes_off, by_columns ? &part : nullptr);
  // Also the budget of calibration, which must not depend on the number of ranks.
  const double flops = flops_of(by_columns ? step_plan(method, phase, steps, options, context.passes_off) : plan);
  if (options.ranks.shards > 0 && !by_columns) part.states = shard(plan, part.cut);
  const int64_t beside = beside_step(plan, device, carried, options, by_columns ? StateCuts{} : part.states);
  fit_to_memory(plan, device, options, context, beside);
  if (!options.fusion.empty() && phase + 1 == method.phases().size()) {
    Plan fused = plan;
    use_fusion(fused, options.fusion);  // a processor has no launches, but the text must be one
    if (!device.is_processor()) plan = std::move(fused);
  }
  release_freed_memory();  // of the passes and of the previous phase: the arenas do not fit into their gaps
  auto program = std::make_unique<Program>(std::move(plan), device, context.team, context.seed,
                                           wanted(context.passes_off, "liveness"));
  method.bind(*program);
  if (!device.is_processor() && steps >= kMinCompiledSteps && wanted(context.passes_off, "compile")) {
    Compilation how;
    how.early = wanted(context.passes_off, "early_launch");
    how.threads = std::min(context.team.size(), kMaxCompilers);
    if (nvrtc().version.empty()) how.unavailable = nvrtc().reason;
    program->compile_launches(how);
  }
  return {std::move(program), flops, RankStates(std::move(part.states)),
          context.team.share(beside, "copies of weights and optimizer state")};
}

namespace {

// Whether a rank's part of each phase's step fits.
bool part_fits(const Method& method, const FitOptions& options, const RunContext& context, int ranks, int rank) {
  const std::vector<Phase> phases = method.phases();
  const bool by_columns = options.ranks.by_columns(), threads = !options.ranks.world;
  Device& device = device_of(options);
  const Wires nowhere{};
  States carried = rank == 0 ? method.start(context.seed) : States{};
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].steps == 0) continue;
    if (rank == 0) method.enter(i, carried);
    ColumnPart part{{options.ranks.shards, ranks, rank, &nowhere, !device.is_processor()}};
    Plan plan = step_plan(method, i, phases[i].steps, options, context.passes_off, by_columns ? &part : nullptr);
    const StateCuts cuts = by_columns ? StateCuts{} : shard(plan, part.cut);
    // ranks that are threads share the host's limit
    const int64_t left = memory_left(plan, device, context.team, 0) / (threads && device.is_processor() ? ranks : 1) -
                         (device.is_processor() ? beside_step(plan, device, carried, options, cuts) : 0);
    const int team = std::max(1, context.team.size() / (threads ? ranks : 1));
    if (recompute_within(left, plan, device, options, context.passes_off, team).bytes_after > left) return false;
  }
  return true;
}

// The same, by columns; false for a method that cannot be cut by columns.
bool columns_fit(const Method& method, const FitOptions& options, const RunContext& context, int ranks, int rank) {
  try {
    return part_fits(method, options, context, ranks, rank);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::usage) throw;
    return false;
  }
}

}  // namespace

void choose_parallel(const Method& method, const RunContext& context, FitOptions& options) {
  RankOptions& own = options.ranks;
  if (own.parallel != Parallel::automatic) return;
  own.parallel = Parallel::data;
  const int ranks = own.world ? own.world->size() : own.threads, rank = own.world ? own.world->rank() : 0;
  if (ranks == 1) return;
  FitOptions by_columns = options;
  by_columns.ranks.parallel = Parallel::model;
  if (own.usual_shards) by_columns.ranks.shards = ranks;
  const auto everywhere = [&](bool here) {
    if (!own.world) return here;
    const LongWait wait(*own.world);
    const std::vector<std::string> all = own.world->gather(here ? "fits" : "");
    return std::none_of(all.begin(), all.end(), [](const std::string& said) { return said.empty(); });
  };
  if (everywhere(part_fits(method, options, context, ranks, rank))) return;
  // if it does not fit by columns either, the error is that of the rows
  if (!everywhere(columns_fit(method, by_columns, context, ranks, rank))) return;
  own = by_columns.ranks;
  if (rank == 0)
    notice(context.monitor,
           "`parallel=auto`: the ranks divide the columns of the table, because all weights do not fit into "
           "the memory of a rank.");
}

Ranks::Ranks(const Method& method, const FitOptions& options, const RunContext& context) : context_(context) {
  if (options.ranks.world) communicator_ = options.ranks.world;
  else if (options.ranks.threads > 1) start_threads(method, options, options.ranks.threads);
  else communicator_ = std::make_shared<SelfCommunicator>();
  try {
    link_devices(*communicator_, device_of(options));
  } catch (const Error& e) {
    if (world_) communicator_->abort(e);
    join();
    throw;
  }
}

void Ranks::start_threads(const Method& method, const FitOptions& options, int ranks) {
  const int each = std::max(1, context_.team.size() / ranks);
  world_ = ThreadWorld::create(ranks);
  communicator_ = world_->communicator(0);
  own_ = std::make_unique<OwnTeam>(each, context_);
  const auto as_rank = [this, &method, &options, each](int r) {
    const std::unique_ptr<Communicator> rank = world_->communicator(r);
    try {
      const Monitor quiet;
      const OwnTeam own(each, {context_.seed, context_.passes_off, context_.team, quiet, context_.until});
      FitOptions of_rank = options;
      if (!options.ranks.gpus.empty()) of_rank.device = gpu_of(options, *rank);
      follow(method, of_rank, own.context, *rank);
    } catch (const Error& e) { rank->abort(e); }  // the first error is kept
  };
  try {
    for (int r = 1; r < ranks; ++r) threads_.emplace_back(as_rank, r);
  } catch (const std::system_error& e) {
    const Error why(ErrorCode::memory,
                    fmt::format("{} cannot be started ({}).\n  Ask for fewer `devices`.",
                                name_of_rank(static_cast<int>(threads_.size()) + 1, ranks), e.code().message()));
    communicator_->abort(why);
    join();
    throw why;
  }
}

// Destroying an unjoined thread would end the process.
void Ranks::join() noexcept {
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

Ranks::~Ranks() {
  end();
  communicator_->link(nullptr);  // the other ranks do the same
  join();
}

void Ranks::end() noexcept {
  if (communicator_->size() == 1 || left_) return;
  try {
    if (lost()) communicator_->check();
    Command c{Command::end};
    communicator_->broadcast(&c, sizeof c);
  } catch (const Error& e) { leave(e); }
}

// The other threads stop waiting; launched processes are notified by the launcher or by the end of this process.
void Ranks::leave(const Error& why) noexcept {
  left_ = true;
  if (world_) communicator_->abort(why);
  else communicator_->give_up();
}

void Ranks::open(size_t phase, int64_t steps, Program& program, const RankStates& states, const States& whole) {
  if (communicator_->size() == 1) return states.put(*communicator_, program, whole);
  Command c{Command::open, static_cast<int64_t>(phase), steps, program.step().step};
  communicator_->broadcast(&c, sizeof c);
  // The others compile their plans now, which takes long for a large plan.
  const LongWait wait(*communicator_);
  share_states(*communicator_, program, states, whole);
}

States Ranks::fetch(const Program& program, const RankStates& states, bool moments) {
  if (communicator_->size() > 1) {
    Command c{Command::fetch};
    c.moments = moments ? 1 : 0;
    communicator_->broadcast(&c, sizeof c);
  }
  return states.get(*communicator_, program, moments);
}

void Ranks::run(int64_t steps) {
  if (communicator_->size() == 1) return;
  Command c{Command::run, 0, steps, 0};
  communicator_->broadcast(&c, sizeof c);
}

FittedState Ranks::keep(const Method& method, States weights, const Deadline& until) {
  RunContext own = context();
  own.until = until;
  if (communicator_->size() == 1) return method.keep(std::move(weights), own);
  Command c{Command::keep};
  communicator_->broadcast(&c, sizeof c);
  own.shared = SharedWork(*communicator_);
  try {
    return method.keep(std::move(weights), own);
  } catch (const Error& e) {
    leave(e);
    throw;
  } catch (const std::bad_alloc&) {
    leave(no_memory());
    throw;
  }
}

std::string Ranks::blame(Program& program) {
  Command c{Command::repeat};
  communicator_->broadcast(&c, sizeof c);
  const int bad = repeat(*communicator_, program);
  return bad < 0 ? "" : fmt::format("the part of {}", name_of_rank(bad, communicator_->size()));
}

namespace {

// During its lifetime, steps on the device can exchange with the other ranks' devices.
class Linked {
 public:
  Linked(Communicator& rank, Device& device) : rank_(rank) { link_devices(rank, device); }
  ~Linked() { rank_.link(nullptr); }
  Linked(const Linked&) = delete;

 private:
  Communicator& rank_;
};

// A rank's part of rank 0's keep(), without messages of its own.
void assist(const Method& method, const RunContext& context, Communicator& rank) {
  const Monitor quiet;
  method.assist({context.seed, context.passes_off, context.team, quiet, {}, false, SharedWork(rank)});
}

void obey(const Method& method, const FitOptions& options, const RunContext& context, Communicator& rank) {
  const Linked linked(rank, device_of(options));
  TrainingProgram own;
  for (;;) {
    const Command c = next_command(rank);
    switch (c.what) {
      case Command::open:
        own = {};
        own = training_program(method, static_cast<size_t>(c.phase), c.steps, options, context, rank, {});
        own.program->step().step = c.step;
        share_states(rank, *own.program, own.states, {});
        break;
      case Command::run:
        own.program->start(c.steps, own.program->step().bad < 0);
        own.program->finish();
        rank.check();
        method.relax();
        break;
      case Command::repeat: repeat(rank, *own.program); break;
      case Command::fetch: (void)own.states.get(rank, *own.program, c.moments != 0); break;
      case Command::keep:
        own = {};  // training has ended: frees its memory for the next stages
        assist(method, context, rank);
        break;
      case Command::end: return;
    }
  }
}

}  // namespace

void follow(const Method& method, const FitOptions& options, const RunContext& context, Communicator& rank) {
  const auto leave = [&](const Error& e) {
    if (!rank.failed()) rank.abort(named(rank, e));
  };
  try {
    obey(method, options, context, rank);
  } catch (const Error& e) {
    leave(e);
    throw;
  } catch (const std::bad_alloc&) {
    const Error e = no_memory();
    leave(e);
    throw e;
  }
}

bool follows(const FitOptions& options) { return options.ranks.world && options.ranks.world->rank() > 0; }

// Compares each rank's settings with rank 0's. Every rank finds the same difference, and stops.
void check_ranks(const FitOptions& options, const RunIdentity& identity) {
  if (!options.ranks.world) return;
  Communicator& rank = *options.ranks.world;
  nlohmann::json own = identity.to_json();
  own["build"] = {{"the processor's instructions", name_of(best_isa())}, {"bytes of a step", sizeof(Command)}};
  own["build"]["version"] = TESSERA_VERSION;
  const std::vector<std::string> all = [&] {
    const LongWait wait(rank);
    return rank.gather(own.dump());
  }();
  const nlohmann::json first = nlohmann::json::parse(all[0]);
  const RunIdentity of_first = RunIdentity::from_json(first);
  for (int r = 1; r < rank.size(); ++r) {
    const nlohmann::json other = nlohmann::json::parse(all[static_cast<size_t>(r)]);
    const RunIdentity of_other = RunIdentity::from_json(other);
    const std::string who = name_of_rank(r, rank.size());
    if (const std::string difference = of_other.other_table(of_first); !difference.empty())
      throw Error(ErrorCode::data, fmt::format("{} has another table than rank 0: {}.\n  Give all ranks the same file.",
                                               who, difference));
    if (const std::string differences = of_other.other_options(of_first); !differences.empty())
      throw Error(ErrorCode::usage, fmt::format("{} has other options than rank 0: {}.\n  Start all ranks with one "
                                                "command.",
                                                who, differences));
    if (other["build"] != first["build"])
      throw Error(ErrorCode::unsupported,
                  fmt::format("{} differs from rank 0: {}, there {}.\n  Set TESSERA_CPU to an instruction set that all "
                              "processors have, and use one version of Tessera.",
                              who, other["build"].dump(), first["build"].dump()));
  }
}

}  // namespace tessera
