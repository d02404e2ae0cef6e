// Several synthetic tables side by side: which is closest to the real one, by which measures, and the charts of each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "models/report/measures.h"
#include "models/report/sections.h"
#include "tables/types/types.h"

namespace tessera::report {
namespace {

constexpr double kEqualDetection = 0.01;  // AUC: differences that another seed can cause
constexpr size_t kListedPairs = 20;

struct Tables {
  std::vector<std::string> names;  // HTML
  std::vector<const Json*> reports;
};

Tables read(const Json& list) {
  Tables t;
  for (const Json& entry : list) {
    t.names.push_back(isolated(entry.at("name").get<std::string>()));
    t.reports.push_back(&entry.at("report"));
    if (!t.reports.back()->at("columns").is_array() || !t.reports.back()->at("scores").is_object())
      throw nlohmann::json::other_error::create(501, "a report has no columns and scores", &entry);
  }
  if (t.reports.empty()) throw nlohmann::json::other_error::create(501, "it has no tables", &list);
  return t;
}

std::vector<double> gaps(const Measure& m, const Tables& t) {
  std::vector<double> out;
  for (const Json* report : t.reports) out.push_back(m.gap(*report));
  return out;
}

double smallest(const std::vector<double>& gaps) {
  double least = INFINITY;
  for (const double g : gaps)
    if (g < least) least = g;
  return least;
}

// The tables that are best by a measure: all within `equal` of the best.
std::vector<size_t> leaders(const Measure& m, const Tables& t, double equal) {
  const std::vector<double> gap = gaps(m, t);
  const double least = smallest(gap);
  std::vector<size_t> best;
  for (size_t i = 0; i < gap.size(); ++i)
    if (gap[i] <= least + equal) best.push_back(i);
  return best;
}

const Measure* first_measure(const Tables& t) {
  for (const Measure& m : measures())
    if (std::isfinite(smallest(gaps(m, t)))) return &m;
  return nullptr;
}

std::string listed(const Tables& t, const std::vector<size_t>& which) {
  std::string out;
  for (size_t i = 0; i < which.size(); ++i)
    out += (i == 0 ? "" : i + 1 == which.size() ? " and " : ", ") + t.names[which[i]];
  return out;
}

Statement headline(const Tables& t) {
  const Measure* m = first_measure(t);
  if (m == nullptr) return {Mark::plain, "Nothing could be compared"};
  const std::vector<size_t> best = leaders(*m, t, kEqualDetection);
  const Mark mark = mark_of(smallest(gaps(*m, t)), m->fair, m->poor);
  const std::string found = listed(t, best);
  if (best.size() == 1 && t.names.size() > 1) return {mark, found + " is the closest to the real table"};
  return {mark, best.size() == t.names.size() ? "The tables are equally close to the real one"
                                              : found + " are the closest to the real table"};
}

// The value of a measure with the mark of its gap.
std::string marked(const Measure& m, const Json& report, double gap) {
  const Mark sign = mark_of(gap, m.fair, m.poor);
  return fmt::format("<span class=\"{}\">{}</span> {}", style_of(sign), mark(sign), m.write(m.in(report)));
}

std::vector<Statement> reasons(const Tables& t) {
  const Measure* first = first_measure(t);
  if (first == nullptr) return {};
  std::string values;
  const std::vector<double> gap = gaps(*first, t);
  for (size_t i = 0; i < t.names.size(); ++i)
    values += fmt::format("{}<b>{}</b> for {}", values.empty() ? "" : ", ", first->write(first->in(*t.reports[i])),
                          t.names[i]);
  std::vector<Statement> out{
      {mark_of(smallest(gap), first->fair, first->poor),
       fmt::format("The tables are ranked by “{}”: {}. That is {}.", first->label, values, first->meaning)}};
  for (size_t i = 0; i < t.names.size() && t.names.size() > 1; ++i) {
    std::string best_in;
    for (const Measure& m : measures())
      if (&m != first && leaders(m, t, 0) == std::vector<size_t>{i})
        best_in += (best_in.empty() ? "" : "; ") + std::string(m.label);
    if (!best_in.empty()) out.push_back({Mark::plain, t.names[i] + " is better in: " + best_in + "."});
  }
  return out;
}

std::string score_table(const Tables& t) {
  Table table{"The scores of each table, with the marks of a page for one table", {"measure"}, 1, {}};
  for (const std::string& name : t.names) table.head.push_back(name);
  table.head.push_back("meaning");
  for (const Measure& m : measures()) {
    const std::vector<double> gap = gaps(m, t);
    if (!std::isfinite(smallest(gap))) continue;
    std::vector<std::string> row{m.label};
    for (size_t i = 0; i < gap.size(); ++i) row.push_back(marked(m, *t.reports[i], gap[i]));
    row.push_back(m.meaning);
    table.rows.push_back(row);
  }
  return table.str();
}

std::vector<std::string> cautions(const Tables& t) {
  std::vector<std::string> out{
      fmt::format("Differences of less than {} AUC are as large as the effect of another random seed and do not "
                  "separate two models.",
                  kEqualDetection)};
  std::vector<Verdict> verdicts;
  for (const Json* report : t.reports)
    verdicts.push_back(report->contains("method") ? judge_sequences(*report) : judge(*report));
  for (size_t i = 0; i < verdicts.size(); ++i)
    for (const std::string& caution : verdicts[i].cautions) {
      const bool everywhere = std::all_of(verdicts.begin(), verdicts.end(), [&](const Verdict& v) {
        return std::find(v.cautions.begin(), v.cautions.end(), caution) != v.cautions.end();
      });
      const std::string said = everywhere ? caution : t.names[i] + ": " + caution;
      if (std::find(out.begin(), out.end(), said) == out.end()) out.push_back(said);
    }
  return out;
}

// The result of draw() for each report, under its table's name; empty if all are empty.
std::string side_by_side(const Tables& t, const std::function<std::string(const Json& report)>& draw) {
  std::string out;
  bool drawn = false;
  for (size_t i = 0; i < t.names.size(); ++i) {
    const std::string figure = draw(*t.reports[i]);
    drawn = drawn || !figure.empty();
    out += "<div><h4>" + t.names[i] + "</h4>" + (figure.empty() ? "<p>not measured</p>" : figure) + "</div>";
  }
  return drawn ? "<div class=\"versus\">" + out + "</div>" : "";
}

// Scores of the entries that all reports have, by a text that names an entry.
std::string entry_name(const Json& entry) {
  if (entry.contains("name")) return entry.at("name").get<std::string>();
  return entry.at("a").get<std::string>() + " × " + entry.at("b").get<std::string>();
}

const Json* find_entry(const Json& entries, const std::string& name) {
  for (const Json& e : entries)
    if (entry_name(e) == name) return &e;
  return nullptr;
}

struct Compared {
  std::string name;
  size_t place;
  std::vector<double> scores;  // NaN if a report does not have it
  double worst = INFINITY;
};

// The entries of a list of all reports, sorted by the lowest score of any table.
std::vector<Compared> compare(const Tables& t, const char* list, const char* score) {
  std::vector<Compared> out;
  if (!t.reports.front()->contains(list)) return out;
  std::vector<std::map<std::string, double>> scores;
  for (const Json* report : t.reports) {
    scores.emplace_back();
    if (report->contains(list))
      for (const Json& e : report->at(list)) scores.back()[entry_name(e)] = at(e, score);
  }
  for (const Json& e : t.reports.front()->at(list)) {
    Compared c{entry_name(e), out.size(), {}, INFINITY};
    for (const auto& of : scores) {
      const auto found = of.find(c.name);
      c.scores.push_back(found == of.end() ? NAN : found->second);
      if (c.scores.back() < c.worst) c.worst = c.scores.back();
    }
    out.push_back(std::move(c));
  }
  std::stable_sort(out.begin(), out.end(), [](const Compared& a, const Compared& b) { return a.worst < b.worst; });
  return out;
}

std::string compared_table(const Tables& t, const std::vector<Compared>& entries, size_t most, const char* what) {
  Table table{fmt::format("Scores of each {}, the weakest of any table first", what), {what}, 1, {}};
  for (const std::string& name : t.names) table.head.push_back(name);
  for (size_t i = 0; i < std::min(most, entries.size()); ++i) {
    table.rows.push_back({isolated(entries[i].name)});
    for (const double score : entries[i].scores) table.rows.back().push_back(percent(score));
  }
  return table.rows.empty() ? "" : table.str();
}

std::string column_card(const Tables& t, const Compared& column) {
  return fmt::format(
      "<li class=\"card {}\" data-error=\"{}\" data-place=\"{}\" data-name=\"{}\"><h3>{}</h3>{}</li>\n",
      style_of(mark_of(1 - column.worst, kFairColumn, kPoorColumn)), std::isfinite(column.worst) ? column.worst : 9,
      column.place, escape(column.name), isolated(column.name), side_by_side(t, [&](const Json& report) -> std::string {
        const Json* scored = find_entry(report.at("columns"), column.name);
        if (scored == nullptr) return "";
        const double score = at(*scored, "/shape/score");
        const Json::json_pointer path("/drawings/columns");
        const Json* drawn = report.contains(path) ? find_entry(report[path], column.name) : nullptr;
        const Mark sign = mark_of(1 - score, kFairColumn, kPoorColumn);
        return fmt::format("<p class=\"{}\">{} {} alike</p>", style_of(sign), mark(sign), percent(score)) +
               (drawn == nullptr ? "" : column_figure(*drawn));
      }));
}

std::string columns_of_several(const Tables& t) {
  const std::vector<Compared> columns = compare(t, "columns", "/shape/score");
  if (columns.empty()) return "";
  std::string out =
      "<p>Each column separately, in every table. The score is the similarity of the distribution to the real "
      "one: 100 % is identical, 0 % has no overlap.</p>" +
      key({{"r", "real"}, {"s", "synthetic"}}) + column_order() + "<ul class=\"cards wide\" id=\"column-cards\">\n";
  for (const Compared& c : columns) out += column_card(t, c);
  return out + "</ul><details><summary>All scores as a table</summary>" +
         compared_table(t, columns, columns.size(), "column") + "</details>" + column_terms();
}

std::string pairs_of_several(const Tables& t) {
  const std::string listed = compared_table(t, compare(t, "pairs", "/score_real_edges"), kListedPairs, "pair");
  if (listed.empty()) return "";
  return "<p>How far the dependence of two columns is from the real table, in every table: darker is further.</p>" +
         side_by_side(t, [](const Json& report) { return report.contains("pairs") ? error_figure(report) : ""; }) +
         listed + pair_terms();
}

// The share of rows of a table that break a rule, or a note that it was not checked.
std::string broken_share(const Json& report, const Json& rule, std::string& example) {
  if (report.contains("rules"))
    for (const Json& other : report.at("rules"))
      if (other.at("rule") == rule.at("rule")) {
        const Mark sign = other.at("broken").get<int64_t>() > 0 ? Mark::poor : Mark::good;
        if (example.empty()) example = broken_example(other);
        return fmt::format("<span class=\"{}\">{}</span> {}", style_of(sign), mark(sign),
                           percent(at(other, "/share"), 2));
      }
  return "–";
}

// Each rule once; tables with columns of other types may lack some.
std::vector<Json> rules_of_any(const Tables& t) {
  std::vector<Json> out;
  for (const Json* report : t.reports)
    if (report->contains("rules"))
      for (const Json& rule : report->at("rules"))
        if (std::none_of(out.begin(), out.end(), [&](const Json& r) { return r.at("rule") == rule.at("rule"); }))
          out.push_back(rule);
  return out;
}

std::string rules_of_several(const Tables& t) {
  Table table{"Rules, and the share of the rows of each table that break them", {"rule"}, 1, {}};
  table.head.insert(table.head.end(), t.names.begin(), t.names.end());
  table.head.push_back("meaning");
  for (const Json& rule : rules_of_any(t)) {
    std::vector<std::string> row{rule_code(rule)};
    std::string example;
    for (size_t i = 0; i < t.names.size(); ++i) {
      const bool found = !example.empty();
      row.push_back(broken_share(*t.reports[i], rule, example));
      if (!found && !example.empty()) example = t.names[i] + ", " + example;
    }
    row.push_back(example.empty() ? "no row breaks it" : example);
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return "";
  return "<p>Rules that every row of the real table satisfies, and the share of rows of each table that break "
         "them.</p>" +
         table.str();
}

std::string plane_of_several(const Tables& t) {
  const std::string figures = side_by_side(t, plane_figure);
  if (figures.empty()) return "";
  return "<p>The plane of largest variance of the real rows, and the rows of each table projected onto it.</p>" +
         figures + plane_terms();
}

std::string judge_of_several(const Tables& t) {
  const Json::json_pointer path("/drawings/judge");
  const std::string figures = side_by_side(t, [&](const Json& report) {
    return report.contains(path) ? roc_figure(report[path]) + used_table(report[path]) : "";
  });
  if (figures.empty()) return "";
  return "<p>A classifier trained to distinguish the rows of each table from real ones, and the columns by which it "
         "does.</p>" +
         figures + judge_terms();
}

const Json* first_with(const Tables& t, const char* member) {
  for (const Json* report : t.reports)
    if (report->contains(member)) return report;
  return nullptr;
}

std::string utility_of_several(const Tables& t) {
  const Json* first = first_with(t, "utility");
  if (first == nullptr) return "";
  const Json& of = first->at("utility");
  Table table{"Models trained on each table and tested on the same holdout rows", {"measure"}, 1, {}};
  table.head.insert(table.head.end(), t.names.begin(), t.names.end());
  table.head.insert(table.head.end(), {"real rows", "meaning"});
  for (const Measure& m : measures()) {
    if (m.group != std::string("utility") || std::isnan(m.in(*first))) continue;
    std::vector<std::string> row{m.label};
    for (const Json* report : t.reports) row.push_back(m.write(m.in(*report)));
    row.insert(row.end(), {m.write(m.reference_in(*first)), m.meaning});
    table.rows.push_back(std::move(row));
  }
  return fmt::format(
             "<p>Usefulness for machine learning: boosted trees learn to predict {} from the other columns, "
             "from each synthetic and from the real table, and are tested on the same real rows, on which none was "
             "trained.</p>",
             isolated(of.at("target").get<std::string>())) +
         table.str();
}

std::string sequences_of_several(const Tables& t) {
  const Json* first = first_with(t, "features");
  if (first == nullptr) return "";
  std::string cards;
  for (const std::string& name : drawn_features(*first)) {
    const std::string figures = side_by_side(
        t, [&](const Json& report) { return report.contains("features") ? feature_figures(report, name) : ""; });
    if (!figures.empty()) cards += fmt::format("<li class=\"card\"><h3>{}</h3>{}</li>\n", isolated(name), figures);
  }
  return "<p>The sequences of each table beside the real ones.</p>" + sequence_terms() + "<ul class=\"cards wide\">\n" +
         cards + "</ul>";
}

std::string training_of_several(const Tables& t) {
  const std::string curves = side_by_side(t, training_figures);
  return curves.empty() ? "" : "<p>The losses of each model’s training, step by step.</p>" + curves;
}

std::string privacy_of_several(const Tables& t) {
  const Json::json_pointer path("/drawings/distances");
  const std::string figures =
      side_by_side(t, [&](const Json& report) { return report.contains(path) ? distance_figure(report[path]) : ""; });
  if (figures.empty()) return "";
  return "<p>Whether rows repeat what the model learned from. These are measurements, not a proof: they cannot show "
         "that no person can be found.</p>" +
         figures + distance_terms();
}

std::string each_by_itself(const Tables& t) {
  std::string out;
  for (size_t i = 0; i < t.names.size(); ++i) {
    const Json& report = *t.reports[i];
    const Verdict v = report.contains("method") ? judge_sequences(report) : judge(report);
    out += fmt::format("<h3>{}: {}</h3><ul class=\"reasons\">", t.names[i], v.headline.html);
    for (const Statement& s : v.reasons)
      out += fmt::format("<li class=\"{}\">{} {}</li>", style_of(s.mark), mark(s.mark), s.html);
    out += "</ul>";
    const std::string model = model_section(report);
    if (!model.empty()) out += "<details><summary>The model of " + t.names[i] + "</summary>" + model + "</details>";
  }
  return out;
}

}  // namespace

Page page_of_several(const Json& list) {
  const Tables t = read(list);
  return {
      "Which synthetic table is closest to the real one?",
      fmt::format("{}: {}", counted(static_cast<int64_t>(t.names.size()), "synthetic table"), fmt::join(t.names, ", ")),
      verdict_box(headline(t), reasons(t)) + score_table(t) + cautions_box(cautions(t)) + limits_box(),
      {{"columns", "Columns", columns_of_several(t)},
       {"pairs", "Pairs of columns", pairs_of_several(t)},
       {"rules", "Rules", rules_of_several(t)},
       {"projection", "The tables in two dimensions", plane_of_several(t)},
       {"judge", "Real or synthetic", judge_of_several(t)},
       {"sequences", "Steps over time", sequences_of_several(t)},
       {"utility", "Utility", utility_of_several(t)},
       {"privacy", "Privacy", privacy_of_several(t)},
       {"training", "Training", training_of_several(t)},
       {"each", "Each table", each_by_itself(t)}}};
}

}  // namespace tessera::report
