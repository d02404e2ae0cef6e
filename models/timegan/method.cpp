// The training run of a model of sequences: attributes first, then TimeGAN's three phases, each a plan of its own over
// the same weights.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "engine/passes/passes.h"
#include "engine/run/program.h"
#include "models/data/protection/sort_numbers.h"
#include "models/layers/recording.h"
#include "models/layers/weights.h"
#include "models/model_state.h"
#include "models/timegan/sequence_model.h"
#include "models/training/checkpoint.h"
#include "models/training/clock.h"
#include "models/training/protection.h"

namespace tessera {
namespace {

constexpr int64_t kRowEvery = 100;  // iterations a line of --log stands for
// of an iteration, in joint iterations (measured: 6.1, 3.1 and 54 ms of one thread)
constexpr double kEmbeddingCost = 0.11, kSupervisedCost = 0.06;

// Attributes are few and tables of them short: a small TVAE with the prior fitted, for a number of steps that does not
// depend on the table, but is small beside the `iterations` of the sequences themselves.
TvaeConfig attribute_config(int64_t sequences, int64_t iterations) {
  const int64_t steps = std::clamp<int64_t>(2 * iterations, 200, 4000);
  TvaeConfig c;
  c.batch = static_cast<int>(std::clamp<int64_t>(sequences, 2, 500));
  c.embedding_dim = SequenceModel::kAttributeDimensions;
  c.encoder_dim = c.decoder_dim = {64, 64};
  c.average_decay = 0.999;
  c.decay_from = 0.5;
  c.prior_components = 10;
  c.epochs = static_cast<int>(std::max<int64_t>(steps / std::max<int64_t>(sequences / c.batch, 1), 1));
  return c;
}

// What the plans read of the encoded sequences.
struct Feeds {
  std::vector<float> features, attributes;
  std::vector<int32_t> own_row, own_step;
  int64_t rows = 0;

  Feeds(const SequenceEncoder& encoder, const EncodedSequences& s) : rows(s.steps.rows) {
    features.resize(static_cast<size_t>(rows * encoder.step_width()));
    to_features(encoder.steps(), s.steps.alphas.data(), s.steps.codes.data(), rows, features.data());
    attributes.resize(static_cast<size_t>(s.size() * encoder.attribute_width()));
    if (encoder.attribute_width() > 0)
      to_features(encoder.attributes(), s.attributes.alphas.data(), s.attributes.codes.data(), s.size(),
                  attributes.data());
    own_row.resize(static_cast<size_t>(s.size()));
    std::iota(own_row.begin(), own_row.end(), 0);
    own_step.assign(static_cast<size_t>(s.size()), 1);
  }
  void bind(Program& p, const EncodedSequences& s) const {
    p.bind_if("features", features.data());
    p.bind_if("first", s.first.data());
    p.bind_if("length", s.length.data());
    p.bind_if("attributes", attributes.data());
    p.bind_if("own.row", own_row.data());
    p.bind_if("own.step", own_step.data());
  }
};

void describe(TimeganPhase phase, const std::vector<double>& m, LossRow& row) {
  row.critic = m[0], row.generator = m[1], row.supervised = m[2], row.moments = m[3], row.reconstruction = m[4];
  if (phase == TimeganPhase::embedding) row.note = fmt::format("reconstruction {:.4f}", m[4]);
  else if (phase == TimeganPhase::supervised) row.note = fmt::format("next step {:.4f}", m[2]);
  else
    row.note =
        fmt::format("discriminator {:.2f}  generator {:.2f}  next step {:.4f}  moments {:.4f}", m[0], m[1], m[2], m[3]);
}

// The run. Between two iterations it is `run_`, the program's states apart until they are fetched; its steps are
// counted through all phases.
class SequenceTrainer {
 public:
  SequenceTrainer(const Timegan& m, const Feeds& feeds, const EncodedSequences& sequences, const FitOptions& options,
                  Checkpoints& checkpoints, Team& team, const Monitor& monitor)
      : m_(m),
        feeds_(feeds),
        sequences_(sequences),
        options_(options),
        checkpoints_(checkpoints),
        team_(team),
        monitor_(monitor),
        off_(options.passes_off.begin(), options.passes_off.end()),
        clock_(options.max_seconds, options.now) {
    const TimeganConfig& c = m.config;
    int64_t begin = 0;
    double cost = 0;
    for (const auto& [phase, name, steps, each] :
         {std::tuple{TimeganPhase::embedding, "embedding", c.embedding_iterations, kEmbeddingCost},
          {TimeganPhase::supervised, "supervised", c.supervised_iterations, kSupervisedCost},
          {TimeganPhase::joint, "joint", c.joint_iterations, 1.0}}) {
      cost += each * steps;
      if (steps > 0) phases_.push_back({phase, name, begin, begin + steps, cost});
      begin += steps;
    }
    for (Phase& phase : phases_) phase.time /= cost;
    run_.steps = begin;
  }

  const RunState& state() const { return run_; }

  States run(std::optional<RunState>&& from) {
    for (uint32_t stream = 0; const SequenceNetwork* n : m_.all)
      weights_[n->weights.name] = initial_weights(n->weights, options_.seed, stream++);
    if (from) {
      check_fits(*from);
      run_ = std::move(*from);
      if (options_.on_losses)
        for (const auto& row : run_.losses)
          options_.on_losses(loss_row(phase_before(static_cast<int64_t>(row[0])), static_cast<int64_t>(row[0]), row[1],
                                      {row.begin() + 2, row.end()}));
      for (auto& [set, values] : weights_)
        values = run_.states.at(run_.step == run_.steps && averaged(phases_.back()) &&
                                        run_.states.count("average." + set) != 0
                                    ? "average." + set
                                    : set);
    }
    clock_.start(run_.seconds, options_.begun.value_or(options_.now()));
    if (run_.step == 0) clock_.begin_training();
    try {
      for (const Phase& phase : phases_)
        if (run_.step < phase.end) train(phase);
    } catch (const Error& e) {
      // A step that went bad leaves nothing to go on from; whatever else stopped the run leaves it whole.
      if (e.code() != ErrorCode::numeric) rescue();
      throw;
    } catch (...) {
      rescue();
      throw;
    }
    return std::move(weights_);
  }

 private:
  struct Phase {
    TimeganPhase phase;
    const char* name;
    int64_t begin, end;  // in steps of the run
    // share of --max-time after which it ends: what it and the phases before cost of the whole schedule
    double time;
  };
  const Phase& phase_before(int64_t step) const {
    for (const Phase& p : phases_)
      if (step <= p.end) return p;
    return phases_.back();
  }
  // A checkpoint with a checksum may still have been made by anybody: what is read from it later must be there, in the
  // plans' sizes. What only a phase has, train() checks.
  void check_fits(const RunState& from) const {
    check_own(!phases_.empty() && from.steps == run_.steps && from.step >= 0 && from.step <= from.steps,
              "it has steps");
    check_own(from.loss_sums.empty() || from.loss_sums.size() == static_cast<size_t>(kTimeganLosses), "it has losses");
    for (const auto& row : from.losses)
      check_own(row.size() == static_cast<size_t>(kTimeganLosses) + 2, "it has losses");
    for (const auto& [set, values] : weights_) {
      const auto found = from.states.find(set), average = from.states.find("average." + set);
      check_own(found != from.states.end() && found->second.size() == values.size() &&
                    (average == from.states.end() || average->second.size() == values.size()),
                "it has weights");
    }
  }
  bool averaged(const Phase& phase) const { return phase.phase == TimeganPhase::joint && m_.config.average_decay > 0; }

  void train(const Phase& phase) {
    Plan plan;
    Recorder r(plan);
    r.start_purposes(purpose_of(phase.phase));
    record_training(r, m_, phase.phase, feeds_.rows, sequences_.size(), phase.end - phase.begin);
    optimise(plan, off_);
    program_ = std::make_unique<Program>(std::move(plan), options_.device ? *options_.device : Device::processor(),
                                         team_, options_.seed, wanted(off_, "liveness"));
    feeds_.bind(*program_, sequences_);
    load_states(*program_, weights_);
    if (averaged(phase))
      for (const SequenceNetwork* n : {&m_.recovery, &m_.generator, &m_.supervisor})
        program_->put("average." + n->weights.name, weights_.at(n->weights.name).data());
    // what is there is of the phase before
    if (run_.step == phase.begin) run_.states.clear(), run_.loss_sums.clear(), run_.loss_steps = 0;
    if (!run_.states.empty()) check_states(*program_, run_.states);
    load_states(*program_, run_.states);  // the middle of a phase: optimiser, averages and losses too
    run_.states.clear();
    program_->step().step = run_.step - phase.begin;
    run_.loss_sums.resize(static_cast<size_t>(kTimeganLosses), 0.0);
    chunk_ = 1;
    clock_.mark(static_cast<double>(run_.step - phase.begin));
    while (run_.step < phase.end) {
      if (checkpoints_.due(run_, kRowEvery)) save();
      advance(phase);
      watch_clock(phase);
    }
    for (auto& [set, values] : weights_)
      if (program_->plan().find_leaf(set) != kNone) values = program_->get<float>(set);
    if (&phase == &phases_.back()) save();
    if (averaged(phase))
      for (const SequenceNetwork* n : {&m_.recovery, &m_.generator, &m_.supervisor})
        weights_[n->weights.name] = program_->get<float>("average." + n->weights.name);
    program_.reset();
    run_.loss_sums.clear();
    run_.loss_steps = 0;
  }

  void advance(const Phase& phase) {
    const int64_t done = run_.step - phase.begin, steps = phase.end - phase.begin,
                  row_end = std::min((done / kRowEvery + 1) * kRowEvery, steps);
    const double before = seconds_now();
    program_->snapshot();
    const int64_t ran = program_->run(std::min({chunk_, row_end - done, kLossSlots}));
    if (const int64_t bad = program_->step().bad; bad >= 0) {
      const std::string culprit = program_->diagnose();
      throw Error(ErrorCode::numeric,
                  fmt::format("training met a value that is not finite at iteration {} of the {} phase: {}.\n  A lower "
                              "--learning-rate (now {}) or another --seed usually helps; "
                              "no model was written.",
                              bad, phase.name, culprit.empty() ? "a loss" : culprit, m_.config.learning_rate));
    }
    const std::vector<float> ring = program_->get<float>("losses");
    const size_t width = run_.loss_sums.size();
    for (int64_t step = done; step < done + ran; ++step)
      for (size_t k = 0; k < width; ++k)
        run_.loss_sums[k] += static_cast<double>(ring[static_cast<size_t>(step % kLossSlots) * width + k]);
    run_.loss_steps += ran;
    run_.step += ran;
    std::vector<double> means = run_.loss_sums;
    for (double& x : means) x /= static_cast<double>(run_.loss_steps);
    const LossRow row = loss_row(phase, run_.step, clock_.used(), means);
    if (done + ran == row_end) {
      means.insert(means.begin(), {static_cast<double>(run_.step), row.seconds});
      run_.losses.push_back(std::move(means));
      std::fill(run_.loss_sums.begin(), run_.loss_sums.end(), 0.0);
      run_.loss_steps = 0;
      if (options_.on_losses) options_.on_losses(row);
    }
    const double so_far = static_cast<double>(done + ran);
    monitor_.report({phase.name, so_far, clock_.expected(so_far, static_cast<double>(steps), phase.time), "steps",
                     row.note, done + ran == steps});
    const double took = std::max(seconds_now() - before, 1e-6);
    chunk_ = std::clamp<int64_t>(static_cast<int64_t>(0.1 / took * static_cast<double>(ran)), 1, kLossSlots);
  }

  // Time that is up ends the phase: the rest of it counts as passed, so that a run which goes on from there begins with
  // the next one.
  void watch_clock(const Phase& phase) {
    if (run_.step >= phase.end || !clock_.up(phase.time)) return;
    const auto done = static_cast<double>(run_.step - phase.begin);
    monitor_.report({phase.name, done, done, "steps",
                     fmt::format("time is up: {} of {} steps", run_.step - phase.begin, phase.end - phase.begin),
                     true});
    run_.left_out += phase.end - run_.step;
    run_.step = phase.end;
    run_.stopped = "max-time";
  }

  LossRow loss_row(const Phase& phase, int64_t step, double seconds, const std::vector<double>& means) const {
    LossRow row{};
    row.step = step, row.epoch = static_cast<double>(step) / static_cast<double>(run_.steps), row.seconds = seconds;
    describe(phase.phase, means, row);
    return row;
  }

  // All that the next iteration needs: every state of the phase's program, and the networks that it does not hold.
  void save() {
    run_.states = weights_;
    for (const Leaf& leaf : program_->plan().leaves)
      if (leaf.kind == Leaf::state) run_.states[leaf.name] = program_->get<float>(leaf.name);
    run_.seconds = clock_.used();
    checkpoints_.write(run_, kRowEvery);
    run_.states.clear();
  }
  void rescue() noexcept {
    try {
      if (program_) save();
    } catch (...) {}
  }

  const Timegan& m_;
  const Feeds& feeds_;
  const EncodedSequences& sequences_;
  const FitOptions& options_;
  Checkpoints& checkpoints_;
  Team& team_;
  const Monitor& monitor_;
  const std::set<std::string> off_;
  TrainingClock clock_;
  std::vector<Phase> phases_;
  States weights_;  // as the phases before left them
  RunState run_;
  std::unique_ptr<Program> program_;
  int64_t chunk_ = 1;
};

}  // namespace

std::unique_ptr<Method> SequenceModel::attribute_method() const {
  return encoder.attribute_width() == 0 ? nullptr : make_tvae(encoder.attributes(), attribute_config(1, 0));
}

void SequenceModel::visit_tensors(const TimeganConfig& config,
                                  const std::function<void(const TensorSpec&, bool of_attributes)>& visit) const {
  const Timegan m = timegan(config);
  for (const SequenceNetwork* n : {&m.generator, &m.supervisor, &m.recovery})
    visit_weights(n->weights, [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
      visit({name, shape, n->weights.name, n->weights.size, element}, false);
    });
  if (const auto method = attribute_method())
    method->visit_tensors(attributes, [&](const TensorSpec& s) {
      TensorSpec named = s;
      named.name = "attributes." + s.name;
      visit(named, true);
    });
}

int64_t SequenceModel::parameters(const TimeganConfig& config) const {
  const Timegan m = timegan(config);
  return m.generator.weights.size + m.supervisor.weights.size + m.recovery.weights.size;
}

void record_joint_iteration(Plan& plan, const SequenceModel& model, const TimeganConfig& config,
                            const EncodedSequences& sequences) {
  Recorder r(plan);
  record_training(r, model.timegan(config), TimeganPhase::joint, sequences.steps.rows, sequences.size(), 1);
}

Sequences cut_protected(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor,
                        nlohmann::json& provenance) {
  std::optional<ProtectedNumbers> index;
  if (const Column* c = options.sequences.index.empty() ? nullptr : table.find(options.sequences.index);
      c != nullptr && is_numeric(c->type)) {
    const auto present = std::count_if(c->numbers.begin(), c->numbers.end(), [](double x) { return x == x; });
    index.emplace(sorted_values(c->numbers, present, 0, options.seed), options.rare_rows,
                  c->type == ColumnType::integer || c->type == ColumnType::date ? 0 : c->decimals);
  }
  Sequences sequences = cut(std::move(table), options.sequences);
  if (sequences.steps.rows < options.rare_rows)
    throw Error(ErrorCode::data, fmt::format("The table has {} rows: whatever is learnt from fewer than {} tells of "
                                             "single rows.\n  --rare-categories keep learns from them as they are.",
                                             sequences.steps.rows, options.rare_rows));
  // before lengths change: it finds each row's key by them
  provenance["rare_categories"] = leave_out_rare(sequences, options, team, monitor);
  provenance["protected_numbers"] = describe_protection(
      protect_numbers(sequences, index ? &*index : nullptr, options.rare_rows, options.seed, team), options, monitor);
  return sequences;
}

std::unique_ptr<SequenceModel> fit_sequences(Table&& table, const TimeganConfig& config, const FitOptions& options,
                                             Checkpoints& checkpoints, Team& team, const Monitor& monitor,
                                             nlohmann::json& provenance) {
  auto model = std::make_unique<SequenceModel>();
  Sequences cut_table = cut_protected(std::move(table), options, team, monitor, provenance);
  model->encoder = SequenceEncoder::fit(cut_table, options.seed, team, monitor);
  check_room_in_file(model->encoder.to_json());
  const EncodedSequences sequences = model->encoder.encode(std::move(cut_table), team, monitor);
  provenance["sequences"] = sequences.size();
  const double start = seconds_now();
  const int64_t iterations =
      int64_t{config.embedding_iterations} + config.supervised_iterations + config.joint_iterations;

  if (model->encoder.attribute_width() > 0) {
    TvaeConfig attributes = attribute_config(sequences.size(), iterations);
    if (iterations == 0) attributes.epochs = 0;
    const auto method = make_tvae(model->encoder.attributes(), attributes);
    model->attributes = train_aside(*method, sequences.attributes, options, team, monitor);
  }

  const Timegan m = model->timegan(config);
  const Feeds feeds(model->encoder, sequences);
  SequenceTrainer trainer(m, feeds, sequences, options, checkpoints, team, monitor);
  std::optional<RunState> kept;
  if (options.checkpoint.resume) kept = checkpoints.newest();
  else if (!options.checkpoint.path.empty()) Checkpoints::remove(options.checkpoint.path);
  if (kept)
    notice(monitor, fmt::format("Going on from iteration {} of {}, kept in {}.", kept->step, trainer.state().steps,
                                options.checkpoint.path));
  States weights = trainer.run(std::move(kept));
  for (const SequenceNetwork* n : {&m.generator, &m.supervisor, &m.recovery})
    model->networks[n->weights.name] = std::move(weights[n->weights.name]);
  provenance["steps"] = trainer.state().steps - trainer.state().left_out;
  if (!trainer.state().stopped.empty()) provenance["stopped"] = trainer.state().stopped;
  provenance["train_seconds"] = seconds_now() - start;
  return model;
}

}  // namespace tessera
