// tessera evaluate real.csv synthetic.csv [another.csv …]
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "sequence_arguments.h"
#include "terminal/pages.h"
#include "terminal/text.h"
#include "whole_number.h"

namespace {

using Json = nlohmann::json;

struct EvaluateCommand {
  std::string real, holdout, target, report, method = "table", rules, rule, where;  // rule: one per line
  std::vector<std::string> synthetic, models;
  uint64_t seed = 0;
  int worst = 10, judges = -1;  // −1: not given
  SequenceArguments sequences;
  bool without_distances = false, without_c2st = false, without_utility = false, without_attacks = false, force = false;
  CsvArguments csv;
};

// One group of figures, beside the figures of real rows.
std::string figures(const Json& report, const std::string& group) {
  using Side = text::Table::Side;
  std::vector<Json> shown;
  bool beside = false;
  for (const Json& f : report["figures"])
    if (f["group"] == group) shown.push_back(f), beside = beside || f.contains("reference");
  std::vector<text::Table::Heading> headings{{group}, {beside ? "synthetic" : "score", Side::right}};
  if (beside) headings.push_back({"real rows", Side::right});
  headings.push_back({"", Side::left, 110});
  text::Table t(headings);
  for (const Json& f : shown) {
    std::vector<std::string> cells{f["label"].get<std::string>(), f["shown"].get<std::string>()};
    if (beside) cells.push_back(f.contains("reference") ? f["reference"]["shown"].get<std::string>() : "");
    cells.push_back(f["meaning"].get<std::string>());
    t.add(std::move(cells));
  }
  return t.empty() ? "" : t.str(0) + "\n";
}

std::string notes(const Json& report) {
  std::string out;
  if (report.contains("c2st"))
    out += fmt::format(
        "detection against {}; real rows: {}\n",
        report["c2st"]["against"] == "holdout" ? "holdout rows, which were not used for training" : "the real table",
        report["c2st"]["floor"]["of"] == "halves of real" ? "one half of the real table against the other"
                                                          : "the real table against the holdout");
  if (report.contains("utility"))
    out += fmt::format("target: {} ({})\n", report["utility"]["target"].get<std::string>(),
                       report["utility"]["reason"].get<std::string>());
  return out;
}

// The section "Written form": only formats that differ from the real table.
std::string written(const Json& report, size_t most) {
  if (!report.contains("written_form")) return "";
  using Side = text::Table::Side;
  text::Table t(
      {{"as written", Side::left, 60}, {"", Side::left, 40}, {"real", Side::right}, {"synthetic", Side::right}});
  std::vector<std::pair<double, std::vector<std::string>>> rows;
  const auto add = [&](const Json& entry, std::string what, std::string level) {
    if (number_at(entry, "/gap") > 0)
      rows.push_back({-number_at(entry, "/gap"),
                      {std::move(what), std::move(level), text::percent(number_at(entry, "/real")),
                       text::percent(number_at(entry, "/synthetic"))}});
  };
  for (const Json& f : report["written_form"]["forms"])
    add(f, f["column"].get<std::string>(), f["level"].get<std::string>());
  for (const Json& r : report["written_form"]["rules"]) add(r, r["rule"].get<std::string>(), "");
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < std::min(most, rows.size()); ++i) t.add(std::move(rows[i].second));
  return t.empty() ? "" : "\nwritten form and near-certain relations that differ\n" + t.str();
}

std::string marked(const Json& statement) {
  const std::string mark = statement["mark"];
  return fmt::format("{} {}",
                     mark == "good"   ? "✓"
                     : mark == "fair" ? "~"
                     : mark == "poor" ? "✗"
                                      : "•",
                     text::printable(statement["text"].get<std::string>()));
}

// Quotes a text for a shell.
std::string quoted_argument(const std::string& text) {
  const bool doubles = text.find_first_of("\"$`\\!") != std::string::npos;
  std::string out = doubles ? "'" : "\"";
  for (const char c : text) out += doubles && c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + out.front();
}

// The overall assessment comes last, where a reader of a terminal looks.
std::string verdict(const Json& report) {
  const Json& v = report["verdict"];
  std::string out = "\n" + marked(v) + "\n";
  for (const Json& reason : v["reasons"]) out += "  " + marked(reason) + "\n";
  for (const Json& caution : v["cautions"]) out += "  ! " + text::printable(caution.get<std::string>()) + "\n";
  if (report.contains("narrowed"))
    out += "\nThe real rows of this part: tessera evaluate … --where " +
           text::printable(quoted_argument(report["narrowed"]["where"].get<std::string>())) + "\n";
  return out;
}

// Undefined scores come last.
double rank(const Json& row, const char* pointer) {
  const double score = number_at(row, pointer);
  return std::isnan(score) ? 2 : score;
}

std::vector<Json> sorted_by(const Json& rows, const char* pointer) {
  std::vector<Json> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Json& a, const Json& b) { return rank(a, pointer) < rank(b, pointer); });
  return sorted;
}

std::string columns(const Json& report, size_t most) {
  using Side = text::Table::Side;
  text::Table t({{"column"},
                 {"kind"},
                 {"shape", Side::right},
                 {"valid", Side::right},
                 {"covered", Side::right},
                 {"missing real", Side::right},
                 {"synthetic", Side::right}});
  const auto rows = sorted_by(report["columns"], "/shape/score");
  const size_t shown = std::min(most, rows.size());
  const double real = number_at(report, "/rows/real"), synthetic = number_at(report, "/rows/synthetic");
  const auto missing = [](double share) { return share == 0 ? "–" : text::percent(share); };
  for (size_t i = 0; i < shown; ++i) {
    const Json& c = rows[i];
    t.add({c["name"].get<std::string>(), c["kind"].get<std::string>(), text::percent(number_at(c, "/shape/score")),
           text::percent(number_at(c, "/adherence/score")), text::percent(number_at(c, "/coverage/score")),
           missing(number_at(c, "/missing/real") / real), missing(number_at(c, "/missing/synthetic") / synthetic)});
  }
  return t.empty() ? "" : worst_first("columns", shown, rows.size()) + t.str();
}

std::string pairs(const Json& report, size_t most) {
  if (!report.contains("pairs")) return "";
  using Side = text::Table::Side;
  text::Table t({{"pair", Side::left, 60},
                 {"trend", Side::right},
                 {"own bins", Side::right},
                 {"correlation real", Side::right},
                 {"synthetic", Side::right}});
  const auto rows = sorted_by(report["pairs"], "/score_real_edges");
  const size_t shown = std::min(most, rows.size());
  for (size_t i = 0; i < shown; ++i) {
    const Json& p = rows[i];
    t.add({p["a"].get<std::string>() + " × " + p["b"].get<std::string>(),
           text::percent(number_at(p, "/score_real_edges")), text::percent(number_at(p, "/score")),
           text::number(number_at(p, "/real_correlation")), text::number(number_at(p, "/synthetic_correlation"))});
  }
  return t.empty() ? "" : worst_first("pairs", shown, rows.size()) + t.str();
}

std::string excluded(const Json& report) {
  std::vector<std::string> identifiers, regenerated;
  for (const Json& e : report["excluded"])
    (e.contains("real_texts") ? regenerated : identifiers).push_back(e["name"].get<std::string>());
  std::string out;
  if (!identifiers.empty()) out += "\nexcluded: " + text::list(identifiers) + " (identifiers)\n";
  if (!regenerated.empty())
    out += "\nexcluded: " + text::list(regenerated) +
           " (regenerated: real texts rarely repeat, so new ones are generated; see fit --rare-categories)\n";
  return out;
}

// Errors that need no data are reported before the tables are read.
void check(const EvaluateCommand& a, bool sequences) {
  if ((a.real == "-") + std::count(a.synthetic.begin(), a.synthetic.end(), "-") + (a.holdout == "-") > 1)
    throw tessera::Error(TESSERA_E_USAGE, "Only one of the tables can come from standard input.");
  if (!a.target.empty() && a.holdout.empty())
    throw tessera::Error(
        TESSERA_E_USAGE,
        "--target needs --holdout FILE: real rows that were not used for training, to test predictions on.");
  if (!a.target.empty() && a.without_utility)
    throw tessera::Error(TESSERA_E_USAGE, "--target and --without-utility contradict each other. Omit one.");
  if (!sequences && (a.sequences.given() || a.judges >= 0))
    throw tessera::Error(TESSERA_E_USAGE,
                         "--judges and the sequence options need --method sequence. Add it, or omit them.");
  if (a.report.empty() && (a.force || !a.models.empty()))
    throw tessera::Error(TESSERA_E_USAGE, "--force and --model need --report FILE. Add it, or omit them.");
  if (!a.models.empty() && a.models.size() != a.synthetic.size())
    throw tessera::Error(
        TESSERA_E_USAGE,
        fmt::format("--model is given {}, but the number of synthetic tables is {}. Give one model for "
                    "each table, in the same order, or omit --model.",
                    text::counted(static_cast<int64_t>(a.models.size()), "times"), a.synthetic.size()));
  if (a.report.empty()) return;
  if (a.report == "-") throw tessera::Error(TESSERA_E_USAGE, "--report needs the name of a file; - is not one.");
  std::vector<tessera_file> files{{0, "the real table", a.real.c_str(), TESSERA_FILE_READ, 0},
                                  {0, "--report", a.report.c_str(), TESSERA_FILE_TEXT, a.force}};
  if (!a.holdout.empty()) files.push_back({0, "--holdout", a.holdout.c_str(), TESSERA_FILE_READ, 0});
  for (const std::string& table : a.synthetic)
    files.push_back({0, "the synthetic table", table.c_str(), TESSERA_FILE_READ, 0});
  for (const std::string& model : a.models) files.push_back({0, "--model", model.c_str(), TESSERA_FILE_READ, 0});
  tessera::check_files(files);
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// SOURCE_DATE_EPOCH makes the page reproducible.
std::string today() {
  const char* fixed = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t now = fixed != nullptr ? std::strtoll(fixed, nullptr, 10) : std::time(nullptr);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

// The HTML page of the results, with a card of each given model.
void write_page(const EvaluateCommand& a, const std::string& json, const std::vector<std::string>& models,
                Session& session) {
  Json found = Json::parse(json);
  for (size_t i = 0; i < models.size(); ++i)
    (a.synthetic.size() > 1 ? found["tables"][i]["report"] : found)["model"] = Json::parse(models[i]);
  found["about"] = {{"real", file_name(a.real)}, {"date", today()}, {"program", tessera_version()}};
  if (a.synthetic.size() == 1) found["about"]["synthetic"] = file_name(a.synthetic[0]);
  if (!a.holdout.empty()) found["about"]["holdout"] = file_name(a.holdout);
  if (a.models.size() == 1) found["about"]["model"] = file_name(a.models[0]);
  tessera::write_report(found.dump(), a.report, a.force);
  session.progress().line("report", a.report + ": open it in a browser");
}

// Given rules that are kept by rejection cannot be found in a table, so they are taken from the model.
void add_given_rules(const Json& model, std::string& rule) {
  if (!model.contains("rules")) return;
  for (const Json& one : model["rules"])
    if (one["kind"] == "given" && rule.find(one["rule"].get<std::string>() + "\n") == std::string::npos)
      rule += one["rule"].get<std::string>() + "\n";
}

void run(const SharedOptions& shared, const EvaluateCommand& a) {
  const bool sequences = a.method == "sequence";
  check(a, sequences);
  Session session(shared);
  std::vector<std::string> models;
  std::vector<tessera::Model> loaded;
  std::string rule = a.rule;
  for (const std::string& file : a.models) {
    models.push_back(loaded.emplace_back(tessera::Model::load(file)).describe());
    add_given_rules(Json::parse(models.back()), rule);
  }
  const tessera_csv_options csv = a.csv.options();
  tessera_evaluate_options options{};
  options.seed = a.seed;
  options.without_distances = a.without_distances;
  options.without_c2st = a.without_c2st;
  options.without_utility = a.without_utility;
  options.without_attacks = a.without_attacks;
  if (loaded.size() == 1 && !sequences) options.model = loaded[0].get();
  options.drawings = !a.report.empty();
  options.rules = text_or_null(a.rules);
  options.rule = rule.c_str();
  options.where = text_or_null(a.where);
  options.target = text_or_null(a.target);
  if (sequences) {
    options.sequences = a.sequences.options();
    options.judges = a.judges == 0 ? TESSERA_NO_JUDGES : std::max(a.judges, 0);
    tessera::check_evaluate_options(options);
  }
  // The real table determines the column types. The other tables are read with them: integers in one table and decimals
  // in another are one column.
  tessera::Rows real = tessera::read_table(session.context(), {a.real}, csv), holdout;
  const tessera::Schema schema = real.schema();
  tessera_csv_options same{};
  same.missing = csv.missing;
  same.like = schema.get();
  same.more_columns = sequences;  // "sequence" and "step"
  std::vector<tessera::Rows> synthetic;
  for (const std::string& table : a.synthetic)
    synthetic.push_back(tessera::read_table(session.context(), {table}, same));
  if (!a.holdout.empty()) holdout = tessera::read_table(session.context(), {a.holdout}, same);
  const bool one = synthetic.size() == 1;
  const std::string json =
      one ? tessera::evaluate(session.context(), std::move(real), std::move(synthetic[0]), std::move(holdout), options)
          : tessera::evaluate_tables(session.context(), std::move(real), std::move(synthetic), a.synthetic,
                                     std::move(holdout), options);
  session.progress().clear();
  if (!a.report.empty()) write_page(a, json, models, session);
  if (shared.json) return print(json + "\n");
  const Json report = Json::parse(json);
  if (!one) return print_page(comparison_page(report));
  const size_t most = a.worst == 0 ? SIZE_MAX : static_cast<size_t>(a.worst);
  if (sequences) return print_page(sequence_page(report, most) + verdict(report));
  std::string page;
  for (const char* group : {"fidelity", "detection", "utility", "privacy"}) page += figures(report, group);
  if (report.contains("attacks")) page += attacks_page(report["attacks"], false);
  print_page(page + notes(report) + rules_page(report) + written(report, most) + columns(report, most) +
             pairs(report, most) + excluded(report) + verdict(report));
}

}  // namespace

void add_evaluate(Program& program) {
  CLI::App* command = program.add("evaluate", "Measures the fidelity, utility and privacy of synthetic rows");
  auto a = std::make_shared<EvaluateCommand>();
  command->add_option("real", a->real, "File that the model was fitted on")->required();
  command->add_option("synthetic", a->synthetic, "Synthetic table; several tables are compared side by side")
      ->required();
  command->add_option("--holdout", a->holdout,
                      "Real rows that were not used for training: reference for distances, test set for utility");
  command->add_option("--target", a->target,
                      "Column to predict when measuring utility (default: the last column with few values)");
  command->add_option("--where", a->where,
                      "Compare only rows that meet this condition, for rows drawn by sample --where");
  command->add_option("--worst", a->worst, "Number of columns and pairs to list, worst first; 0: all")
      ->check(whole_number(0, INT32_MAX))
      ->capture_default_str();
  command->add_flag("--without-distances", a->without_distances,
                    "Skip distances to the closest record, the slowest part of large tables");
  command->add_flag("--without-c2st", a->without_c2st, "Skip the classifier two-sample tests");
  command->add_flag("--without-utility", a->without_utility, "Skip training on synthetic and testing on holdout rows");
  command->add_flag("--without-attacks", a->without_attacks,
                    "Skip the attacks on privacy, which need --holdout; with --model they know the model file too");
  command->add_option("--rules", a->rules,
                      "find: find rules of the real table and count the synthetic rows that break them; off "
                      "(default: find)");
  command
      ->add_option_function<std::vector<std::string>>(
          "--rule",
          [a](const std::vector<std::string>& given) {
            for (const std::string& one : given) a->rule += one + "\n";
          },
          "A further rule, in the syntax of --where, such as \"end >= start\"; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--report", a->report, "Write an HTML page with all results and charts; self-contained");
  command->add_flag("--force", a->force, "Replace an existing report");
  command
      ->add_option("--model", a->models,
                   "Model that drew the rows, one per synthetic table: the report includes its model card")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--method", a->method, "Compare rows (table) or sequences (sequence)")
      ->check(CLI::IsMember({"table", "sequence"}))
      ->capture_default_str();
  a->sequences.add_to(*command);
  command
      ->add_option("--judges", a->judges,
                   "Sequences: training runs of the discriminative and the predictive judge; 0: none (default: 10)")
      ->check(whole_number(0, 1000));
  command->add_option("--seed", a->seed, "Seed of folds, of subsets of large tables and of random baseline rows")
      ->check(any_seed())
      ->capture_default_str();
  a->csv.add_to(*command);
  program.add_device(*command);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
