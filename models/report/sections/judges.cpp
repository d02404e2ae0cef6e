// Detection by classifiers, and distances to real rows.
#include <fmt/format.h>

#include <cmath>

#include "models/report/charts.h"
#include "models/report/measures.h"
#include "models/report/sections.h"
#include "tables/types/types.h"

namespace tessera::report {
namespace {

std::vector<double> numbers(const Json& list) {
  std::vector<double> out;
  for (const Json& x : list) out.push_back(x.is_number() ? x.get<double>() : NAN);
  return out;
}

std::vector<double> even(size_t n, double low, double high) {
  std::vector<double> x;
  for (size_t i = 0; i < n; ++i) x.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(n - 1));
  return x;
}

}  // namespace

std::string roc_figure(const Json& judge) {
  const std::vector<double> synthetic = numbers(judge.at("roc")), real = numbers(judge.at("floor_roc"));
  if (synthetic.size() < 2) return "";
  std::vector<Curve> curves{{"floor", {0, 1}, {0, 1}}};
  if (real.size() > 1) curves.push_back({"real", even(real.size(), 0, 1), real});
  curves.push_back({"synthetic", even(synthetic.size(), 0, 1), synthetic});
  return "<figure>" +
         curve_chart({"ROC curve of the classifier", "false positive rate", "true positive rate", 0, 1, 0, 1, true},
                     curves) +
         "<figcaption>ROC curve: the share of synthetic rows that the classifier finds, by the share of real rows "
         "that it takes for synthetic. The closer to the dashed line, the better the synthetic rows. " +
         key({{"s", "synthetic against real rows"}, {"r", "real rows against real rows"}, {"f", "a coin"}}) +
         "</figcaption></figure>";
}

std::string used_table(const Json& judge) {
  Json negative = Json::array();
  for (const Json& u : judge.at("used")) negative.push_back({{"share", -at(u, "/share")}});
  Table t{"Columns by their share of the classifier’s gain", {"column", "share"}, 1, {}};
  for (const size_t k : lowest_first(negative, "/share")) {
    if (t.rows.size() == 10) break;
    t.rows.push_back(
        {isolated(judge.at("used")[k].at("name").get<std::string>()), percent(at(judge.at("used")[k], "/share"))});
  }
  return t.rows.empty() ? "" : t.str();
}

std::string distance_figure(const Json& distances) {
  const std::vector<double> synthetic = numbers(distances.at("synthetic"));
  if (synthetic.size() < 2) return "";
  const std::vector<double> shares = even(synthetic.size(), 0.01, 0.99);
  std::vector<Curve> curves{{"synthetic", synthetic, shares}};
  double furthest = synthetic.back();
  if (distances.contains("holdout")) {
    const std::vector<double> holdout = numbers(distances.at("holdout"));
    curves.insert(curves.begin(), {"real", holdout, even(holdout.size(), 0.01, 0.99)});
    furthest = std::max(furthest, holdout.back());
  }
  if (!(furthest > 0)) return "";
  return "<figure>" +
         curve_chart({"Distances to the nearest real row", "distance to the nearest real row",
                      "share of rows at most that far", 0, furthest, 0, 1, false},
                     curves) +
         "<figcaption>Distance to the nearest training row. A synthetic curve that rises to the left of "
         "the holdout’s shows rows that crowd around real ones; a distance of 0 is a copy. " +
         key({{"s", "synthetic rows"}, {"r", "holdout rows"}}) + "</figcaption></figure>";
}

std::string measures_table(const Json& report, const std::string& group, const std::string& caption) {
  Table t{caption, {"measure", "synthetic", "real rows", "meaning"}, 1, {}};
  bool beside = false;
  for (const Measure& m : measures()) {
    if (m.group != group || std::isnan(m.in(report))) continue;
    const double real = m.reference_in(report);
    beside = beside || !std::isnan(real);
    t.rows.push_back({m.label, m.write(m.in(report)), std::isnan(real) ? "" : m.write(real), m.meaning});
  }
  if (!beside) {
    t.head.erase(t.head.begin() + 2);
    for (auto& row : t.rows) row.erase(row.begin() + 2);
  }
  return t.rows.empty() ? "" : t.str();
}

std::string judge_terms() {
  return terms("Meaning of AUC",
               {{"AUC",
                 "Area under the ROC curve: the probability that the classifier ranks a synthetic row above a real "
                 "one. 0.5 is chance, 1 is always."},
                {"share", "Gain of all splits by a column, relative to the gain of all splits."}});
}

std::string distance_terms() {
  return terms("Meaning of the distance",
               {{"distance", "Sum over columns: numbers by the real range, 2 for a category that differs."},
                {"holdout", "Real rows that were not used for training: the reference among real rows."},
                {"this page",
                 "Contains names of columns, common values, and counts of at least five real rows, but no real "
                 "rows."}});
}

std::string judge_section(const Json& report) {
  if (!report.contains("c2st")) return "";
  const Json& c = report.at("c2st");
  std::string out = fmt::format(
      "<p>A classifier learns from {} rows of either table and is tested on other rows, "
      "against {}. Real rows: the same between {}, the best possible result.</p>",
      grouped(c.at("rows").get<int64_t>()),
      c.value("against", "real") == "real" ? "the real table" : "real rows that were not used for training",
      escape(c.at("floor").at("of").get<std::string>()));
  const Json::json_pointer path("/drawings/judge");
  if (report.contains(path))
    out += "<div class=\"plots\">" + roc_figure(report[path]) + "<div>" + used_table(report[path]) + "</div></div>";
  return out + measures_table(report, "detection", "Classifiers trained to distinguish synthetic rows from real ones") +
         judge_terms();
}

std::string privacy_section(const Json& report) {
  if (!report.contains("exact_copies") && !report.contains("l1") && !report.contains("attacks")) return "";
  std::string out =
      "<p>What attacks find out about the training rows. These are measurements, not a proof: they cannot show that no "
      "person can be identified.</p>";
  if (report.contains("attacks")) out += attacks_table(report.at("attacks"));
  const Json::json_pointer path("/drawings/distances");
  if (report.contains(path)) out += distance_figure(report[path]);
  return out + measures_table(report, "privacy", "The strongest attacks, copies, and distances as a description") +
         distance_terms();
}

}  // namespace tessera::report
