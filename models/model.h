// A fitted model: fit, save, load, sample. What the C ABI and nothing else calls.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/run/monitor.h"
#include "engine/run/team.h"
#include "models/config.h"
#include "models/data/encoding/encoder.h"
#include "models/data/sequence/sequences.h"
#include "models/data/table/table.h"
#include "models/sampling/calibration/tier.h"
#include "models/training/clock.h"

namespace tessera {

class Device;  // engine/device/device.h

struct LossRow {  // one line of --log: means over the steps since the line before
  int64_t step;
  double epoch, seconds;
  double critic, generator, penalty;  // CTGAN
  double reconstruction, divergence;  // TVAE; TimeGAN: √R0 as reconstruction
  double supervised, moments;         // TimeGAN, beside critic and generator
  std::string note;                   // the same for a person
};

// Where a run keeps itself while it goes, and how often; models/training/checkpoint.h.
struct CheckpointOptions {
  std::string path;  // empty: nowhere
  double every_seconds = 60;
  int64_t every_epochs = 0;  // instead of seconds, where it is not 0
  bool resume = false;       // go on from what is there; false: what is there is removed
};

struct FitOptions {
  std::string method = methods().front().name;
  std::string preset = "best";  // "best" | "paper"; apply_preset() sets the rest from method and preset
  MethodConfig config;          // of that method
  template <class Config>
  Config& as() {
    return std::get<Config>(config);
  }
  SequenceOptions sequences;  // what makes sequences of the table; read by sequence methods
  EncoderOptions encoder;
  uint64_t seed = 0;
  Tier calibrate = Tier::full;  // the highest tier that is learnt after training
  // rows a category must have to be learnt; see models/data/protection/rare_categories.h
  int64_t rare_rows = 1;
  std::string source;                             // where the rows came from, for the provenance
  std::function<void(const LossRow&)> on_losses;  // at least once an epoch; may be empty
  std::vector<std::string> passes_off;            // plan passes to leave out, for study; see `tessera plan`
  std::shared_ptr<Device> device;                 // where training steps run; null: the processor
  CheckpointOptions checkpoint;
  // epochs without a better held-out measure after which training comes to its end; 0: none. See
  // models/training/validation.h
  int patience = 0;
  bool keep_best = false;       // of the weights measured, those that were best
  double max_seconds = 0;       // of the whole run, from `begun` on; 0: as long as it takes
  Clock now = seconds_now;      // what counts them
  std::optional<double> begun;  // when the run began, by that clock; none: with fit()
};

void apply_preset(FitOptions& options);  // Error(usage) for an unknown preset or method

struct SampleOptions {
  uint64_t seed = 0;
  std::string where;               // "" or an expression, see models/sampling/where.h
  int batch = 0;                   // rows made at a time; 0: chosen. Never changes a row
  std::shared_ptr<Device> device;  // where rows are made; null: the processor
  // candidates a row may take under `where` before Error(condition); 0: 65,536, fewer where none of the first million
  // of a block of rows meets it
  int max_tries = 0;
  std::optional<Tier> calibrate;  // none: the tier that served best when the model was calibrated
  double min_yield = kMinYield;   // share of candidates that calibration must keep; it gives up exactness for it
};

struct SampleReport {
  int64_t rows = 0, candidates = 0;
  int64_t settled = 0;    // rows for which the likeliest of kMostTries candidates was taken
  Tier tier = Tier::off;  // the calibration they went through
};

// Rows [offset, offset + count) of the infinite table that (model, seed, where) defines, batch after batch.
class RowStream {
 public:
  virtual ~RowStream() = default;
  // false: no more rows. Throws Error(condition) with the rows found and the rarest term, Error(cancelled)
  virtual bool next(Table& batch) = 0;
  virtual SampleReport report() const = 0;
};

class Model {
 public:
  Model();
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  // Takes the table's memory as it goes. Throws Error(data | usage | numeric | cancelled | memory).
  static Model fit(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor);

  // The model at `path`, if it is what fit() with this table and these options would make: then there is nothing left
  // to do. None where there is no file.
  // Throws Error(data | usage) naming the difference when it is another, unless `other` says that others may be there.
  static std::optional<Model> finished(const std::string& path, const Table& table, const FitOptions& options,
                                       bool other, Team& team, const Monitor& monitor);

  // The same model, calibrated anew on the rows it was fitted on; of the options, seed and calibrate count.
  Model calibrated(const Table& table, const FitOptions& options, Team& team, const Monitor& monitor) const;

  void save(const std::string& path, bool overwrite) const;  // whole or not at all
  static Model load(const std::string& path);                // Error(format) names what is wrong and where
  std::string bytes() const;                                 // of the file
  static Model from_bytes(const std::string& bytes, const std::string& path);  // `path` is for messages

  Table schema() const;             // columns with names, types, values' spelling; no rows
  nlohmann::json describe() const;  // method, preset, configuration, columns, encoders, sizes, provenance

  // The stream keeps what it needs of the model alive; team and monitor must outlive it.
  std::unique_ptr<RowStream> sample(int64_t offset, int64_t count, const SampleOptions& options, Team& team,
                                    const Monitor& monitor) const;

  struct State;  // models/model_state.h
  const State& state() const { return *state_; }

 private:
  void check_opens() const;  // Error(internal) if its file could not be read back
  std::shared_ptr<const State> state_;
};

// The training step of this table and these options: ops, shapes, bytes, FLOPs, what each pass did, memory, the floor.
// Trains nothing.
nlohmann::json describe_plan(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera
