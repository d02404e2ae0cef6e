#include "models/api/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/text/option_text.h"
#include "base/text/printable.h"
#include "engine/comm/launched.h"
#include "engine/comm/nccl.h"
#include "engine/device/device.h"
#include "engine/passes/passes.h"
#include "engine/run/precision.h"
#include "models/api/model.h"
#include "models/api/sequences.h"
#include "models/api/support/durations.h"
#include "models/api/support/handles.h"
#include "models/api/support/lists.h"
#include "models/model/registry.h"
#include "models/plans/estimate.h"
#include "models/training/checkpoint.h"
#include "models/training/ranks.h"
#include "tables/notice.h"
#include "tables/table/suggestions.h"
#include "tables/types/types.h"

namespace tessera::api {
namespace {

// An option of a method given by the caller, as text.
struct GivenOption {
  std::string key, text;
};

// "pac=10; generator-dim=256,256", or one a line.
std::vector<GivenOption> given_options(const tessera_fit_options& o) {
  std::string settings = text_or(o.settings, "");
  std::replace(settings.begin(), settings.end(), ';', '\n');
  std::vector<GivenOption> out;
  for (const std::string& pair : split_lines(settings)) {
    const size_t equal = pair.find('=');
    if (equal == std::string::npos || equal == 0)
      throw Error(ErrorCode::usage, fmt::format("settings: \"{}\" is not name=value, as in epochs=10.", pair));
    std::string key = pair.substr(0, equal);
    std::replace(key.begin(), key.end(), '-', '_');
    out.push_back({std::move(key), pair.substr(equal + 1)});
  }
  return out;
}

bool takes(const MethodSpec& method, const std::string& key) {
  MethodConfig config = method.config(true);
  for (const Option& option : config->options())
    if (option.help != nullptr && key == option.key) return true;
  return false;
}

// The methods with an option: "ctgan", "tvae or ctgan".
std::string owners(const std::string& key) {
  std::string out;
  for (const MethodSpec* m : methods())
    if (takes(*m, key)) out += fmt::format("{}{}", out.empty() ? "" : " or ", m->name);
  return out;
}

void check_takes(const MethodSpec& method, const GivenOption& given) {
  if (takes(method, given.key)) return;
  const std::string others = owners(given.key);
  std::string own;
  std::vector<std::string> names;
  MethodConfig config = method.config(true);
  for (const Option& o : config->options())
    if (o.help != nullptr) own += fmt::format("{}{}", own.empty() ? "" : ", ", o.name()), names.emplace_back(o.key);
  if (others.empty())
    throw Error(ErrorCode::usage, fmt::format("`{}`: no method has such an option.{} The options of {} are {}.",
                                              given.key, nearest_names(given.key, names), method.name, own));
  throw Error(ErrorCode::usage,
              fmt::format("`{}` belongs to method {}. The options of {} are {}.", given.key, others, method.name, own));
}

// "ctgan and tvae": the methods of rows, or of sequences.
std::string methods_of(bool sequences) {
  std::vector<std::string_view> names;
  for (const MethodSpec* m : methods())
    if (sequences ? m->sequences() : m->rows()) names.push_back(m->name);
  std::string out;
  for (size_t i = 0; i < names.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 < names.size() ? ", " : " and ", names[i]);
  return out;
}

constexpr const char* kSequenceOptions = "The sequence options (`sequence_length`, `sequence_key` and related ones)";

constexpr const char *kModes = "modes", *kBins = "bins";  // of `numbers`

// Whether a method supports the requested features besides its own options: a model of bins has no calibration, no
// modes and no published preset.
bool supports(const MethodSpec& method, const tessera_fit_options& o) {
  if (o.sequences != nullptr) return method.sequences() && (!method.bins || text_or(o.preset, "best") == "best");
  Tier tier = Tier::off;
  const bool calibrated = parse_tier(text_or(o.calibrate, ""), tier) && tier != Tier::off;
  const bool modes = std::string(text_or(o.numbers, "")) == kModes;
  return !method.bins || (!calibrated && !modes && text_or(o.preset, "best") == "best");
}

// Without a name, the first method that has all given options; if none does, the first that has the first of them.
std::string method_of(const tessera_fit_options& o, const std::vector<GivenOption>& given) {
  if (std::string name = text_or(o.method, ""); !name.empty()) return name;
  const MethodSpec* nearest = nullptr;
  for (const MethodSpec* m : methods()) {
    if (!supports(*m, o)) continue;
    const auto taken = [&](const GivenOption& g) { return takes(*m, g.key); };
    if (std::all_of(given.begin(), given.end(), taken)) return m->name;
    if (nearest == nullptr && taken(given.front())) nearest = m;
  }
  return nearest != nullptr ? nearest->name : methods().front()->name;
}

void set_options(MethodConfig& config, const std::vector<GivenOption>& given) {
  for (const GivenOption& g : given) check_takes(config.method(), g);
  // in the list's order: an option that sets several others comes before them
  for (const Option& option : config->options())
    for (const GivenOption& g : given)
      if (g.key == option.key) option.set(g.text);
  check_config(config);
}

void set_numbers(FitOptions& out, const tessera_fit_options& o) {
  const std::string numbers = text_or(o.numbers, "");
  if (numbers.empty()) return;
  if (numbers != kModes && numbers != kBins)
    throw Error(ErrorCode::usage,
                fmt::format("{}: known are {} and {}.", option_text("numbers", numbers), kModes, kBins));
  const MethodSpec& method = out.config.method();
  if (!method.rows() || (method.bins && numbers == kModes))
    throw Error(ErrorCode::usage, fmt::format("`numbers={}`: `method={}` holds numbers as {}.\n  Omit it.", numbers,
                                              method.name, method.bins ? kBins : "positions in their ranges"));
  out.encoder.numbers = numbers == kBins ? EncoderOptions::Numbers::bins : EncoderOptions::Numbers::modes;
}

// Options for rows only, or for sequences only.
void set_kind(FitOptions& out, const tessera_fit_options& o) {
  if (out.config.method().bins && out.calibrate != Tier::off)
    throw Error(ErrorCode::usage, fmt::format("`calibrate`: rows of `method={}` are not calibrated.\n  Omit it.",
                                              out.config.method().name));
  const MethodSpec& method = out.config.method();
  if (o.sequences == nullptr && method.rows()) return;
  if (!method.sequences())
    throw Error(ErrorCode::usage, fmt::format("{} belong to method {}.", kSequenceOptions, methods_of(true)));
  const auto refuse = [&](bool given, const char* option) {
    if (given) throw Error(ErrorCode::usage, fmt::format("{} belongs to method {}.", option, methods_of(false)));
  };
  refuse(!text_or(o.calibrate, "").empty() && out.calibrate != Tier::off, "`calibrate`");
  out.sequences = sequence_options(o.sequences);
  out.sequences.find_statics = out.sequences.find_statics && out.preset == "best";
  out.calibrate = Tier::off;
}

// A private fit reads the table once, through noisy counts: whatever else would read it is refused.
void set_privacy(FitOptions& out, const tessera_fit_options& o) {
  constexpr double kMaxEpsilon = 100, kMaxDelta = 0.01;
  const std::string by = text_or(o.privacy, "");
  if (o.epsilon == 0 && o.delta == 0 && by.empty()) return;
  const auto refuse = [](const std::string& what, const std::string& way_out) {
    throw Error(ErrorCode::usage, fmt::format("{}.\n  {}", what, way_out));
  };
  if (o.epsilon == 0)
    refuse(fmt::format("`{}` belongs to `epsilon`", o.delta != 0 ? "delta" : "privacy"), "Give `epsilon` too.");
  if (!(o.epsilon >= 0.001 && o.epsilon <= kMaxEpsilon))
    refuse(fmt::format("`epsilon={}`: it must be a number from 0.001 to {}", o.epsilon, kMaxEpsilon), "1 is usual.");
  if (o.delta != 0 && !(o.delta >= 1e-12 && o.delta <= kMaxDelta))
    refuse(fmt::format("`delta={}`: it must be a number from 1e-12 to {}", o.delta, kMaxDelta),
           "It should be well below 1 / rows.");
  if ((out.method != "made" && out.method != "tvae") || out.preset != "best")
    refuse(fmt::format("`epsilon` needs `method=made` or `method=tvae` with their default preset, not {}", out.method),
           "Omit what selects another method.");
  const std::pair<const char*, PrivateBy> ways[] = {{"", PrivateBy::automatic},
                                                    {"auto", PrivateBy::automatic},
                                                    {"counts", PrivateBy::counts},
                                                    {"gradients", PrivateBy::gradients},
                                                    {"both", PrivateBy::both}};
  const auto* way = std::find_if(std::begin(ways), std::end(ways), [&](const auto& w) { return by == w.first; });
  if (way == std::end(ways)) refuse(option_text("privacy", by), "Known are counts, gradients, both and auto.");
  out.privacy.by = way->second;
  if (out.privacy.by != PrivateBy::counts && out.precision != "fp32")
    refuse(fmt::format("`precision={}` and `epsilon`: norms of gradients are computed in fp32", out.precision),
           "Omit `precision`, or use `privacy=counts`.");
  if (o.sequences != nullptr)
    refuse("`epsilon` protects single rows, but the rows of a sequence belong to one person", "Fit rows.");
  if (o.resume != 0) refuse("`resume` and `epsilon`: noise is drawn once and not stored", "Fit from the start.");
  if (out.max_seconds > 0)
    refuse("`max_time` and `epsilon`: training would end by a time that depends on the rows", "Use fewer `epochs`.");
  if (text_or(o.devices, "") == "launched")
    refuse("`devices=launched` and `epsilon`: processes would not draw the same noise",
           "Use ranks of one process, such as `devices=2`.");
  if (out.ranks.parallel != Parallel::data)
    refuse("`parallel` and `epsilon`: a gradient's norm needs all columns", "Omit `parallel`.");
  if (!text_or(o.rules, "").empty() && out.rules.find)
    refuse("`rules=find` reads rows without noise", "Omit it, or `epsilon`.");
  if (o.rare_categories != 0)
    refuse("`rare_categories` and `epsilon`: noise replaces this protection", "Omit `rare_categories`.");
  out.privacy.epsilon = o.epsilon;
  if (o.delta != 0) out.privacy.delta = o.delta;
  out.rules.find = false, out.rare_rows = 1, out.checkpoint = {};
}

// Checkpoints, and the end of training.
void set_ending(FitOptions& out, const tessera_fit_options& o) {
  out.checkpoint.path = text_or(o.checkpoint, "");
  if (out.checkpoint.path == "-") throw Error(ErrorCode::usage, "A checkpoint needs the name of a file; - is not one.");
  Checkpoints::check_ours(out.checkpoint.path);
  if (const std::string every = text_or(o.checkpoint_every, ""); !every.empty())
    parse_interval(every, "checkpoint_every", out.checkpoint);
  out.checkpoint.resume = o.resume != 0;
  if (o.patience < TESSERA_NO_PATIENCE)
    throw Error(ErrorCode::usage, fmt::format("`patience={}`: it must be 0 (none) or a number of epochs.", o.patience));
  if (o.patience != 0)
    out.patience = std::max(o.patience, 0), out.keep_best = out.patience > 0, out.patience_if_possible = false;
  if (const std::string keep = text_or(o.keep, ""); !keep.empty()) {
    if (keep != "best" && keep != "last")
      throw Error(ErrorCode::usage, fmt::format("{}: known are best and last.", option_text("keep", keep)));
    out.keep_best = keep == "best";
    if (out.keep_best) out.patience_if_possible = false;
  }
  if (const std::string text = text_or(o.max_time, ""); !text.empty())
    out.max_seconds = parse_duration(text, "max_time");
  if (!(o.seconds_used >= 0 && o.seconds_used <= 1e9))
    throw Error(ErrorCode::usage, fmt::format("seconds_used is {}; it must be 0 or more.", o.seconds_used));
  out.begun = out.now() - o.seconds_used;
}

[[noreturn]] void bad_devices(const std::string& text) {
  throw Error(ErrorCode::usage, fmt::format("{}: it must be a number from 1 to {}, all, or the numbers of "
                                            "different GPUs (0,2,5).",
                                            option_text("devices", text), kMaxRanks));
}

// "0,2,5": each once.
std::vector<int> numbers_in(const std::string& text) {
  std::vector<int> numbers;
  const char *at = text.data(), *end = at + text.size();
  for (;; ++at) {
    int n = -1;
    const auto [stop, error] = std::from_chars(at, end, n);
    if (error != std::errc() || n < 0 || std::count(numbers.begin(), numbers.end(), n) > 0) bad_devices(text);
    numbers.push_back(n);
    if (stop == end) return numbers;
    if (*stop != ',') bad_devices(text);
    at = stop;
  }
}

// Sets the ranks and the number of shards. For a launcher's processes, connects them.
void set_ranks(FitOptions& out, const tessera_fit_options& o, const Team* team) {
  const std::string devices = text_or(o.devices, "");
  const bool on_gpus = out.device && !out.device->is_processor();
  int ranks = 1;
  const Launched here = sound_launch();
  if (devices == "launched") {
    ranks = here.size;
    if (team != nullptr) out.ranks.world = launched_communicator();
  } else if (devices == "all") {
    ranks = team != nullptr ? std::min(on_gpus ? device_library().devices : team->size(), kMaxRanks) : 1;
  } else if (!devices.empty()) {
    const std::vector<int> numbers = numbers_in(devices);
    ranks = numbers.size() > 1 ? static_cast<int>(numbers.size()) : numbers[0];
    if (ranks < 1 || ranks > kMaxRanks) bad_devices(devices);
    if (numbers.size() > 1) out.ranks.gpus = numbers;
  }
  if (devices != "launched") out.ranks.threads = ranks;
  const int shards = o.virtual_shards;
  if (shards < 0 || shards > kMaxRanks)
    throw Error(ErrorCode::usage, fmt::format("`virtual_shards={}`: it must be 1 to {}.", shards, kMaxRanks));
  if (shards > 0 && shards % ranks != 0)
    throw Error(ErrorCode::usage,
                fmt::format("`virtual_shards={}`: {} ranks cannot divide them evenly.\n  Ask for a multiple of {}.",
                            shards, ranks, ranks));
  if (o.micro_batch < 0)
    throw Error(ErrorCode::usage, fmt::format("`micro_batch={}`: it must be 1 or more.", o.micro_batch));
  if (o.micro_batch > 0 && (shards > 0 || ranks > 1))
    throw Error(ErrorCode::usage,
                "`micro_batch` cannot be combined with `devices` or `virtual_shards`, which divide the batch too.\n  "
                "Omit one.");
  out.micro_batch = o.micro_batch;
  const std::string parallel = text_or(o.parallel, "data");
  if (parallel != "data" && parallel != "model" && parallel != "auto")
    throw Error(ErrorCode::usage,
                fmt::format("{}: it must be data, model or auto.", option_text("parallel", parallel)));
  const bool by_columns = parallel == "model";
  out.ranks.parallel = by_columns ? Parallel::model : parallel == "auto" ? Parallel::automatic : Parallel::data;
  out.ranks.usual_shards = shards == 0;
  if (shards > 0 || ranks > 1) out.ranks.shards = shards > 0 ? shards : by_columns ? ranks : usual_shards(ranks);
}

void tell(const LossRow& row, const std::string& method, tessera_losses_fn callback, void* user) {
  std::vector<const char*> names;
  std::vector<double> values;
  for (const LossRow::Loss& l : row.losses) names.push_back(l.name), values.push_back(l.value);
  tessera_losses losses{};
  losses.struct_size = sizeof losses;
  losses.step = row.step, losses.epoch = row.epoch, losses.seconds = row.seconds;
  losses.method = method.c_str();
  losses.names = names.data(), losses.values = values.data(), losses.count = names.size();
  callback(&losses, user);
}

}  // namespace

FitOptions fit_options(const tessera_fit_options* given) {
  const tessera_fit_options o = read_options(given);
  FitOptions out;
  const std::vector<GivenOption> given_own = given_options(o);
  out.method = method_of(o, given_own);
  out.preset = text_or(o.preset, "best");
  apply_preset(out);
  out.seed = out.encoder.seed = o.seed;
  out.source = printable(text_or(o.source, ""));  // it is stored in the model's JSON
  if (o.calibrate != nullptr && *o.calibrate != 0 && !parse_tier(o.calibrate, out.calibrate))
    throw Error(ErrorCode::usage,
                fmt::format("{}: known are off, marginals and full.", option_text("calibrate", o.calibrate)));
  if (o.rare_categories < TESSERA_KEEP_RARE)
    throw Error(ErrorCode::usage,
                fmt::format("`rare_categories={}`: it must be the rows a category needs, or keep.", o.rare_categories));
  if (o.rare_categories != 0) out.rare_rows = std::max(o.rare_categories, 1);
  out.rules.find = finds_rules(text_or(o.rules, ""), out.rules.find);
  out.rules.given = split_lines(text_or(o.rule, ""));
  out.passes_off = split_list(text_or(o.passes_off, ""));
  check_passes({out.passes_off.begin(), out.passes_off.end()});
  out.fusion = text_or(o.fusion, "");
  if (const std::string text = text_or(o.recompute, "auto"); !text.empty()) {
    const std::optional<Recompute> mode = parse_recompute(text);
    if (!mode)
      throw Error(ErrorCode::usage, fmt::format("{}: known are off, auto and all.", option_text("recompute", text)));
    out.recompute = *mode;
  }
  if (const std::string precision = text_or(o.precision, ""); !precision.empty()) out.precision = precision;
  check_precision(out.precision);

  set_options(out.config, given_own);
  set_kind(out, o);
  set_numbers(out, o);

  set_ending(out, o);
  set_ranks(out, o, nullptr);
  set_privacy(out, o);
  if (o.losses != nullptr)
    out.on_losses = [callback = o.losses, user = o.losses_user, method = out.method](const LossRow& row) {
      tell(row, method, callback, user);
    };
  return out;
}

Table import_table(IncomingRows& rows, const GivenTypes& types, FitOptions& fit, Call& call) {
  Table table = table_import(rows.get(), call.team(), call.monitor(), types);
  fit.rules.given.insert(fit.rules.given.end(), table.rules.begin(), table.rules.end());
  for (const GivenType& given : types)
    for (Column& c : table.columns)
      if (c.name == given.column && c.domain.empty()) c.domain = "{}";
  for (const Column& c : table.columns)
    if (fit.privacy.epsilon == 0 && c.domain.size() > std::string_view("{}").size())
      notice(call.monitor(), fmt::format("Column \"{}\": the values or the range that the schema file declares are for "
                                         "`epsilon`; here those of the rows count.",
                                         c.name));
  return table;
}

GivenTypes given_types(const tessera_fit_options* given) {
  GivenTypes out;
  for (const auto& [column, type] : split_pairs(text_or(read_options(given).types, ""), "`types`")) {
    ColumnType t;
    std::string kind;
    if (!parse_given_type(type, t, kind))
      throw Error(ErrorCode::usage,
                  fmt::format("`types`: there is no type \"{}\" (for column \"{}\").\n  Types are {}.", type, column,
                              given_type_names()));
    for (const GivenType& other : out)
      if (other.column == column)
        throw Error(ErrorCode::usage, fmt::format("`types`: column \"{}\" is given two types.", column));
    out.push_back({column, t, {}, kind});
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

namespace {

// Each rank gets its own GPU: from the list, else 0, 1, … on each machine.
void place_ranks(FitOptions& fit) {
  RankOptions& ranks = fit.ranks;
  if (fit.device->is_processor()) {
    if (!ranks.gpus.empty())
      throw Error(ErrorCode::usage, "`devices` with several numbers names GPUs.\n  Add `device=cuda`.");
    return;
  }
  if (ranks.threads == 1 && !ranks.world) return;
  const int here = device_library().devices, local = ranks.world ? launched().local : 0;
  if (fit.device->number() != local % here)
    throw Error(ErrorCode::usage, fmt::format("`device=cuda:{}` names one GPU, and `devices` several ranks.\n  Give "
                                              "`device=cuda` and `devices=0,1`.",
                                              fit.device->number()));
  require_nccl();
  for (int r = static_cast<int>(ranks.gpus.size()); r < ranks.threads; ++r) ranks.gpus.push_back(r);
  const std::vector<int> wanted = ranks.world ? std::vector{local} : ranks.gpus;
  const int last = *std::max_element(wanted.begin(), wanted.end());
  if (last >= here)
    throw Error(ErrorCode::unsupported,
                fmt::format("{}GPU {} is wanted; this machine has {} GPU{}, numbered from 0.\n  Ask for fewer ranks; "
                            "tessera info lists the GPUs.",
                            ranks.world ? name_of_rank(ranks.world->rank(), ranks.world->size()) + ": " : "", last,
                            here, here == 1 ? "" : "s"));
  if (wanted[0] != fit.device->number()) fit.device = std::make_shared<Device>(fit.device->api(), wanted[0]);
}

// Options can choose a method that is not the default: `calibrate=full` fits another model than a fit without it.
void note_method(const tessera_fit_options& o, const FitOptions& fit, const Monitor& monitor) {
  const std::string_view first = methods().front()->name;
  if (!text_or(o.method, "").empty() || o.sequences != nullptr || fit.method == first) return;
  std::vector<std::string> because;
  const auto add = [&](const char* option, const char* value, std::string_view harmless) {
    if (value != nullptr && *value != 0 && value != harmless) because.push_back(option_text(option, value));
  };
  add("calibrate", o.calibrate, "off"), add("preset", o.preset, "best"), add("numbers", o.numbers, kBins);
  for (const GivenOption& g : given_options(o))
    if (!takes(*methods().front(), g.key)) because.push_back("`" + g.key + "`");
  notice(monitor, fmt::format("The method is {}, not {}, the default, which does not have {}. Choose one by `method`.",
                              fit.method, first, fmt::join(because, ", ")));
}

// The options of a training call, with its device and ranks.
FitOptions training_options(const tessera_fit_options* given, api::Call& call) {
  FitOptions fit = fit_options(given);
  note_method(read_options(given), fit, call.monitor());
  fit.device = call.device(fit.precision);
  set_ranks(fit, read_options(given), &call.team());
  place_ranks(fit);
  if (follows(fit)) fit.checkpoint = {}, fit.on_losses = nullptr;
  return fit;
}

// An error on one rank ends all of them: each throws it, with the name of the failed rank.
template <class F>
auto on_all_ranks(const FitOptions& fit, F&& prepare) -> decltype(prepare()) {
  if (!fit.ranks.world) return prepare();
  std::optional<decltype(prepare())> made;
  std::optional<Error> failed;
  try {
    made = prepare();
  } catch (const Error& e) { failed = e; }
  Communicator& rank = *fit.ranks.world;
  const LongWait wait(rank);
  const auto all = rank.gather(failed ? fmt::format("{} {}", static_cast<int>(failed->code()), failed->what()) : "");
  for (int r = 0; r < rank.size(); ++r) {
    const std::string& said = all[static_cast<size_t>(r)];
    if (said.empty()) continue;
    if (r == rank.rank()) throw Error(*failed);
    const auto code = static_cast<ErrorCode>(std::stoi(said));
    throw Error(code, fmt::format("{}: {}", name_of_rank(r, rank.size()), said.substr(said.find(' ') + 1)));
  }
  return std::move(*made);
}

// A launched rank that fails does not wait for the others when it ends: its launcher then ends them.
template <class F>
auto with_ranks(const FitOptions& fit, F&& train) -> decltype(train()) {
  try {
    return train();
  } catch (...) {
    if (fit.ranks.world) fit.ranks.world->give_up();
    throw;
  }
}

// As tessera_resume(); without `resumes` the model is trained whatever is there.
tessera_status train(const tessera_context* context, const tessera_fit_options* options, ArrowArrayStream* rows,
                     bool resumes, const char* saved, int overwrite, int* finished, tessera_model** model) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(model, "model");
    (void)fit_options(options);  // before any work
    const GivenTypes types = given_types(options);
    api::Call call(context);  // tessera::Call is an op of a program
    FitOptions fit = training_options(options, call);
    if (resumes && fit.privacy.epsilon > 0)
      throw Error(ErrorCode::usage,
                  "`resume` and `epsilon`: noise is drawn once and not stored.\n  Fit from the start.");
    if (resumes) fit.checkpoint.resume = !follows(fit);
    with_ranks(fit, [&] {
      Table table = on_all_ranks(fit, [&] { return import_table(incoming, types, fit, call); });
      std::optional<Model> there;
      bool done = resumes && on_all_ranks(fit, [&] {
                    if (saved != nullptr && !follows(fit))
                      there = Model::finished(saved, table, fit, overwrite != 0, call.team(), call.monitor());
                    return there.has_value();
                  });
      if (resumes && fit.ranks.world) fit.ranks.world->broadcast(&done, sizeof done);
      if (finished != nullptr) *finished = done ? 1 : 0;
      if (!done) there = Model::fit(std::move(table), fit, call.team(), call.monitor());
      out = follows(fit) ? nullptr : give_handle(new tessera_model{std::move(*there)});
    });
  });
}

}  // namespace

tessera_status tessera_fit(const tessera_context* context, const tessera_fit_options* options, ArrowArrayStream* rows,
                           tessera_model** model) {
  return train(context, options, rows, false, nullptr, 0, nullptr, model);
}

tessera_status tessera_resume(const tessera_context* context, const tessera_fit_options* options,
                              ArrowArrayStream* rows, const char* saved, int overwrite, int* finished,
                              tessera_model** model) {
  return train(context, options, rows, true, saved, overwrite, finished, model);
}

void tessera_launched(int32_t* rank, int32_t* ranks) {
  const Launched here = launched();
  if (rank != nullptr) *rank = here.rank;
  if (ranks != nullptr) *ranks = here.size;
}

tessera_status tessera_check_launched() {
  return guarded([] { (void)sound_launch(); });
}

tessera_status tessera_checkpoint_remove(const char* path) {
  return guarded([&] { Checkpoints::remove(&required(path, "path")); });
}

namespace {

// A report on a fit that is not run.
using Describe = std::function<nlohmann::json(Table&&, const FitOptions&, Team&, const Monitor&)>;
tessera_status describe_fit(const Describe& describe, bool with_ranks, const tessera_context* context,
                            const tessera_fit_options* options, ArrowArrayStream* rows, char** json) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(json, "json");
    FitOptions fit = fit_options(options);
    if (fit.privacy.epsilon > 0)
      throw Error(ErrorCode::usage, "`epsilon` belongs to a fit; plans and estimates read the table.\n  Omit it.");
    const GivenTypes types = given_types(options);
    api::Call call(context);
    fit.device = call.device(fit.precision);
    if (with_ranks) set_ranks(fit, read_options(options), nullptr);
    fit.ranks.shards = with_ranks ? read_options(options).virtual_shards : 0;  // 0: each number's default
    Table table = import_table(incoming, types, fit, call);
    out = give_json(describe(std::move(table), fit, call.team(), call.monitor()));
  });
}

}  // namespace

tessera_status tessera_plan(const tessera_context* context, const tessera_fit_options* options, ArrowArrayStream* rows,
                            char** json) {
  return describe_fit(describe_plan, true, context, options, rows, json);
}

tessera_status tessera_estimate(const tessera_context* context, const tessera_fit_options* options,
                                ArrowArrayStream* rows, char** json) {
  const auto estimate = [&](Table&& table, const FitOptions& fit, Team& team, const Monitor& monitor) {
    return estimate_memory(std::move(table), fit, team, monitor, api::state_of(context)->held.bytes());
  };
  return describe_fit(estimate, false, context, options, rows, json);
}

tessera_status tessera_estimate_columns(const tessera_context* context, const tessera_fit_options* options,
                                        const char* columns, int64_t rows, char** json) {
  return guarded([&] {
    const std::string spec = &required(columns, "columns");
    auto& out = required(json, "json");
    FitOptions fit = fit_options(options);
    api::Call call(context);
    fit.device = call.device(fit.precision);
    out =
        give_json(estimate_columns(spec, rows, fit, call.team(), call.monitor(), api::state_of(context)->held.bytes()));
  });
}
