#include "comparison_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "figures.h"
#include "text.h"

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
    for (const auto* report : reports) cells.push_back(figure_text(*report, f["key"].get<std::string>()));
    cells.push_back(f["meaning"].get<std::string>());
    t.add(std::move(cells));
  }
  std::string verdicts;
  for (const auto& table : evaluation.at("tables"))
    verdicts += fmt::format("{}: {}\n", text::printable(table["name"].get<std::string>()),
                            text::printable(table["report"]["verdict"]["text"].get<std::string>()));
  return t.str(0) + "\n" + verdicts;
}
