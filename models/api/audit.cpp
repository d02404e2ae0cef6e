// Attacks on models and rows (include/tessera/tessera_report.h).
#include "models/audit/audit.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "models/api/model.h"
#include "models/api/rows.h"
#include "models/api/support/context.h"
#include "models/api/support/handles.h"
#include "tables/arrow/import.h"

using namespace tessera;
using namespace tessera::api;

namespace {

audit::AuditOptions audit_options(const tessera_audit_options& o) {
  constexpr int kMaxModels = 1000, kMaxCanaries = 100'000;
  const auto check = [](const char* name, int64_t value, int64_t max) {
    if (value < 0 || value > max)
      throw Error(ErrorCode::usage, fmt::format("`{}={}`: it must be 0 to {}.", name, value, max));
  };
  check("rows", o.rows, 100'000'000), check("shadows", o.shadows, kMaxModels),
      check("canaries", o.canaries, kMaxCanaries);
  audit::AuditOptions out;
  out.seed = o.seed, out.shadows = o.shadows, out.canaries = o.canaries;
  if (o.rows > 0) out.rows = o.rows;
  return out;
}

}  // namespace

tessera_status tessera_audit(const tessera_context* context, const tessera_audit_options* options,
                             const tessera_model* model, ArrowArrayStream* training, ArrowArrayStream* synthetic,
                             ArrowArrayStream* holdout, char** json) {
  return guarded([&] {
    IncomingRows incoming(training, "training"), incoming_synthetic(synthetic, "synthetic"),
        incoming_holdout(holdout, "holdout");
    auto& out = required(json, "json");
    audit::AuditOptions o = audit_options(read_options(options));
    const Model* attacked = model == nullptr ? nullptr : &live(model, "model").model;
    audit::check_audit(attacked, synthetic != nullptr, holdout != nullptr, o);
    api::Call call(context);
    o.device = call.gpu();
    Table table = table_import(incoming.get(), call.team(), call.monitor());
    std::optional<Table> rows, unseen;
    if (synthetic != nullptr) rows = table_import(incoming_synthetic.get(), call.team(), call.monitor());
    if (holdout != nullptr) unseen = table_import(incoming_holdout.get(), call.team(), call.monitor());
    out = give_json(audit::attack_report(table, unseen ? &*unseen : nullptr, attacked, rows ? &*rows : nullptr, o,
                                         call.team(), call.monitor()));
  });
}
