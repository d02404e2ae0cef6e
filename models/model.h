// A fitted model: fit, save, load, sample. What the C ABI and nothing else calls.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/device.h"
#include "engine/monitor.h"
#include "engine/team.h"
#include "models/calibration/tier.h"
#include "models/encoding/encoder.h"
#include "models/table/table.h"

namespace tessera {

// Hyper-parameters of CTGAN (Xu et al. 2019, §4). Sizes in rows and units; `preset` has already been applied when a field is read.
struct CtganConfig {
  int epochs = 300;  // 0: an untrained model
  int batch = 500;   // rows, drawn with replacement; a multiple of pac
  int pac = 10;      // rows a critic row packs
  int embedding_dim = 128;
  std::vector<int> generator_dim{256, 256};
  std::vector<int> discriminator_dim{256, 256};
  int discriminator_steps = 1;  // critic steps a generator step
  double learning_rate = 2e-4;
  double beta1 = 0.5, beta2 = 0.9, adam_eps = 1e-8, weight_decay = 1e-6;
  double penalty_weight = 10, leaky_slope = 0.2, dropout = 0.5, tau = 0.2;
  double bn_eps = 1e-5, bn_momentum = 0.1;
  double average_decay = 0;     // exponential average of the generator's weights, used for sampling; less in runs too short for it; 0: the last weights
  double decay_from = 1;        // share of the steps after which the learning rate falls linearly to 0; 1: never
  bool population_norm = false;  // batch-norm statistics measured at the end for the weights used, instead of running ones
};

struct LossRow {  // one line of --log: means over the steps since the line before
  int64_t step;
  double epoch, critic, generator, penalty, seconds;
};

struct FitOptions {
  std::string method = "ctgan";
  std::string preset = "best";  // "best" | "paper"; apply_preset() sets ctgan and encoder from it
  CtganConfig ctgan;
  EncoderOptions encoder;
  uint64_t seed = 0;
  Tier calibrate = Tier::full;                       // the highest tier that is learnt after training
  std::string source;                                // where the rows came from, for the provenance
  std::function<void(const LossRow&)> on_losses;     // at least once an epoch; may be empty
  std::vector<std::string> passes_off;               // plan passes to leave out, for study; see `tessera plan`
  std::shared_ptr<Device> device;                    // where training steps run; null: the processor
};

void apply_preset(FitOptions& options);  // throws Error(usage) for an unknown preset or method

// Checks a configuration against itself and makes the batch a multiple of pac. Error(usage) names the option.
void check_config(CtganConfig& config);

struct SampleOptions {
  uint64_t seed = 0;
  std::string where;          // "" or an expression, see models/table/where.h
  int batch = 0;              // rows made at a time; 0: chosen. Never changes a row
  std::shared_ptr<Device> device;  // where rows are made; null: the processor
  int max_tries = 1000;       // candidates a row may take under `where` before Error(condition)
  std::optional<Tier> calibrate;                    // none: the tier that served best when the model was calibrated
  double min_yield = kMinYield;        // share of candidates that calibration must keep; it gives up exactness for it
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
  virtual bool next(Table& batch) = 0;  // false: no more rows. Throws Error(condition) with the rows found and the rarest term, Error(cancelled)
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

  // The same model, calibrated anew on the rows it was fitted on; of the options, seed and calibrate count.
  Model calibrated(const Table& table, const FitOptions& options, Team& team, const Monitor& monitor) const;

  void save(const std::string& path, bool overwrite) const;  // whole or not at all
  static Model load(const std::string& path);                // Error(format) names what is wrong and where

  Table schema() const;             // columns with names, types, values' spelling; no rows
  nlohmann::json describe() const;  // method, preset, configuration, columns, encoders, sizes, provenance

  // The stream keeps what it needs of the model alive; team and monitor must outlive it.
  std::unique_ptr<RowStream> sample(int64_t offset, int64_t count, const SampleOptions& options, Team& team, const Monitor& monitor) const;

  struct State;  // models/model_state.h
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

// The training step of this table and these options: ops, shapes, bytes, FLOPs, what each pass did, memory, the floor. Trains nothing.
nlohmann::json describe_plan(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor);

}  // namespace tessera
