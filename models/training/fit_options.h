// The options of a fit.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/passes/recompute.h"
#include "models/data/encoding/encoder.h"
#include "models/data/sequence/sequences.h"
#include "models/method/config.h"
#include "models/method/deadline.h"
#include "models/method/losses.h"
#include "models/rules/rules.h"
#include "models/sampling/calibration/tier.h"

namespace tessera {

class Communicator;  // engine/comm/communicator.h
class Device;        // engine/device/device.h
struct Rehearsal;    // models/training/rehearsal.h

// What ranks share of a step: the rows of its batch, or the columns of the table. automatic: the rows, unless only the
// columns leave each rank room; settle_parallel() (models/training/ranks.h) makes it one of the others.
enum class Parallel { data, model, automatic };

// The ranks that train together (docs/engine/devices.md).
struct RankOptions {
  int threads = 1;                      // ranks that are threads of this process
  std::shared_ptr<Communicator> world;  // ranks that a launcher started; null: none
  std::vector<int> gpus;                // of the ranks that are threads, by number; empty: they share the processor
  int shards = 0;                       // parts that are summed apart; 0: the step is not cut
  bool usual_shards = false;            // nobody asked for their number
  Parallel parallel = Parallel::data;   // what the parts are of
  bool by_columns() const { return parallel == Parallel::model && shards > 0; }
};

// Where a run keeps itself while it goes, and how often; models/training/checkpoint.h.
struct CheckpointOptions {
  std::string path;  // empty: nowhere
  double every_seconds = 60;
  int64_t every_epochs = 0;  // instead of seconds, where it is not 0
  bool resume = false;       // continue from existing checkpoints; false: remove them
};

struct FitOptions {
  std::string method;           // "": the first of the registry
  std::string preset = "best";  // "best" | "paper"; apply_preset() sets the rest from method and preset
  MethodConfig config;          // of that method
  template <class Config>
  Config& as() {
    return config.as<Config>();
  }
  SequenceOptions sequences;  // what makes sequences of the table; read by sequence methods
  EncoderOptions encoder;
  uint64_t seed = 0;
  Tier calibrate = Tier::full;  // the highest tier that is learnt after training
  // rows a category must have to be learnt; see models/data/protection/rare_categories.h
  int64_t rare_rows = 1;
  RuleOptions rules;
  std::string source;                             // where the rows came from, for the provenance
  std::function<void(const LossRow&)> on_losses;  // at least once an epoch; may be empty
  std::vector<std::string> passes_off;            // plan passes to leave out, for study; see `tessera plan`
  Recompute recompute = Recompute::automatic;     // of training steps; no bit of a model depends on it
  std::shared_ptr<Device> device;                 // where training steps run; null: the processor
  std::string precision = "fp32";                 // of the products of training steps; engine/run/precision.h
  int64_t micro_batch = 0;                        // rows of a step in memory at once, at most; 0: all of them
  RankOptions ranks;
  CheckpointOptions checkpoint;
  // epochs without a better held-out measure after which training comes to its end; 0: none. See
  // models/training/validation.h
  int patience = 0;
  bool patience_if_possible = false;     // rows too few to hold any out are no error
  bool keep_best = false;                // of the weights measured, those that were best
  double max_seconds = 0;                // of the whole run, from `begun` on; 0: as long as it takes
  Clock now = seconds_now;               // what counts them
  std::optional<double> begun;           // when the run began, by that clock; none: with fit()
  std::shared_ptr<Rehearsal> rehearsal;  // receives what the fit would take of memory; then nothing is trained
};

}  // namespace tessera
