// Sequences: how steps follow each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/data/table/types.h"
#include "models/report/charts.h"
#include "models/report/sections.h"

namespace tessera::report {
namespace {

constexpr size_t kMostFeatures = 24;

std::vector<size_t> furthest_first(const Json& features) {
  Json negative = Json::array();
  for (const Json& f : features) negative.push_back({{"d", -at(f, "/histogram_distance")}});
  return lowest_first(negative, "/d");
}

std::string autocorrelation(const Json& feature) {
  std::vector<Curve> curves{{"real", {}, {}}, {"synthetic", {}, {}}};
  double low = 0;
  for (Curve& c : curves)
    for (const Json& value : feature.at("autocorrelation").at(c.style)) {
      c.x.push_back(static_cast<double>(c.x.size() + 1));
      c.y.push_back(value.is_number() ? value.get<double>() : NAN);
      if (c.y.back() < low) low = std::max(-1.0, std::floor(4 * c.y.back()) / 4);
    }
  if (curves[0].x.size() < 2) return "";
  return curve_chart(
      {"Autocorrelation, real and synthetic", "steps apart", "autocorrelation", 1, curves[0].x.back(), low, 1, false},
      curves);
}

std::string moments_table(const Json& features, const std::vector<size_t>& order) {
  Table t{"Features of a step, those whose distribution differs most first",
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
  add("discriminative", "accuracy above one half when it judges whether a sequence is real; 0 cannot tell, 0.5 always");
  add("predictive", "mean absolute error one step ahead on real sequences, by the column’s range");
  return t.str();
}

}  // namespace

std::string sequences_section(const Json& report) {
  if (!report.contains("features")) return "";
  const Json& features = report.at("features");
  const std::vector<size_t> order = furthest_first(features);
  std::string cards;
  for (size_t i = 0; i < std::min(order.size(), kMostFeatures); ++i) {
    const Json& f = features[order[i]];
    const std::string chart = autocorrelation(f);
    if (!chart.empty())
      cards += fmt::format("<li class=\"card\"><h3>{}</h3>{}</li>\n", isolated(f.at("name").get<std::string>()), chart);
  }
  return "<p>How a step depends on those before it: the correlation of a feature with itself, some steps apart.</p>" +
         key({{"r", "real"}, {"s", "synthetic"}}) + "<ul class=\"cards\">\n" + cards + "</ul>" + judges_table(report) +
         "<details><summary>All features as a table</summary>" + moments_table(features, order) + "</details>" +
         terms("What the figures are",
               {{"feature", "A number or time by its real range, or one of the common values of a category, 0 or 1."},
                {"autocorrelation", "1: steps so far apart go together; 0: they have nothing to do with each other."},
                {"histogram distance", "Half the sum of the differences of the shares in 50 bins; 0 is the same."}});
}

}  // namespace tessera::report
