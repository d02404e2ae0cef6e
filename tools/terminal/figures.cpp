#include "figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "text.h"

namespace {

constexpr int kPlain = -1;

}  // namespace

const std::vector<Figure>& figures() {
  static const std::vector<Figure> all{
      {"boosted trees, AUC", "AUC", "auc", "/c2st/trees/auc", kPlain,
       "0.5: indistinguishable from real rows; 1: always told apart"},
      {"  real rows", "real rows", "real_auc", "/c2st/trees/floor_auc", kPlain, "the same between real rows"},
      {"discriminative judge", "judge", "discriminative", "/judges/discriminative/mean", kPlain,
       "0: sequences cannot be told apart; 0.5: always"},
      {"predictive judge", "predictor", "predictive", "/judges/predictive/mean", kPlain,
       "error of a predictor trained on these sequences"},
      {"utility, AUC", "utility", "utility_auc", "/utility/synthetic/auc", kPlain,
       "of a classifier trained on these rows"},
      {"utility, R²", "utility, R²", "utility_r2", "/utility/synthetic/r2", kPlain, "of a model trained on these rows"},
      {"column shapes", "shapes", "shapes", "/scores/column_shapes", 1, "similarity of each column's distribution"},
      {"column pair trends", "trends", "trends", "/scores/pair_trends_real_edges", 1,
       "similarity of each pair's dependence"},
      {"validity", "valid", "validity", "/diagnostics/adherence", 1,
       "values within the range or the categories of the real column"},
      {"exact copies", "copies", "copies", "/exact_copies/share", 2, "rows that equal a real one"},
      {"nearer to training", "nearer", "nearer_to_training", "/l1/share_closer_to_real_equal_rows", 1,
       "than to holdout rows; 50 % is ideal"}};
  return all;
}

double Figure::in(const nlohmann::json& report) const {
  const nlohmann::json::json_pointer path(pointer);
  return report.contains(path) && report[path].is_number() ? report[path].get<double>()
                                                           : std::numeric_limits<double>::quiet_NaN();
}

std::string Figure::shown(double value) const {
  if (decimals != kPlain || std::isnan(value)) return text::percent(value, std::max(decimals, 0));
  return fmt::format("{:.3f}", value);
}
