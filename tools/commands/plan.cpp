// tessera plan data.csv, tessera estimate data.csv: the step of a fit, and its memory.
#include <fmt/format.h>

#include <CLI/Error.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "fit_arguments.h"
#include "terminal/flags.h"
#include "terminal/text.h"
#include "timing/rank_forecast.h"
#include "whole_number.h"

namespace {

using Json = nlohmann::json;
using Side = text::Table::Side;

struct PlanCommand {
  std::string data;
  CsvArguments csv;
  FitArguments fit;
  std::string device = "cpu";
  std::string devices, link;
  int virtual_shards = 0;
  int emit = 0;
  bool fusion = false;
  std::string use;
  MemoryArguments memory;
  EffortArguments effort;
  std::string columns;  // of the described table, if there is no file
  int64_t rows = 0;
};

std::string scaled(double amount, double unit) {
  return fmt::format("{:.{}f}", amount / unit, amount / unit < 9.95 ? 2 : amount / unit < 99.5 ? 1 : 0);
}

// 500×128 · 128×256 bf16
std::string shapes(const Json& list) {
  std::string out;
  for (const Json& s : list) {
    out += fmt::format("{}{}×{}", out.empty() ? "" : " · ", s[0].get<int64_t>(), s[1].get<int64_t>());
    if (s.size() > 2) out += " " + s[2].get<std::string>();
  }
  return out;
}

std::string passes(const Json& plan) {
  text::Table t({{"pass"},
                 {"ops", Side::right},
                 {"after", Side::right},
                 {"MFLOP", Side::right},
                 {"after", Side::right},
                 {"", Side::left, 130}});
  for (const Json& p : plan["passes"])
    t.add({p["pass"].get<std::string>(), std::to_string(p["ops_before"].get<int64_t>()),
           std::to_string(p["ops_after"].get<int64_t>()), scaled(p["flops_before"].get<double>(), 1e6),
           scaled(p["flops_after"].get<double>(), 1e6), as_typed(p["what"].get<std::string>())});
  return t.empty() ? "no pass was run\n" : t.str(0);
}

std::string ops(const Json& plan) {
  text::Table t({{"op"},
                 {"kB", Side::right},
                 {"MFLOP", Side::right},
                 {"floor µs", Side::right},
                 {"out", Side::left, 40},
                 {"in", Side::left, 60},
                 {"reads", Side::left, 5},
                 {"because", Side::left, 60},
                 {"name", Side::left, 60}});
  // fp32 needs no reasons
  const bool rounded = plan["precision"] != "fp32";
  const auto type = [&](const Json& op, const char* key) { return rounded ? op[key].get<std::string>() : ""; };
  for (const Json& op : plan["ops"])
    t.add({op["op"].get<std::string>(), scaled(op["bytes"].get<double>(), 1e3), scaled(op["flops"].get<double>(), 1e6),
           scaled(op["floor_us"].get<double>(), 1), shapes(op["out"]), shapes(op["in"]), type(op, "reads"),
           type(op, "why"), op.value("name", "")});
  t.add({"total", scaled(plan["bytes"].get<double>(), 1e3), scaled(plan["flops"].get<double>(), 1e6),
         scaled(plan["floor_us"].get<double>(), 1)});
  return t.str(0);
}

// The launches on a GPU: their ops, and their time floor.
std::string launches(const Json& cuda) {
  text::Table t({{"launch", Side::right},
                 {"kB", Side::right},
                 {"MFLOP", Side::right},
                 {"floor µs", Side::right},
                 {"cut by", Side::left},
                 {"ops", Side::left, 130}});
  int number = 0;
  for (const Json& group : cuda["groups"]) {
    bool first = true;
    ++number;
    for (const Json& chain : group["chains"]) {
      std::string list;
      for (const Json& op : chain["ops"]) list += (list.empty() ? "" : " · ") + op.get<std::string>();
      t.add({first ? std::to_string(number) : "", first ? scaled(group["bytes"].get<double>(), 1e3) : "",
             first ? scaled(group["flops"].get<double>(), 1e6) : "",
             first ? scaled(group["floor_us"].get<double>(), 1) : "", chain["cut"].get<std::string>(), list});
      first = false;
    }
  }
  const Json& best = cuda["ceilings"];
  return t.str(0) + fmt::format(
                        "\nlaunches  {} per step, including the one that counts steps; --emit N prints the source of "
                        "one of {}\nfloor     at {:.1f} TB/s and "
                        "{:.0f} TFLOP/s ({}); nothing was run on a GPU\n",
                        cuda["launches"].get<int64_t>(), cuda["emitted"].get<int64_t>(),
                        best["bytes_per_second"].get<double>() / 1e12, best["flops_per_second"].get<double>() / 1e12,
                        best["of"].get<std::string>());
}

// Activations that a step recomputes; empty if all are stored.
std::string recomputed(const Json& r) {
  if (r["values"].empty()) return "";
  text::Table t({{"recomputed"}, {"shape"}, {"kB saved", Side::right}, {"MFLOP added", Side::right}});
  for (const Json& v : r["values"])
    t.add({v["value"].get<std::string>(), shapes(Json::array({v["shape"]})), scaled(v["bytes"].get<double>(), 1e3),
           scaled(v["flops"].get<double>(), 1e6)});
  return "\n" + t.str(0) +
         fmt::format("recompute  {} instead of {}, {:.1f} % more FLOPs\n", text::bytes(r["bytes_after"].get<int64_t>()),
                     text::bytes(r["bytes_before"].get<int64_t>()),
                     100 * (r["flops_after"].get<double>() / r["flops_before"].get<double>() - 1));
}

std::string page(const Json& plan) {
  const Json &memory = plan["memory"], &best = plan["ceilings"];
  const auto size = [&](const char* key) { return text::bytes(memory[key].get<int64_t>()); };
  const bool sequences = plan["of"] == "sequences";
  const auto text_of = [&](const char* key) { return plan[key].get<std::string>(); };
  const auto count_of = [&](const char* key) { return plan[key].get<int64_t>(); };
  std::string out = fmt::format("One step of {}{}, preset {}: a batch of {} {}, ",
                                sequences ? fmt::format("the {} phase of ", text_of("phase")) : "", text_of("method"),
                                text_of("preset"), count_of("batch"), text_of("of"));
  out += fmt::format(fmt::runtime(sequences ? "{} units per step and {} per sequence.\n\n"
                                            : "{} columns of data and {} of conditions.\n\n"),
                     count_of("data_width"), count_of("condition_width"));
  out += fmt::format("recorded  {} ops\n", plan["recorded_ops"].get<int64_t>()) + passes(plan) + "\n" + ops(plan);
  out += recomputed(plan["recompute"]);
  out += fmt::format("\nlaunches  {} in {} phases\n", plan["launches"].get<int64_t>(), plan["barriers"].get<int64_t>());
  for (const Json& c : plan["row_chains"])
    out += fmt::format("chain     {} ops fused on blocks of {} of {} rows; private values take {} per thread\n",
                       c["ops"].size(), c["block_rows"].get<int64_t>(), c["rows"].get<int64_t>(),
                       text::bytes(c["block_bytes"].get<int64_t>()));
  out += fmt::format("memory    {} weights and state, {} activations ({} without reuse), {} table\n",
                     size("state_bytes"), size("activation_bytes"), size("without_reuse_bytes"), size("table_bytes"));
  out += fmt::format(
      "floor     {} ms: the larger of bytes at {:.1f} GB/s and FLOPs at {:.0f} GFLOP/s, measured with {}, {} "
      "kernels\n",
      scaled(plan["floor_us"].get<double>(), 1e3), best["bytes_per_second"].get<double>() / 1e9,
      best["flops_per_second"].get<double>() / 1e9, text::counted(best["threads"].get<int>(), "threads"),
      plan["kernels"].get<std::string>());
  return out;
}

void print_source(const Json& plan, int number, bool json) {
  const Json& groups = plan["groups"];
  if (number > static_cast<int>(groups.size()))
    throw tessera::Error(TESSERA_E_USAGE,
                         fmt::format("--emit {}: the step has {} launches.", number, groups.size()).c_str());
  const Json& group = groups[static_cast<size_t>(number - 1)];
  if (json) print_json(group);
  else if (group.contains("source")) print_page(group["source"].get<std::string>());
  else
    print_page(fmt::format("// Launch {} has no source: {}.\n", number,
                           group.value("not_emitted", "its ops are launched one by one")));
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw tessera::Error(TESSERA_E_IO, fmt::format("{}: it cannot be read.", path).c_str());
  return text;
}

void run(const SharedOptions& shared, const PlanCommand& a) {
  tessera_fit_options options = a.fit.options();
  options.source = a.data.c_str();
  options.devices = a.devices.c_str(), options.virtual_shards = a.virtual_shards;
  const bool cuda = a.device == "cuda";
  for (const auto& [given, flag] : {std::pair{a.emit > 0, "--emit"}, {a.fusion, "--fusion"}, {!a.use.empty(), "--use"}})
    if (given && !cuda)
      throw tessera::Error(TESSERA_E_USAGE,
                           fmt::format("{} is about launches of a GPU: add --device cuda.", flag).c_str());
  const std::string fusion = a.use.empty() ? "" : text_of_file(a.use);
  options.fusion = fusion.c_str();
  const Link link = parse_link(!a.link.empty() ? a.link : cuda ? "nvlink" : "100GbE");
  tessera::check_fit_options(options);
  if (a.device != "cpu" && a.fit.precision == "auto") options.precision = "fp32";  // what auto means there
  Session session(shared);
  const std::string json =
      tessera::plan(session.context(), tessera::read_table(session.context(), {a.data}, a.csv.options()), options);
  session.progress().clear();
  Json plan = Json::parse(json);
  if (plan.contains("ranks")) plan["forecast"] = rank_forecast(plan, cuda, link);
  if (a.device != "cpu") {  // the step as a GPU runs it
    for (const char* key : {"launches", "groups", "views", "ceilings", "emitted", "fusion", "arena"})
      plan[key] = plan["cuda"][key];
    plan["memory"].update(plan["cuda"]["memory"]);
    plan["device"] = a.device;
  }
  plan.erase("cuda");
  if (a.device != "cpu" && a.emit == 0)
    for (Json& group : plan["groups"]) group.erase("source");
  if (a.fusion) return print_json(plan["fusion"]);
  if (a.emit > 0) return print_source(plan, a.emit, shared.json);
  if (shared.json) print_json(plan);
  else if (plan.contains("forecast")) print_page(rank_page(plan));
  else print_page(a.device == "cpu" ? page(plan) : launches(plan));
}

std::string size_of(const Json& json, const char* key) { return text::bytes(json.at(key).get<int64_t>()); }

std::string estimate_page(const Json& e) {
  std::string out = fmt::format("Memory of a fit: {}, preset {}, {}, {}.\n\n", e["method"].get<std::string>(),
                                e["preset"].get<std::string>(), text::counted(e["rows"].get<int64_t>(), "rows"),
                                text::counted(e["threads"].get<int64_t>(), "threads"));
  text::Table t({{"phase"},
                 {"batch", Side::right},
                 {"weights", Side::right},
                 {"moments", Side::right},
                 {"activations", Side::right},
                 {"scratch", Side::right},
                 {"together", Side::right},
                 {"without recomputation", Side::right}});
  for (const Json& p : e["phases"])
    t.add({p["phase"].get<std::string>(), std::to_string(p["batch"].get<int64_t>()), size_of(p, "weights_bytes"),
           size_of(p, "moments_bytes"), size_of(p, "activation_bytes"), size_of(p, "scratch_bytes"),
           size_of(p, "bytes"), size_of(p, "bytes_without_recompute")});
  out += t.str(0);
  out += fmt::format("\ntable     {}, {} encoded, {} held out\n", size_of(e, "table_bytes"),
                     size_of(e, "encoded_bytes"), size_of(e, "held_out_bytes"));
  if (e["device"] != "cpu") out += fmt::format("device    {}\n", size_of(e, "device_bytes"));
  out += fmt::format("limit     {} is the smallest --memory-limit that suffices for reading and training\n",
                     size_of(e, "limit_bytes"));
  return out + fmt::format("peak      {} of the whole process: {} during training, {} before and after\n",
                           size_of(e, "peak_bytes"), size_of(e, "training_peak_bytes"), size_of(e, "other_peak_bytes"));
}

void run_estimate(const SharedOptions& given, const PlanCommand& a) {
  use_one_heap();  // as `fit` does
  tessera_fit_options options = a.fit.options();
  a.effort.set(options);
  options.source = a.data.c_str();
  tessera::check_fit_options(options);
  SharedOptions shared = given;
  shared.memory_limit = a.memory.bytes();
  Session session(shared);
  tessera_csv_options reading = a.csv.options();
  a.effort.set(reading, options.seed);
  const Json estimate = Json::parse(
      a.data.empty()
          ? tessera::estimate_columns(session.context(), a.columns, a.rows, options)
          : tessera::estimate(session.context(), tessera::read_table(session.context(), {a.data}, reading), options));
  session.progress().clear();
  if (shared.json) print_json(estimate);
  else print_page(estimate_page(estimate));
}

}  // namespace

void add_plan(Program& program) {
  CLI::App* command =
      program.add("plan", "Prints the training step for a table: ops, shapes, bytes, FLOPs, passes, time floor");
  auto a = std::make_shared<PlanCommand>();
  command->add_option("data", a->data, "CSV file, or - for standard input")->required();
  a->fit.add_to(*command);
  a->csv.add_to(*command);
  command->add_option("--device", a->device, "Launches to show: cpu or cuda (no GPU is needed)")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--emit", a->emit, "Print the CUDA source of launch N (with --device cuda)")
      ->check(whole_number(1, 10'000));
  command->add_flag("--fusion", a->fusion, "Print which op is in which launch, as JSON for --use (with --device cuda)");
  command->add_option("--use", a->use, "The launches of this file, as --fusion prints them, instead of those chosen")
      ->check(CLI::ExistingFile);
  CLI::Option* devices = command
                             ->add_option("--devices", a->devices,
                                          "Predict communication and time of N ranks, and of 2 to 64; nothing is run")
                             ->check(whole_number(2, 64));
  command->add_option("--virtual-shards", a->virtual_shards, "As for fit: rank counts that divide it are shown")
      ->needs(devices)
      ->check(whole_number(1, 64));
  command
      ->add_option("--link", a->link,
                   "Link between ranks: nvlink, pcie, ib, 100GbE, or latency in µs and GB/s each way, such as "
                   "10,45 (default: cuda nvlink, cpu 100GbE)")
      ->needs(devices);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}

void add_estimate(Program& program) {
  CLI::App* command =
      program.add("estimate", "Prints the memory that a fit needs, by part and phase, without training");
  auto a = std::make_shared<PlanCommand>();
  auto* data = command->add_option("data", a->data, "CSV file, or - for standard input");
  auto* rows = command->add_option("--rows", a->rows, "Rows of a table that does not exist yet")
                   ->check(whole_number(1, 10'000'000'000));
  auto* columns = command
                      ->add_option("--columns", a->columns,
                                   "Its columns, by kind and number of distinct values: \"6 integer, 9 category:16\"")
                      ->needs(rows)
                      ->excludes(data);
  rows->needs(columns);
  a->fit.add_to(*command);
  a->csv.add_to(*command);
  a->effort.add_to(*command);
  command->get_option("--max-rows")->excludes(rows);
  a->memory.add_to(*command,
                   "Limit of host memory, as for fit: 500MB, 4G; above it, activations are recomputed (default: none)");
  program.add_device(*command);
  command->callback([&program, a] {
    if (a->data.empty() && a->columns.empty()) throw CLI::RequiredError("data, or --rows with --columns");
    program.run = [&program, a] { run_estimate(program.shared, *a); };
  });
}
