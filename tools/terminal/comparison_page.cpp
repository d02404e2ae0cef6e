#include "comparison_page.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "text.h"

namespace {

using Json = nlohmann::json;

struct Line {
  const char* name;
  const char* pointer;
  int decimals;  // of a percentage; −1: a plain number of three digits
  const char* means;
};

constexpr int kPlain = -1;
constexpr Line kLines[] = {
    {"boosted trees, AUC", "/c2st/trees/auc", kPlain, "0.5: indistinguishable from real rows; 1: always told apart"},
    {"  real rows", "/c2st/trees/floor_auc", kPlain, "the same between real rows"},
    {"discriminative judge", "/judges/discriminative/mean", kPlain, "0: sequences cannot be told apart; 0.5: always"},
    {"predictive judge", "/judges/predictive/mean", kPlain, "error of a predictor trained on these sequences"},
    {"utility, AUC", "/utility/synthetic/auc", kPlain, "of a classifier trained on these rows"},
    {"utility, R²", "/utility/synthetic/r2", kPlain, "of a model trained on these rows"},
    {"column shapes", "/scores/column_shapes", 1, "similarity of each column's distribution"},
    {"column pair trends", "/scores/pair_trends_real_edges", 1, "similarity of each pair's dependence"},
    {"validity", "/diagnostics/adherence", 1, "values within the range or the categories of the real column"},
    {"exact copies", "/exact_copies/share", 2, "rows that equal a real one"},
    {"nearer to training", "/l1/share_closer_to_real_equal_rows", 1, "than to holdout rows; 50 % is ideal"},
};

std::string value(const Json& report, const Line& line) {
  const Json::json_pointer path(line.pointer);
  const double x = report.contains(path) && report[path].is_number() ? report[path].get<double>()
                                                                     : std::numeric_limits<double>::quiet_NaN();
  if (line.decimals != kPlain || std::isnan(x)) return text::percent(x, std::max(line.decimals, 0));
  return fmt::format("{:.3f}", x);
}

}  // namespace

std::string comparison_page(const Json& evaluation) {
  using Side = text::Table::Side;
  std::vector<text::Table::Heading> headings{{"score"}};
  for (const Json& table : evaluation.at("tables"))
    headings.push_back({table.at("name").get<std::string>(), Side::right, 24});
  headings.push_back({"", Side::left, 100});
  text::Table t(headings);
  for (const Line& line : kLines) {
    std::vector<std::string> cells{line.name};
    bool measured = false;
    for (const Json& table : evaluation.at("tables")) {
      cells.push_back(value(table.at("report"), line));
      measured = measured || cells.back() != "–";
    }
    cells.emplace_back(line.means);
    if (measured) t.add(std::move(cells));
  }
  return t.str(0);
}
