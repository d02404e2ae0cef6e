#include "fit_arguments.h"

#include <CLI/Option.hpp>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "terminal/flags.h"
#include "whole_number.h"

void FitArguments::add_to(CLI::App& command) {
  const nlohmann::json options = nlohmann::json::parse(tessera::method_options());
  std::set<std::string> known;
  std::string names;
  for (const nlohmann::json& option : options)
    for (const nlohmann::json& m : option.at("methods"))
      if (const auto name = m.at("method").get<std::string>(); known.insert(name).second)
        names += (names.empty() ? "" : ", ") + name;
  command.add_option("--method", method, "Model to fit: " + names + " (the first that has the options given)");
  command.add_option("--preset", preset, "best: the paper's networks with measured improvements; paper: as published")
      ->capture_default_str();
  command.add_option("--seed", seed, "The same seed gives the same model, for any number of threads")
      ->check(any_seed())
      ->capture_default_str();
  for (const nlohmann::json& option : options) {
    const auto text = [&](const char* key) { return option.at(key).get<std::string>(); };
    command
        .add_option_function<std::string>(
            flag_of(text("option")),
            [this, name = text("option")](const std::string& value) { settings += name + "=" + value + ";"; },
            text("help") + " (preset: " + text("default") + ")")
        ->type_name(text("value"));
  }
  sequences.add_to(command);
  command.add_option("--calibrate", calibrate,
                     "Correction of distributions that is learned after training: off, marginals, full (default: full; "
                     "paper, made: off)");
  command.add_option(
      "--numbers", numbers,
      "How ctgan and tvae encode numbers: modes of a mixture, or quantile bins as in made (default: tvae "
      "bins; ctgan, paper: modes)");
  command.add_option("--rare-categories", rare_categories,
                     "Rows that must share a value for it to be learned unchanged: rarer categories are replaced "
                     "by others, rarer numbers by means over at least N rows; or keep (default: 5; paper: keep)");
  command
      .add_option("--recompute", recompute,
                  "Activations recomputed instead of stored (gradient checkpointing): off; auto: as few as the "
                  "memory limit needs; all: wherever it saves memory. The model is the same")
      ->capture_default_str();
  command
      .add_option("--micro-batch", micro_batch,
                  "Rows, or sequences, of a batch that are in memory at once; gradients are accumulated (default: the "
                  "batch)")
      ->check(whole_number(1, INT32_MAX));
  command.add_option("--rules", rules,
                     "find: find rules of the table, and sample only rows that satisfy them; off (default: find; "
                     "paper: off)");
  add_rule_to(command);
  command
      .add_option(
          "--precision", precision,
          "Precision of matrix products: fp32, tf32, bf16 or fp16 (factors rounded, sums in fp32), or auto: the "
          "fastest that the device multiplies natively")
      ->capture_default_str();
  command.add_option("--passes-off", passes_off, "Plan passes to disable, for experiments; tessera plan lists them");
}

void FitArguments::add_rule_to(CLI::App& command) {
  command
      .add_option_function<std::vector<std::string>>(
          "--rule",
          [this](const std::vector<std::string>& given) {
            for (const std::string& one : given) rule += one + "\n";
          },
          "A rule that sampled rows satisfy, in the syntax of --where, such as \"end >= start\"; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option_function<std::vector<std::string>>(
          "--unique",
          [this](const std::vector<std::string>& given) {
            for (const std::string& pair : given) {
              const size_t comma = pair.find(',');
              if (comma == std::string::npos)
                throw tessera::Error(TESSERA_E_USAGE, "--unique " + pair + ": name two columns, such as user,loan.");
              const auto quoted = [](const std::string& name) {
                std::string out = "\"";
                for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
                return out + "\"";
              };
              rule +=
                  quoted(pair.substr(0, comma)) + " and " + quoted(pair.substr(comma + 1)) + " are unique together\n";
            }
          },
          "Two columns whose pairs of values are unique, such as user,loan: the model learns the number of rows per "
          "user; may be repeated")
      ->allow_extra_args(false);
}

int32_t FitArguments::rare_rows() const {
  if (rare_categories.empty()) return 0;
  if (rare_categories == "keep") return TESSERA_KEEP_RARE;
  int32_t rows = 0;
  const char* end = rare_categories.data() + rare_categories.size();
  const auto [stop, error] = std::from_chars(rare_categories.data(), end, rows);
  if (error != std::errc() || stop != end || rows < 1)
    throw tessera::Error(TESSERA_E_USAGE, "--rare-categories " + rare_categories +
                                              ": it must be a whole number from 1 (rows that share a value), or keep.");
  return rows;
}

tessera_fit_options FitArguments::options() const {
  tessera_fit_options o{};
  o.method = method.c_str();
  o.preset = preset.c_str();
  o.passes_off = passes_off.c_str();
  o.recompute = recompute.c_str();
  o.precision = precision.c_str();
  o.micro_batch = micro_batch;
  o.calibrate = calibrate.c_str();
  o.seed = seed;
  o.settings = settings.c_str();
  if (sequences.given()) o.sequences = sequences.options();
  o.rare_categories = rare_rows();
  o.numbers = numbers.c_str();
  o.rules = rules.c_str();
  o.rule = rule.c_str();
  return o;
}

void EffortArguments::add_to(CLI::App& command) {
  command
      .add_option("--max-rows", max_rows,
                  "Learn from N rows drawn evenly from larger Parquet and Arrow files (default: all)")
      ->check(whole_number(1));
  command.add_option("--patience", patience, "Stop after N epochs without a better held-out measure; 0: never")
      ->check(whole_number(0, INT32_MAX));
  command.add_option("--keep", keep,
                     "Weights to keep: those with the best held-out measure, or the last (default: best "
                     "with --patience, else last)");
  command.add_option("--max-time", max_time, "Time limit of the whole run: 90s, 30m, 2h");
}

void EffortArguments::set(tessera_fit_options& options) const {
  options.patience = !patience ? 0 : *patience == 0 ? TESSERA_NO_PATIENCE : *patience;
  options.keep = keep.c_str();
  options.max_time = max_time.c_str();
}

void EffortArguments::set(tessera_csv_options& reading, uint64_t seed) const {
  reading.max_rows = max_rows;
  reading.sample_seed = seed;
}
