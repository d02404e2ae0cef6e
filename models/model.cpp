#include "models/model.h"

#include <fmt/format.h>

#include <numeric>

#include "engine/error.h"
#include "engine/passes/passes.h"
#include "engine/plan/op_rules.h"
#include "engine/run/program.h"
#include "engine/run/roofline.h"
#include "engine/schedule/placement.h"
#include "engine/storage/files.h"
#include "models/data/identifiers/permutation.h"
#include "models/data/protection/rare_categories.h"
#include "models/describe_launches.h"
#include "models/model_state.h"
#include "models/training/protection.h"

namespace tessera {

Model::Model() = default;
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

void apply_preset(FitOptions& o) {
  const MethodInfo& method = method_info(o.method);
  const bool best = o.preset == "best";
  if (!best && o.preset != "paper")
    throw Error(ErrorCode::usage,
                fmt::format("--preset {}: there are \"best\" (the default) and \"paper\".", o.preset));
  o.config = method.config(best);
  if (best) {
    o.rare_rows = kRareRows;
    o.encoder.integer_levels = method.integer_levels;
  } else {
    // The published model with its reference's mistakes put right (docs/fidelity.md). No column is treated specially.
    o.encoder.spike_share = 0;
    o.encoder.integer_levels = 0;
    o.calibrate = Tier::off;
  }
}

namespace {

std::vector<int64_t> every_row(const Table& t) {
  std::vector<int64_t> rows(static_cast<size_t>(t.rows));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// Behind a table of the same columns and the same numbering of texts.
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

// What a model is beside its weights, and what is said of where it came from.
void begin(Model::State& state, const Table& table, const FitOptions& options) {
  if (table.rows == 0) throw Error(ErrorCode::data, "the table has no rows: there is nothing to learn from.");
  state.preset = options.preset;
  state.config = options.config;
  check_config(state.config);
  state.provenance = {{"source", options.source}, {"rows", table.rows}, {"seed", options.seed}};
}

// Real rows in random order, all of them or as many as a calibration looks at.
Table sample_rows(const Encoder& encoder, const Table& table, uint64_t seed) {
  const Permutation order(static_cast<uint64_t>(table.rows), seed);
  std::vector<int64_t> rows(static_cast<size_t>(std::min(table.rows, Calibration::kMostRows)));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(order(i));
  Table picked = encoder.pick(table, rows);
  for (const Column& c : table.columns) c.relax();
  return picked;
}

// `sample`, unless null, receives the rows a calibration looks at: they are gone afterwards.
EncodedTable prepare(Model::State& state, Table&& table, const FitOptions& options, Table* sample, Team& team,
                     const Monitor& monitor) {
  begin(state, table, options);
  state.provenance["rare_categories"] = leave_out_rare(table, options, team, monitor);
  state.provenance["protected_numbers"] =
      describe_protection(protect_numbers(table, options.rare_rows, options.seed, team), options, monitor);
  EncoderOptions encoder = options.encoder;
  encoder.seed = options.seed;
  encoder.least_rows = std::max(options.rare_rows, kRareRows);
  state.encoder = Encoder::fit(table, encoder, team, monitor);
  if (sample != nullptr) *sample = sample_rows(state.encoder, table, options.seed);
  return state.encoder.encode(std::move(table), team, monitor);
}

Calibration learn_calibration(std::shared_ptr<const Model::State> state, const Table& sample, const FitOptions& options,
                              const Trained& trained, Team& team, const Monitor& monitor) {
  Monitor silent;
  silent.cancel = monitor.cancel;
  silent.cancel_job = monitor.cancel_job;
  SampleOptions raw;
  raw.seed = options.seed + 0x9E3779B97F4A7C15;  // rows that a user who samples with the training seed does not get
  raw.calibrate = Tier::off;
  raw.device = options.device;
  const auto model = [&](int64_t offset, int64_t count) {
    const auto rows = open_rows(state, offset, count, raw, team, silent);
    Table all, batch;
    while (rows->next(batch)) append(all, state->encoder.pick(batch, every_row(batch)));
    return all;
  };
  return Calibration::fit(state->encoder, sample, model,
                          {options.calibrate, options.seed, trained.flops, options.device.get(), trained.until}, team,
                          monitor);
}

// While a phase runs, its note says which follow, and what is left of --max-time.
Monitor outlined(const Monitor& monitor, const FitOptions& options) {
  Monitor out = monitor;
  if (!monitor.on_progress || method_info(options.config).sequences) return out;
  const std::string calibration = options.calibrate != Tier::off ? "calibration" : "";
  const std::string prior = fits_prior(options.config) ? "prior" : "";
  const std::string both = prior + (prior.empty() || calibration.empty() ? "" : " and ") + calibration;
  const double end = options.max_seconds > 0 && !options.checkpoint.resume ? *options.begun + options.max_seconds : 0;
  out.on_progress = [tell = monitor.on_progress, now = options.now, calibration, both, end](const Progress& p) {
    Progress more = p;
    const std::string_view phase = p.phase;
    const std::string& then = phase == "train" ? both : phase == "prior" ? calibration : std::string();
    if (!p.finished && !then.empty()) more.note += (p.note.empty() ? "then " : "  then ") + then;
    if (!p.finished && end > 0 && phase != "notice")
      more.note +=
          fmt::format("{}{:.0f} s of --max-time left", more.note.empty() ? "" : "  ", std::max(end - now(), 0.0));
    tell(more);
  };
  return out;
}

// Training; an error's message says what of it is kept.
template <class F>
void keeping(Checkpoints& checkpoints, F&& training) {
  try {
    training();
  } catch (const Error& e) { throw Error(e.code(), e.what() + checkpoints.kept()); } catch (const std::bad_alloc&) {
    if (checkpoints.kept().empty()) throw;
    throw Error(ErrorCode::memory, "There is not enough memory to go on." + checkpoints.kept());
  }
}

}  // namespace

// A model in memory holds to the rules of its file: what could not be opened is found while the checkpoints of its
// training are there.
void Model::check_opens() const {
  try {
    (void)from_bytes(bytes(), "The model that was trained");
  } catch (const Error& e) {
    if (e.code() != ErrorCode::format) throw;
    throw Error(ErrorCode::internal,
                std::string(e.what()) + " This is a defect of Tessera: please report it with the options of this run.");
  }
}

Model Model::fit(Table&& table, const FitOptions& asked, Team& team, const Monitor& asking) {
  FitOptions options = asked;
  options.begun = asked.begun.value_or(asked.now());
  const Monitor monitor = outlined(asking, options);
  Model model;
  Checkpoints checkpoints(options.checkpoint, identify(table, options, team), monitor);
  auto state = std::make_shared<State>();
  if (const auto* timegan = std::get_if<TimeganConfig>(&options.config)) {
    begin(*state, table, options);
    state->provenance["run"] = checkpoints.identity().summary();
    keeping(checkpoints, [&] {
      state->sequences =
          fit_sequences(std::move(table), *timegan, options, checkpoints, team, monitor, state->provenance);
      model.state_ = std::move(state);
      model.check_opens();
    });
    return model;
  }
  const bool calibrate = options.calibrate != Tier::off && trains(options.config);
  Table sample;
  EncodedTable encoded = prepare(*state, std::move(table), options, calibrate ? &sample : nullptr, team, monitor);
  check_room_in_file(state->encoder.to_json());
  state->provenance["run"] = checkpoints.identity().summary();
  keeping(checkpoints, [&] {
    if (state->learnt()) {
      const Trained trained = train(*state, std::move(encoded), options, checkpoints, team, monitor);
      if (calibrate) state->calibration = learn_calibration(state, sample, options, trained, team, monitor);
    }
    model.state_ = std::move(state);
    model.check_opens();
  });
  return model;
}

std::optional<Model> Model::finished(const std::string& path, const Table& table, const FitOptions& options, bool other,
                                     Team& team, const Monitor& monitor) {
  if (!file_exists(path)) return {};
  const std::string way_out = "Name another file with --model, or --force to replace this one.";
  try {
    Model model = load(path);
    const nlohmann::json& provenance = model.state_->provenance;
    if (!provenance.contains("run"))
      throw Error(ErrorCode::usage,
                  fmt::format("{}: this model does not say which run it is of.\n  {}", path, way_out));
    Checkpoints checkpoints(options.checkpoint, identify(table, options, team), monitor);
    checkpoints.identity().check_same(RunIdentity::from_json(provenance["run"]), path, way_out);
    checkpoints.remove_own();  // a kill between the last write of the model and their removal left them
    return model;
  } catch (const Error& e) {
    if (!other || e.code() == ErrorCode::memory) throw;
    return {};
  }
}

Model Model::calibrated(const Table& table, const FitOptions& options, Team& team, const Monitor& monitor) const {
  if (state_->sequences != nullptr) throw Error(ErrorCode::usage, "models of sequences are not calibrated.");
  auto state = std::make_shared<State>();
  state->preset = state_->preset;
  state->encoder = Encoder::from_json(state_->encoder.to_json());
  state->config = state_->config;
  state->kept = state_->kept;
  state->provenance = state_->provenance;
  if (state->learnt()) {
    Table own = table;
    (void)leave_out_rare(own, options, team, Monitor{});
    (void)protect_numbers(own, options.rare_rows, options.seed, team);
    state->calibration =
        learn_calibration(state, sample_rows(state->encoder, own, options.seed), options, {1e15, {}}, team, monitor);
  }
  Model model;
  model.state_ = std::move(state);
  return model;
}

namespace {

// The joint phase's iteration, which is nearly all of TimeGAN's time.
void plan_of_sequences(Plan& plan, Table&& table, const FitOptions& options, Team& team, const Monitor& monitor,
                       nlohmann::json& json) {
  Model::State state;
  begin(state, table, options);
  SequenceModel model;
  Sequences sequences = cut_protected(std::move(table), options, team, monitor, state.provenance);
  model.encoder = SequenceEncoder::fit(sequences, options.seed, team, monitor);
  const EncodedSequences encoded = model.encoder.encode(std::move(sequences), team, monitor);
  const auto& config = std::get<TimeganConfig>(options.config);
  record_joint_iteration(plan, model, config, encoded);
  json["data_width"] = model.encoder.step_width();
  json["condition_width"] = model.encoder.attribute_width();
  json["batch"] = config.batch;
  json["memory"]["table_bytes"] = static_cast<int64_t>(encoded.steps.rows * model.encoder.step_width() * 4);
}

void plan_of_rows(Plan& plan, Table&& table, const FitOptions& options, Team& team, const Monitor& monitor,
                  nlohmann::json& json) {
  Model::State state;
  const EncodedTable encoded = prepare(state, std::move(table), options, nullptr, team, monitor);
  if (!state.learnt())
    throw Error(ErrorCode::data, "the table has only constants and identifiers: there is no step to plan.");
  const std::unique_ptr<Method> method = state.method();
  method->prepare(encoded, team);
  Recorder r(plan);
  method->record_training(r, encoded.rows, 1);
  json["data_width"] = state.encoder.layout().data_width;
  json["condition_width"] = std::holds_alternative<CtganConfig>(options.config) ? state.encoder.layout().cond_width : 0;
  json["batch"] = method->schedule().batch;
  json["memory"]["table_bytes"] = static_cast<int64_t>(encoded.codes.size() * 4 + encoded.alphas.size() * 4);
}

}  // namespace

nlohmann::json describe_plan(Table&& table, const FitOptions& options, Team& team, const Monitor& monitor) {
  Plan plan;
  nlohmann::json json;
  json["method"] = options.method;
  json["preset"] = options.preset;
  (method_info(options.config).sequences ? plan_of_sequences : plan_of_rows)(plan, std::move(table), options, team,
                                                                             monitor, json);
  json["recorded_ops"] = plan.nodes.size();
  json["passes"] = nlohmann::json::array();
  for (const PassReport& p : optimise(plan, {options.passes_off.begin(), options.passes_off.end()})) {
    std::string what;
    for (const PassInfo& info : passes())
      if (p.pass == info.name) what = info.what;
    json["passes"].push_back({{"pass", p.pass},
                              {"what", what},
                              {"ops_before", p.nodes_before},
                              {"ops_after", p.nodes_after},
                              {"flops_before", p.flops_before},
                              {"flops_after", p.flops_after}});
  }
  const Layout layout = lay_out(plan, 4, wanted({options.passes_off.begin(), options.passes_off.end()}, "liveness"));
  const Placement& placed = layout.placement;
  json["memory"].update({{"state_bytes", placed.state_bytes},
                         {"activation_bytes", placed.activation_bytes},
                         {"without_reuse_bytes", placed.unplaced_bytes}});
  json["barriers"] = placed.phases.size();
  json["row_chains"] = nlohmann::json::array();
  for (const RowChain& c : layout.chains.chains) {
    const int64_t rows = c.tiles ? kSequenceTile : block_rows(plan, c.rows, team.size());  // of a block
    nlohmann::json chain{{"rows", c.tiles ? c.rows * kSequenceTile : c.rows},
                         {"block_rows", rows},
                         {"block_bytes", c.row_bytes * (c.tiles ? 1 : rows)},
                         {"ops", nlohmann::json::array()}};
    for (const int n : c.nodes)
      if (placed.runs[static_cast<size_t>(n)]) chain["ops"].push_back(op_name(plan.nodes[static_cast<size_t>(n)].op));
    json["row_chains"].push_back(std::move(chain));
  }
  const Ceilings ceilings = measure_ceilings(team, placed.state_bytes + placed.activation_bytes);
  json["ceilings"] = {{"bytes_per_second", ceilings.bytes_per_second},
                      {"flops_per_second", ceilings.flops_per_second},
                      {"threads", team.size()}};
  json["ops"] = nlohmann::json::array();
  double flops = 0, bytes = 0, floor_us = 0;
  int64_t launches = 0;
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    const Node& node = plan.nodes[n];
    if (!placed.runs[n]) continue;
    const Cost c = cost(node.op, plan, node.in, node.out);
    flops += c.flops;
    bytes += c.bytes;
    floor_us += 1e6 * ceilings.floor(c);
    ++launches;
    nlohmann::json op{{"op", op_name(node.op)},
                      {"flops", c.flops},
                      {"bytes", c.bytes},
                      {"floor_us", 1e6 * ceilings.floor(c)},
                      {"in", nlohmann::json::array()},
                      {"out", nlohmann::json::array()}};
    for (const Id v : node.in)
      if (v != kNone) op["in"].push_back({plan.shape(v).rows, plan.shape(v).cols});
    for (const Id v : node.out) {
      op["out"].push_back({plan.shape(v).rows, plan.shape(v).cols});
      if (auto name = plan.names.find(v); name != plan.names.end() && !op.contains("name")) op["name"] = name->second;
    }
    json["ops"].push_back(std::move(op));
  }
  json["launches"] = launches;
  json["flops"] = flops;
  json["bytes"] = bytes;
  json["floor_us"] = floor_us;
  json["kernels"] = cpu_kernels().name;
  json["cuda"] = describe_launches(plan);
  return json;
}

}  // namespace tessera
