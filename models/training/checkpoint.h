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

#include "engine/run/monitor.h"
#include "models/data/notice.h"
#include "models/method/method.h"
#include "models/training/rank_states.h"
#include "models/training/run_identity.h"

namespace tessera {

constexpr size_t kMostLossRows = size_t{1} << 16;  // that a checkpoint keeps, the latest

// All that a run is between two steps: with it, the plan and the table, the next step computes what it would have
// computed.
struct RunState {
  int64_t step = 0;
  int64_t steps = 0;   // where training ends, as planned now: less than the schedule's once the run was shortened
  States states;       // of the training plan by leaf: weights, optimiser, averages, the ring of losses
  double seconds = 0;  // of training, for people and --max-time

  std::vector<double> loss_sums;  // of the row of losses that is being filled, and its steps
  int64_t loss_steps = 0;
  // rows of --log: step, seconds, means by column of the ring; of a very long run the last ones
  std::vector<std::vector<double>> losses;

  struct Measure {
    int64_t step = 0;
    double value = 0;
  };
  std::vector<Measure> measures;  // held out, lower is better
  std::optional<Measure> best;
  States best_weights;      // as at `best`, while they are wanted
  std::string stopped;      // why it was shortened: "patience", "max-time"; "": it was not
  int64_t left_out = 0;     // of `step`: what phases that ended early would still have done
  int64_t micro_batch = 0;  // that the memory limit made of a step's batch; 0: nothing
};

// A checkpoint with a checksum may still have been made by anybody: all that is read from it later must be there, in
// the plan's sizes. Error(format) where it is not.
void check_own(bool fits, const char* what);
// Those of all the plan's state leaves, which ranks may have parts of.
void check_states(const Program& p, const RankStates& parts, const States& states);

// The files of one run.
class Checkpoints {
 public:
  static std::string older(const std::string& path) { return path + ".previous"; }
  // A file of the user's that has the name of a generation is neither replaced nor removed: Error(io) where one is
  // there that is not a checkpoint of ours, whole or damaged.
  static void check_ours(const std::string& path);
  static void remove(const std::string& path);  // both generations; Error(io) as check_ours()

  // An empty path in the options: nothing is written and nothing found.
  Checkpoints(const CheckpointOptions& options, RunIdentity identity, const Monitor& monitor);

  const RunIdentity& identity() const { return identity_; }

  // The newest whole generation of this run; none: there is no whole one. The monitor reports damaged ones.
  // Throws Error(data | usage) naming the difference when it is of another run, Error(unsupported) when a later release
  // wrote it.
  std::optional<RunState> newest();

  void remove_own();  // those of this run

  bool due(const RunState& run, int64_t steps_per_epoch) const;
  // The monitor reports a failure, and training goes on.
  void write(const RunState& run, int64_t steps_per_epoch);

  // "\n  Epoch 212 of 300 is kept in …": the end of a message; empty while nothing is kept.
  std::string kept() const;

 private:
  CheckpointOptions options_;
  RunIdentity identity_;
  const Monitor& monitor_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  int64_t last_step_ = 0;                     // that is kept
  int64_t tried_step_ = 0;                    // that was to be kept last
  std::string failure_;                       // why it was not: said once, not every minute
  double kept_epoch_ = -1, kept_epochs_ = 0;  // −1: nothing is kept
};

}  // namespace tessera
