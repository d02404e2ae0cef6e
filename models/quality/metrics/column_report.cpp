#include "models/quality/metrics/column_report.h"

#include "models/quality/common/json_number.h"
#include "models/quality/common/statistics.h"
#include "models/quality/metrics/column_shapes.h"
#include "models/quality/metrics/diagnostics.h"

namespace tessera::quality {

using nlohmann::json;

double describe_columns(const Comparison& c, const Workers& workers, json& out) {
  const std::vector<ColumnShape> shapes = column_shapes(c, workers);
  const std::vector<ColumnDiagnostics> checks = diagnostics(c, workers);
  std::vector<double> score, adherence, coverage, missing;
  out["columns"] = json::array();
  for (size_t k = 0; k < shapes.size(); ++k) {
    json column{{"name", c.facts[k].name}, {"kind", name(c.facts[k].kind)}};
    column["shape"] = {{"metric", shapes[k].metric}, {"score", number_or_null(shapes[k].score)}};
    column["adherence"] = {{"metric", checks[k].adherence_metric}, {"score", number_or_null(checks[k].adherence)}};
    column["coverage"] = {{"metric", checks[k].coverage_metric}, {"score", number_or_null(checks[k].coverage)}};
    column["missing_value_similarity"] = checks[k].missing_similarity;
    column["missing"] = {{"real", c.tables[kReal].columns[k].missing},
                         {"synthetic", c.tables[kSynthetic].columns[k].missing}};
    out["columns"].push_back(std::move(column));
    score.push_back(shapes[k].score);
    adherence.push_back(checks[k].adherence);
    coverage.push_back(checks[k].coverage);
    missing.push_back(checks[k].missing_similarity);
  }
  out["diagnostics"] = {{"adherence", number_or_null(mean_defined(adherence))},
                        {"coverage", number_or_null(mean_defined(coverage))},
                        {"missing_value_similarity", number_or_null(mean_defined(missing))}};
  return mean_defined(score);
}

}  // namespace tessera::quality
