#include "models/api/fit.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/passes.h"
#include "engine/printable.h"
#include "models/api/context.h"
#include "models/api/durations.h"
#include "models/api/handles.h"
#include "models/api/lists.h"
#include "models/api/model.h"
#include "models/api/rows.h"
#include "models/api/sequences.h"
#include "models/checkpoint.h"
#include "models/table/arrow_import.h"

namespace tessera::api {
namespace {

constexpr int kMostUnits = 1 << 16;
constexpr size_t kMostLayers = 64;

// Takes over a field the caller set. 0 leaves the preset's value.
void set_count(int& value, int32_t given, const char* name, int most) {
  if (given == 0) return;
  if (given < 1 || given > most) throw Error(ErrorCode::usage, fmt::format("{} {}: it must be 1 to {}.", name, given, most));
  value = given;
}

void set_widths(std::vector<int>& widths, const int32_t* given, size_t layers, const char* name) {
  if (given == nullptr || layers == 0) return;
  if (layers > kMostLayers) throw Error(ErrorCode::usage, fmt::format("{} has {} layers; at most {} are possible.", name, layers, kMostLayers));
  widths.assign(layers, 0);
  for (size_t i = 0; i < layers; ++i) {
    if (given[i] < 1 || given[i] > kMostUnits) throw Error(ErrorCode::usage, fmt::format("{}: layer {} has {} units; it must have 1 to {}.", name, i + 1, given[i], kMostUnits));
    widths[i] = given[i];
  }
}

// What all methods have.
template <class Config>
void set_common(Config& c, const tessera_fit_options& o) {
  set_count(c.batch, o.batch_size, "--batch-size", 1 << 24);
  if (o.learning_rate == 0) return;
  if (!(o.learning_rate > 0 && o.learning_rate <= 1)) throw Error(ErrorCode::usage, fmt::format("--learning-rate {}: it must be above 0 and at most 1.", o.learning_rate));
  c.learning_rate = o.learning_rate;
}

// What the methods for tables of rows have.
template <class Config>
void set_rows(Config& c, const tessera_fit_options& o) {
  set_common(c, o);
  if (o.epochs == TESSERA_UNTRAINED) c.epochs = 0;
  else set_count(c.epochs, o.epochs, "--epochs", 1 << 30);
  set_count(c.embedding_dim, o.embedding_dim, "--embedding-dim", kMostUnits);
}

void refuse(bool given, const char* option, const char* owner) {
  if (given) throw Error(ErrorCode::usage, fmt::format("{} belongs to --method {}.", option, owner));
}

// The options that one method alone has: the first of them that is given, or null.
using Own = std::initializer_list<std::pair<bool, const char*>>;
const char* first_given(Own options) {
  for (const auto& [given, option] : options)
    if (given) return option;
  return nullptr;
}
const char* own_ctgan(const tessera_fit_options& o) {
  return first_given({{o.pac != 0, "--pac"},
                      {o.discriminator_steps != 0, "--discriminator-steps"},
                      {o.generator_layers > 0, "--generator-dim"},
                      {o.discriminator_layers > 0, "--discriminator-dim"}});
}
const char* own_tvae(const tessera_fit_options& o) {
  return first_given({{o.encoder_layers > 0, "--encoder-dim"}, {o.decoder_layers > 0, "--decoder-dim"}, {o.loss_factor != 0, "--loss-factor"}});
}
const char* own_timegan(const tessera_fit_options& o) {
  return first_given({{o.sequences != nullptr, "What makes sequences of a table (--sequence-length, --sequence-key and theirs)"},
                      {o.iterations != 0, "--iterations"},
                      {o.embedding_iterations != 0, "--embedding-iterations"},
                      {o.supervised_iterations != 0, "--supervised-iterations"},
                      {o.joint_iterations != 0, "--joint-iterations"},
                      {o.hidden_dim != 0, "--hidden-dim"},
                      {o.layers != 0, "--layers"},
                      {o.cell != nullptr && *o.cell != 0, "--cell"},
                      {o.gamma != 0, "--gamma"}});
}
void refuse_others(const std::string& method, const tessera_fit_options& o) {
  const auto refuse_own = [&](const char* option, const char* owner) { refuse(option != nullptr && method != owner, option, owner); };
  refuse_own(own_ctgan(o), "ctgan");
  refuse_own(own_tvae(o), "tvae");
  refuse_own(own_timegan(o), "timegan");
}

// Without a name, the method whose own options are given; without those, the default.
std::string method_of(const tessera_fit_options& o) {
  if (o.method != nullptr && *o.method != 0) return o.method;
  return own_timegan(o) != nullptr ? "timegan" : own_ctgan(o) != nullptr ? "ctgan" : FitOptions{}.method;
}

void set_ctgan(CtganConfig& c, const tessera_fit_options& o) {
  set_rows(c, o);
  set_count(c.pac, o.pac, "--pac", 1 << 16);
  set_count(c.discriminator_steps, o.discriminator_steps, "--discriminator-steps", 1000);
  set_widths(c.generator_dim, o.generator_dim, o.generator_layers, "--generator-dim");
  set_widths(c.discriminator_dim, o.discriminator_dim, o.discriminator_layers, "--discriminator-dim");
  if (c.batch % c.pac == 0) return;
  const int64_t below = c.batch / c.pac * c.pac, above = below + c.pac;
  throw Error(ErrorCode::usage, fmt::format("--batch-size {} is not a multiple of --pac {}. {}{} is.", c.batch, c.pac, below > 0 ? fmt::format("{} or ", below) : "", above));
}

void set_tvae(TvaeConfig& c, const tessera_fit_options& o) {
  set_rows(c, o);
  set_widths(c.encoder_dim, o.encoder_dim, o.encoder_layers, "--encoder-dim");
  set_widths(c.decoder_dim, o.decoder_dim, o.decoder_layers, "--decoder-dim");
  if (o.loss_factor == 0) return;
  if (!(o.loss_factor > 0 && o.loss_factor <= 1e6)) throw Error(ErrorCode::usage, fmt::format("--loss-factor {}: it must be above 0 and at most 1000000.", o.loss_factor));
  c.loss_factor = o.loss_factor;
}

void set_timegan(FitOptions& out, const tessera_fit_options& o) {
  constexpr int kMostIterations = 1 << 30;
  TimeganConfig& c = out.timegan;
  out.sequences = sequence_options(o.sequences);
  set_common(c, o);
  if (o.epochs != 0) throw Error(ErrorCode::usage, "--epochs: timegan counts steps, not passes over the table. Its option is --iterations.");
  refuse(o.embedding_dim != 0, "--embedding-dim", "ctgan and tvae; timegan's is --hidden-dim");
  refuse(o.patience > 0, "--patience", "ctgan and tvae");
  refuse(text_or(o.keep, "") == "best", "--keep best", "ctgan and tvae");
  refuse(!text_or(o.calibrate, "").empty() && out.calibrate != Tier::off, "--calibrate", "ctgan and tvae");
  out.calibrate = Tier::off;
  const bool untrained = o.iterations == TESSERA_UNTRAINED;
  int all = 0;
  if (!untrained) set_count(all, o.iterations, "--iterations", kMostIterations);
  for (const auto& [phase, own, name] : {std::tuple{&c.embedding_iterations, o.embedding_iterations, "--embedding-iterations"},
                                         {&c.supervised_iterations, o.supervised_iterations, "--supervised-iterations"},
                                         {&c.joint_iterations, o.joint_iterations, "--joint-iterations"}}) {
    if (untrained) *phase = 0;
    else if (all != 0) *phase = all;
    set_count(*phase, own, name, kMostIterations);
  }
  set_count(c.hidden, o.hidden_dim, "--hidden-dim", 4096);
  set_count(c.layers, o.layers, "--layers", static_cast<int>(kMostLayers));
  if (o.cell != nullptr && *o.cell != 0) {
    const std::optional<Cell> cell = cell_of(o.cell);
    if (!cell) throw Error(ErrorCode::usage, fmt::format("--cell {}: there are gru (the default), gru-reset-before (the published one) and lstm.", o.cell));
    c.cell = *cell;
  }
  if (o.gamma == 0) return;
  if (!(o.gamma > 0 && o.gamma <= 1e6)) throw Error(ErrorCode::usage, fmt::format("--gamma {}: it must be above 0 and at most 1000000.", o.gamma));
  c.gamma = o.gamma;
}

// Checkpoints, and when training comes to its end.
void set_ending(FitOptions& out, const tessera_fit_options& o) {
  out.checkpoint.path = text_or(o.checkpoint, "");
  if (out.checkpoint.path == "-") throw Error(ErrorCode::usage, "A checkpoint needs the name of a file; - is not one.");
  Checkpoints::check_ours(out.checkpoint.path);
  if (const std::string every = text_or(o.checkpoint_every, ""); !every.empty()) parse_interval(every, "--checkpoint-every", out.checkpoint);
  out.checkpoint.resume = o.resume != 0;
  if (o.patience < 0) throw Error(ErrorCode::usage, fmt::format("--patience {}: it must be 1 epoch or more.", o.patience));
  out.patience = o.patience;
  out.keep_best = o.patience > 0;
  if (const std::string keep = text_or(o.keep, ""); !keep.empty()) {
    if (keep != "best" && keep != "last") throw Error(ErrorCode::usage, fmt::format("--keep {}: there are \"best\" and \"last\".", keep));
    out.keep_best = keep == "best";
  }
  if (const std::string most = text_or(o.max_time, ""); !most.empty()) out.max_seconds = parse_duration(most, "--max-time");
  if (!(o.seconds_used >= 0 && o.seconds_used <= 1e9)) throw Error(ErrorCode::usage, fmt::format("seconds_used is {}; it must be 0 or more.", o.seconds_used));
  out.begun = out.now() - o.seconds_used;
}

}  // namespace

FitOptions fit_options(const tessera_fit_options* given) {
  const tessera_fit_options o = read_options(given);
  FitOptions out;
  out.method = method_of(o);
  out.preset = text_or(o.preset, "best");
  apply_preset(out);
  out.seed = out.encoder.seed = o.seed;
  out.source = printable(text_or(o.source, ""));  // it goes into the model's JSON
  if (o.calibrate != nullptr && *o.calibrate != 0 && !parse_tier(o.calibrate, out.calibrate))
    throw Error(ErrorCode::usage, fmt::format("--calibrate {}: there are off, marginals and full.", o.calibrate));
  if (o.rare_categories < TESSERA_KEEP_RARE) throw Error(ErrorCode::usage, fmt::format("--rare-categories {}: it must be the rows a category needs, or keep.", o.rare_categories));
  if (o.rare_categories != 0) out.rare_rows = std::max(o.rare_categories, 1);
  out.passes_off = split_list(text_or(o.passes_off, ""));
  check_passes({out.passes_off.begin(), out.passes_off.end()});

  refuse_others(out.method, o);
  if (out.method == "timegan") set_timegan(out, o);
  else if (out.method == "tvae") set_tvae(out.tvae, o);
  else set_ctgan(out.ctgan, o);
  MethodConfig config = method_config(out);
  check_config(config);

  set_ending(out, o);
  if (o.losses != nullptr)
    out.on_losses = [callback = o.losses, user = o.losses_user, method = out.method](const LossRow& row) {
      const tessera_losses losses{sizeof losses, row.step, row.epoch, row.critic, row.generator, row.penalty, row.seconds, row.reconstruction, row.divergence, row.supervised, row.moments, method.c_str()};
      callback(&losses, user);
    };
  return out;
}

GivenTypes given_types(const tessera_fit_options* given) {
  GivenTypes out;
  for (const auto& [column, type] : split_pairs(text_or(read_options(given).types, ""), "--types")) {
    ColumnType t;
    if (!parse_column_type(type, t))
      throw Error(ErrorCode::usage, fmt::format("--types: there is no type \"{}\" (for column \"{}\").\n  There are integer, decimal, boolean, category, date, datetime, identifier and constant.", type, column));
    for (const auto& [other, unused] : out)
      if (other == column) throw Error(ErrorCode::usage, fmt::format("--types: column \"{}\" is given two types.", column));
    out.emplace_back(column, t);
  }
  return out;
}

}  // namespace tessera::api

using namespace tessera;
using namespace tessera::api;

tessera_status tessera_check_fit_options(const tessera_fit_options* options) {
  return guarded([&] {
    (void)fit_options(options);
    (void)given_types(options);
  });
}

tessera_status tessera_fit(const tessera_context* context, const tessera_fit_options* options, ArrowArrayStream* rows, tessera_model** model) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(model, "model");
    FitOptions fit = fit_options(options);
    const GivenTypes types = given_types(options);
    api::Call call(context);  // tessera::Call is an op of a program
    fit.device = call.device();
    Table table = table_import(incoming.get(), call.team(), call.monitor(), types);
    out = give_handle(new tessera_model{Model::fit(std::move(table), fit, call.team(), call.monitor())});
  });
}

tessera_status tessera_resume(const tessera_context* context, const tessera_fit_options* options, ArrowArrayStream* rows, const char* saved, int overwrite, int* finished, tessera_model** model) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(model, "model");
    FitOptions fit = fit_options(options);
    fit.checkpoint.resume = true;
    const GivenTypes types = given_types(options);
    api::Call call(context);
    fit.device = call.device();
    Table table = table_import(incoming.get(), call.team(), call.monitor(), types);
    std::optional<Model> there;
    if (saved != nullptr) there = Model::finished(saved, table, fit, overwrite != 0, call.team(), call.monitor());
    if (finished != nullptr) *finished = there ? 1 : 0;
    out = give_handle(new tessera_model{there ? std::move(*there) : Model::fit(std::move(table), fit, call.team(), call.monitor())});
  });
}

tessera_status tessera_checkpoint_remove(const char* path) {
  return guarded([&] { Checkpoints::remove(&required(path, "path")); });
}

tessera_status tessera_plan(const tessera_context* context, const tessera_fit_options* options, ArrowArrayStream* rows, char** json) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(json, "json");
    const FitOptions fit = fit_options(options);
    const GivenTypes types = given_types(options);
    api::Call call(context);
    Table table = table_import(incoming.get(), call.team(), call.monitor(), types);
    out = give_json(describe_plan(std::move(table), fit, call.team(), call.monitor()));
  });
}
