// The rules of a table, for `tessera inspect --rules`.
#include <nlohmann/json.hpp>

#include "models/api/fit.h"
#include "models/model/preparation.h"

using namespace tessera;
using namespace tessera::api;

tessera_status tessera_find_rules(const tessera_context* context, const tessera_fit_options* options,
                                  ArrowArrayStream* rows, char** json) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows");
    auto& out = required(json, "json");
    FitOptions fit = fit_options(options);
    const GivenTypes types = given_types(options);
    api::Call call(context);  // tessera::Call is an op of a program
    Table table = import_table(incoming, types, fit, call);
    const int64_t count = table.rows;
    fit = with_sequences(std::move(fit), table, call.monitor());
    const Rules rules = take_rules(table, fit, call.team(), call.monitor());
    out = give_json({{"rows", count}, {"rules", rules.describe()}});
  });
}
