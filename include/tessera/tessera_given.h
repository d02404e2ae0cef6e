/* Rows with given cells (docs/use/given.md). Part of tessera.h, which documents the common rules. */
#ifndef TESSERA_TESSERA_GIVEN_H_
#define TESSERA_TESSERA_GIVEN_H_

#include "tessera/tessera_sample.h"
#include "tessera/tessera_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Given cells --------------------------------------------------------------------------------- */

typedef struct tessera_given_report {
  size_t struct_size;
  int64_t rows;       /* returned so far */
  int64_t candidates; /* generated for them */
  int64_t resampled;  /* rows whose candidates had different weights: one was drawn by weight */
  double effective;   /* mean number of effective candidates of these rows: (sum w)^2 / sum w^2 */
  int64_t few;        /* of these, rows with fewer than 4: their distribution is approximate */
  int nearest;        /* 1: the method cannot weight candidates: the nearest of 256 was taken (CTGAN) */
} tessera_given_report;

typedef struct tessera_given_options {
  size_t struct_size;
  uint64_t seed;
  int32_t batch_size;     /* candidates generated at a time; 0: chosen. Does not change rows */
  int32_t max_candidates; /* per row; 0: 1024 */
  /* 1: the rows are real ones to be completed. A value that the model has not seen is kept, not an error, and a drawn
   * cell is never missing unless a rule of the table requires it */
  int completes;
  const char* file;      /* NULL, or the CSV file of the given rows: messages name it and the line */
  const char* precision; /* as in tessera_sample_options. NULL: "fp32" */
  /* may be NULL; its struct_size is set by the caller. Updated with every batch; lives until the stream is released */
  tessera_given_report* report;
  /* NULL, or a condition (tessera_sample_options.where) that every row meets, given cells included: other candidates
   * have weight 0. Not for tessera_impute() */
  const char* where;
  const char* texts; /* as in tessera_sample_options. Not for tessera_impute() */
  /* Models of sequences: steps drawn after the given ones of each sequence; 0: to the end of a length that is drawn */
  int32_t steps;
  int32_t copies;     /* continuations of each given sequence, one after another; 0: 1 */
  int32_t drawn_only; /* 1: without the given rows */
} tessera_given_options;

/* Reads a file of given cells as the model's columns: any of them, in any order; empty cells are to be drawn.
 *   options  as for tessera_table_open(); may be NULL.
 * Errors: IO; DATA, with file and line; USAGE. */
TESSERA_API tessera_status tessera_given_open(const tessera_context* context, const tessera_model* model,
                                              const char* path, const tessera_csv_options* options,
                                              struct ArrowArrayStream* given);

/* Given rows for equal shares of the values of a column: row i of `count` has value i mod n of its n values, which do
 * not include missing. Errors: CONDITION for an unknown column, or one without a list of values; USAGE. */
TESSERA_API tessera_status tessera_given_balanced(const tessera_context* context, const tessera_model* model,
                                                  const char* column, int64_t count, struct ArrowArrayStream* given);

/* Given rows from a file of conditions: columns of the model, and one further column of whole numbers: the number of
 * rows to draw for each condition. Errors: as tessera_given_open(). */
TESSERA_API tessera_status tessera_given_counts(const tessera_context* context, const tessera_model* model,
                                                const char* path, const tessera_csv_options* options,
                                                struct ArrowArrayStream* given);

/* Draws the missing cells of given rows from the model's distribution conditional on the others.
 *   given  consumed: columns of the model, any of them. Row i of the result has the given cells of row i and depends on
 *          (model, seed, these cells, i) only: not on batches or threads.
 *   rows   receives a stream of all columns, as tessera_sample() does. Every row keeps the rules of the table.
 * A model of sequences (method "made") continues the given ones: `given` holds the first steps of each, with its key
 * (or the number of its sequence; none: one sequence) and its index. They are kept as they are, also beyond what the
 * model has seen, and empty cells among them are drawn from what is known before them. `completes` and `where` are not
 * for it.
 * Errors: USAGE, also for a column that the model does not have; DATA for a value that the model of rows has not seen
 * or beyond its range, with its place; CONDITION for options->where, as in tessera_sample(). The
 * stream fails with TESSERA_E_CONDITION's message at a row for which no candidate keeps the rules and meets the
 * condition. */
TESSERA_API tessera_status tessera_sample_given(const tessera_context* context, const tessera_model* model,
                                                struct ArrowArrayStream* given, const tessera_given_options* options,
                                                struct ArrowArrayStream* rows);

/* Fills the missing cells of a CSV file with a header; every other byte of it is copied unchanged, including columns
 * that the model does not have. options->completes is taken as 1, options->file as `path`.
 *   csv   how the file is read; NULL: detected. overwrite 0: an existing output is TESSERA_E_IO.
 * Errors: as tessera_given_open() and tessera_sample_given(), with the output untouched. */
TESSERA_API tessera_status tessera_impute(const tessera_context* context, const tessera_model* model, const char* path,
                                          const char* output, const tessera_csv_options* csv, int overwrite,
                                          const tessera_given_options* options);

#ifdef __cplusplus
}
#endif

#endif
