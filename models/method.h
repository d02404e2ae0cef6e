// What fit, sample and the model file ask of a method. CTGAN and TVAE each answer in a file of their own; what goes
// around them is written once:
// trainer.cpp (the loop), sampler.cpp (the stream), model_file.cpp.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/recorder.h"
#include "engine/run/compile.h"
#include "engine/run/program.h"
#include "models/config.h"
#include "models/data/encoding/encoder.h"
#include "models/model.h"

namespace tessera {

// Contents of states of a plan, by leaf.
using States = std::map<std::string, std::vector<float>>;

// What is left of training: all that sampling needs.
struct FittedState {
  States states;                        // of the sampling plan
  std::vector<int64_t> condition_rows;  // CTGAN: of each condition, by position, the rows that had it
  int64_t active = 0;                   // TVAE: latent dimensions of the fitted prior
};

// A tensor of the model file and where it lies in FittedState::states.
struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;
  std::string state;
  int64_t state_size;
  std::function<int64_t(int64_t)> element;  // element i of the tensor → index in the state
  // what a negative element would be ("a negative variance"); nullptr: a number like others
  const char* negative = nullptr;
};

// A row that is tried, and the number of the try.
struct Candidate {
  int64_t row;
  int32_t attempt;
};

// Which levels of a category span can meet the conditions on its column.
struct AllowedLevels {
  const Span* span;
  std::vector<char> level;
};

// Makes the candidates of one stream.
class RowGenerator {
 public:
  virtual ~RowGenerator() = default;
  // outputs "codes" and "alphas"; bound "rows" [batch, 3] says who each row is
  virtual void record(Recorder& r, int64_t batch) const = 0;
  virtual void bind(Program& program) = 0;  // the bound leaves that are the method's own
  // Before a run: what is chosen for each of the batch's rows (candidates beyond the list repeat the last one), in what
  // is bound to the program.
  virtual void choose(Program&, std::span<const Candidate>) {}
  // After a run: whether candidate i, row i of the batch, may be a row. A candidate that is refused costs a try.
  virtual bool accepts(const Program&, int64_t, const Candidate&) const { return true; }
};

// How well weights do on rows that training does not see.
class HeldOut {
 public:
  virtual ~HeldOut() = default;
  // of the leaves of start(); lower is better, and the same weights give the same number
  virtual double measure(const States& weights) = 0;
  virtual double least() const = 0;  // the smallest difference that is worth training for
};

struct RunContext {
  uint64_t seed;
  const std::set<std::string>& passes_off;
  Team& team;
  const Monitor& monitor;
  Deadline until = {};  // of what follows training

  Target target() const { return {team, seed, Device::processor(), passes_off}; }  // of plans beside the training's
};

class Method {
 public:
  virtual ~Method() = default;

  struct Schedule {
    int64_t epochs, batch;
    double learning_rate;
    double decay_from = 1;  // share of the steps after which the learning rate falls to 0
  };
  virtual Schedule schedule() const = 0;

  // Training. prepare() comes first and makes what the step binds besides "codes" and "alphas"; the table outlives the
  // method.
  virtual void prepare(const EncodedTable& table, Team& team) = 0;
  virtual States start(uint64_t seed) const = 0;  // what states begin with, those that do not begin with 0
  // losses into the ring "losses"
  virtual void record_training(Recorder& r, int64_t table_rows, int64_t steps) const = 0;
  virtual void bind(Program&) const {}
  virtual void relax() const {}  // what training has touched of arrays in scratch need not stay in memory
  // means by column of the ring
  virtual void describe_losses(const std::vector<double>& means, LossRow& row) const = 0;
  // from the states of start(), as training left them
  virtual FittedState keep(States end, const RunContext& context) const = 0;
  // On the rows given; they and the context outlive the result. Null: the method has no such measure, and neither
  // --patience nor --keep best may be asked of it.
  virtual std::unique_ptr<HeldOut> held_out(const EncodedTable&, const RunContext&) const { return nullptr; }

  // Sampling. `allowed` holds the category columns that have conditions.
  virtual std::unique_ptr<RowGenerator> row_generator(const FittedState& kept,
                                                      const std::vector<AllowedLevels>& allowed, uint64_t seed,
                                                      Team& team) const = 0;

  // The model file: every tensor it holds of FittedState::states. kept.active is known.
  virtual void visit_tensors(const FittedState& kept, const std::function<void(const TensorSpec&)>& visit) const = 0;

  // For `plan` and `inspect`.
  virtual int64_t parameters() const = 0;  // weights that sampling uses
};

std::unique_ptr<Method> make_ctgan(const RowLayout& layout, const CtganConfig& config);
std::unique_ptr<Method> make_tvae(const RowLayout& layout, const TvaeConfig& config);
inline std::unique_ptr<Method> make_method(const RowLayout& layout, const MethodConfig& config) {
  if (const auto* tvae = std::get_if<TvaeConfig>(&config)) return make_tvae(layout, *tvae);
  return make_ctgan(layout, std::get<CtganConfig>(config));
}

// Copies into those states of a program that it has in the same size.
void load_states(Program& p, const States& states);

}  // namespace tessera
