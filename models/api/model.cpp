#include "models/api/model.h"

#include "models/files/plugin.h"
#include "models/files/table_file.h"

#include <nlohmann/json.hpp>

#include "engine/files.h"
#include "models/api/rows.h"
#include "models/table/arrow_export.h"

using namespace tessera;
using namespace tessera::api;

tessera_status tessera_model_save(const tessera_model* model, const char* path, int overwrite) {
  return guarded([&] { required(model, "model").model.save(&required(path, "path"), overwrite != 0); });
}

tessera_status tessera_model_load(const char* path, tessera_model** model) {
  return guarded([&] {
    auto& out = required(model, "model");
    out = new tessera_model{Model::load(&required(path, "path"))};
  });
}

void tessera_model_free(tessera_model* model) { delete model; }

tessera_status tessera_model_schema(const tessera_model* model, ArrowSchema* schema) {
  return guarded([&] {
    auto& out = required(schema, "schema");
    ArrowArrayStream stream{};
    table_stream(required(model, "model").model.schema(), [](Table&) { return false; }, &stream);
    IncomingRows rows(&stream, "schema");
    ArrowSchema taken{};
    if (rows.get()->get_schema(rows.get(), &taken) != 0) throw Error(ErrorCode::memory, rows.get()->get_last_error(rows.get()));
    out = taken;
  });
}

tessera_status tessera_model_describe(const tessera_model* model, char** json) {
  return guarded([&] {
    auto& out = required(json, "json");
    out = give_json(required(model, "model").model.describe());
  });
}

tessera_status tessera_check_output(const char* path, int overwrite) {
  return guarded([&] {
    check_writable(&required(path, "path"), overwrite != 0);
    if (kind_of_output(path) != FileKind::csv) files_plugin(path);
  });
}
