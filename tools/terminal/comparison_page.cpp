#include "comparison_page.h"

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
  for (const Figure& figure : figures()) {
    std::vector<std::string> cells{figure.name};
    bool measured = false;
    for (const auto& table : evaluation.at("tables")) {
      cells.push_back(figure.shown(figure.in(table.at("report"))));
      measured = measured || cells.back() != "–";
    }
    cells.emplace_back(figure.means);
    if (measured) t.add(std::move(cells));
  }
  return t.str(0);
}
