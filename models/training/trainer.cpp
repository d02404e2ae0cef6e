// The training run: sets initial weights, replays the phases' self-contained steps, reports losses, keeps the result.
#include "models/training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/storage/process_memory.h"
#include "base/text/plain_number.h"
#include "engine/plan/loss_scale.h"
#include "engine/run/compiled_launches.h"
#include "engine/run/program.h"
#include "models/layers/recording.h"
#include "models/training/clock.h"
#include "models/training/fit_to_memory.h"
#include "models/training/ranks.h"
#include "models/training/rehearsal.h"
#include "models/training/validation.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

// The cost of calibration, in rows of a training step (measured on Adult: a row of a training step took 13 µs, a
// calibration candidate, including everything learned from it, 55). max_time reserves this time.
constexpr double kCalibrationCost = 4, kCandidates = 250000;
constexpr double kAsideShare = 0.2;  // of max_time: for a model trained beside the requested one
constexpr double kPriorShare = 0.6;  // of the time left after training, if a calibration follows

constexpr size_t kCurveRows = 200;  // of losses that a model file keeps
constexpr int64_t kMeasures = 60;   // held-out measures of a run without patience, at most one per epoch

// A phase, in steps of the run.
struct Stage {
  Phase phase;
  size_t index;                // of the method's phases
  int64_t begin = 0, end = 0;  // as scheduled
  double from = 0, until = 1;  // shares of the time at which it begins and ends, by its cost in the whole schedule
};

std::vector<Stage> stages_of(const Method& method) {
  std::vector<Stage> stages;
  const std::vector<Phase> phases = method.phases();
  int64_t step = 0;
  double cost = 0;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].steps == 0) continue;
    const double until = cost + phases[i].cost * static_cast<double>(phases[i].steps);
    stages.push_back({phases[i], i, step, step + phases[i].steps, cost, until});
    step = stages.back().end, cost = until;
  }
  for (Stage& s : stages) s.from /= cost, s.until /= cost;
  return stages;
}

double six_digits(double x) { return std::stod(fmt::format("{:.5e}", x)); }

// The training run. Between two steps its state is `run_` and `carried_`, plus the program's states until they are
// fetched. Steps are counted over all stages; the program counts only its own.
class Trainer {
 public:
  Trainer(const Method& method, std::unique_ptr<HeldOut> held_out, const FitOptions& options, Checkpoints& checkpoints,
          const RunContext& context)
      : method_(method),
        held_out_(std::move(held_out)),
        options_(options),
        checkpoints_(checkpoints),
        context_(context),
        stages_(stages_of(method)),
        ranks_(method, options, context),
        clock_(options.max_seconds, options.now) {
    if (stages_.empty()) return;
    run_.steps = stages_.back().end;
    const Phase& last = stages_.back().phase;
    const double rows_after =
        method.rows_after() + (options.calibrate != Tier::off ? kCalibrationCost * kCandidates : 0);
    steps_after_ = rows_after / static_cast<double>(std::max<int64_t>(last.batch, 1));
    measured_every_ = last.epoch * std::max<int64_t>(1, options.patience > 0 ? options.patience / 5
                                                                             : last.steps / last.epoch / kMeasures);
    if (options.patience > 0 && options.rare_rows > 1 && exposed() != nullptr)
      measured_every_ = std::max<int64_t>(1, last.epoch / 4);
  }

  RunState& state() { return run_; }
  // The losses over the steps, for the model file: a bounded number of rows with six digits, the last one always; no
  // durations, which would make equal models differ.
  nlohmann::json loss_curves() const {
    const size_t first = run_.losses.size() - std::min(run_.losses.size(), kMaxLossRows);
    const size_t rows = run_.losses.size() - first, stride = std::max<size_t>(1, (rows + kCurveRows - 1) / kCurveRows);
    nlohmann::json steps = nlohmann::json::array(), epochs = steps, losses = steps;
    for (const LossSpec& spec : method_.spec().losses)
      losses.push_back({{"name", spec.name}, {"values", nlohmann::json::array()}});
    for (size_t i = first + (rows - 1) % stride; i < run_.losses.size(); i += stride) {
      const std::vector<double>& row = run_.losses[i];
      const LossRow said = loss_row(static_cast<int64_t>(row[0]), row[1], {row.begin() + 2, row.end()});
      steps.push_back(said.step), epochs.push_back(six_digits(said.epoch));
      for (size_t k = 0; k < said.losses.size(); ++k) losses[k]["values"].push_back(six_digits(said.losses[k].value));
    }
    return {{"step", std::move(steps)}, {"epoch", std::move(epochs)}, {"losses", std::move(losses)}};
  }
  // For the current or last stage. Empty except with fp16.
  std::vector<ScaleReport> scales() const {
    if (!program_) return {};
    return scale_reports(program_->plan(), [&](const std::string& leaf) { return program_->get<float>(leaf).front(); });
  }
  double step_flops() const { return step_flops_; }
  Deadline deadline() const { return stages_.empty() ? Deadline() : clock_.deadline(); }
  // "12 of 300 epochs".
  std::string progress() const {
    const auto text = [&](int64_t step) { return plain_number(phase().units(static_cast<double>(step))); };
    return fmt::format("{} of {} {}", text(run_.step), text(run_.steps), phase().unit());
  }

  void start() {
    carried_ = method_.start(context_.seed);
    if (!stages_.empty()) open();
  }
  // Restores the state of a run; its rows of losses are reported again.
  void resume(RunState&& from) {
    check_own(
        !stages_.empty() && from.step <= from.steps && from.steps <= run_.steps && from.steps >= stages_.back().begin,
        "it has steps");
    run_ = std::move(from);
    while (!last() && run_.step >= stage().end) ++at_;
    carried_ = method_.start(context_.seed);
    for (auto& [leaf, values] : carried_) {
      const auto found = run_.states.find(leaf);
      check_own(found != run_.states.end() && found->second.size() == values.size(), "it has weights");
      values = found->second;
    }
    if (run_.step == stage().begin) forget_program();  // it is the previous stage's program
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
    clock_.mark(done());
    looked_ = seconds_now();
    try {
      for (;;) {
        measure();
        if (run_.step >= end()) {
          if (last()) break;
          next_stage();
        }
        if (checkpoints_.due(run_, phase().epoch)) save();
        advance();
        watch_clock();
      }
    } catch (const Error& e) {
      // After a non-finite step or the loss of a rank the state is invalid; after any other error it is intact.
      if (e.code() != ErrorCode::numeric && !ranks_.lost()) rescue();
      throw;
    } catch (...) {
      rescue();
      throw;
    }
    save();
    say_scales();
    say_launches(true);
  }

  // Method::keep() of the weights of start() and enter(). Training has ended: its memory, and that of the held-out
  // measure, is free for the next stages.
  FittedState keep(const Deadline& until) {
    States weights = options_.keep_best && run_.best ? std::move(run_.best_weights) : this->weights();
    program_.reset(), beside_.reset(), held_out_.reset();
    release_freed_memory();
    return ranks_.keep(method_, std::move(weights), until);
  }

 private:
  const Stage& stage() const { return stages_[at_]; }
  const Phase& phase() const { return stage().phase; }
  bool last() const { return at_ + 1 == stages_.size(); }
  int64_t end() const { return last() ? run_.steps : stage().end; }  // of the stage, in steps of the run
  double done() const { return static_cast<double>(run_.step - stage().begin); }

  // The checksum does not authenticate a checkpoint: everything that is read from it later must be present, in the
  // plan's sizes.
  void check_fits() {
    if (!run_.states.empty()) check_states(*program_, rank_states_, run_.states);
    check_own(run_.loss_sums.empty() || run_.loss_sums.size() == width_, "it has steps or losses");
    for (const auto& row : run_.losses) check_own(row.size() == width_ + 2, "it has losses");
    if (!options_.keep_best || !run_.best) return;
    for (const auto& [leaf, values] : carried_) {
      const auto found = run_.best_weights.find(leaf);
      check_own(found != run_.best_weights.end() && found->second.size() == values.size(), "it has weights");
    }
  }

  // Compiles the stage's plan with its current number of steps, then loads the states of `run_`.
  void open() {
    make_program();
    load();
  }
  void make_program() {
    program_.reset(), beside_.reset();
    method_.enter(stage().index, carried_);
    TrainingProgram made = training_program(method_, stage().index, end() - stage().begin, options_, ranks_.context(),
                                            ranks_.communicator(), carried_);
    program_ = std::move(made.program), step_flops_ = made.flops, rank_states_ = std::move(made.states);
    beside_ = std::move(made.beside);
    width_ = static_cast<size_t>(program_->plan().shape(program_->plan().find_leaf("losses")).cols);
    if (!options_.device || options_.device->is_processor())  // other devices have their own copy of the table
      evict_every_ = std::max<int64_t>(1, method_.random_rows() / phase().batch);
  }
  void load() {
    load_states(*program_, carried_);
    load_states(*program_, run_.states);
    States shared;  // those divided among ranks
    for (auto& [leaf, values] : run_.states)
      if (rank_states_.cut(leaf)) shared.emplace(leaf, std::move(values));
    for (const auto& [leaf, values] : carried_)
      if (rank_states_.cut(leaf)) shared.emplace(leaf, values);
    run_.states.clear();
    program_->step().step = run_.step - stage().begin;
    queued_ = run_.step;
    program_->watch({program_->plan().find_leaf("losses")});
    run_.loss_sums.resize(width_, 0.0);
    ranks_.open(stage().index, end() - stage().begin, *program_, rank_states_, shared);
  }
  void forget_program() { run_.states.clear(), run_.loss_sums.clear(), run_.loss_steps = 0; }

  void next_stage() {
    say_scales();
    say_launches(true);
    launches_said_ = false;
    carried_ = weights();
    forget_program();
    ++at_;
    open();
    chunk_ = 1;
    clock_.mark(done());
  }

  void say_scales() const {
    for (const ScaleReport& s : scales()) {
      const std::string updates = s.skipped == 0 ? fmt::format("every update of the {} was made", s.optimizer)
                                                 : fmt::format("{} of the {} left out because gradients overflowed",
                                                               counted(s.skipped, "update"), s.optimizer);
      notice(context_.monitor, fmt::format("fp16: {}; its loss is scaled by {:.0f}.", updates, s.scale));
    }
  }

  // Once for a stage: when no launch is being compiled any longer, or at its end.
  void say_launches(bool ended) {
    const LaunchReport r = program_ ? program_->launches() : LaunchReport{};
    if (launches_said_ || r.launches == 0 || (r.waiting > 0 && !ended)) return;
    launches_said_ = true;
    const std::string others = r.waiting > 0       ? fmt::format("; training ended before {} more", r.waiting)
                               : !r.reason.empty() ? "; the others are interpreted: " + r.reason
                                                   : "";
    notice(context_.monitor,
           fmt::format("{} of {} launches compiled for this table{}.", r.compiled, r.launches, others));
  }

  void fetch() {
    for (auto& [leaf, values] : shared_states(true)) run_.states[leaf] = std::move(values);
    for (const Leaf& leaf : program_->plan().leaves)
      if (leaf.kind == Leaf::state && !rank_states_.cut(leaf.name))
        run_.states[leaf.name] = program_->get<float>(leaf.name);
  }
  States weights() {
    States w = carried_;
    if (!program_) return w;
    States shared = shared_states(false);
    for (auto& [leaf, values] : w)
      if (const auto whole = shared.find(leaf); whole != shared.end()) values = std::move(whole->second);
      else if (program_->plan().find_leaf(leaf) != kNone) values = program_->get<float>(leaf);
    return w;
  }
  // The states that are divided among ranks.
  States shared_states(bool moments) {
    return rank_states_.cut() ? ranks_.fetch(*program_, rank_states_, moments) : States{};
  }
  // Saves everything that the next step needs: every state of the program, and the states outside it.
  void save() {
    if (!program_) return;
    drain();
    run_.states = carried_;
    fetch();
    run_.seconds = clock_.used();
    checkpoints_.write(run_, phase().epoch);
    run_.states.clear();
  }

  // Called during an error's unwinding: another error must not replace it.
  void rescue() noexcept {
    try {
      save();
    } catch (...) {}
  }

  int64_t end_of_row(int64_t step) const {
    const int64_t epoch = phase().epoch;
    return std::min(stage().begin + ((step - stage().begin) / epoch + 1) * epoch, end());
  }
  bool measured() const { return held_out_ != nullptr && last(); }
  // Of a training whose exposure is measured; null: of others.
  const MeasuresExposure* exposed() const {
    const auto* measure = dynamic_cast<const MeasuresExposure*>(held_out_.get());
    return measure != nullptr && measure->exposure() > 0 ? measure : nullptr;
  }

  // A device gets its next steps before the results of the last ones are read, up to the step whose weights are needed.
  void advance() {
    const int64_t wanted =
        measured()
            ? std::min(stage().begin + ((run_.step - stage().begin) / measured_every_ + 1) * measured_every_, end())
            : end();
    for (; flying_ < program_->flights() && queued_ < wanted; ++flying_) {
      const int64_t n = std::min({chunk_, evict_every_, end_of_row(queued_) - queued_, wanted - queued_, kLossSlots});
      ranks_.run(n);
      program_->start(n, true);
      queued_ += n;
    }
    if (flying_ == 0) return;  // a checkpoint has waited for all of them
    const int64_t before = run_.step;
    const LossRow row = collect();
    method_.relax();
    say_launches(false);
    const bool ends = run_.step == end();
    report(clock_.expected(done(), static_cast<double>(end() - stage().begin), stage().until),
           ends ? row.note + why_shorter() : row.note, ends);
    // Runs of about a tenth of a second: short enough to stop quickly, long enough that the checks cost nothing. The
    // result does not depend on it.
    const double took = std::max(seconds_now() - std::exchange(looked_, seconds_now()), 1e-6);
    chunk_ =
        std::clamp<int64_t>(static_cast<int64_t>(0.1 / took * static_cast<double>(run_.step - before)), 1, kLossSlots);
  }
  void report(double steps, const std::string& note, bool finished) const {
    context_.monitor.report(
        {phase().name.c_str(), phase().units(done()), phase().units(steps), phase().unit(), note, finished});
  }
  // Of a schedule that was shortened, at its end.
  std::string why_shorter() const {
    if (!last() || (run_.stopped != "max-time" && run_.stopped != "patience")) return "";
    return fmt::format(
        "  {} {} of {} {}", run_.stopped == "patience" ? "held-out rows improved no more:" : "`max_time`:",
        plain_number(phase().units(done())),
        plain_number(phase().units(static_cast<double>(stages_.back().end - stage().begin))), phase().unit());
  }
  // Of a stage that ends before its last step.
  void report_end(const char* why) const {
    report(done(),
           fmt::format("{}: {} of {} {}", why, plain_number(phase().units(done())),
                       plain_number(phase().units(static_cast<double>(end() - stage().begin))), phase().unit()),
           true);
  }
  // Finishes all starts in flight, before the state is read.
  void drain() {
    while (flying_ > 0) collect();
  }
  // Finishes the oldest start in flight; returns its losses.
  LossRow collect() {
    const int64_t row_end = end_of_row(run_.step), from = run_.step - stage().begin;
    --flying_;
    const int64_t ran = program_->finish();
    ranks_.communicator().check();
    if (program_->step().bad >= 0) fail_numeric();
    const float* ring = program_->watched<float>(0);
    for (int64_t step = from; step < from + ran; ++step)
      for (size_t k = 0; k < width_; ++k)
        run_.loss_sums[k] += static_cast<double>(ring[static_cast<size_t>(step % kLossSlots) * width_ + k]);
    run_.loss_steps += ran;
    run_.step += ran;
    return end_row(run_.step == row_end);
  }
  // The row of losses since the last one; if it `ends` here, it is kept.
  LossRow end_row(bool ends) {
    std::vector<double> means = run_.loss_sums;
    for (double& x : means) x /= static_cast<double>(run_.loss_steps);
    LossRow row = loss_row(run_.step, clock_.used(), means);
    if (!ends) return row;
    means.insert(means.begin(), {static_cast<double>(run_.step), row.seconds});
    run_.losses.push_back(std::move(means));
    std::fill(run_.loss_sums.begin(), run_.loss_sums.end(), 0.0);
    run_.loss_steps = 0;
    if (options_.on_losses) options_.on_losses(row);
    return row;
  }

  // The row of losses that ends with that step.
  LossRow loss_row(int64_t step, double seconds, const std::vector<double>& means) const {
    const auto holds = [&](const Stage& s) { return step <= s.end; };
    const Phase& phase = std::find_if(stages_.begin(), stages_.end() - 1, holds)->phase;
    LossRow row{step, static_cast<double>(step) / static_cast<double>(phase.epoch), seconds, {}, ""};
    const auto specs = method_.spec().losses;
    for (size_t k = 0; k < specs.size(); ++k) {
      row.losses.push_back({specs[k].name, means[k]});
      const bool has = phase.losses.empty() || std::count(phase.losses.begin(), phase.losses.end(), k) > 0;
      if (specs[k].format != nullptr && has)
        row.note += fmt::format("{}{} {}", row.note.empty() ? "" : "  ", specs[k].name,
                                fmt::format(fmt::runtime(specs[k].format), means[k]));
    }
    return row;
  }

  [[noreturn]] void fail_numeric() {
    flying_ = 0;  // diagnose() ignores starts in flight
    const int64_t bad = program_->step().bad;
    const std::string culprit = ranks_.communicator().size() > 1 ? ranks_.blame(*program_) : program_->diagnose();
    const std::string where =
        stages_.size() > 1
            ? fmt::format("step {} of the {} phase", bad, phase().name)
            : fmt::format("step {} (epoch {:.1f})", bad, static_cast<double>(bad) / static_cast<double>(phase().epoch));
    throw Error(ErrorCode::numeric, fmt::format("training met a value that is not finite at {}: {}.\n  A lower "
                                                "`learning_rate` (now {}) or another `seed` usually helps; "
                                                "no model was written.",
                                                where, culprit.empty() ? "a loss" : culprit, method_.learning_rate()));
  }

  // Measures the held-out rows at fixed steps: the measures are part of the run and do not depend on progress reports.
  void measure() {
    const int64_t done = run_.step - stage().begin;
    if (!measured() || done == 0 || (done % measured_every_ != 0 && run_.step != run_.steps)) return;
    if (!run_.measures.empty() && run_.measures.back().step == run_.step) return;
    States now = weights();
    const RunState::Measure m{run_.step, held_out_->measure(now)};
    run_.measures.push_back(m);
    if (!run_.best || m.value < run_.best->value) {
      run_.best = m;
      if (options_.keep_best) run_.best_weights = std::move(now);
    }
    if (options_.patience <= 0) return;
    // Further steps would let the model reveal which rows were in the table. If values of single rows are kept anyway,
    // that is no secret.
    const MeasuresExposure* exposed = this->exposed();
    if (options_.rare_rows > 1 && exposed != nullptr && exposed->exposure() > exposed->max_exposure()) {
      if (run_.step < end()) {
        report_end("stopped before the model reveals who was in the table");
        constexpr double kMuch = 0.25;  // of the training
        if (static_cast<double>(done) < kMuch * static_cast<double>(end() - stage().begin))
          notice(context_.monitor,
                 "Training ended early: further steps would show which rows the table has. The model may lack what so "
                 "few rows cannot teach safely. More rows help; `patience=0` trains to the end, and `tessera audit` "
                 "shows what the model then reveals.");
      }
      run_.steps = run_.step, run_.stopped = "membership";
      if (run_.loss_steps > 0) (void)end_row(true);
      return;
    }
    if (!run_.stopped.empty()) return;
    // Patience counts from the last measure that improved on the previous best by more than min_gain().
    double reference = run_.measures.front().value;
    int64_t since = run_.measures.front().step;
    for (const auto& past : run_.measures)
      if (past.value < reference - held_out_->min_gain()) reference = past.value, since = past.step;
    if (run_.step - since >= options_.patience * phase().epoch) shorten("patience");
  }

  // Shortens the last stage so that its learning rate begins to fall here: with a share f of the steps at full rate, it
  // ends at step / f.
  void shorten(const char* why) {
    drain();
    const int64_t steps = stage().begin + static_cast<int64_t>(done() / std::clamp(phase().decay_from, 1e-3, 1.0));
    if (steps >= run_.steps) return;
    fetch();
    run_.steps = std::max(steps, run_.step);
    run_.stopped = why;
    open();
  }

  void watch_clock() {
    const Stage& s = stage();
    clock_.keep_back(steps_after_ * clock_.each(done()));
    const double decay = s.from + phase().decay_from * (s.until - s.from);
    if (last() && phase().decay_from < 1 && clock_.up(decay) && run_.stopped.empty()) shorten("max-time");
    if (run_.step < end() && clock_.up(s.until)) end_stage();
  }
  // Ends the stage because its time is used up. If other stages follow, its remaining steps count as done, so that a
  // resumed run begins with the next stage.
  void end_stage() {
    drain();
    if (run_.step >= end()) return;
    report_end("time is up");
    run_.stopped = "max-time";
    if (last()) {
      run_.steps = run_.step;
      return;
    }
    run_.left_out += stage().end - run_.step;
    run_.step = stage().end;
  }

  const Method& method_;
  std::unique_ptr<HeldOut> held_out_;
  const FitOptions& options_;
  Checkpoints& checkpoints_;
  const RunContext& context_;
  const std::vector<Stage> stages_;
  Ranks ranks_;
  size_t at_ = 0;  // the current stage
  TrainingClock clock_;
  int64_t measured_every_ = 1, chunk_ = 1, queued_ = 0;  // queued_: steps started
  int64_t evict_every_ = kLossSlots;                     // steps after which the pages that they read are released
  int flying_ = 0;                                       // starts in flight
  bool launches_said_ = false;
  size_t width_ = 0;
  double step_flops_ = 0, looked_ = 0, steps_after_ = 0;
  States carried_;  // of start() and enter(), as left by the previous stages
  RunState run_;
  std::unique_ptr<Program> program_;
  MemoryShare beside_;  // of the memory here beside the program
  RankStates rank_states_;
};

}  // namespace

bool measures(const FitOptions& options) {
  return options.config->trains() && (options.patience > 0 || options.keep_best);
}

Trained train(const Method& method, std::unique_ptr<HeldOut> held_out, const FitOptions& given,
              Checkpoints& checkpoints, Team& team, const Monitor& monitor, nlohmann::json& provenance) {
  if (measures(given) && held_out == nullptr)
    throw Error(ErrorCode::usage, fmt::format("`patience` and `keep=best`: the {} has no held-out measure.\n  Omit "
                                              "them; its steps and `max_time` bound its training.",
                                              method.spec().name));
  const std::set<std::string> off(given.passes_off.begin(), given.passes_off.end());
  const RunContext context{given.seed, off, team, monitor};
  if (given.rehearsal) return rehearse(method, std::move(held_out), given, context);
  if (const auto& limit = team.limit(); limit && limit->bytes() > 0) {
    const States first = method.start(given.seed);
    check_memory_after(bytes_after(method, first, context), limit->held(), "The method's final stage",
                       " A step may take more: an estimate reports the limit for the whole fit.", team);
    if (held_out != nullptr) (void)held_out->measure(first);  // its first run allocates its memory
  }
  const double start = seconds_now();
  std::optional<RunState> kept;
  if (given.checkpoint.resume) kept = checkpoints.newest();
  FitOptions options = given;
  if (kept && kept->micro_batch > 0) options.micro_batch = kept->micro_batch;
  if (options.ranks.shards == 0)  // else each rank checks its part of a phase when it begins
    options.micro_batch =
        micro_batch_for(method, options.device ? *options.device : Device::processor(), options, context);
  const int64_t held_rows = held_out != nullptr ? held_out->size() : 0;
  Trainer trainer(method, std::move(held_out), options, checkpoints, context);
  if (!options.checkpoint.resume && !options.checkpoint.path.empty()) Checkpoints::remove(options.checkpoint.path);
  if (kept) {
    trainer.resume(std::move(*kept));
    notice(monitor, fmt::format("Continuing from {}, saved in {}.", trainer.progress(), options.checkpoint.path));
  } else {
    trainer.start();
  }
  trainer.state().micro_batch = given.micro_batch > 0 ? 0 : options.micro_batch;
  if (trainer.state().steps > 0) trainer.run();

  const RunState& end = trainer.state();
  provenance["steps"] = end.step - end.left_out;
  if (end.micro_batch > 0) provenance["micro_batch"] = end.micro_batch;
  if (!end.losses.empty()) provenance["training"] = trainer.loss_curves();
  if (held_rows > 0)
    provenance["held_out"] = {{"rows", held_rows},
                              {"last", end.measures.empty() ? 0 : end.measures.back().value},
                              {"best", end.best ? end.best->value : 0},
                              {"best_step", end.best ? end.best->step : 0}};
  if (!end.stopped.empty()) provenance["stopped"] = end.stopped;
  for (const ScaleReport& s : trainer.scales())
    provenance["loss_scaling"].push_back({{"optimiser", s.optimizer}, {"scale", s.scale}, {"skipped", s.skipped}});
  Trained out;
  out.flops = trainer.step_flops() * static_cast<double>(end.step);
  out.until = trainer.deadline();
  out.kept = trainer.keep(out.until.sooner(options.calibrate != Tier::off ? kPriorShare : 1));
  provenance["train_seconds"] = seconds_now() - start;
  return out;
}

FittedState train_aside(RowMethod& method, const EncodedTable& table, const FitOptions& options, Team& team,
                        const Monitor& monitor, const EncodedTable* held) {
  const std::set<std::string> off(options.passes_off.begin(), options.passes_off.end());
  Monitor aside;
  aside.cancel = monitor.cancel;
  if (monitor.on_progress)
    aside.on_progress = [&](const Progress& p) {
      Progress named = p;
      named.phase = "attributes";
      if (std::string_view(p.phase) == "train") monitor.on_progress(named);
    };
  FitOptions own;
  own.seed = options.seed, own.now = options.now, own.begun = options.begun;
  own.calibrate = Tier::off;
  own.max_seconds = kAsideShare * options.max_seconds;
  Checkpoints none({}, {}, aside);
  method.prepare(table, team);
  const RunContext context{options.seed, off, team, aside};
  if (options.rehearsal) {
    own.rehearsal = options.rehearsal;
    return rehearse(method, nullptr, own, context).kept;
  }
  if (held != nullptr) own.patience = options.patience, own.keep_best = options.keep_best;
  Trainer trainer(method, held != nullptr ? method.held_out(*held, context) : nullptr, own, none, context);
  trainer.start();
  if (trainer.state().steps > 0) trainer.run();
  return trainer.keep(trainer.deadline());
}

}  // namespace tessera
