// tessera evaluate real.csv synthetic.csv
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "text.h"

namespace {

using Json = nlohmann::json;

struct Arguments {
  std::string real, synthetic, holdout;
  uint64_t seed = 0;
  int worst = 10;
  bool without_distances = false;
  CsvArguments csv;
};

// The number at a path of the report; not a number where the report has none, which every printer here shows as a dash.
double at(const Json& json, const char* pointer) {
  const Json::json_pointer path(pointer);
  return json.contains(path) && json[path].is_number() ? json[path].get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::string scores(const Json& report) {
  text::Table t({{"fidelity"}, {"score", text::Table::Side::right}, {"", text::Table::Side::left, 100}});
  const auto row = [&](const char* name, const char* pointer, const std::string& means) { t.add({name, text::percent(at(report, pointer)), means}); };
  row("column shapes", "/scores/column_shapes", "how alike each column's distribution is");
  row("column pair trends", "/scores/pair_trends", "how alike the dependence of each pair is, numbers binned by each table's own range");
  row("  real table's bins", "/scores/pair_trends_real_edges", "the same, both tables binned by the real one's range");
  row("  dependent pairs", "/scores/pair_trends_thresholded", fmt::format("the same over the {} pairs that do depend on each other", text::number(at(report, "/scores/pairs_thresholded"))));
  row("quality", "/scores/quality", "mean of shapes and trends");
  row("validity", "/diagnostics/adherence", "values within the range or the categories of the real column");
  row("coverage", "/diagnostics/coverage", "how much of that range or those categories is reached");
  row("missing values", "/diagnostics/missing_value_similarity", "how alike the shares of missing values are");
  return t.str(0);
}

std::string privacy(const Json& report) {
  text::Table t({{"privacy"}, {"", text::Table::Side::right}, {"", text::Table::Side::left, 80}});
  if (report.contains("new_row_synthesis"))
    t.add({"new rows", text::percent(at(report, "/new_row_synthesis/score")), fmt::format("match no real row within {}", text::percent(at(report, "/new_row_synthesis/tolerance"), 0))});
  if (report.contains("exact_copies")) t.add({"exact copies", text::count(static_cast<int64_t>(at(report, "/exact_copies/rows"))), "rows equal to a real one"});
  if (report.contains("dcr")) {
    t.add({"distance to closest", text::number(at(report, "/dcr/synthetic_to_real/median")), "median distance of a row to the nearest real one (Gower, 0 to 1)"});
    t.add({"  of random rows", text::number(at(report, "/dcr/baseline_protection/median_random")), "the same for rows drawn at random within the ranges"});
    if (!std::isnan(at(report, "/dcr/holdout_to_real/median"))) {
      t.add({"  of unseen rows", text::number(at(report, "/dcr/holdout_to_real/median")), "the same for the holdout rows"});
      t.add({"nearer to training", text::percent(at(report, "/l1/share_closer_to_real_equal_rows")), "of the rows are nearer to training than to holdout rows; 50 % is ideal"});
    }
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
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Json& a, const Json& b) { return rank(a, pointer) < rank(b, pointer); });
  return sorted;
}

std::string heading(const char* what, size_t shown, size_t all) {
  return shown < all ? fmt::format("\n{}, the {} worst of {}\n", what, shown, text::count(static_cast<int64_t>(all))) : fmt::format("\n{}, worst first\n", what);
}

std::string columns(const Json& report, size_t most) {
  using Side = text::Table::Side;
  text::Table t({{"column"}, {"kind"}, {"shape", Side::right}, {"valid", Side::right}, {"covered", Side::right}, {"missing real", Side::right}, {"synthetic", Side::right}});
  const auto rows = worst_first(report["columns"], "/shape/score");
  const size_t shown = std::min(most, rows.size());
  const double real = at(report, "/rows/real"), synthetic = at(report, "/rows/synthetic");
  const auto missing = [](double share) { return share == 0 ? "–" : text::percent(share); };
  for (size_t i = 0; i < shown; ++i) {
    const Json& c = rows[i];
    t.add({c["name"].get<std::string>(), c["kind"].get<std::string>(), text::percent(at(c, "/shape/score")), text::percent(at(c, "/adherence/score")),
           text::percent(at(c, "/coverage/score")), missing(at(c, "/missing/real") / real), missing(at(c, "/missing/synthetic") / synthetic)});
  }
  return t.empty() ? "" : heading("columns", shown, rows.size()) + t.str();
}

std::string pairs(const Json& report, size_t most) {
  if (!report.contains("pairs")) return "";
  using Side = text::Table::Side;
  text::Table t({{"pair", Side::left, 60}, {"trend", Side::right}, {"real's bins", Side::right}, {"correlation real", Side::right}, {"synthetic", Side::right}});
  const auto rows = worst_first(report["pairs"], "/score");
  const size_t shown = std::min(most, rows.size());
  for (size_t i = 0; i < shown; ++i) {
    const Json& p = rows[i];
    t.add({p["a"].get<std::string>() + " × " + p["b"].get<std::string>(), text::percent(at(p, "/score")), text::percent(at(p, "/score_real_edges")),
           text::number(at(p, "/real_correlation")), text::number(at(p, "/synthetic_correlation"))});
  }
  return t.empty() ? "" : heading("pairs", shown, rows.size()) + t.str();
}

std::string excluded(const Json& report) {
  std::vector<std::string> names;
  for (const Json& e : report["excluded"]) names.push_back(e["name"].get<std::string>());
  return names.empty() ? "" : "\nleft out: " + text::list(names) + " (identifiers: their values say who, not what)\n";
}

void run(const SharedOptions& shared, const Arguments& a) {
  if ((a.real == "-") + (a.synthetic == "-") + (a.holdout == "-") > 1) throw tessera::Error(TESSERA_E_USAGE, "Only one of the tables can come from standard input.");
  Session session(shared);
  const tessera_csv_options csv = a.csv.options();
  tessera_evaluate_options options{};
  options.seed = a.seed;
  options.without_distances = a.without_distances;
  // The real table says what the columns are; the others are read as that, so that a column of whole numbers in one and decimals in the other is one column.
  tessera::Rows real = tessera::read_csv(session.context(), a.real, csv), holdout;
  const tessera::Schema schema = real.schema();
  tessera_csv_options same{};
  same.missing = csv.missing;
  same.like = schema.get();
  tessera::Rows synthetic = tessera::read_csv(session.context(), a.synthetic, same);
  if (!a.holdout.empty()) holdout = tessera::read_csv(session.context(), a.holdout, same);
  const std::string json = tessera::evaluate(session.context(), std::move(real), std::move(synthetic), std::move(holdout), options);
  session.progress().clear();
  if (shared.json) return print(json + "\n");
  const Json report = Json::parse(json);
  const size_t most = a.worst == 0 ? SIZE_MAX : static_cast<size_t>(a.worst);
  print(scores(report) + privacy(report) + columns(report, most) + pairs(report, most) + excluded(report));
}

}  // namespace

void add_evaluate(Program& program) {
  CLI::App* command = program.add("evaluate", "Says how near synthetic rows are to real ones, and how near to copies of them");
  auto a = std::make_shared<Arguments>();
  command->add_option("real", a->real, "CSV file the model was fitted on")->required();
  command->add_option("synthetic", a->synthetic, "CSV file that was sampled")->required();
  command->add_option("--holdout", a->holdout, "CSV file of real rows the model has not seen: distances are then compared with theirs");
  command->add_option("--worst", a->worst, "Columns and pairs that are listed, worst first; 0: all")->check(CLI::Range(0, 1 << 30, "whole number from 0"))->capture_default_str();
  command->add_flag("--without-distances", a->without_distances, "Leave out distances to the closest record, the longest part of large tables");
  command->add_option("--seed", a->seed, "Of the random rows that distances are compared with")->capture_default_str();
  a->csv.add_to(*command);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
