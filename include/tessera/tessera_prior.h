/* Random tables from structural causal models. Part of tessera.h, which documents the common rules. */
#ifndef TESSERA_TESSERA_PRIOR_H_
#define TESSERA_TESSERA_PRIOR_H_

#include "tessera/tessera_context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which tables (docs/use/prior.md). A range whose ends are both 0 is the default. Table i depends on these options and
 * i alone: not on threads, nor on which tables are drawn with it. */
typedef struct tessera_prior_options {
  size_t struct_size;
  uint64_t seed;
  int64_t min_rows, max_rows;         /* 1024; a range: log-uniform */
  int64_t min_features, max_features; /* 2 to 100 */
  int64_t min_classes, max_classes;   /* 2 to 10 */
  const char* kind;                   /* NULL or "mix" · "mlp" · "tree" · "graph" */
  const char* task;                   /* NULL or "classification" · "regression" */
  /* of the largest class to the smallest; then every table has all of its classes. 0: classes of random sizes */
  double min_imbalance, max_imbalance;
  /* the factor of the feature that correlates most with the class. 0 or 1: not at all */
  double min_separability, max_separability;
  double min_missing, max_missing; /* share of the cells of features that are NaN, to 0.9. Both 0: none */
} tessera_prior_options;

typedef struct tessera_prior_table {
  size_t struct_size;
  int64_t index;
  int64_t rows, features, classes; /* classes: those that occur; 0 for regression */
  int64_t train_rows;              /* the first rows, for training; the others have the same classes */
  const float* x;                  /* [rows][features]; NaN: missing */
  const float* y;                  /* [rows]: 0 … classes−1, or numbers */
  const char* description;         /* JSON: what was drawn, by the names that TabICL gives its hyper-parameters */
} tessera_prior_table;

/* Draws tables first … first + count − 1 on the context's threads; a GPU, if the context names one, computes the
 * perceptrons, with the same bits (docs/use/prior.md). `tables` receives `count` pointers, each to be freed
 * with tessera_prior_table_free(). Errors: USAGE for options; CONDITION if no valid table is found for an index within
 * 1,000 attempts; MEMORY; UNSUPPORTED without the GPU that the context names. Since ABI 1, unstable */
TESSERA_API tessera_status tessera_prior_draw(const tessera_context* context, const tessera_prior_options* options,
                                              int64_t first, int64_t count, tessera_prior_table** tables);

/* NULL is allowed. */
TESSERA_API void tessera_prior_table_free(tessera_prior_table* table);

/* Writes tables 0 … tables − 1, or one of `parts` parts of them, into a folder. Files appear whole; those that exist
 * are kept, so an interrupted call continues.
 *   format  NULL or "pt": batch_%06d.pt and metadata.json, as TabICL reads them · "npy" · "csv" · "parquet"
 *   part    0 to parts − 1; both 0: all
 *   json    may be NULL; receives what was drawn
 * Errors: as tessera_prior_draw(); USAGE if the folder holds tables of other options; IO; CANCELLED. Since ABI 1,
 * unstable */
TESSERA_API tessera_status tessera_prior_write(const tessera_context* context, const tessera_prior_options* options,
                                               int64_t tables, const char* folder, const char* format, int32_t part,
                                               int32_t parts, char** json);

/* The JSON of tessera_prior_write() without files, with examples for the page of tessera_report_html(). Since ABI 1,
 * unstable */
TESSERA_API tessera_status tessera_prior_inspect(const tessera_context* context, const tessera_prior_options* options,
                                                 int64_t tables, char** json);

#ifdef __cplusplus
}
#endif

#endif
