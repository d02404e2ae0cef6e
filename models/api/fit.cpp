#include "models/api/fit.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/passes.h"
#include "models/api/context.h"
#include "models/api/lists.h"
#include "models/api/model.h"
#include "models/api/rows.h"
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

// What both methods have.
template <class Config>
void set_common(Config& c, const tessera_fit_options& o) {
  if (o.epochs == TESSERA_UNTRAINED) c.epochs = 0;
  else set_count(c.epochs, o.epochs, "--epochs", 1 << 30);
  set_count(c.batch, o.batch_size, "--batch-size", 1 << 24);
  set_count(c.embedding_dim, o.embedding_dim, "--embedding-dim", kMostUnits);
  if (o.learning_rate == 0) return;
  if (!(o.learning_rate > 0 && o.learning_rate <= 1)) throw Error(ErrorCode::usage, fmt::format("--learning-rate {}: it must be above 0 and at most 1.", o.learning_rate));
  c.learning_rate = o.learning_rate;
}

void refuse(bool given, const char* option, const char* owner) {
  if (given) throw Error(ErrorCode::usage, fmt::format("{} belongs to --method {}.", option, owner));
}

void set_ctgan(CtganConfig& c, const tessera_fit_options& o) {
  set_common(c, o);
  refuse(o.encoder_layers > 0, "--encoder-dim", "tvae");
  refuse(o.decoder_layers > 0, "--decoder-dim", "tvae");
  refuse(o.loss_factor != 0, "--loss-factor", "tvae");
  set_count(c.pac, o.pac, "--pac", 1 << 16);
  set_count(c.discriminator_steps, o.discriminator_steps, "--discriminator-steps", 1000);
  set_widths(c.generator_dim, o.generator_dim, o.generator_layers, "--generator-dim");
  set_widths(c.discriminator_dim, o.discriminator_dim, o.discriminator_layers, "--discriminator-dim");
  if (c.batch % c.pac != 0)
    throw Error(ErrorCode::usage, fmt::format("--batch-size {} is not a multiple of --pac {}. {} or {} is.", c.batch, c.pac, std::max(c.batch / c.pac, 1) * c.pac, (c.batch / c.pac + 1) * c.pac));
}

void set_tvae(TvaeConfig& c, const tessera_fit_options& o) {
  set_common(c, o);
  refuse(o.pac != 0, "--pac", "ctgan");
  refuse(o.discriminator_steps != 0, "--discriminator-steps", "ctgan");
  refuse(o.generator_layers > 0, "--generator-dim", "ctgan");
  refuse(o.discriminator_layers > 0, "--discriminator-dim", "ctgan");
  set_widths(c.encoder_dim, o.encoder_dim, o.encoder_layers, "--encoder-dim");
  set_widths(c.decoder_dim, o.decoder_dim, o.decoder_layers, "--decoder-dim");
  if (o.loss_factor == 0) return;
  if (!(o.loss_factor > 0 && o.loss_factor <= 1e6)) throw Error(ErrorCode::usage, fmt::format("--loss-factor {}: it must be above 0 and at most 1000000.", o.loss_factor));
  c.loss_factor = o.loss_factor;
}

}  // namespace

FitOptions fit_options(const tessera_fit_options* given) {
  const tessera_fit_options o = read_options(given);
  FitOptions out;
  out.method = text_or(o.method, "ctgan");
  out.preset = text_or(o.preset, "best");
  apply_preset(out);
  out.seed = out.encoder.seed = o.seed;
  out.source = text_or(o.source, "");
  if (o.calibrate != nullptr && *o.calibrate != 0 && !parse_tier(o.calibrate, out.calibrate))
    throw Error(ErrorCode::usage, fmt::format("--calibrate {}: there are off, marginals and full.", o.calibrate));
  if (o.rare_categories < TESSERA_KEEP_RARE) throw Error(ErrorCode::usage, fmt::format("--rare-categories {}: it must be the rows a category needs, or keep.", o.rare_categories));
  if (o.rare_categories != 0) out.rare_rows = std::max(o.rare_categories, 1);
  out.passes_off = split_list(text_or(o.passes_off, ""));
  check_passes({out.passes_off.begin(), out.passes_off.end()});

  if (out.method == "tvae") set_tvae(out.tvae, o);
  else set_ctgan(out.ctgan, o);
  MethodConfig config = method_config(out);
  check_config(config);

  if (o.losses != nullptr)
    out.on_losses = [callback = o.losses, user = o.losses_user](const LossRow& row) {
      const tessera_losses losses{sizeof losses, row.step, row.epoch, row.critic, row.generator, row.penalty, row.seconds, row.reconstruction, row.divergence};
      callback(&losses, user);
    };
  return out;
}

}  // namespace tessera::api

using namespace tessera;
using namespace tessera::api;

tessera_status tessera_check_fit_options(const tessera_fit_options* options) {
  return guarded([&] { (void)fit_options(options); });
}

tessera_status tessera_fit(const tessera_context* context, const tessera_fit_options* options, ArrowArrayStream* rows, tessera_model** model) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(model, "model");
    FitOptions fit = fit_options(options);
    Call call(context);
    fit.device = call.device();
    Table table = table_import(incoming.get(), call.team(), call.monitor());
    out = new tessera_model{Model::fit(std::move(table), fit, call.team(), call.monitor())};
  });
}

tessera_status tessera_plan(const tessera_context* context, const tessera_fit_options* options, ArrowArrayStream* rows, char** json) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(json, "json");
    const FitOptions fit = fit_options(options);
    Call call(context);
    Table table = table_import(incoming.get(), call.team(), call.monitor());
    out = give_json(describe_plan(std::move(table), fit, call.team(), call.monitor()));
  });
}
