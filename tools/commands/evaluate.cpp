// tessera evaluate real.csv synthetic.csv [another.csv …]
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "sequence_arguments.h"
#include "terminal/comparison_page.h"
#include "terminal/rules_page.h"
#include "terminal/sequence_page.h"
#include "terminal/text.h"
#include "whole_number.h"

namespace {

using Json = nlohmann::json;

struct EvaluateCommand {
  std::string real, holdout, target, report, method = "table", rules, rule;  // rule: one a line
  std::vector<std::string> synthetic, models;
  uint64_t seed = 0;
  int worst = 10, judges = -1;  // −1: not given
  SequenceArguments sequences;
  bool without_distances = false, without_c2st = false, without_utility = false, force = false;
  CsvArguments csv;
};

// The number at a path of the report; NaN if there is none, which every printer here shows as a dash.
double at(const Json& json, const char* pointer) {
  const Json::json_pointer path(pointer);
  return json.contains(path) && json[path].is_number() ? json[path].get<double>()
                                                       : std::numeric_limits<double>::quiet_NaN();
}

std::string scores(const Json& report) {
  text::Table t({{"fidelity"}, {"score", text::Table::Side::right}, {"", text::Table::Side::left, 100}});
  const auto row = [&](const char* name, const char* pointer, const std::string& means) {
    t.add({name, text::percent(at(report, pointer)), means});
  };
  row("column shapes", "/scores/column_shapes", "similarity of each column's distribution");
  row("column pair trends", "/scores/pair_trends",
      "similarity of each pair's dependence, numbers binned by each table's own range");
  row("  real table's bins", "/scores/pair_trends_real_edges", "the same, both tables binned by the real one's range");
  row("  dependent pairs", "/scores/pair_trends_thresholded",
      fmt::format("the same over the {} dependent pairs", text::number(at(report, "/scores/pairs_thresholded"))));
  row("quality", "/scores/quality", "mean of shapes and trends");
  row("validity", "/diagnostics/adherence", "values within the range or the categories of the real column");
  row("coverage", "/diagnostics/coverage", "share of that range or those categories that is covered");
  row("missing values", "/diagnostics/missing_value_similarity", "similarity of the shares of missing values");
  return t.str(0);
}

using Cells = std::vector<std::string>;

// Areas under a curve need the third digit: .503 and .530 are far apart.
std::string area(double x) { return std::isnan(x) ? "–" : fmt::format("{:.3f}", x); }

std::string detection(const Json& report) {
  if (!report.contains("c2st")) return "";
  using Side = text::Table::Side;
  text::Table t({{"detection"}, {"AUC", Side::right}, {"real rows", Side::right}, {"", Side::left, 100}});
  const auto add = [&](const char* name, const char* at_name, const char* means) {
    t.add({name, area(at(report, (std::string("/c2st/") + at_name + "/auc").c_str())),
           area(at(report, (std::string("/c2st/") + at_name + "/floor_auc").c_str())), means});
  };
  add("boosted trees", "trees", "0.5: indistinguishable from real rows; 1: always told apart");
  add("logistic", "logistic", "the same with a linear model, which sees only single columns");
  return "\n" + t.str(0) +
         (report["c2st"]["floor"]["of"] == "halves of real"
              ? "  real rows: one half of the real table against the other\n"
              : "  real rows: the real table against the holdout\n");
}

std::string utility(const Json& report) {
  if (!report.contains("utility")) return "";
  using Side = text::Table::Side;
  const Json& u = report["utility"];
  text::Table t({{"utility"}, {"synthetic", Side::right}, {"real", Side::right}, {"", Side::left, 100}});
  const auto add = [&](const char* name, const char* key, const std::string& means, auto&& print) {
    t.add({name, print(at(u, (std::string("/synthetic/") + key).c_str())),
           print(at(u, (std::string("/real/") + key).c_str())), means});
  };
  if (u["kind"] == "classes") {
    const bool two = u.contains("positive");
    const std::string positive =
        two ? (u["positive"].is_string() ? u["positive"].get<std::string>() : text::number(u["positive"].get<double>()))
            : "";
    add("AUC", "auc",
        two ? "boosted trees trained on synthetic (or real) rows, tested on the holdout"
            : "boosted trees trained on synthetic (or real) rows, tested on the holdout: mean over classes",
        area);
    add("F1", "f1", two ? fmt::format("of {} = {}", u["target"].get<std::string>(), positive) : "mean over classes",
        area);
    add("accuracy", "accuracy", "", [](double x) { return text::percent(x); });
  } else {
    add("R²", "r2", "boosted trees trained on synthetic (or real) rows, tested on the holdout", area);
    add("RMSE", "rmse", "in units of the column", text::number);
  }
  return "\n" + t.str(0) +
         fmt::format("  target: {} ({})\n", u["target"].get<std::string>(), u["reason"].get<std::string>());
}

std::string privacy(const Json& report) {
  using Side = text::Table::Side;
  const bool holdout = report["rows"].contains("holdout");
  std::vector<text::Table::Heading> headings{{"privacy"}, {"synthetic", Side::right}};
  if (holdout) headings.push_back({"holdout", Side::right});
  headings.push_back({"", Side::left, 100});
  text::Table t(headings);
  const auto add = [&](const char* name, std::string synthetic, std::string unseen, std::string means) {
    Cells cells{name, std::move(synthetic)};
    if (holdout) cells.push_back(std::move(unseen));
    cells.push_back(std::move(means));
    t.add(std::move(cells));
  };
  const auto number = [&](const char* name, const char* synthetic, const char* unseen, const char* means) {
    add(name, text::number(at(report, synthetic)), text::number(at(report, unseen)), means);
  };
  if (report.contains("l1") && holdout)
    add("nearer to training", text::percent(at(report, "/l1/share_closer_to_real_equal_rows")), "",
        "of the rows are nearer to training than to holdout rows (equal numbers of both); 50 % is ideal");
  if (report.contains("exact_copies"))
    add("exact copies", text::percent(at(report, "/exact_copies/share"), 2),
        text::percent(at(report, "/exact_copies/holdout_share"), 2),
        fmt::format("of the rows equal a real one ({} rows)",
                    text::count(static_cast<int64_t>(at(report, "/exact_copies/rows")))));
  if (report.contains("new_row_synthesis"))
    add("new rows", text::percent(at(report, "/new_row_synthesis/score")), "",
        fmt::format("match no real row within {}", text::percent(at(report, "/new_row_synthesis/tolerance"), 0)));
  if (report.contains("l1")) {
    number("distance, 5 %", "/l1/dcr/p05", "/l1/holdout_dcr/p05",
           "to the nearest real row: numbers by range, 2 for a level that differs; one row in 20 is nearer");
    number("distance, median", "/l1/dcr/median", "/l1/holdout_dcr/median",
           "small compared with the holdout's: rows cluster around real ones");
    number("ratio, 5 %", "/l1/nndr/p05", "/l1/holdout_nndr/p05",
           "nearest to second nearest distance; near 0: a single real row is imitated");
    number("ratio, median", "/l1/nndr/median", "/l1/holdout_nndr/median", "");
  }
  if (report.contains("dcr")) {
    number("Gower, median", "/dcr/synthetic_to_real/median", "/dcr/holdout_to_real/median",
           fmt::format("the distance of sdmetrics, 0 to 1; of rows drawn at random {}",
                       text::number(at(report, "/dcr/baseline_protection/median_random")))
               .c_str());
  }
  return t.empty() ? "" : "\n" + t.str(0);
}

// Undefined scores come last.
double rank(const Json& row, const char* pointer) {
  const double score = at(row, pointer);
  return std::isnan(score) ? 2 : score;
}

std::vector<Json> worst_first(const Json& rows, const char* pointer) {
  std::vector<Json> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Json& a, const Json& b) { return rank(a, pointer) < rank(b, pointer); });
  return sorted;
}

std::string heading(const char* what, size_t shown, size_t all) {
  return shown < all ? fmt::format("\n{}, the {} worst of {}\n", what, shown, text::count(static_cast<int64_t>(all)))
                     : fmt::format("\n{}, worst first\n", what);
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
  const auto rows = worst_first(report["columns"], "/shape/score");
  const size_t shown = std::min(most, rows.size());
  const double real = at(report, "/rows/real"), synthetic = at(report, "/rows/synthetic");
  const auto missing = [](double share) { return share == 0 ? "–" : text::percent(share); };
  for (size_t i = 0; i < shown; ++i) {
    const Json& c = rows[i];
    t.add({c["name"].get<std::string>(), c["kind"].get<std::string>(), text::percent(at(c, "/shape/score")),
           text::percent(at(c, "/adherence/score")), text::percent(at(c, "/coverage/score")),
           missing(at(c, "/missing/real") / real), missing(at(c, "/missing/synthetic") / synthetic)});
  }
  return t.empty() ? "" : heading("columns", shown, rows.size()) + t.str();
}

std::string pairs(const Json& report, size_t most) {
  if (!report.contains("pairs")) return "";
  using Side = text::Table::Side;
  text::Table t({{"pair", Side::left, 60},
                 {"trend", Side::right},
                 {"real's bins", Side::right},
                 {"correlation real", Side::right},
                 {"synthetic", Side::right}});
  const auto rows = worst_first(report["pairs"], "/score");
  const size_t shown = std::min(most, rows.size());
  for (size_t i = 0; i < shown; ++i) {
    const Json& p = rows[i];
    t.add({p["a"].get<std::string>() + " × " + p["b"].get<std::string>(), text::percent(at(p, "/score")),
           text::percent(at(p, "/score_real_edges")), text::number(at(p, "/real_correlation")),
           text::number(at(p, "/synthetic_correlation"))});
  }
  return t.empty() ? "" : heading("pairs", shown, rows.size()) + t.str();
}

std::string excluded(const Json& report) {
  std::vector<std::string> identifiers, regenerated;
  for (const Json& e : report["excluded"])
    (e.contains("real_texts") ? regenerated : identifiers).push_back(e["name"].get<std::string>());
  std::string out;
  if (!identifiers.empty())
    out += "\nexcluded: " + text::list(identifiers) + " (identifiers: their values identify rows)\n";
  if (!regenerated.empty())
    out += "\nexcluded: " + text::list(regenerated) +
           " (regenerated: real texts hardly repeat, synthetic ones are new; see fit --rare-categories)\n";
  return out;
}

// Errors that need no data are reported before the tables are read.
void check(const EvaluateCommand& a, bool sequences) {
  if ((a.real == "-") + std::count(a.synthetic.begin(), a.synthetic.end(), "-") + (a.holdout == "-") > 1)
    throw tessera::Error(TESSERA_E_USAGE, "Only one of the tables can come from standard input.");
  if (!a.target.empty() && a.holdout.empty())
    throw tessera::Error(
        TESSERA_E_USAGE,
        "--target needs --holdout FILE: real rows that the model has not seen, to test predictions on.");
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
        fmt::format("--model is given {} and the synthetic tables are {}. Give the model of each "
                    "table, in their order, or none.",
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

// The page of what was found, with what the model files say of themselves where they are given.
void write_page(const EvaluateCommand& a, const std::string& json, const std::vector<std::string>& models,
                Session& session) {
  Json found = Json::parse(json);
  for (size_t i = 0; i < models.size(); ++i)
    (a.synthetic.size() > 1 ? found["tables"][i]["report"] : found)["model"] = Json::parse(models[i]);
  tessera::write_report(found.dump(), a.report, a.force);
  session.progress().line("report", a.report + " shows this in any browser");
}

// The rules that a model was given and keeps by rejection: no table shows them.
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
  std::string rule = a.rule;
  for (const std::string& file : a.models) {
    models.push_back(tessera::Model::load(file).describe());
    add_given_rules(Json::parse(models.back()), rule);
  }
  const tessera_csv_options csv = a.csv.options();
  tessera_evaluate_options options{};
  options.seed = a.seed;
  options.without_distances = a.without_distances;
  options.without_c2st = a.without_c2st;
  options.without_utility = a.without_utility;
  options.drawings = !a.report.empty();
  options.rules = a.rules.empty() ? nullptr : a.rules.c_str();
  options.rule = rule.c_str();
  options.target = a.target.empty() ? nullptr : a.target.c_str();
  if (sequences) {
    options.sequences = a.sequences.options();
    options.judges = a.judges == 0 ? TESSERA_NO_JUDGES : std::max(a.judges, 0);
    tessera::check_evaluate_options(options);
  }
  // The real table determines the types of the columns; the others are read with them, so that whole numbers in one
  // table and decimals in the other are one column.
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
  if (sequences) return print_page(sequence_page(report, most));
  print_page(scores(report) + detection(report) + utility(report) + privacy(report) + rules_page(report) +
             columns(report, most) + pairs(report, most) + excluded(report));
}

}  // namespace

void add_evaluate(Program& program) {
  CLI::App* command =
      program.add("evaluate", "Measures how close synthetic rows are to real ones, and how close to copies of them");
  auto a = std::make_shared<EvaluateCommand>();
  command->add_option("real", a->real, "File that the model was fitted on")->required();
  command
      ->add_option("synthetic", a->synthetic,
                   "File that was sampled; several, each a table by itself, are shown beside each other")
      ->required();
  command->add_option("--holdout", a->holdout,
                      "File of real rows the model has not seen: reference for distances, test set for utility");
  command->add_option("--target", a->target,
                      "Column that utility predicts (default: the last one with two or a few values)");
  command->add_option("--worst", a->worst, "Number of columns and pairs listed, worst first; 0: all")
      ->check(whole_number(0, INT32_MAX))
      ->capture_default_str();
  command->add_flag("--without-distances", a->without_distances,
                    "Skip distances to the closest record, the slowest part for large tables");
  command->add_flag("--without-c2st", a->without_c2st, "Skip the classifier two-sample tests");
  command->add_flag("--without-utility", a->without_utility, "Skip training on synthetic and testing on holdout rows");
  command->add_option("--rules", a->rules,
                      "Rules of the real table that synthetic rows may break: find those that it shows, or off "
                      "(default: find)");
  command
      ->add_option_function<std::vector<std::string>>(
          "--rule",
          [a](const std::vector<std::string>& given) {
            for (const std::string& one : given) a->rule += one + "\n";
          },
          "A further rule, in the language of --where, such as \"end >= start\"; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--report", a->report, "File for an HTML page with all results and drawings; it loads nothing");
  command->add_flag("--force", a->force, "Replace a report that exists");
  command
      ->add_option("--model", a->models,
                   "Model file the rows come from: the report shows what it says of itself; one for each table")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--method", a->method, "Compare rows (table) or sequences (sequence)")
      ->check(CLI::IsMember({"table", "sequence"}))
      ->capture_default_str();
  a->sequences.add_to(*command);
  command
      ->add_option("--judges", a->judges,
                   "Sequences: training runs of the discriminative and of the predictive judge; 0: none (default: 10)")
      ->check(whole_number(0, 1000));
  command
      ->add_option("--seed", a->seed,
                   "Seed of every draw: folds, subsets of large tables, the random baseline rows of distances")
      ->check(any_seed())
      ->capture_default_str();
  a->csv.add_to(*command);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
