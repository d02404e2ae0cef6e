// The training run: initial weights, the closed step replayed, losses out, what is kept.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/passes/passes.h"
#include "engine/run/program.h"
#include "models/layers/recording.h"
#include "models/model_state.h"
#include "models/training/clock.h"
#include "models/training/validation.h"

namespace tessera {
namespace {

// What follows training, in rows of its steps (measured on Adult: a row of a training step took 13 µs, a row of a step
// of the prior 19, a candidate of the calibration with all that is learnt of it 55). --max-time keeps as much back.
constexpr double kPriorCost = 1.5, kCalibrationCost = 4;
constexpr double kAsideShare = 0.2;  // of --max-time: a model beside the one that is asked for
constexpr double kPriorShare = 0.6;  // of the time left after training, where a calibration follows
constexpr double kPriorSteps = 100, kPriorRows = 50000, kCandidates = 250000;

double rows_after_training(const FitOptions& o, int64_t rows) {
  return (fits_prior(o.config) ? kPriorCost * kPriorSteps * std::min(static_cast<double>(rows), kPriorRows) : 0) +
         (o.calibrate != Tier::off ? kCalibrationCost * kCandidates : 0);
}

constexpr int64_t kMeasures = 60;  // held-out measures a run without patience takes, at most one an epoch

// The training run. Between two steps it is `run_`, the program's states apart until they are fetched.
class Trainer {
 public:
  Trainer(const Method& method, const EncodedTable& table, HeldOut* held_out, const FitOptions& options,
          Checkpoints& checkpoints, const RunContext& context)
      : method_(method),
        table_(table),
        held_out_(held_out),
        options_(options),
        checkpoints_(checkpoints),
        context_(context),
        schedule_(method.schedule()),
        clock_(options.max_seconds, options.now) {
    steps_after_ =
        rows_after_training(options, table.rows) / static_cast<double>(std::max<int64_t>(schedule_.batch, 1));
    per_epoch_ = std::max<int64_t>(table.rows / schedule_.batch, 1);
    measured_every_ =
        per_epoch_ * std::max<int64_t>(1, options.patience > 0 ? options.patience / 5 : schedule_.epochs / kMeasures);
  }

  RunState& state() { return run_; }
  int64_t per_epoch() const { return per_epoch_; }
  double step_flops() const { return step_flops_; }
  Deadline deadline() const { return clock_.deadline(); }

  void start() {
    run_.steps = per_epoch_ * schedule_.epochs;
    run_.states = method_.start(context_.seed);
    if (run_.steps > 0) build();
  }
  // Where a run stands; its rows of losses are told again.
  void resume(RunState&& from) {
    run_ = std::move(from);
    make_program();
    check_fits();
    load();
    if (options_.on_losses)
      for (const auto& row : run_.losses)
        options_.on_losses(loss_row(static_cast<int64_t>(row[0]), row[1], {row.begin() + 2, row.end()}));
  }

  void run() {
    clock_.start(run_.seconds, options_.begun.value_or(options_.now()));
    if (run_.step == 0) clock_.begin_training();
    clock_.mark(static_cast<double>(run_.step));
    looked_ = seconds_now();
    try {
      for (;;) {
        measure();
        if (run_.step >= run_.steps) break;
        if (checkpoints_.due(run_, per_epoch_)) save();
        advance();
        watch_clock();
      }
    } catch (const Error& e) {
      // A step that went bad leaves nothing to go on from; whatever else stopped the run leaves it whole.
      if (e.code() != ErrorCode::numeric) rescue();
      throw;
    } catch (...) {
      rescue();
      throw;
    }
    save();
  }

  // The weights to keep, by leaf of start(). Training is over: what follows has its memory.
  States take_weights() {
    States kept = options_.keep_best && run_.best ? std::move(run_.best_weights) : weights();
    program_.reset();
    return kept;
  }

 private:
  // A checkpoint with a checksum may still have been made by anybody: all that is read from it later must be there, in
  // the plan's sizes.
  void check_fits() const {
    check_states(*program_, run_.states);
    check_own(run_.steps <= per_epoch_ * schedule_.epochs && run_.loss_sums.size() == width_, "it has steps or losses");
    for (const auto& row : run_.losses) check_own(row.size() == width_ + 2, "it has losses");
    if (!options_.keep_best || !run_.best) return;
    for (const auto& [leaf, values] : method_.start(context_.seed)) {
      const auto found = run_.best_weights.find(leaf);
      check_own(found != run_.best_weights.end() && found->second.size() == values.size(), "it has weights");
    }
  }

  // The plan of a run of so many steps, then the states of `run_` into it.
  void build() {
    make_program();
    load();
  }
  void make_program() {
    program_.reset();
    Plan plan;
    Recorder r(plan);
    method_.record_training(r, table_.rows, run_.steps);
    const auto reports = optimise(plan, context_.passes_off);
    step_flops_ = reports.empty() ? 0 : reports.back().flops_after;
    program_ = std::make_unique<Program>(std::move(plan), options_.device ? *options_.device : Device::processor(),
                                         context_.team, context_.seed, wanted(context_.passes_off, "liveness"));
    program_->bind_if("codes", table_.codes.data());
    program_->bind_if("alphas", table_.alphas.data());
    method_.bind(*program_);
    width_ = static_cast<size_t>(program_->plan().shape(program_->plan().find_leaf("losses")).cols);
  }
  void load() {
    load_states(*program_, run_.states);
    run_.states.clear();
    program_->step().step = queued_ = run_.step;
    program_->watch({program_->plan().find_leaf("losses")});
    run_.loss_sums.resize(width_, 0.0);
  }

  void fetch() {
    for (const Leaf& leaf : program_->plan().leaves)
      if (leaf.kind == Leaf::state) run_.states[leaf.name] = program_->get<float>(leaf.name);
  }
  States weights() const {
    States w = method_.start(context_.seed);
    if (program_)
      for (auto& [leaf, values] : w) values = program_->get<float>(leaf);
    return w;
  }
  void save() {
    if (program_) {
      drain();
      fetch();
    }
    if (run_.states.empty()) return;
    run_.seconds = clock_.used();
    checkpoints_.write(run_, per_epoch_);
    run_.states.clear();
  }

  // On the way out with an error: another one must not take its place.
  void rescue() noexcept {
    try {
      save();
    } catch (...) {}
  }

  int64_t end_of_row(int64_t step) const { return std::min((step / per_epoch_ + 1) * per_epoch_, run_.steps); }

  // A device has its next steps before the last ones are looked at, up to where the weights are wanted.
  void advance() {
    const int64_t wanted =
        held_out_ == nullptr ? run_.steps : std::min((run_.step / measured_every_ + 1) * measured_every_, run_.steps);
    for (; flying_ < program_->flights() && queued_ < wanted; ++flying_) {
      const int64_t n = std::min({chunk_, end_of_row(queued_) - queued_, wanted - queued_, kLossSlots});
      program_->start(n, true);
      queued_ += n;
    }
    const int64_t done = run_.step;
    const LossRow row = collect();
    table_.relax();
    method_.relax();
    const double steps = clock_.expected(static_cast<double>(run_.step), static_cast<double>(run_.steps));
    context_.monitor.report(
        {"train", row.epoch, steps / static_cast<double>(per_epoch_), "epochs", row.note, run_.step == run_.steps});
    // Runs of about a tenth of a second: short enough to be stopped at once, long enough that looking costs nothing.
    // The result does not depend on it.
    const double took = std::max(seconds_now() - std::exchange(looked_, seconds_now()), 1e-6);
    chunk_ =
        std::clamp<int64_t>(static_cast<int64_t>(0.1 / took * static_cast<double>(run_.step - done)), 1, kLossSlots);
  }
  // What is under way is finished: before the state is read.
  void drain() {
    while (flying_ > 0) collect();
  }
  // The oldest steps under way, and their losses.
  LossRow collect() {
    const int64_t done = run_.step, row_end = end_of_row(done);
    --flying_;
    const int64_t ran = program_->finish();
    if (program_->step().bad >= 0) fail_numeric();
    const float* ring = program_->watched<float>(0);
    for (int64_t step = done; step < done + ran; ++step)
      for (size_t k = 0; k < width_; ++k)
        run_.loss_sums[k] += static_cast<double>(ring[static_cast<size_t>(step % kLossSlots) * width_ + k]);
    run_.loss_steps += ran;
    run_.step = done + ran;
    std::vector<double> means = run_.loss_sums;
    for (double& x : means) x /= static_cast<double>(run_.loss_steps);
    const LossRow row = loss_row(run_.step, clock_.used(), means);
    if (run_.step == row_end) {
      means.insert(means.begin(), {static_cast<double>(run_.step), row.seconds});
      run_.losses.push_back(std::move(means));
      std::fill(run_.loss_sums.begin(), run_.loss_sums.end(), 0.0);
      run_.loss_steps = 0;
      if (options_.on_losses) options_.on_losses(row);
    }
    return row;
  }

  LossRow loss_row(int64_t step, double seconds, const std::vector<double>& means) const {
    LossRow row{};
    row.step = step, row.epoch = static_cast<double>(step) / static_cast<double>(per_epoch_), row.seconds = seconds;
    method_.describe_losses(means, row);
    return row;
  }

  [[noreturn]] void fail_numeric() {
    flying_ = 0;  // diagnose() passes over what is under way
    const int64_t bad = program_->step().bad;
    const std::string culprit = program_->diagnose();
    throw Error(ErrorCode::numeric,
                fmt::format("training met a value that is not finite at step {} (epoch {:.1f}): {}.\n  A lower "
                            "--learning-rate (now {}) or another --seed usually helps; "
                            "no model was written.",
                            bad, static_cast<double>(bad) / static_cast<double>(per_epoch_),
                            culprit.empty() ? "a loss" : culprit, schedule_.learning_rate));
  }

  // What the held-out rows say, at fixed steps: it is part of the run, not of how it is watched.
  void measure() {
    if (held_out_ == nullptr || run_.step == 0 || (run_.step % measured_every_ != 0 && run_.step != run_.steps)) return;
    if (!run_.measures.empty() && run_.measures.back().step == run_.step) return;
    States now = weights();
    const RunState::Measure m{run_.step, held_out_->measure(now)};
    run_.measures.push_back(m);
    if (!run_.best || m.value < run_.best->value) {
      run_.best = m;
      if (options_.keep_best) run_.best_weights = std::move(now);
    }
    if (options_.patience <= 0 || !run_.stopped.empty()) return;
    // Patience counts from the last measure that was better than the best before it by a difference worth the time.
    double reference = run_.measures.front().value;
    int64_t since = run_.measures.front().step;
    for (const auto& past : run_.measures)
      if (past.value < reference - held_out_->least()) reference = past.value, since = past.step;
    if (run_.step - since >= options_.patience * per_epoch_) shorten("patience");
  }

  // The run becomes the one that would have begun to lower its learning rate here: with a share f of the steps at full
  // rate, it ends at step / f.
  void shorten(const char* why) {
    drain();
    const auto steps =
        static_cast<int64_t>(static_cast<double>(run_.step) / std::clamp(schedule_.decay_from, 1e-3, 1.0));
    if (steps >= run_.steps) return;
    fetch();
    run_.steps = std::max(steps, run_.step);
    run_.stopped = why;
    build();
  }

  void watch_clock() {
    clock_.keep_back(steps_after_ * clock_.each(static_cast<double>(run_.step)));
    if (clock_.up(schedule_.decay_from) && run_.stopped.empty()) shorten("max-time");
    if (!clock_.up() || run_.step >= run_.steps) return;
    drain();
    run_.steps = run_.step;
    run_.stopped = "max-time";
  }

  const Method& method_;
  const EncodedTable& table_;
  HeldOut* held_out_;
  const FitOptions& options_;
  Checkpoints& checkpoints_;
  const RunContext& context_;
  const Method::Schedule schedule_;
  TrainingClock clock_;
  int64_t per_epoch_, measured_every_, chunk_ = 1, queued_ = 0;  // queued_: steps started
  int flying_ = 0;                                               // starts that are not finished
  size_t width_ = 0;
  double step_flops_ = 0, looked_ = 0, steps_after_ = 0;
  RunState run_;
  std::unique_ptr<Program> program_;
};

}  // namespace

void load_states(Program& p, const States& states) {
  for (const auto& [leaf, values] : states) {
    const Id id = p.plan().find_leaf(leaf);
    // A method that samples under conditions may have a state of another size in the place of a kept one, and loads it
    // itself.
    if (id != kNone && p.plan().shape(id).count() == static_cast<int64_t>(values.size())) p.put(leaf, values.data());
  }
}

Trained train(Model::State& state, EncodedTable&& table, const FitOptions& options, Checkpoints& checkpoints,
              Team& team, const Monitor& monitor) {
  const std::unique_ptr<Method> method = state.method();
  const std::set<std::string> off(options.passes_off.begin(), options.passes_off.end());
  const RunContext context{options.seed, off, team, monitor};
  const double start = seconds_now();

  const bool measured = method->schedule().epochs > 0 && (options.patience > 0 || options.keep_best);
  EncodedTable held;
  if (measured) held = hold_out(table, state.encoder.layout(), options.seed);
  method->prepare(table, team);
  const std::unique_ptr<HeldOut> held_out = measured ? method->held_out(held, context) : nullptr;
  if (measured && !held_out)
    throw Error(ErrorCode::usage, fmt::format("--patience and --keep best: the {} has no held-out measure.\n  Leave "
                                              "them away; --epochs and --max-time bound its training.",
                                              options.method));

  Trainer trainer(*method, table, held_out.get(), options, checkpoints, context);
  std::optional<RunState> kept;
  if (options.checkpoint.resume) kept = checkpoints.newest();
  else if (!options.checkpoint.path.empty()) Checkpoints::remove(options.checkpoint.path);
  if (kept) {
    trainer.resume(std::move(*kept));
    notice(monitor, fmt::format("Going on from {:.4g} of {:.4g} epochs, kept in {}.",
                                static_cast<double>(trainer.state().step) / static_cast<double>(trainer.per_epoch()),
                                static_cast<double>(trainer.state().steps) / static_cast<double>(trainer.per_epoch()),
                                options.checkpoint.path));
  } else {
    trainer.start();
  }
  if (trainer.state().steps > 0) trainer.run();

  const RunState& end = trainer.state();
  state.provenance["steps"] = end.step;
  if (measured)
    state.provenance["held_out"] = {{"rows", held.rows},
                                    {"last", end.measures.empty() ? 0 : end.measures.back().value},
                                    {"best", end.best ? end.best->value : 0},
                                    {"best_step", end.best ? end.best->step : 0}};
  if (!end.stopped.empty()) state.provenance["stopped"] = end.stopped;
  const double flops = trainer.step_flops() * static_cast<double>(end.step);
  const Deadline until = end.steps > 0 ? trainer.deadline() : Deadline();
  const RunContext ending{options.seed, off, team, monitor,
                          until.sooner(options.calibrate != Tier::off ? kPriorShare : 1)};
  state.kept = method->keep(trainer.take_weights(), ending);
  state.provenance["train_seconds"] = seconds_now() - start;
  return {flops, until};
}

FittedState train_aside(Method& method, const EncodedTable& table, const FitOptions& options, Team& team,
                        const Monitor& monitor) {
  const std::set<std::string> off(options.passes_off.begin(), options.passes_off.end());
  Monitor quiet;
  quiet.cancel = monitor.cancel;
  FitOptions own;
  own.seed = options.seed, own.now = options.now, own.begun = options.begun;
  own.method = "tvae", own.calibrate = Tier::off;
  own.max_seconds = kAsideShare * options.max_seconds;
  const RunContext context{options.seed, off, team, quiet};
  Checkpoints none({}, {}, quiet);
  method.prepare(table, team);
  Trainer trainer(method, table, nullptr, own, none, context);
  trainer.start();
  if (trainer.state().steps > 0) trainer.run();
  const RunContext ending{options.seed, off, team, quiet, trainer.state().steps > 0 ? trainer.deadline() : Deadline()};
  return method.keep(trainer.take_weights(), ending);
}

}  // namespace tessera
