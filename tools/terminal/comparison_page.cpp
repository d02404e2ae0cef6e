#include "pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "text.h"

namespace {

using FigureJson = nlohmann::json;

// The figures that sum up any of the reports, in their order (docs/quality/metrics.md).
std::vector<FigureJson> headlines(const std::vector<const FigureJson*>& reports) {
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

// A figure, or the reference of another one, as text; "–" where the evaluation did not measure it.
std::string figure_text(const FigureJson& report, const FigureJson& key) {
  if (report.contains("figures"))
    for (const FigureJson& f : report["figures"]) {
      if (f["key"] == key) return f["shown"];
      if (f.contains("reference") && f["reference"]["key"] == key) return f["reference"]["shown"];
    }
  return "–";
}

}  // namespace

std::string comparison_page(const nlohmann::json& evaluation) {
  using Side = text::Table::Side;
  std::vector<text::Table::Heading> headings{{"score"}};
  for (const auto& table : evaluation.at("tables"))
    headings.push_back({table.at("name").get<std::string>(), Side::right, 24});
  headings.push_back({"", Side::left, 100});
  text::Table t(headings);
  std::vector<const nlohmann::json*> reports;
  for (const auto& table : evaluation.at("tables")) reports.push_back(&table.at("report"));
  for (const auto& f : headlines(reports)) {
    std::vector<std::string> cells{f["label"].get<std::string>()};
    for (const auto* report : reports) cells.push_back(figure_text(*report, f["key"]));
    cells.push_back(f["meaning"].get<std::string>());
    t.add(std::move(cells));
  }
  std::string verdicts;
  for (const auto& table : evaluation.at("tables"))
    verdicts += fmt::format("{}: {}\n", text::printable(table["name"].get<std::string>()),
                            text::printable(table["report"]["verdict"]["text"].get<std::string>()));
  return t.str(0) + "\n" + verdicts;
}
