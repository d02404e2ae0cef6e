// Model files: whatever the bytes, loading gives a model or an error, and a model that loads can be described and
// sampled.
#include "fuzz/input.h"
#include "tessera/tessera.h"

namespace {

tessera_context* single_thread() {
  tessera_context_options options{};
  options.struct_size = sizeof options;
  options.threads = 1;
  tessera_context* made = nullptr;
  if (tessera_context_new(&options, &made) != TESSERA_OK) __builtin_trap();
  return made;
}

// Takes every row; errors are the stream's good right, but they must say something.
void drain(ArrowArrayStream& rows) {
  for (;;) {
    ArrowArray batch{};
    if (rows.get_next(&rows, &batch) != 0) {
      if (rows.get_last_error(&rows) == nullptr) __builtin_trap();
      break;
    }
    if (batch.release == nullptr) break;
    batch.release(&batch);
  }
  rows.release(&rows);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static tessera_context* const context = single_thread();
  const tessera::fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  tessera_model* model = nullptr;
  const tessera_status status = tessera_model_load(file.path().c_str(), &model);
  if (status == TESSERA_E_INTERNAL || (status != TESSERA_OK) != (model == nullptr)) __builtin_trap();
  if (status != TESSERA_OK) return 0;

  char* json = nullptr;
  if (tessera_model_describe(model, &json) != TESSERA_OK) __builtin_trap();
  tessera_string_free(json);
  ArrowSchema schema{};
  if (tessera_model_schema(model, &schema) != TESSERA_OK) __builtin_trap();
  schema.release(&schema);
  for (const char* tier : {"off", "marginals", "full"}) {
    tessera_sample_options options{};
    options.struct_size = sizeof options;
    options.calibrate = tier;
    options.batch_size = 8;
    ArrowArrayStream rows{};
    if (tessera_sample(context, model, 3, 8, &options, &rows) == TESSERA_OK) drain(rows);
    else if (*tessera_last_error() == 0) __builtin_trap();
  }
  tessera_model_free(model);
  return 0;
}
