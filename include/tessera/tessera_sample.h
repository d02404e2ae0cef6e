/* Drawing rows from a model, as Arrow streams or into arrays. Part of tessera.h, which documents the common rules. */
#ifndef TESSERA_TESSERA_SAMPLE_H_
#define TESSERA_TESSERA_SAMPLE_H_

#include "tessera/tessera_context.h"
#include "tessera/tessera_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sample -------------------------------------------------------------------------------------- */

typedef struct tessera_sample_report {
  int64_t rows;       /* returned so far */
  int64_t candidates; /* generated for them; rows / candidates is the yield of condition and calibration */
  /* rows for which calibration accepted none of 64 candidates: the most likely one was taken */
  int64_t settled;
  const char* calibration; /* the tier applied: "off", "marginals", "full". Static */
} tessera_sample_report;

#define TESSERA_NO_MIN_YIELD (-1)

typedef struct tessera_sample_options {
  size_t struct_size;
  uint64_t seed;
  const char* where;  /* NULL: no condition · "education = 'Masters' and age >= 40" (docs/use/command-line.md) */
  int32_t batch_size; /* rows generated at a time; 0: chosen. Does not change rows */
  /* maximum candidates per row under `where`; 0: 65,536, fewer if none of the first million meets it */
  int32_t max_tries;
  /* may be NULL; updated with every batch, and must live until the stream is released */
  tessera_sample_report* report;
  /* "off", "marginals" or "full"; NULL: the best tier measured when the model was fitted. USAGE if the model does not
   * have it */
  const char* calibrate;
  /* minimum share of candidates that calibration accepts; 0: 0.1 · TESSERA_NO_MIN_YIELD: none. Higher is faster and
   * less exact */
  double min_yield;
  /* NULL, "dictionary": columns of text as dictionary<int32, utf8>, with the same dictionary in every batch except for
   * identifiers; numbers, booleans and dates that were texts in the fitted rows are these · "plain": as in the fitted
   * rows: utf8, large_utf8, utf8_view, binary; dictionaries stay dictionaries, numbers that were texts are texts.
   * Other columns always have the type of the fitted rows */
  const char* texts;
  const char* precision; /* of the generator's products, as in tessera_fit_options. NULL: "fp32" */
  /* 1: the processes of a launcher (tessera_launched()) make the rows in turn. The stream of rank 0 has all of them;
   * the stream of any other rank has none, and ends when rank 0 has received that rank's rows. USAGE if the ranks'
   * requests differ. 0: each process by itself. Unstable */
  int32_t together;
  /* 1: no row equals an earlier one (identifiers are not compared): the first `count` distinct rows of the infinite
   * table. Fewer if many draws bring nothing new; a notice says so. USAGE with an offset, `together`, for sequences */
  int32_t distinct;
  /* NULL, or rows of the model's columns that no row may equal either; implies `distinct`: the training table for
   * instance. Consumed. What never comes tells something too (docs/quality/privacy.md) */
  struct ArrowArrayStream* against;
} tessera_sample_options;

/* Draws rows [offset, offset + count) of the infinite table that (model, seed, where) defines. Row i is the same for
 * every batch size, thread count and call: sampling 1000 rows, or 10 times 100, gives the same table. It is also the
 * same with AVX2 and with AVX-512; plain code (processors without AVX2) and devices round differently, so their rows
 * differ: mostly in last digits, occasionally in a whole value.
 *   rows   receives a stream whose batches are generated on request. Columns, order and types are those of
 *          tessera_model_schema().
 * Errors: USAGE, with a caret at a syntax error; CONDITION if the condition names an unknown column or value. The
 * stream fails with TESSERA_E_CONDITION's message if a row cannot be found within max_tries: how many were found, and
 * the rare term. */
TESSERA_API tessera_status tessera_sample(const tessera_context* context, const tessera_model* model, int64_t offset,
                                          int64_t count, const tessera_sample_options* options,
                                          struct ArrowArrayStream* rows);

/* Rows into the caller's arrays, for programs without Arrow. */
typedef enum tessera_value {
  /* double; a date in days, a date with time in seconds since 1970-01-01; a boolean 0 or 1; missing: NaN */
  TESSERA_FLOAT64 = 1,
  /* int64_t; a date in days, a date with time in microseconds since 1970-01-01; a boolean 0 or 1; missing: 0 */
  TESSERA_INT64 = 2,
  TESSERA_TEXT = 3 /* char[width], zero-terminated, as in a CSV file; missing: "" */
} tessera_value;

typedef struct tessera_column_buffer {
  size_t struct_size;
  const char* name; /* of the column; NULL: the column at this index */
  tessera_value type;
  void* values;     /* an array of `capacity` values */
  size_t width;     /* TESSERA_TEXT: bytes of a value, its zero included */
  uint8_t* missing; /* may be NULL; receives 1 for each missing value, else 0 */
} tessera_column_buffer;

/* Reads at most `capacity` rows of a stream into the arrays of columns[0 … count) and releases it.
 *   rows   consumed. A stream of tessera_sample(), tessera_table_open(), or any other producer.
 *   read   receives the number of rows.
 * Errors: USAGE, also for a name the rows do not have; DATA for a value that the buffer's type cannot hold; the
 * stream's error; CANCELLED. After an error the contents of the arrays are unspecified. */
TESSERA_API tessera_status tessera_rows_read(const tessera_context* context, struct ArrowArrayStream* rows,
                                             int64_t capacity, const tessera_column_buffer* columns, size_t count,
                                             int64_t* read);

#ifdef __cplusplus
}
#endif

#endif
