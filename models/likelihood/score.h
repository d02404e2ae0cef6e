// Likelihoods under a model: of rows, and of each value of a column given the other cells.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/monitor.h"
#include "models/model/model.h"

namespace tessera {

// One row per row: "log_probability", ln p(row) in nats; "unknown", columns whose values the model does not know, or
// that rules compute otherwise: each counts as p = 1 / (fitted rows + 1), as of a value that none of them had;
// "least_likely", up to three columns, by how much less likely their values are than if every value were as likely;
// and if `cells`, "log_probability of COLUMN" for every learned column. `report` tells of all rows: mean, quantiles,
// the ten least likely.
// Throws Error(usage) unless the model is one of rows by Made; Error(data) if a column is missing.
Table score_rows(const Model& model, const Table& rows, bool cells, nlohmann::json& report, Team& team,
                 const Monitor& monitor);

// p(column | all other cells of the row): of texts and truths the likeliest value, and "p(VALUE)" for each; of numbers
// the mean, and "median", "low" and "high" (between them lie 90 % of the probability). The rows may lack the column.
// Throws as score_rows(), and Error(usage) for a column that rules compute or that is no choice of the networks.
Table predict_column(const Model& model, const Table& rows, const std::string& column, Team& team,
                     const Monitor& monitor);

}  // namespace tessera
