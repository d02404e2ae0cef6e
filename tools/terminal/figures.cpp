#include "figures.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace {

using FigureJson = nlohmann::json;

// The figure of a key, or the reference of another one.
const FigureJson* find_figure(const FigureJson& report, const std::string& key) {
  if (!report.contains("figures")) return nullptr;
  for (const FigureJson& f : report["figures"]) {
    if (f["key"] == key) return &f;
    if (f.contains("reference") && f["reference"]["key"] == key) return &f["reference"];
  }
  return nullptr;
}

}  // namespace

std::vector<nlohmann::json> headlines(const std::vector<const nlohmann::json*>& reports) {
  std::vector<FigureJson> out;
  const auto add = [&](const FigureJson& f) {
    if (std::none_of(out.begin(), out.end(), [&](const FigureJson& o) { return o["key"] == f["key"]; }))
      out.push_back(f);
  };
  for (const FigureJson* report : reports)
    for (const FigureJson& f : (*report)["figures"]) {
      if (!f["headline"].get<bool>()) continue;
      add(f);
      if (f.contains("reference"))
        add({{"key", f["reference"]["key"]}, {"label", "  real rows"}, {"meaning", "the same of real rows"}});
    }
  return out;
}

double figure(const nlohmann::json& report, const std::string& key) {
  const FigureJson* f = find_figure(report, key);
  return f == nullptr ? std::numeric_limits<double>::quiet_NaN() : (*f)["value"].get<double>();
}

std::string figure_text(const nlohmann::json& report, const std::string& key) {
  const FigureJson* f = find_figure(report, key);
  return f == nullptr ? "–" : (*f)["shown"].get<std::string>();
}
