#include <nlohmann/json.hpp>

#include "models/api/context.h"
#include "models/api/rows.h"
#include "models/table/inspect.h"
#include "models/quality/evaluate.h"
#include "models/table/arrow_import.h"

using namespace tessera;
using namespace tessera::api;

tessera_status tessera_inspect(const tessera_context* context, ArrowArrayStream* rows, char** json) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(json, "json");
    Call call(context);
    out = give_json(inspect(table_import(incoming.get(), call.team(), call.monitor())));
  });
}

tessera_status tessera_evaluate(const tessera_context* context, const tessera_evaluate_options* options, ArrowArrayStream* real, ArrowArrayStream* synthetic,
                                ArrowArrayStream* holdout, char** json) {
  return guarded([&] {
    IncomingRows incoming_real(real, "real"), incoming_synthetic(synthetic, "synthetic"), incoming_holdout(holdout, "holdout");
    auto& out = required(json, "json");
    const tessera_evaluate_options o = read_options(options);
    EvaluateOptions what;
    what.seed = o.seed;
    what.distances = o.without_distances == 0;
    what.c2st = o.without_c2st == 0;
    what.utility = o.without_utility == 0;
    what.target = text_or(o.target, "");
    Call call(context);
    const Table first = table_import(incoming_real.get(), call.team(), call.monitor());
    const Table second = table_import(incoming_synthetic.get(), call.team(), call.monitor());
    Table third;
    if (holdout != nullptr) third = table_import(incoming_holdout.get(), call.team(), call.monitor());
    out = give_json(evaluate(first, second, holdout != nullptr ? &third : nullptr, what, call.team(), call.monitor()));
  });
}
