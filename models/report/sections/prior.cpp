// The page of tessera_prior_inspect(): what was drawn, and some of the tables as points in two of their features.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/report/drawing.h"
#include "models/report/sections.h"
#include "tables/types/types.h"

namespace tessera::report {
namespace {

constexpr double kPlane = 250, kMargin = 8, kDot = 3.4;

// The color of a class; of a number its sign, darker the further it is from 0.
std::string dot_style(double target, bool number) {
  constexpr const char* kColors[] = {"real-fill", "synthetic-fill", "error", "plus", "minus"};
  if (!number) return fmt::format("{} s{}", kColors[static_cast<int>(target) % 5], target < 5 ? 6 : 3);
  return fmt::format("{} s{}", target < 0 ? "minus" : "plus",
                     std::clamp(2 + static_cast<int>(std::abs(target) * 3), 2, 8));
}

std::string prior_card(const Json& example) {
  const auto classes = example.at("classes").get<int64_t>();
  const Json& points = example.at("points");
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (const Json& p : points)
    for (size_t k = 0; k < 2; ++k) {
      const double v = p.at(k).get<double>();
      low[k] = std::min(low[k], v), high[k] = std::max(high[k], v);
    }
  const std::string title =
      fmt::format("table {}, {}", example.at("table").get<int64_t>(), example.at("kind").get<std::string>());
  Drawing plane(kPlane, kPlane, title + ": rows in two features, colored by the target");
  plane.rect("panel", 0, 0, kPlane, kPlane);
  const auto place = [&](const Json& p, size_t k) {
    const double width = high[k] > low[k] ? high[k] - low[k] : 1;
    return kMargin + (p.at(k).get<double>() - low[k]) / width * (kPlane - 2 * kMargin) - kDot / 2;
  };
  for (const Json& p : points)
    plane.rect(dot_style(p.at(2).get<double>(), classes == 0), place(p, 0), kPlane - kDot - place(p, 1), kDot, kDot);
  return fmt::format("<li class=\"card\"><h3>{}</h3><p>{} × {}{} · x{} and x{}</p>{}</li>\n", title,
                     counted(example.at("rows").get<int64_t>(), "row"),
                     counted(example.at("features").get<int64_t>(), "feature"),
                     classes == 0 ? std::string() : " · " + counted(classes, "class", "classes"),
                     example.at("x").get<int64_t>(), example.at("y").get<int64_t>(), plane.str());
}

}  // namespace

Page page_of_prior(const Json& report) {
  const auto tables = report.at("tables").get<int64_t>();
  Table drawn{"What was drawn", {"", ""}, 1, {}};
  drawn.rows.push_back({"features, mean", number(at(report, "/features"))});
  drawn.rows.push_back({"tables from trees", percent(at(report, "/trees_share"))});
  drawn.rows.push_back({"rejected attempts", percent(at(report, "/rejected_share"))});
  Table classes{"Classes of the target", {"classes", "tables", "share"}, 1, {}};
  if (report.contains("classes")) {
    drawn.rows.push_back({"largest class to smallest, median", number(at(report, "/imbalance/median"))});
    drawn.rows.push_back({"smallest to largest ratio",
                          number(at(report, "/imbalance/min")) + " to " + number(at(report, "/imbalance/max"))});
    for (const Json& c : report.at("classes")) {
      const auto count = c.at("tables").get<int64_t>();
      classes.rows.push_back({grouped(c.at("classes").get<int64_t>()), grouped(count),
                              percent(static_cast<double>(count) / static_cast<double>(tables))});
    }
  }
  std::string cards =
      "<p>The first rows in the two features that tell most about the target, colored by it.</p><ul class=\"cards\">";
  for (const Json& example : report.at("examples")) cards += prior_card(example);
  return {"What does this prior draw?",
          counted(tables, "random table"),
          "",
          {{"drawn", "Numbers", drawn.str() + (classes.rows.empty() ? "" : classes.str())},
           {"examples", "Examples", cards + "</ul>"}}};
}

}  // namespace tessera::report
