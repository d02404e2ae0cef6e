// Copies of rows (include/tessera/tessera_report.h).
#include "models/dedup/dedup.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "models/api/rows.h"
#include "models/api/support/context.h"
#include "models/api/support/lists.h"
#include "tables/arrow/export.h"
#include "tables/arrow/import.h"

using namespace tessera;
using namespace tessera::api;

tessera_status tessera_dedup(const tessera_context* context, const tessera_dedup_options* options,
                             ArrowArrayStream* rows, ArrowArrayStream* against, ArrowArrayStream* kept,
                             ArrowArrayStream* copies, char** json) {
  return guarded([&] {
    IncomingRows incoming(rows, "rows"), incoming_against(against, "against");
    auto& out = required(json, "json");
    const tessera_dedup_options o = read_options(options);
    DedupOptions dedup;
    if (const std::string mode = text_or(o.mode, ""); !mode.empty()) dedup.mode = mode;
    if (o.threshold != 0) dedup.threshold = o.threshold;
    const bool plain = plain_texts(o.texts);
    dedup.columns = split_list(text_or(o.columns, ""));
    api::Call call(context);
    dedup.device = call.gpu();
    Table table = table_import(incoming.get(), call.team(), call.monitor());
    std::optional<Table> other;
    if (against != nullptr) other = table_import(incoming_against.get(), call.team(), call.monitor());
    nlohmann::json report;
    const std::vector<RowCopy> found =
        find_copies(table, other ? &*other : nullptr, dedup, call.team(), call.monitor(), report);
    std::vector<RowCopy> dropped = found;
    if (!drops_near_copies(dedup)) std::erase_if(dropped, [](const RowCopy& c) { return !c.exact; });
    const std::string source = text_or(o.source, ""), output = text_or(o.output, "");
    const bool written = !source.empty() && !output.empty() &&
                         write_without_copies(source, table, dropped, output, o.overwrite != 0, call.monitor());
    report["written"] = written;
    if (copies != nullptr) table_export(table_of_copies(found), copies);
    if (kept != nullptr && !written) table_export(without_copies(std::move(table), dropped), kept, plain);
    out = give_json(report);
  });
}
