// The interface of a method for fit, sample and the model file. Each method implements it in its own folder; the code
// around them is written once: training/trainer.cpp (the loop), sampling/ (the streams), model_file.cpp.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "engine/plan/recorder.h"
#include "engine/run/compile.h"
#include "engine/run/program.h"
#include "models/method/config.h"
#include "models/method/deadline.h"
#include "models/method/losses.h"
#include "models/method/shared_work.h"
#include "tables/encoding/encoder.h"
#include "tables/sequence/sequences.h"

namespace tessera {

// Contents of states of a plan, by leaf.
using States = std::map<std::string, std::vector<float>>;

// The result of training: everything that sampling needs.
struct FittedState {
  States states{};                        // of the sampling plan
  std::vector<int64_t> condition_rows{};  // CTGAN: number of rows with each condition, by position
  int64_t active = 0;                     // TVAE: latent dimensions of the fitted prior
};

// A tensor of the model file and its place in FittedState::states.
struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;
  std::string state;
  int64_t state_size;
  std::function<int64_t(int64_t)> element;  // element i of the tensor → index in the state
  // the error for a negative element ("a negative variance"); nullptr: negative elements are allowed
  const char* negative = nullptr;
};

// A row and the number of the attempt to draw it.
struct Candidate {
  int64_t row;
  int32_t attempt;
};

// The levels of a column that its conditions allow.
struct AllowedLevels {
  const Span* span;
  std::vector<float> share;  // of each level, the share of its values that meets the conditions: 0 … 1
};

// Generates the candidates of one stream.
class RowGenerator {
 public:
  virtual ~RowGenerator() = default;
  // outputs "codes" and "alphas"; bound "rows" [batch, 3]: the identity of each row
  virtual void record(Recorder& r, int64_t batch) const = 0;
  virtual void bind(Program& program) = 0;  // binds the method's own leaves
  // Call before a run: chooses inputs for each of the batch's rows (candidates beyond the list repeat the last one) and
  // writes them to the bound memory.
  virtual void choose(Program&, std::span<const Candidate>) {}
  // After a run: whether candidate i, row i of the batch, is accepted. A rejected candidate counts as an attempt.
  virtual bool accepts(const Program&, int64_t, const Candidate&) const { return true; }
  // If candidates are weighted: their effective share (Kish 1965), from a pilot.
  virtual double effective() const { return 1; }
};
class GivenGenerator;  // models/method/given.h

// A measure of weights on rows, or sequences, that training does not see.
class HeldOut {
 public:
  virtual ~HeldOut() = default;
  // `weights`: the leaves of start(). Lower is better; the same weights give the same number
  virtual double measure(const States& weights) = 0;
  virtual double min_gain() const = 0;  // the smallest difference that counts as an improvement
  virtual int64_t size() const = 0;     // rows, or sequences
  // Bytes that the limit counts between two measures although they are free: the memory that a measure needs.
  virtual int64_t reserved() const { return 0; }
};

// Added to the training's seed for rows that differ from those sampled with that seed.
constexpr uint64_t kOtherRows = 0x9E3779B97F4A7C15;

struct RunContext {
  uint64_t seed;
  const std::set<std::string>& passes_off;
  Team& team;
  const Monitor& monitor;
  Deadline until = {};     // of the stages after training
  bool rehearsal = false;  // nothing was trained: later stages use their maximum memory
  SharedWork shared = {};  // of the ranks, after training

  Target target() const { return {team, seed, Device::processor(), passes_off}; }  // of plans other than the training's
};

// A phase of training: one step, replayed. Each phase has its own plan over the states that the previous phases left.
struct Phase {
  std::string name;                 // in progress: "train"
  int64_t steps = 0;                // 0: skipped
  int64_t batch = 1;                // rows of a step
  int64_t epoch = 1;                // steps per row of losses; the unit of patience and checkpoints
  bool in_epochs = false;           // whether progress counts epochs; else steps
  double decay_from = 1;            // share of the steps after which the learning rate falls to 0
  double cost = 1;                  // of a step, relative to the other phases
  std::vector<size_t> losses = {};  // its columns of the ring; none: all
  const char* unit() const { return in_epochs ? "epochs" : "steps"; }
  double units(double n) const { return n / static_cast<double>(in_epochs ? epoch : 1); }  // of n steps
};
// The one phase of a method that passes over rows.
Phase passes_over(int64_t rows, int64_t epochs, int64_t batch, double decay_from);

class Method {
 public:
  virtual ~Method() = default;
  virtual const MethodSpec& spec() const = 0;

  // Training, on the data given to prepare() of RowMethod or SequenceMethod.
  virtual std::vector<Phase> phases() const = 0;
  virtual double learning_rate() const = 0;
  virtual States start(uint64_t seed) const = 0;  // initial values of the states that do not begin with 0
  // before a phase: adds its states beyond those of start()
  virtual void enter(size_t /*phase*/, States&) const {}
  // of `steps` steps; losses into the ring "losses", a column for each of spec().losses
  virtual void record_training(Recorder& r, size_t phase, int64_t steps) const = 0;
  virtual void bind(Program& program) const = 0;
  virtual void relax() const {}  // releases the pages of scratch arrays that training has touched
  // the rows that steps on the processor may touch before their pages are released
  virtual int64_t random_rows() const { return INT64_MAX; }
  // from the states of start() and enter(), as training left them
  virtual FittedState keep(States end, const RunContext& context) const = 0;
  // the other ranks' part of rank 0's keep(): they do their share of its work, in the same order
  virtual void assist(const RunContext&) const {}
  // maximum host memory of keep()
  virtual int64_t bytes_after(const RunContext&) const { return 0; }
  virtual double rows_after() const { return 0; }  // the time of keep(), in rows of a step: max_time reserves it

  // The model file: visits every tensor that it stores of FittedState::states. kept.active is known.
  virtual void visit_tensors(const FittedState& kept, const std::function<void(const TensorSpec&)>& visit) const = 0;
  virtual int64_t max_active() const { return 1; }        // maximum of FittedState::active
  virtual void check_fitted(const FittedState&) const {}  // Error(format) for an impossible result of training

  // For `plan` and `inspect`.
  virtual int64_t parameters() const = 0;                 // weights that sampling uses
  virtual std::vector<std::string> networks() const = 0;  // the networks with these weights: "generator"
};

class PrivateRows;  // models/method/private_rows.h

// A method whose model is of rows.
class RowMethod : public Method {
 public:
  virtual void prepare(const EncodedTable& table, Team& team) = 0;  // the table outlives the method
  // On the given rows; they and the context outlive the result. Null: the method has no such measure, and does not
  // support patience or keep=best.
  virtual std::unique_ptr<HeldOut> held_out(const EncodedTable&, const RunContext&) const { return nullptr; }
  // `allowed` holds the columns of categories and bins that have conditions.
  virtual std::unique_ptr<RowGenerator> row_generator(const FittedState& kept,
                                                      const std::vector<AllowedLevels>& allowed, uint64_t seed,
                                                      Team& team) const = 0;
  // Candidates of rows with given cells. Null: the method cannot compute the likelihood of given cells.
  virtual std::unique_ptr<GivenGenerator> given_generator(const FittedState& kept, uint64_t seed, Team& team) const;
  // Width of the condition vector: how many conditions
  // FittedState::condition_rows counts.
  virtual int64_t conditions() const { return 0; }
  // Before prepare(): all rows, of which some are then held out; for what a model tells of each column alone.
  virtual void survey(const EncodedTable&) {}
  // After prepare(): from now on its one phase is DP-SGD on these rows, which outlive the method, from the weights
  // `from` if given; everything else that it reads of rows is of the prepared table. False: it does not support that.
  virtual bool train_privately(const PrivateRows&, const FittedState* /*from*/) { return false; }
};

// Sequences to draw: their numbers, their lengths, and their attributes as the encoder lays them out: data rows, and
// codes. Attributes are of a whole batch, the last one repeated.
struct SequencesToDraw {
  const std::vector<int64_t>& ids;
  const std::vector<int32_t>& lengths;
  const float* features;
  const int32_t* codes;
  const Table& attributes;  // decoded, a row a sequence
  // Not null: sequence i continues sequence given_first + i of these, to its length; T is their longest.
  const GivenSteps* given = nullptr;
  size_t given_first = 0;
  int32_t attempt = 0;  // of given sequences: other steps than those of other attempts
};

class StepDrawer {
 public:
  virtual ~StepDrawer() = default;
  // Writes alphas [n, T, alphas] and codes [n, T, codes], as SequenceEncoder::decode() reads them.
  virtual void draw(const SequencesToDraw& sequences, float* alphas, int32_t* codes) = 0;
  // The number of last steps that depend on how many follow: 0: none does.
  virtual int steps_near_end() const { return 0; }
  // ln of the probability of as many last given steps of each sequence, if it has these lengths.
  virtual std::vector<double> log_near_end(const SequencesToDraw&) { return {}; }
};

// A method whose model is of sequences.
class SequenceMethod : public Method {
 public:
  virtual void prepare(const EncodedSequences& sequences, Team& team) = 0;  // they outlive the method
  virtual std::unique_ptr<HeldOut> held_out(const EncodedSequences&, const RunContext&) const { return nullptr; }
  // Draws the steps of batches of at most `batch` sequences. The method outlives the result.
  virtual std::unique_ptr<StepDrawer> drawer(const FittedState& kept, const Target& target, int64_t batch) const = 0;
  // The number of steps to which its drawer continues given ones; 0: it does not.
  virtual int longest_continued() const { return 0; }
  // The method of rows that learns the attributes of this number of sequences.
  virtual MethodConfig attribute_config(int64_t sequences) const = 0;
  // Whether parts of one series, spread over time, are held out; else its end.
  virtual bool holds_out_parts() const { return false; }
};

// The leaves "codes" and "alphas".
void bind_rows(Program& p, const EncodedTable& table);
// Copies the states that a program has in the same size.
void load_states(Program& p, const States& states);

}  // namespace tessera
