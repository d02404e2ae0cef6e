// Likelihoods of rows, and of values of a column (include/tessera/tessera_report.h).
#include "models/likelihood/score.h"

#include <nlohmann/json.hpp>

#include "models/api/model.h"
#include "models/api/rows.h"
#include "models/api/support/context.h"
#include "models/api/support/handles.h"
#include "tables/arrow/export.h"
#include "tables/arrow/import.h"

using namespace tessera;
using namespace tessera::api;

tessera_status tessera_score(const tessera_context* context, const tessera_model* model, ArrowArrayStream* rows,
                             int cells, ArrowArrayStream* scores, char** json) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    const Model& source = live(model, "model").model;
    api::Call call(context);
    const Table table = table_import(incoming.get(), call.team(), call.monitor());
    nlohmann::json report;
    Table out = score_rows(source, table, cells != 0, report, call.team(), call.monitor());
    if (json != nullptr) *json = give_json(report);
    if (scores != nullptr) table_export(std::move(out), scores);
  });
}

tessera_status tessera_predict(const tessera_context* context, const tessera_model* model, ArrowArrayStream* rows,
                               const char* column, ArrowArrayStream* predictions) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(predictions, "predictions");
    const std::string target = &required(column, "column");
    const Model& source = live(model, "model").model;
    api::Call call(context);
    const Table table = table_import(incoming.get(), call.team(), call.monitor());
    table_export(predict_column(source, table, target, call.team(), call.monitor()), &out);
  });
}
