// The options of a fit.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/passes/recompute.h"
#include "models/method/config.h"
#include "models/method/deadline.h"
#include "models/method/losses.h"
#include "models/sampling/calibration/tier.h"
#include "tables/encoding/encoder.h"
#include "tables/rules/rules.h"
#include "tables/sequence/sequences.h"

namespace tessera {

class Communicator;  // engine/comm/communicator.h
class Device;        // engine/device/device.h
struct Rehearsal;    // models/training/rehearsal.h

// How a step is divided among ranks: by the rows of its batch, or by the columns of the table. automatic: by rows,
// unless a rank fits into memory only by columns; choose_parallel() (models/training/ranks.h) replaces it by one of the
// others.
enum class Parallel { data, model, automatic };

// How a model is made private: it is trained on rows drawn from noisy counts; by DP-SGD; or by DP-SGD after such rows.
enum class PrivateBy { automatic, counts, gradients, both };

// The ranks that train together (docs/engine/devices.md).
struct RankOptions {
  int threads = 1;                      // ranks that are threads of this process
  std::shared_ptr<Communicator> world;  // ranks that a launcher started; null: none
  std::vector<int> gpus;                // of the ranks that are threads, by number; empty: they share the processor
  int shards = 0;                       // gradient shards; 0: the step is not cut
  bool usual_shards = false;            // their number is a default
  Parallel parallel = Parallel::data;   // rows or columns
  bool by_columns() const { return parallel == Parallel::model && shards > 0; }
};

// Where and how often a run saves its state; models/training/checkpoint.h.
struct CheckpointOptions {
  std::string path;  // empty: no checkpoints
  double every_seconds = 60;
  int64_t every_epochs = 0;  // instead of seconds, if not 0
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
  SequenceOptions sequences;  // how the table is cut into sequences, if it is
  bool of_sequences() const { return !config.method().rows() || sequences.length > 0 || !sequences.key.empty(); }
  bool codes_steps() const { return of_sequences() && config.method().bins; }
  EncoderOptions encoder;
  uint64_t seed = 0;
  Tier calibrate = Tier::full;  // the highest tier that is learned after training
  // Differential privacy of the model; epsilon 0: none. noise_seed: of tests; none: read from the system
  struct {
    double epsilon = 0, delta = 1e-5;
    PrivateBy by = PrivateBy::automatic;
    std::optional<uint64_t> noise_seed;
  } privacy;
  // rows that a category needs to be learned; see tables/protection/rare_categories.h
  int64_t rare_rows = 1;
  RuleOptions rules;
  std::string source;                             // where the rows came from, for the provenance
  std::function<void(const LossRow&)> on_losses;  // at least once per epoch; may be empty
  std::vector<std::string> passes_off;            // disabled plan passes, for study; see `tessera plan`
  std::string fusion;                             // of the last phase: see engine/schedule/fusion_data.h
  Recompute recompute = Recompute::automatic;     // of training steps; no bit of a model depends on it
  std::shared_ptr<Device> device;                 // where training steps run; null: the processor
  std::string precision = "fp32";                 // of the products of training steps; engine/run/precision.h
  int64_t micro_batch = 0;                        // maximum rows of a step in memory at once; 0: all
  RankOptions ranks;
  CheckpointOptions checkpoint;
  // epochs without a better held-out measure after which training ends; 0: never. See models/training/validation.h
  int patience = 0;
  bool patience_if_possible = false;     // too few rows to hold any out are not an error
  bool keep_best = false;                // keeps the weights with the best measure
  double max_seconds = 0;                // of the whole run, from `begun` on; 0: unlimited
  Clock now = seconds_now;               // the clock for them
  std::optional<double> begun;           // when the run began, by that clock; none: when fit() is called
  std::shared_ptr<Rehearsal> rehearsal;  // receives the memory that the fit would take; nothing is trained then
};

}  // namespace tessera
