// Sequences over time: paths, spreads, and how steps follow each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/report/charts.h"
#include "models/report/sections.h"
#include "tables/types/types.h"

namespace tessera::report {
namespace {

constexpr size_t kMaxFeatures = 24;

std::vector<size_t> furthest_first(const Json& features) {
  Json negative = Json::array();
  for (const Json& f : features) negative.push_back({{"d", -at(f, "/histogram_distance")}});
  return lowest_first(negative, "/d");
}

std::vector<double> numbers_of(const Json& list) {
  std::vector<double> out;
  for (const Json& x : list) out.push_back(x.is_number() ? x.get<double>() : NAN);
  return out;
}

std::string autocorrelation(const Json& feature) {
  std::vector<Curve> curves{{"real", {}, {}}, {"synthetic", {}, {}}};
  double low = 0;
  for (Curve& c : curves) {
    c.y = numbers_of(feature.at("autocorrelation").at(c.style));
    for (const double y : c.y) {
      c.x.push_back(static_cast<double>(c.x.size() + 1));
      if (y < low) low = std::max(-1.0, std::floor(4 * y) / 4);
    }
  }
  if (curves[0].x.size() < 2) return "";
  return "<h4>Autocorrelation</h4>" + curve_chart({"Autocorrelation, real and synthetic", "lag in steps",
                                                   "autocorrelation", 1, curves[0].x.back(), low, 1, false},
                                                  curves);
}

// Axes that fit all curves and bands over the steps; none if there are none.
std::optional<CurveAxes> axes_over(const std::vector<double>& steps, const std::vector<Curve>& curves,
                                   const std::vector<Band>& bands, const std::string& label) {
  double low = INFINITY, high = -INFINITY;
  const auto take = [&](const std::vector<double>& values) {
    for (const double y : values)
      if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
  };
  for (const Curve& c : curves) take(c.y);
  for (const Band& b : bands) take(b.low), take(b.high);
  if (steps.size() < 2 || low > high) return {};
  if (low == high) low -= 0.5, high += 0.5;
  return CurveAxes{label, "step", "", steps.front(), steps.back(), low, high, false};
}

std::string drawn_over_steps(const char* heading, const std::string& label, const std::vector<double>& steps,
                             const std::vector<Curve>& curves, const std::vector<Band>& bands) {
  const std::optional<CurveAxes> axes = axes_over(steps, curves, bands, label);
  return axes ? fmt::format("<h4>{}</h4>", heading) + curve_chart(*axes, curves, bands) : "";
}

std::string spread(const Json& drawn, const std::vector<double>& steps) {
  const auto of = [&](const char* table, const char* quantile) {
    return numbers_of(drawn.at("quantiles").at(table).at(quantile));
  };
  const std::vector<Band> bands{{"", steps, of("real", "p10"), of("real", "p90")},
                                {"", steps, of("real", "p25"), of("real", "p75")}};
  const std::vector<Curve> curves{{"real", steps, of("real", "p50")},
                                  {"synthetic thin", steps, of("synthetic", "p10")},
                                  {"synthetic thin", steps, of("synthetic", "p90")},
                                  {"synthetic", steps, of("synthetic", "p50")}};
  return drawn_over_steps("Spread over time", "Quantiles of real and synthetic sequences at each step", steps, curves,
                          bands);
}

std::string paths(const Json& drawn, const std::vector<double>& steps) {
  std::vector<Curve> curves;
  for (const char* table : {"real", "synthetic"})
    for (const Json& path : drawn.at("paths").at(table))
      curves.push_back({table[0] == 'r' ? "real path" : "synthetic path", steps, numbers_of(path)});
  return drawn_over_steps("Paths", "Some real and synthetic sequences on one axis", steps, curves, {});
}

std::string share(const Json& drawn, const std::vector<double>& steps) {
  std::vector<Curve> curves;
  for (const char* table : {"real", "synthetic"})
    curves.push_back({table, steps, numbers_of(drawn.at("shares").at(table))});
  std::optional<CurveAxes> axes = axes_over(steps, curves, {}, "Share of sequences at each step");
  if (!axes) return "";
  axes->y_low = 0, axes->y_high = 1;
  return "<h4>Share of sequences over time</h4>" + curve_chart(*axes, curves);
}

std::string over_time(const Json& drawn) {
  std::vector<double> steps = numbers_of(drawn.at("steps"));
  for (double& t : steps) t += 1;
  return drawn.contains("shares") ? share(drawn, steps) : paths(drawn, steps) + spread(drawn, steps);
}

std::string moments_table(const Json& features, const std::vector<size_t>& order) {
  Table t{"Features of a step, largest difference of distributions first",
          {"feature", "histogram distance", "mean real", "synthetic", "deviation real", "synthetic"},
          1,
          {}};
  for (const size_t k : order) {
    const Json& f = features[k];
    t.rows.push_back({isolated(f.at("name").get<std::string>()), number(at(f, "/histogram_distance")),
                      number(at(f, "/mean/real")), number(at(f, "/mean/synthetic")), number(at(f, "/std/real")),
                      number(at(f, "/std/synthetic"))});
  }
  return t.str();
}

std::string judges_table(const Json& report) {
  if (!report.contains("judges")) return "";
  const Json& j = report.at("judges");
  Table t{fmt::format("{} of each kind, a GRU of {} units", counted(j.at("count").get<int64_t>(), "judge"),
                      j.at("units").get<int64_t>()),
          {"judge", "score", "real sequences", "meaning"},
          1,
          {}};
  const auto add = [&](const char* name, const char* meaning) {
    const Json& of = j.at(name);
    t.rows.push_back({name, fmt::format("{} ± {}", number(at(of, "/mean")), number(at(of, "/sd"))),
                      number(at(of, "/floor/mean")), meaning});
  };
  add("discriminative",
      "accuracy above one half at distinguishing real sequences; 0: indistinguishable, 0.5: always distinguished");
  add("predictive", "mean absolute error one step ahead on real sequences, relative to the column’s range");
  return t.str();
}

}  // namespace

std::string feature_figures(const Json& report, const std::string& name) {
  std::string out;
  const Json::json_pointer path("/drawings/sequences");
  if (report.contains(path))
    for (const Json& drawn : report[path])
      if (drawn.at("name") == name) out += over_time(drawn);
  for (const Json& f : report.at("features"))
    if (f.at("name") == name) out += autocorrelation(f);
  return out;
}

std::vector<std::string> drawn_features(const Json& report) {
  std::vector<std::string> out, shares;
  const Json::json_pointer path("/drawings/sequences");
  if (report.contains(path)) {
    for (const Json& drawn : report[path])
      (drawn.contains("shares") ? shares : out).push_back(drawn.at("name").get<std::string>());
    out.insert(out.end(), shares.begin(), shares.end());
    return out;
  }
  const Json& features = report.at("features");
  for (const size_t k : furthest_first(features)) {
    if (out.size() == kMaxFeatures) break;
    out.push_back(features[k].at("name").get<std::string>());
  }
  return out;
}

std::string sequence_terms() {
  return key({{"r", "real"}, {"s", "synthetic"}}) +
         terms("Meaning of the figures",
               {{"feature", "A number by its column, or one of the common values of a category, 0 or 1."},
                {"paths",
                 "A few sequences, from low to high values. Each line is the mean of five similar sequences, "
                 "in both tables: no single real sequence is shown."},
                {"spread",
                 "At each step: the areas hold 80 % and 50 % of the real sequences, the blue line is their median; the "
                 "orange lines are the synthetic median and the ends of 80 %. A real quantile is left out where fewer "
                 "than five sequences lie beyond it."},
                {"autocorrelation", "Correlation of steps at a lag: 1: they vary together; 0: independent."},
                {"histogram distance", "Half the sum of the differences of the shares in 50 bins; 0: identical."}});
}

std::string sequences_section(const Json& report) {
  if (!report.contains("features")) return "";
  std::string cards;
  for (const std::string& name : drawn_features(report)) {
    const std::string figures = feature_figures(report, name);
    if (!figures.empty()) cards += fmt::format("<li class=\"card\"><h3>{}</h3>{}</li>\n", isolated(name), figures);
  }
  const Json& features = report.at("features");
  return "<p>Some sequences, their spread at each step, and the dependence of a step on those "
         "before it. Numbers come first, then values of categories; of both those whose distribution differs "
         "most.</p>" +
         sequence_terms() + "<ul class=\"cards\">\n" + cards + "</ul>" + judges_table(report) +
         "<details><summary>All features as a table</summary>" + moments_table(features, furthest_first(features)) +
         "</details>";
}

}  // namespace tessera::report
