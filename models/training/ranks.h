// The ranks of a training run. Rank 0 leads it: it alone decides (how many steps, when a phase ends), measures, writes
// and reports. The others run the same steps on their parts of the batch, on its commands.
#pragma once
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/long_wait.h"
#include "engine/comm/threads.h"
#include "models/method/method.h"
#include "models/training/fit_options.h"
#include "models/training/rank_states.h"
#include "models/training/run_identity.h"

namespace tessera {

// The default of virtual_shards: the gradient shards of a batch.
constexpr int usual_shards(int ranks) {
  constexpr int kUsual = 8;
  return kUsual % ranks == 0 ? kUsual : ranks;
}

// One rank's training program of a phase of `steps` steps, with the states `carried`.
struct TrainingProgram {
  std::unique_ptr<Program> program;
  double flops = 0;  // of a step of all ranks
  RankStates states;
  MemoryShare beside;  // memory that the trainer holds beside the program
};
TrainingProgram training_program(const Method& method, size_t phase, int64_t steps, const FitOptions& options,
                                 const RunContext& context, const Communicator& rank, const States& carried);

// Replaces Parallel::automatic by one of the others, the same on every rank; all call it before train() or follow().
void choose_parallel(const Method& method, const RunContext& context, FitOptions& options);

// Rank 0's control of the others; with one rank it does nothing. The destructor ends its threads.
class Ranks {
 public:
  // Method, options and context outlive it.
  Ranks(const Method& method, const FitOptions& options, const RunContext& context);
  ~Ranks();
  Ranks(const Ranks&) = delete;

  Communicator& communicator() { return *communicator_; }
  // The context of the steps: the processors are divided among ranks that are threads.
  const RunContext& context() const { return own_ ? own_->context : context_; }
  // Whether a rank was lost within a step; the states are then invalid.
  bool lost() const { return communicator_->failed(); }

  // Before the first run of a program: sends its states and its step to the others. Divided states are taken from
  // `whole`.
  void open(size_t phase, int64_t steps, Program& program, const RankStates& states, const States& whole);
  // The divided states, joined; without `moments`, only weights and averages.
  States fetch(const Program& program, const RankStates& states, bool moments);
  void run(int64_t steps);  // the others run the same number
  // Method::keep() of the weights; the others assist.
  FittedState keep(const Method& method, States weights, const Deadline& until);
  // After a run that ended with a non-finite value: repeats it, and names the rank that computed the value. "": none
  // was found.
  std::string blame(Program& program);

 private:
  struct OwnTeam {
    OwnTeam(int threads, const RunContext& of)
        : team(threads, of.team.limit()), context{of.seed, of.passes_off, team, of.monitor, of.until} {}
    Team team;
    RunContext context;
  };
  void start_threads(const Method& method, const FitOptions& options, int ranks);
  void join() noexcept;
  void end() noexcept;
  void leave(const Error& why) noexcept;

  const RunContext& context_;
  std::shared_ptr<ThreadWorld> world_;
  std::shared_ptr<Communicator> communicator_;
  std::unique_ptr<OwnTeam> own_;
  std::vector<std::thread> threads_;
  bool left_ = false;  // in the middle of an exchange: the others cannot receive a command
};

// The loop of every rank except 0, until rank 0 ends the run.
void follow(const Method& method, const FitOptions& options, const RunContext& context, Communicator& rank);

// Whether this process is a rank that follows.
bool follows(const FitOptions& options);

// Checks that all ranks of a launcher train the same: Error(usage) on each of them, naming the rank that differs and
// the difference.
void check_ranks(const FitOptions& options, const RunIdentity& identity);

}  // namespace tessera
