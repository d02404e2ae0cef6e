#include "models/api/model.h"

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/api/rows.h"
#include "models/api/support/file_uses.h"
#include "models/api/support/handles.h"
#include "tables/arrow/export.h"

using namespace tessera;
using namespace tessera::api;

tessera_status tessera_model_save(const tessera_model* model, const char* path, int overwrite) {
  return guarded([&] { live(model, "model").model.save(&required(path, "path"), overwrite != 0); });
}

tessera_status tessera_model_load(const char* path, tessera_model** model) {
  return guarded([&] {
    auto& out = required(model, "model");
    out = give_handle(new tessera_model{Model::load(&required(path, "path"))});
  });
}

tessera_status tessera_model_load_memory(const void* data, size_t size, tessera_model** model) {
  return guarded([&] {
    auto& out = required(model, "model");
    const std::string bytes(static_cast<const char*>(&required(static_cast<const char*>(data), "data")), size);
    out = give_handle(new tessera_model{Model::from_bytes(bytes, "(memory)")});
  });
}

tessera_status tessera_model_save_memory(const tessera_model* model, void** data, size_t* size) {
  return guarded([&] {
    auto& out = required(data, "data");
    auto& out_size = required(size, "size");
    const std::string bytes = live(model, "model").model.bytes();
    void* copy = std::malloc(bytes.size());
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, bytes.data(), bytes.size());
    out = copy;
    out_size = bytes.size();
  });
}

void tessera_model_free(tessera_model* model) { free_handle(model, "model"); }

tessera_status tessera_model_schema(const tessera_model* model, ArrowSchema* schema) {
  return guarded([&] {
    auto& out = required(schema, "schema");
    ArrowArrayStream stream{};
    table_stream(
        live(model, "model").model.schema(), [](Table&) { return false; }, &stream);
    IncomingRows rows(&stream, "schema");
    ArrowSchema taken{};
    if (rows.get()->get_schema(rows.get(), &taken) != 0)
      throw Error(ErrorCode::memory, rows.get()->get_last_error(rows.get()));
    out = taken;
  });
}

tessera_status tessera_model_describe(const tessera_model* model, char** json) {
  return guarded([&] {
    auto& out = required(json, "json");
    out = give_json(live(model, "model").model.describe());
  });
}

tessera_status tessera_check_files(const tessera_file* files, size_t count) {
  return guarded([&] {
    if (count == 0) return;
    required(files, "files");
    std::vector<FileUse> uses;
    const size_t stride = files->struct_size;  // of the caller's header, which may be another version
    for (size_t i = 0; i < count; ++i) {
      const auto* given = reinterpret_cast<const tessera_file*>(reinterpret_cast<const char*>(files) + i * stride);
      const tessera_file file = read_options(given);
      if (given->struct_size != stride)
        throw Error(ErrorCode::usage, "The files have different values of struct_size.");
      if (file.use < TESSERA_FILE_READ || file.use > TESSERA_FILE_TEXT)
        throw Error(ErrorCode::usage,
                    "use is " + std::to_string(file.use) + "; it must be a value of tessera_file_use.");
      uses.push_back({text_or(file.name, "a file"), &required(file.path, "path"), static_cast<FileUse::How>(file.use),
                      file.overwrite != 0});
    }
    check_file_uses(uses);
  });
}
