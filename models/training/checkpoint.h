// Checkpoints of a training run beside the model: an interruption loses only the steps since the last one. Two
// generations, each written whole or not at all (docs/use/resuming.md).
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/monitor.h"
#include "models/method/method.h"
#include "models/training/rank_states.h"
#include "models/training/run_identity.h"
#include "tables/notice.h"

namespace tessera {

constexpr size_t kMaxLossRows = size_t{1} << 16;  // kept in a checkpoint, the latest ones

// The complete state of a run between two steps: with it, the plan and the table, the next step gives the same result
// as in an uninterrupted run.
struct RunState {
  int64_t step = 0;
  int64_t steps = 0;   // the planned end of training: less than the schedule's if the run was shortened
  States states;       // of the training plan by leaf: weights, optimizer, averages, the ring of losses
  double seconds = 0;  // of training, for display and max_time

  std::vector<double> loss_sums;  // of the current, incomplete row of losses, and its steps
  int64_t loss_steps = 0;
  // rows of --log: step, seconds, means by column of the ring; only the last ones of a very long run
  std::vector<std::vector<double>> losses;

  struct Measure {
    int64_t step = 0;
    double value = 0;
  };
  std::vector<Measure> measures;  // held out, lower is better
  std::optional<Measure> best;
  States best_weights;      // those at `best`, if they are kept
  std::string stopped;      // why it was shortened: "patience", "max-time"; "": it was not
  int64_t left_out = 0;     // part of `step`: steps skipped by phases that ended early
  int64_t micro_batch = 0;  // chosen because of the memory limit; 0: none
};

// The checksum does not authenticate a checkpoint: everything that is read from it later must be present, in the plan's
// sizes. Throws Error(format) otherwise.
void check_own(bool fits, const char* what);
// Checks the states of all state leaves of the plan, of which ranks may have parts.
void check_states(const Program& p, const RankStates& parts, const States& states);

// The files of one run.
class Checkpoints {
 public:
  static std::string older(const std::string& path) { return path + ".previous"; }
  // A file with the name of a generation that is not a checkpoint of ours, intact or damaged, is neither replaced nor
  // removed: throws Error(io).
  static void check_ours(const std::string& path);
  static void remove(const std::string& path);  // both generations; Error(io) as check_ours()

  // With an empty path in the options, nothing is written or found.
  Checkpoints(const CheckpointOptions& options, RunIdentity identity, const Monitor& monitor);

  const RunIdentity& identity() const { return identity_; }

  // The newest intact generation of this run; none: there is no intact one. The monitor reports damaged ones. Throws
  // Error(data | usage) naming the difference if it belongs to another run, Error(unsupported) if a later release wrote
  // it.
  std::optional<RunState> newest();

  void remove_own();  // those of this run

  bool due(const RunState& run, int64_t steps_per_epoch) const;
  // The monitor reports a failure, and training continues.
  void write(const RunState& run, int64_t steps_per_epoch);

  // "\n  Epoch 212 of 300 is kept in …": the end of a message; empty if no checkpoint is kept.
  std::string kept() const;

 private:
  CheckpointOptions options_;
  RunIdentity identity_;
  const Monitor& monitor_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  int64_t last_step_ = 0;                     // of the last checkpoint written
  int64_t tried_step_ = 0;                    // of the last attempt to write one
  std::string failure_;                       // why it failed: reported once, not every minute
  double kept_epoch_ = -1, kept_epochs_ = 0;  // −1: no checkpoint is kept
};

}  // namespace tessera
