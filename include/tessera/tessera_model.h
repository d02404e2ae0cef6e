/* A fitted model: its file, its columns. Part of tessera.h, which documents the common rules. */
#ifndef TESSERA_TESSERA_MODEL_H_
#define TESSERA_TESSERA_MODEL_H_

#include "tessera/arrow.h"
#include "tessera/tessera_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Model --------------------------------------------------------------------------------------- */

typedef struct tessera_model tessera_model;

/* Writes the model atomically: a safetensors file with JSON metadata (docs/engine/file-format.md). overwrite 0: an
 * existing file is TESSERA_E_IO. Errors: IO, with the file untouched. */
TESSERA_API tessera_status tessera_model_save(const tessera_model* model, const char* path, int overwrite);

/* Nothing in a file is executed; every length in it is checked before use. Errors: IO; FORMAT, naming the defect and
 * its place; MEMORY. */
TESSERA_API tessera_status tessera_model_load(const char* path, tessera_model** model);

/* The bytes of the file that tessera_model_save() would write; tessera_memory_free() frees them. Errors: MEMORY. */
TESSERA_API tessera_status tessera_model_save_memory(const tessera_model* model, void** data, size_t* size);

/* The bytes are copied and may be freed at once. Errors: as tessera_model_load(), of a file named "(memory)". */
TESSERA_API tessera_status tessera_model_load_memory(const void* data, size_t size, tessera_model** model);

/* NULL is allowed. */
TESSERA_API void tessera_model_free(tessera_model* model);

/* The columns that sampled rows have, in the order of the fitted table: a struct schema. The caller releases it.
 * Errors: MEMORY. */
TESSERA_API tessera_status tessera_model_schema(const tessera_model* model, struct ArrowSchema* schema);

/* JSON: method, preset, configuration, columns, encoders, sizes, provenance (docs/engine/file-format.md).
 * Errors: MEMORY. */
TESSERA_API tessera_status tessera_model_describe(const tessera_model* model, char** json);

#ifdef __cplusplus
}
#endif

#endif
