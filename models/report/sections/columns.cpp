#include "models/report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/report/charts.h"
#include "tables/types/types.h"

namespace tessera::report {
namespace {

constexpr const char* kNoSmallCounts =
    "No count is of one to four real rows: bins with few rows are merged with a neighbor, and counts of values with "
    "few rows are withheld.";

std::string share_missing(const Json& report, const Json& column) {
  const double real = at(column, "/missing/real") / at(report, "/rows/real"),
               synthetic = at(column, "/missing/synthetic") / at(report, "/rows/synthetic");
  if (!(real > 0) && !(synthetic > 0)) return "";
  return fmt::format(" · missing {} real, {} synthetic", percent(real), percent(synthetic));
}

// Values of at least a tenth of the rows, listed beside the histogram's bins.
std::string spikes(const Json& drawn) {
  if (!drawn.contains("spikes") || drawn.at("spikes").empty()) return "";
  const auto total = [](const Json& counts) {
    double sum = 0;
    for (const Json& n : counts) sum += n.is_null() ? 0 : n.get<double>();
    return sum;
  };
  const double real = total(drawn.at("real")), synthetic = total(drawn.at("synthetic"));
  const size_t first = drawn.at("cuts").size() + 1;
  std::string out = "<p>Not in the bars:";
  for (size_t i = 0; i < drawn.at("spikes").size(); ++i)
    out += fmt::format(
        "{} <b>{}</b> in {} of real and {} of synthetic rows", i > 0 ? ";" : "",
        escape(tick(drawn, drawn.at("spikes")[i].get<double>())),
        percent(drawn.at("real").at(first + i).is_null() ? NAN : drawn.at("real")[first + i].get<double>() / real),
        percent(drawn.at("synthetic").at(first + i).get<double>() / synthetic));
  return out + ".</p>";
}

std::string column_card(const Json& report, const Json& column, const Json* drawn, size_t place) {
  const double score = at(column, "/shape/score");
  const Mark sign = mark_of(1 - score, kFairColumn, kPoorColumn);
  const std::string name = column.at("name");
  std::string out = fmt::format(
      "<li class=\"card {}\" data-error=\"{}\" data-place=\"{}\" data-name=\"{}\"><h3>{} {}</h3><p>{}{}{}</p>",
      style_of(sign), std::isnan(score) ? 9 : score, place, escape(name), isolated(name), mark(sign),
      escape(column.at("kind").get<std::string>()), std::isnan(score) ? "" : " · " + percent(score) + " alike",
      share_missing(report, column));
  if (drawn != nullptr) out += column_figure(*drawn);
  return out + "</li>\n";
}

std::string columns_table(const Json& report) {
  Table t{
      "Scores of each column, the weakest first", {"column", "kind", "shape", "valid", "covered", "missing"}, 2, {}};
  for (const size_t k : lowest_first(report.at("columns"), "/shape/score")) {
    const Json& c = report.at("columns")[k];
    t.rows.push_back({isolated(c.at("name").get<std::string>()), escape(c.at("kind").get<std::string>()),
                      percent(at(c, "/shape/score")), percent(at(c, "/adherence/score")),
                      percent(at(c, "/coverage/score")), percent(at(c, "/missing_value_similarity"))});
  }
  return t.str();
}

}  // namespace

std::string Table::str() const {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}"
      "</caption><thead><tr>",
      caption);
  const auto side = [&](size_t i) { return i < first_number || head.at(i) == "meaning" ? "" : " class=\"n\""; };
  for (size_t i = 0; i < head.size(); ++i) out += fmt::format("<th scope=\"col\"{}>{}</th>", side(i), head[i]);
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      out += i == 0 ? fmt::format("<th scope=\"row\">{}</th>", row[i]) : fmt::format("<td{}>{}</td>", side(i), row[i]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>";
}

std::string style_of(Mark mark) {
  constexpr const char* kStyles[] = {"good", "fair", "poor", ""};
  return kStyles[static_cast<size_t>(mark)];
}

std::string mark(Mark mark) {
  switch (mark) {
    case Mark::good: return "<span class=\"mark\" role=\"img\" aria-label=\"good\">✓</span>";
    case Mark::fair: return "<span class=\"mark\" role=\"img\" aria-label=\"fair\">~</span>";
    case Mark::poor: return "<span class=\"mark\" role=\"img\" aria-label=\"poor\">✗</span>";
    case Mark::plain: return "<span class=\"mark\" aria-hidden=\"true\">•</span>";
  }
  return "";
}

std::string key(std::initializer_list<std::pair<const char*, const char*>> entries) {
  std::string out = "<p class=\"key\">";
  for (const auto& [style, meaning] : entries) out += fmt::format("<span class=\"{}\">{}</span>", style, meaning);
  return out + "</p>";
}

std::string terms(const std::string& summary, const std::vector<std::pair<const char*, const char*>>& explained) {
  std::string out = "<details><summary>" + summary + "</summary><dl>";
  for (const auto& [term, meaning] : explained) out += fmt::format("<dt>{}</dt><dd>{}</dd>", term, meaning);
  return out + "</dl></details>";
}

std::string section_html(const Section& section) {
  return fmt::format("<section aria-labelledby=\"{0}\"><h2 id=\"{0}\">{1}</h2>{2}</section>\n", section.id,
                     section.title, section.html);
}

std::string column_order() {
  return "<div class=\"sort\" role=\"group\" aria-label=\"Order of the columns\">"
         "<button type=\"button\" data-key=\"error\" aria-pressed=\"true\">weakest first</button>"
         "<button type=\"button\" data-key=\"place\" aria-pressed=\"false\">as in the table</button>"
         "<button type=\"button\" data-key=\"name\" aria-pressed=\"false\">by name</button></div>";
}

std::string column_figure(const Json& drawn) { return column_chart(drawn) + spikes(drawn); }

std::string column_terms() {
  return terms("Meaning of the scores",
               {{"shape",
                 "Numbers and times: one less the largest distance of the two cumulative distributions "
                 "(Kolmogorov–Smirnov). Categories: one less half the sum of the differences of their shares "
                 "(total variation)."},
                {"valid", "Share of synthetic values within the real range, or among the real categories."},
                {"covered", "Share of that range, or of those categories, that synthetic values cover."},
                {"missing", "One less the difference of the shares of missing values."}});
}

std::string columns_section(const Json& report) {
  if (report.at("columns").empty()) return "";
  const bool drawn = report.contains(Json::json_pointer("/drawings/columns"));
  std::string out =
      "<p>Each column separately. The score is the similarity of both distributions: 100 % is identical, 0 % has "
      "nothing in "
      "common.</p>";
  if (drawn) {
    out += key({{"r", "real"}, {"s", "synthetic"}}) + "<p class=\"soft\">" + kNoSmallCounts +
           " The outermost bins are open.</p>" + column_order() + "<ul class=\"cards\" id=\"column-cards\">\n";
    for (const size_t k : lowest_first(report.at("columns"), "/shape/score"))
      out += column_card(report, report.at("columns")[k], &report.at("drawings").at("columns").at(k), k);
    out += "</ul>";
  }
  return out + "<details" + (drawn ? "" : " open=\"open\"") + "><summary>All scores as a table</summary>" +
         columns_table(report) + "</details>" + column_terms();
}

std::string plane_terms() {
  return terms("Meaning of the plane", {{"principal components",
                                         "The two directions of largest variance of the real rows, of all numbers "
                                         "divided by their standard deviation and of all common categories by the root "
                                         "of their share. The synthetic rows are projected onto the same plane."}});
}

std::string plane_figure(const Json& report) {
  const Json::json_pointer path("/drawings/projection");
  if (!report.contains(path) || report[path].is_null()) return "";
  const Json& p = report[path];
  const size_t n = p.at("cells").get<size_t>();
  std::string axes;
  for (const Json& axis : p.at("axes")) {
    std::string columns;
    for (const Json& name : axis.at("columns"))
      columns += (columns.empty() ? "" : ", ") + isolated(name.get<std::string>());
    axes += fmt::format("{} {} of the variance, mostly of {}",
                        axes.empty() ? "Horizontal:" : "; vertical:", percent(at(axis, "/variance"), 0),
                        columns.empty() ? "many columns" : columns);
  }
  return "<figure>" +
         plane_chart({p.at("real"), p.at("synthetic"), n, n}, "Density of real and synthetic rows in the same plane") +
         "<figcaption>" + axes +
         fmt::format(
             ". {} real and {} synthetic rows; darker is more rows, gray is withheld.</figcaption>"
             "</figure>",
             grouped(p.at("rows").at("real").get<int64_t>()), grouped(p.at("rows").at("synthetic").get<int64_t>()));
}

std::string projection_section(const Json& report) {
  const std::string figure = plane_figure(report);
  if (figure.empty()) return "";
  return "<p>The plane of largest variance of the real rows, with the rows of both tables projected onto it. If one "
         "picture has dark places and the other has not, rows are missing or invented.</p>" +
         figure + plane_terms();
}

std::string utility_section(const Json& report) {
  if (!report.contains("utility")) return "";
  const Json& u = report.at("utility");
  return fmt::format(
             "<p>Usefulness for machine learning: boosted trees learn to predict {} from all other columns, "
             "once from synthetic and once from real rows, and are tested on the same unseen "
             "real rows. Target: {}.</p>",
             isolated(u.at("target").get<std::string>()), escape(u.at("reason").get<std::string>())) +
         measures_table(report, "utility", "A model trained on either table and tested on holdout rows");
}

}  // namespace tessera::report
