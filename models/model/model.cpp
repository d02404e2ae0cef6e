#include "models/model/model.h"

#include <fmt/format.h>

#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/storage/files.h"
#include "base/text/option_text.h"
#include "models/fitted/known_values.h"
#include "models/model/model_state.h"
#include "models/model/preparation.h"
#include "models/model/registry.h"
#include "models/privacy/private_column.h"
#include "models/privacy/private_table.h"
#include "models/sampling/calibration/candidate_pool.h"
#include "models/training/fit_to_memory.h"
#include "models/training/protection.h"
#include "models/training/ranks.h"
#include "models/training/rehearsal.h"
#include "models/training/trainer.h"
#include "models/training/validation.h"
#include "models/tvae/options.h"
#include "tables/protection/rare_categories.h"
#include "tables/types/types.h"

namespace tessera {

Model::Model() = default;
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

void apply_preset(FitOptions& o) {
  const MethodSpec& method = o.method.empty() ? *methods().front() : method_named(o.method);
  o.method = method.name;
  const bool best = o.preset == "best";
  if (!best && o.preset != "paper")
    throw Error(ErrorCode::usage,
                option_text("preset", o.preset) + ": it must be \"best\" (the default) or \"paper\".");
  o.config = method.config(best);
  if (best) {
    o.rare_rows = kRareRows;
    o.encoder.integer_levels = method.integer_levels;
    if (method.best_bins) o.encoder.numbers = EncoderOptions::Numbers::bins;
  } else {
    // The published model without its reference's mistakes (docs/methods/fidelity.md). No column is treated specially.
    o.encoder.spike_share = 0;
    o.encoder.integer_levels = 0;
    o.calibrate = Tier::off;
  }
  o.rules.find = best;
  o.patience = method.patience;
  o.patience_if_possible = method.patience > 0;
  if (method.bins) o.encoder.numbers = EncoderOptions::Numbers::bins, o.calibrate = Tier::off;
}

namespace {

std::vector<int64_t> every_row(const Table& t) {
  std::vector<int64_t> rows(static_cast<size_t>(t.rows));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// Appends to a table with the same columns and the same text codes.
void append(Table& to, Table&& rows) {
  if (to.columns.empty()) {
    to = std::move(rows);
    return;
  }
  for (size_t j = 0; j < to.columns.size(); ++j) {
    to.columns[j].numbers.insert(to.columns[j].numbers.end(), rows.columns[j].numbers.begin(),
                                 rows.columns[j].numbers.end());
    to.columns[j].codes.insert(to.columns[j].codes.end(), rows.columns[j].codes.begin(), rows.columns[j].codes.end());
  }
  to.rows += rows.rows;
}

Calibration learn_calibration(const std::shared_ptr<const RowModel>& fitted, const Table& sample,
                              const FitOptions& options, const Trained& trained, Team& team, const Monitor& monitor) {
  const Monitor silent = monitor.silent();
  SampleOptions raw;
  raw.seed = options.seed + kOtherRows;
  raw.calibrate = Tier::off;
  raw.device = options.device;
  const auto model = [&](int64_t offset, int64_t count) {
    const auto rows = open_rows(fitted, offset, count, raw, team, silent);
    Table all, batch;
    while (rows->next(batch)) append(all, fitted->encoder.pick(batch, every_row(batch)));
    return all;
  };
  // In fp16 a loss is scaled and updates are skipped, which would not be reported here.
  const std::string precision = options.precision == "fp16" ? "fp32" : options.precision;
  return Calibration::fit(
      fitted->encoder, sample, model,
      {options.calibrate, options.seed, trained.flops, options.device.get(), trained.until, precision}, team, monitor);
}

// Without held-out rows, nothing stops training from memorizing a small table.
void note_membership(const EncodedTable& table, const FitOptions& options, const Monitor& monitor) {
  constexpr int64_t kSmall = 10'000;
  if (!options.config.method().bins || !options.config->trains() || options.patience > 0 || table.rows >= kSmall ||
      options.rehearsal != nullptr || options.privacy.epsilon > 0)
    return;
  notice(monitor,
         fmt::format("{} are few to learn from without `patience`: training does not stop before the model "
                     "memorizes them, and the model, or many of its rows, may then reveal who was in the table. "
                     "`patience=1` stops in time (docs/quality/privacy.md).",
                     counted(table.rows, "row")));
}

// DP-SGD on the rows of a table that itself is not learned from.
struct PrivateStage {
  Table rows;
  PrivateSteps steps;
  uint64_t seed = 0;
};

// A method's last phase, whose losses are functions of the rows and are not kept.
Trained train_privately(RowMethod& method, const EncodedTable& rows, const PrivateStage& stage, const Trained* before,
                        const FitOptions& given, Team& team, const Monitor& monitor, nlohmann::json& provenance) {
  FitOptions options = given;
  options.seed = stage.seed, options.patience = 0, options.keep_best = false, options.checkpoint = {};
  const PrivateRows privately(rows, stage.steps);
  if (!method.train_privately(privately, before == nullptr ? nullptr : &before->kept))
    throw Error(ErrorCode::usage,
                "`privacy`: these options of the method do not support gradients of single rows.\n  "
                "Omit `any_order`, or use `privacy=counts`.");
  Checkpoints none({}, {}, monitor);
  Trained trained = train(method, nullptr, options, none, team, monitor, provenance);
  provenance.erase("training"), provenance.erase("held_out"), provenance.erase("stopped");
  return trained;
}

// Returns nothing on a rank that follows.
std::optional<Trained> train_rows(Model::State& state, RowModel& model, EncodedTable&& table, const FitOptions& given,
                                  PrivateStage* stage, Checkpoints& checkpoints, Team& team, const Monitor& monitor) {
  const std::unique_ptr<RowMethod> method = model.method();
  FitOptions options = given;
  note_membership(table, options, monitor);
  // A method that holds rows out by default does so if there are enough of them.
  if (options.patience_if_possible && !can_hold_out(table)) options.patience = 0;
  EncodedTable held;
  if (options.rehearsal) options.rehearsal->encoded = bytes_of(table);
  method->survey(table);
  if (measures(options)) held = hold_out(table, model.encoder.layout(), options.seed);
  if (options.rehearsal) options.rehearsal->held_out = bytes_of(held);
  method->prepare(table, team);
  const std::set<std::string> off(options.passes_off.begin(), options.passes_off.end());
  const RunContext context{options.seed, off, team, monitor};
  choose_parallel(*method, context, options);
  if (follows(options)) {
    follow(*method, options, context, *options.ranks.world);
    return {};
  }
  Trained trained;
  if (stage == nullptr || options.privacy.by == PrivateBy::both) {
    auto held_out = measures(options) ? method->held_out(held, context) : nullptr;
    trained = train(*method, std::move(held_out), options, checkpoints, team, monitor, state.provenance);
  }
  if (stage != nullptr) {
    // The mode of a number is drawn by seed and place: a row that is added moves others, whose draws must be secret.
    const EncodedTable rows = encode_known(model.encoder, std::move(stage->rows), stage->seed, team, monitor);
    trained = train_privately(*method, rows, *stage, trained.kept.states.empty() ? nullptr : &trained, options, team,
                              monitor, state.provenance);
  }
  model.kept = std::move(trained.kept);
  return trained;
}

// The encoded rows are freed before calibration; the rows that calibration uses are held from now on.
void check_memory_to_calibrate(const RowModel& model, const Table& sample, const EncodedTable& table,
                               const FitOptions& options, const Team& team) {
  const auto& limit = team.limit();
  if (limit == nullptr || (limit->bytes() == 0 && !options.rehearsal)) return;
  // plus the program that generates candidates, whose batch is halved until it fits
  const int64_t sampling = static_cast<int64_t>(sizeof(float)) * model.method()->parameters() + (int64_t{4} << 20);
  const auto bytes = [&](Tier tier) { return Calibration::bytes(model.encoder, sample, tier) + sampling; };
  const int64_t held = limit->held() - bytes_of(table);
  if (options.rehearsal) options.rehearsal->after = held + bytes(options.calibrate);
  const double marginals = static_cast<double>(bytes(Tier::marginals)) / 1e6;
  check_memory_after(
      bytes(options.calibrate), held, "A calibration",
      options.calibrate == Tier::full
          ? fmt::format(" `calibrate=marginals` needs {:.1f} MB, `calibrate=off` none; rows are less accurate.",
                        marginals)
          : std::string(" `calibrate=off` needs none; rows are less accurate."),
      team);
}

void check_calibrates(const MethodSpec& method, Tier tier) {
  if (tier == Tier::off || !method.bins) return;
  throw Error(ErrorCode::usage, fmt::format("`calibrate={}`: `method={}` does not support calibration.\n  Omit it.",
                                            name(tier), method.name));
}

// Runs `read`, which opens what a model file holds: what it refuses is a defect.
template <class Read>
void check_reads(Read&& read) {
  try {
    read();
  } catch (const Error& e) {
    if (e.code() != ErrorCode::format) throw;
    throw Error(ErrorCode::internal,
                std::string(e.what()) + " This is a defect of Tessera: please report it with the options of this run.");
  }
}

// Checks, before a training, what the model file's header will hold.
template <class AnyEncoder>
void check_header(const AnyEncoder& encoder, const Rules& rules) {
  const nlohmann::json header = encoder.to_json();
  check_header_size(header);
  check_reads([&] { (void)AnyEncoder::from_json(header), (void)Rules::from_json(rules.to_json()); });
}

void fit_rows(Model::State& state, Table&& table, const FitOptions& options, PrivateStage* stage,
              std::optional<Rules>&& known, Checkpoints& checkpoints, Team& team, const Monitor& monitor) {
  check_calibrates(options.config.method(), options.calibrate);
  const bool calibrate = options.calibrate != Tier::off && options.config->trains();
  Table sample;
  const nlohmann::json own = own_numbers(table);
  Rules rules = known ? std::move(*known) : take_rules(table, options, team, monitor);
  report_rules(rules, monitor);
  EncodedTable encoded =
      prepare_rows(state, std::move(table), rules, own, options, calibrate ? &sample : nullptr, team, monitor);
  const std::shared_ptr<RowModel> model = state.rows();
  check_header(model->encoder, rules);
  if (model->learned()) {
    const MemoryShare looked_at = team.share(sample.rows * bytes_of_row(sample), "rows for calibration");
    if (calibrate) check_memory_to_calibrate(*model, sample, encoded, options, team);
    const auto trained = train_rows(state, *model, std::move(encoded), options, stage, checkpoints, team, monitor);
    encoded = {};  // check_memory_to_calibrate() assumes this
    if (calibrate && trained) model->calibration = learn_calibration(model, sample, options, *trained, team, monitor);
  }
  // Set last: a calibration compares rows of the learned columns, before the rules restore the table's.
  model->rules = std::move(rules);
}

void fit_sequences(Model::State& state, Table&& table, const FitOptions& given, Checkpoints& checkpoints, Team& team,
                   const Monitor& monitor) {
  FitOptions options = given;
  EncodedSequences sequences = prepare_sequences(state, std::move(table), options, team, monitor);
  SequenceModel& model = *state.sequences();
  report_rules(model.rules, monitor);
  check_header(model.encoder, model.rules);
  state.provenance["sequences"] = sequences.size();
  EncodedSequences held;
  if (options.rehearsal) options.rehearsal->encoded = bytes_of(sequences.steps) + bytes_of(sequences.attributes);
  const std::unique_ptr<SequenceMethod> method = model.method();
  if (options.patience_if_possible && !can_hold_out(sequences)) options.patience = 0;
  // Nothing is measured of the attributes of keys alone: those of all are learned.
  std::optional<EncodedTable> attributes;
  if (measures(options) && !model.encoder.begins_anywhere()) attributes = sequences.attributes;
  if (measures(options)) held = hold_out(sequences, model.encoder, options.seed, method->holds_out_parts());
  if (const auto rows = model.attribute_method(sequences.size()); rows && !follows(options)) {
    // A first step may be any row of a series: some are held out as of a table.
    // Where those of the sequences left too few for that, all of them are learned.
    const bool holds_out = measures(options) && model.encoder.begins_anywhere() && can_hold_out(sequences.attributes);
    EncodedTable away;
    if (holds_out) away = hold_out(attributes.emplace(sequences.attributes), model.encoder.attributes(), options.seed);
    model.attributes = train_aside(*rows, attributes ? *attributes : sequences.attributes, options, team, monitor,
                                   holds_out ? &away : nullptr);
  }
  method->prepare(sequences, team);
  const std::set<std::string> off(options.passes_off.begin(), options.passes_off.end());
  const RunContext context{options.seed, off, team, monitor};
  if (follows(options)) return follow(*method, options, context, *options.ranks.world);
  auto held_out = measures(options) ? method->held_out(held, context) : nullptr;
  model.steps = train(*method, std::move(held_out), options, checkpoints, team, monitor, state.provenance).kept;
}

// Adds to a phase's note the phases that follow and the time left of max_time.
Monitor outlined(const Monitor& monitor, const FitOptions& options) {
  Monitor out = monitor;
  if (!monitor.on_progress) return out;
  const std::string calibration = options.calibrate != Tier::off ? "calibration" : "";
  const std::string prior = options.config->fits_prior() ? "prior" : "";
  const std::string both = prior + (prior.empty() || calibration.empty() ? "" : " and ") + calibration;
  const double end = options.max_seconds > 0 && !options.checkpoint.resume ? *options.begun + options.max_seconds : 0;
  out.on_progress = [tell = monitor.on_progress, now = options.now, calibration, both, end](const Progress& p) {
    Progress more = p;
    const std::string_view phase = p.phase;
    const std::string& then = phase == "train" ? both : phase == "prior" ? calibration : std::string();
    if (!p.finished && !then.empty()) more.note += (p.note.empty() ? "then " : "  then ") + then;
    if (!p.finished && end > 0 && phase != "notice")
      more.note +=
          fmt::format("{}{:.0f} s of `max_time` left", more.note.empty() ? "" : "  ", std::max(end - now(), 0.0));
    tell(more);
  };
  return out;
}

// Runs the training; error messages name the saved files.
template <class F>
void with_checkpoints(Checkpoints& checkpoints, F&& training) {
  try {
    training();
  } catch (const Error& e) { throw Error(e.code(), e.what() + checkpoints.kept()); } catch (const std::bad_alloc&) {
    if (checkpoints.kept().empty()) throw;
    throw Error(ErrorCode::memory, "There is not enough memory to continue." + checkpoints.kept());
  }
}

}  // namespace

// Checks that the model's file could be opened, while the checkpoints of its training still exist.
void Model::check_opens() const {
  check_reads([&] { (void)from_bytes(bytes(), "The trained model"); });
}

namespace {

constexpr double kLargerBatch = 4;  // of DP-SGD: noise is added once to a batch, however many rows it has

// Replaces the table by rows drawn from noisy counts. What follows is a function of those rows and of noisy gradients,
// and costs nothing: protection, which would change them, is off.
nlohmann::json make_private(Table& table, FitOptions& options, std::optional<PrivateStage>& stage,
                            std::optional<Rules>& rules, Team& team, const Monitor& monitor) {
  auto& privacy = options.privacy;
  if (!options.rules.given.empty()) {
    for (Column& c : table.columns) keep_declared(c);  // a rule stores the form of a column that it computes
    RuleOptions given = options.rules;
    given.find = false, given.unread = true;
    rules = Rules::find(table, given, team, monitor);
  }
  const bool chosen = privacy.by != PrivateBy::automatic;
  if (!chosen) privacy.by = PrivateBy::counts;
  const nlohmann::json config = config_json(options.config);
  PrivateTable made = private_table(table,
                                    {privacy.epsilon, privacy.delta, privacy.noise_seed, privacy.by,
                                     config["epochs"].get<double>(), kLargerBatch * config["batch_size"].get<double>()},
                                    team);
  if (privacy.by != PrivateBy::counts) {
    stage = PrivateStage{std::move(table), made.steps, made.seed};
    options.calibrate = Tier::off;
    if (options.method == "tvae") options.as<TvaeConfig>().prior_components = 0;
  }
  if (privacy.by == PrivateBy::gradients) options.patience = 0, options.keep_best = false;
  table = std::move(made.rows);
  options.rare_rows = 1, options.rules.find = false;
  const size_t mechanisms = made.ledger["mechanisms"].size();
  notice(monitor,
         fmt::format("private: epsilon {:.4g} at delta {:.3g}, {} noisy counts{}{}; tessera inspect lists them",
                     privacy.epsilon, privacy.delta, mechanisms - (stage ? 1 : 0),
                     stage ? fmt::format(" and {} steps on noisy gradients", made.steps.steps) : "",
                     chosen ? ""
                            : ", which kept columns of Adult and Magic better than `privacy=gradients`, and pairs at "
                              "epsilon 1"));
  return std::move(made.ledger);
}

}  // namespace

Model Model::fit(Table&& table, const FitOptions& asked, Team& team, const Monitor& asking) {
  FitOptions options = asked;
  options.begun = asked.begun.value_or(asked.now());
  const Monitor monitor = outlined(asking, options);
  Model model;
  nlohmann::json ledger;
  std::optional<PrivateStage> stage;
  std::optional<Rules> rules;
  if (options.privacy.epsilon > 0) ledger = make_private(table, options, stage, rules, team, monitor);
  Checkpoints checkpoints(options.checkpoint, identify(table, options, team), monitor);
  check_ranks(options, checkpoints.identity());
  auto state = std::make_shared<State>();
  state->provenance["run"] = checkpoints.identity().summary();
  if (!ledger.is_null()) state->provenance["privacy"] = std::move(ledger);
  with_checkpoints(checkpoints, [&] {
    if (options.of_sequences()) fit_sequences(*state, std::move(table), options, checkpoints, team, monitor);
    else
      fit_rows(*state, std::move(table), options, stage ? &*stage : nullptr, std::move(rules), checkpoints, team,
               monitor);
    if (follows(options)) return;
    model.state_ = std::move(state);
    model.check_opens();
  });
  return model;
}

std::optional<Model> Model::finished(const std::string& path, const Table& table, const FitOptions& options, bool other,
                                     Team& team, const Monitor& monitor) {
  if (!file_exists(path)) return {};
  const std::string way_out = "Name another file for the model, or replace this one with `overwrite=yes`.";
  try {
    Model model = load(path);
    const nlohmann::json& provenance = model.state_->provenance;
    if (!provenance.contains("run"))
      throw Error(ErrorCode::usage,
                  fmt::format("{}: this model does not record the run that made it.\n  {}", path, way_out));
    Checkpoints checkpoints(options.checkpoint, identify(table, options, team), monitor);
    checkpoints.identity().check_same(RunIdentity::from_json(provenance["run"]), path, way_out);
    checkpoints.remove_own();  // left if the process was killed between writing the model and removing them
    return model;
  } catch (const Error& e) {
    if (!other || e.code() == ErrorCode::memory) throw;
    return {};
  }
}

Model Model::calibrated(const Table& table, const FitOptions& options, Team& team, const Monitor& monitor) const {
  const std::shared_ptr<const RowModel> raw = shared_rows();
  if (state_->provenance.contains("privacy"))
    throw Error(ErrorCode::usage,
                "the model is differentially private, and a calibration would read rows without noise.\n  Fit a model "
                "without `epsilon`.");
  if (raw == nullptr) throw Error(ErrorCode::usage, "models of sequences do not support calibration.");
  check_calibrates(raw->config.method(), options.calibrate);
  const auto fitted = std::make_shared<RowModel>();
  fitted->encoder = Encoder::from_json(raw->encoder.to_json());
  fitted->config = raw->config;
  fitted->kept = raw->kept;
  if (fitted->learned()) {
    Table own = table;
    raw->rules.reduce(own, team);
    (void)leave_out_rare(own, options, team, Monitor{});
    (void)protect_numbers(own, options.rare_rows, options.seed, team);
    raw->rules.fill(own, options.seed);
    fitted->calibration = learn_calibration(fitted, sample_rows(fitted->encoder, own, options.seed), options,
                                            {{}, 1e15, {}}, team, monitor);
  }
  fitted->rules = raw->rules;
  Model model;
  model.state_ = std::make_shared<State>(State{state_->preset, state_->provenance, fitted});
  return model;
}

std::shared_ptr<const RowModel> Model::shared_rows() const { return state_->rows(); }

std::unique_ptr<RowStream> Model::sample(int64_t offset, int64_t count, const SampleOptions& options, Team& team,
                                         const Monitor& monitor) const {
  if (const auto rows = state_->rows()) return open_rows(rows, offset, count, options, team, monitor);
  return open_sequences(state_->sequences(), offset, count, options, team, monitor);
}

}  // namespace tessera
