// tessera prior --tables 100000 --output tables/ --rows 1024 --features 2..100 --classes 2..10 --seed 1
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <charconv>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "terminal/text.h"
#include "whole_number.h"

namespace {

struct PriorCommand {
  int64_t tables = 0;
  std::string output, rows = "1024", features = "2..100", classes = "2..10", imbalance, separability, missing,
                      part = "0/1";
  std::string kind = "mix", task = "classification", format = "pt";
  uint64_t seed = 0;
  std::string report;
  bool inspect = false, force = false;
};

// Two numbers around a separator, or one for both where `single`.
template <class T>
void parse_pair(const char* option, const std::string& given, const char* between, bool single, T& low, T& high) {
  const auto read = [](const std::string& word, T& value) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() && !word.empty();
  };
  const size_t at = given.find(between);
  const std::string first = given.substr(0, at),
                    second = at == std::string::npos ? first : given.substr(at + std::string(between).size());
  if ((at == std::string::npos && !single) || !read(first, low) || !read(second, high))
    throw tessera::Error(TESSERA_E_USAGE, fmt::format("{} {}: write {}2{}10, with digits only.", option, given,
                                                      single ? "one number or a range, " : "", between));
}

tessera_prior_options prior_options(const PriorCommand& a) {
  tessera_prior_options o{};
  o.seed = a.seed;
  parse_pair("--rows", a.rows, "..", true, o.min_rows, o.max_rows);
  parse_pair("--features", a.features, "..", true, o.min_features, o.max_features);
  parse_pair("--classes", a.classes, "..", true, o.min_classes, o.max_classes);
  if (!a.imbalance.empty()) parse_pair("--imbalance", a.imbalance, "..", true, o.min_imbalance, o.max_imbalance);
  if (!a.separability.empty())
    parse_pair("--separability", a.separability, "..", true, o.min_separability, o.max_separability);
  if (!a.missing.empty()) parse_pair("--missing", a.missing, "..", true, o.min_missing, o.max_missing);
  o.kind = a.kind.c_str();
  o.task = a.task.c_str();
  return o;
}

std::string prior_page(const nlohmann::json& report) {
  const int64_t tables = report["tables"].get<int64_t>();
  std::string out = text::counted(tables, "tables") + " drawn";
  if (report.value("kept", int64_t{0}) > 0) out += fmt::format(", {} kept", text::count(report["kept"].get<int64_t>()));
  out += "\n";
  if (tables == 0) return out;
  out += fmt::format("  {} features in the mean, {} from trees, {} of the attempts rejected\n",
                     text::number(report["features"].get<double>()), text::percent(report["trees_share"].get<double>()),
                     text::percent(report["rejected_share"].get<double>()));
  if (!report.contains("classes")) return out;
  const nlohmann::json& ratio = report["imbalance"];
  out += fmt::format("  largest class to smallest: {} to {}, median {}\n\n", text::number(ratio["min"].get<double>()),
                     text::number(ratio["max"].get<double>()), text::number(ratio["median"].get<double>()));
  using Side = text::Table::Side;
  text::Table t({{"classes", Side::right}, {"tables", Side::right}, {"share", Side::right}});
  for (const nlohmann::json& c : report["classes"]) {
    const int64_t count = c["tables"].get<int64_t>();
    t.add({text::count(c["classes"].get<int64_t>()), text::count(count),
           text::percent(static_cast<double>(count) / static_cast<double>(tables))});
  }
  return out + t.str();
}

void run(const SharedOptions& shared, const PriorCommand& a) {
  if (a.output.empty() != a.inspect)
    throw tessera::Error(TESSERA_E_USAGE, a.inspect ? "--inspect writes no tables. Omit --output."
                                                    : "--output is missing: the folder for the tables.\n  "
                                                      "--inspect describes tables without writing them.");
  if (!a.report.empty() && !a.inspect)
    throw tessera::Error(TESSERA_E_USAGE, "--report needs --inspect: the page describes tables that are not written.");
  if (!a.report.empty()) tessera::check_files({{0, "--report", a.report.c_str(), TESSERA_FILE_TEXT, a.force}});
  int32_t part = 0, parts = 1;
  parse_pair("--part", a.part, "/", false, part, parts);
  const tessera_prior_options options = prior_options(a);
  Session session(shared);
  const std::string json = tessera::write_prior(session.context(), options, a.tables, a.output, a.format, part, parts);
  session.progress().clear();
  if (!a.report.empty()) tessera::write_report(json, a.report, a.force);
  if (shared.json) return print(json + "\n");
  const nlohmann::json report = nlohmann::json::parse(json);
  if (a.inspect) return print_page(prior_page(report));
  session.progress().line("written", fmt::format("{} to {}{}", text::counted(report["tables"].get<int64_t>(), "tables"),
                                                 a.output, report["kept"] > 0 ? ", the others existed" : ""));
}

}  // namespace

void add_prior(Program& program) {
  CLI::App* command = program.add(
      "prior", "Writes random tables drawn from structural causal models, to train and test tabular models");
  auto a = std::make_shared<PriorCommand>();
  command->add_option("--tables", a->tables, "Number of tables")->check(whole_number(1, int64_t{1} << 32))->required();
  command->add_option("--output", a->output,
                      "Folder for the tables; existing files are kept, so a stopped run continues");
  command->add_option("--rows", a->rows, "Rows per table, or a range such as 400..10240 (log-uniform)")
      ->capture_default_str();
  command->add_option("--features", a->features, "Features per table, a range")->capture_default_str();
  command->add_option("--classes", a->classes, "Classes of the target, a range")->capture_default_str();
  command->add_option("--kind", a->kind, "mlp, tree, mix (70 % mlp), or graph (TabICL's second prior)")
      ->capture_default_str();
  command->add_option("--task", a->task, "classification or regression")->capture_default_str();
  command->add_option("--imbalance", a->imbalance,
                      "Ratio of the largest class to the smallest, a range (default: random)");
  command->add_option("--separability", a->separability,
                      "Factor applied to the feature most correlated with the class, a range (default: 1)");
  command->add_option("--missing", a->missing, "Share of missing cells in the features, a range (default: none)");
  command->add_option("--format", a->format, "pt: as TabICL reads it; npy, csv, parquet: files for each table")
      ->capture_default_str();
  command->add_option("--seed", a->seed, "Table i depends only on the options, the seed and i")
      ->check(any_seed())
      ->capture_default_str();
  command
      ->add_option("--part", a->part,
                   "I/N: write only part I of N of the files, I from 0, for several processes or machines")
      ->capture_default_str();
  program.add_device(*command);
  command->add_flag("--inspect", a->inspect, "Describe the tables without writing them");
  command->add_option("--report", a->report, "With --inspect: write an HTML page with plots of the first tables");
  command->add_flag("--force", a->force, "Replace an existing page");
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
