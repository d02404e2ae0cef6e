/* Reports on tables, fits and synthetic rows, as JSON and HTML. Part of tessera.h, which documents the common rules. */
#ifndef TESSERA_TESSERA_REPORT_H_
#define TESSERA_TESSERA_REPORT_H_

#include "tessera/tessera_fit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Reports, as JSON ---------------------------------------------------------------------------- */

/* How a table was read, column by column: why it has its type. Consumes rows. Errors: DATA, MEMORY, CANCELLED. */
TESSERA_API tessera_status tessera_inspect(const tessera_context* context, struct ArrowArrayStream* rows, char** json);

/* Writes the columns in the JSON of tessera_inspect() as a schema file (docs/data/schema.md), to be edited and read by
 * tessera_csv_options.schema. A file is written whole or not at all. Errors: FORMAT for other JSON; IO. Since ABI 1 */
TESSERA_API tessera_status tessera_schema_write(const char* json, const char* path, int overwrite);

/* The rules that a table keeps and that fit would learn (docs/use/rules.md). Consumes rows. Errors: as tessera_fit. */
TESSERA_API tessera_status tessera_find_rules(const tessera_context* context, const tessera_fit_options* options,
                                              struct ArrowArrayStream* rows, char** json);

/* The training step that these rows and options would run: ops, shapes, bytes, FLOPs, the effect of each pass, the
 * memory, the floor; with options->devices also what each of these ranks would compute and exchange, in "ranks" and,
 * for ranks that divide the columns of the table, "ranks_by_columns" (empty: the method does not support it). Trains
 * nothing. Consumes rows. Errors: as tessera_fit.
 * tessera_estimate(): the memory of such a fit, by part and phase (docs/engine/memory.md). */
TESSERA_API tessera_status tessera_plan(const tessera_context* context, const tessera_fit_options* options,
                                        struct ArrowArrayStream* rows, char** json);
TESSERA_API tessera_status tessera_estimate(const tessera_context* context, const tessera_fit_options* options,
                                            struct ArrowArrayStream* rows, char** json);

typedef struct tessera_evaluate_options {
  size_t struct_size;
  /* of every draw: folds, subsets of large tables, the random baseline rows of distances */
  uint64_t seed;
  int without_distances; /* 1: omit distances to the closest record, by far the slowest part for large tables */
  /* column that utility predicts; NULL: the last one with two or a few values, else the last number */
  const char* target;
  int without_c2st;    /* 1: omit the classifier two-sample tests */
  int without_utility; /* 1: do not train on synthetic and test on holdout rows */
  /* NULL: rows are compared. Else sequences, cut from the real table by these options; holdout, target and without_… do
   * not apply */
  const tessera_sequence_options* sequences;
  /* sequences: training runs of the discriminative and of the predictive judge; 0: 10, TESSERA_NO_JUDGES: none */
  int32_t judges;
  int32_t drawings; /* 1: add the data of tessera_report_html()'s drawings: counts, never of 1 to 4 real rows */
  /* rules of the real table that synthetic rows may break, in "rules". "find": those that it keeps · "off". NULL:
   * "find" */
  const char* rules;
  const char* rule; /* further rules, one per line, as tessera_fit_options.rule. NULL: none */
  /* compares only the rows that meet this condition (docs/use/where.md), in all tables: for rows that were sampled
   * under it. NULL: all. Not for sequences */
  const char* where;
  int32_t without_attacks; /* 1: omit the attacks on privacy. They need a holdout of 40 rows, and no `where` */
  /* the model that the synthetic rows come from, which attacks then know too; NULL: unknown. Of one table only */
  const tessera_model* model;
} tessera_evaluate_options;

#define TESSERA_NO_JUDGES (-1)

/* How close the synthetic rows are to the real ones, and how close to copies of them: Column Shapes, Column Pair
 * Trends, diagnostics, new rows, classifier two-sample tests, utility of a model trained on the synthetic rows,
 * attacks on privacy, distances, written form; "figures" are those that sum it up, "verdict" is it in words
 * (docs/quality/metrics.md defines each entry).
 *   real      the rows the model was fitted on
 *   holdout   rows of the same source it has not seen; may be NULL: then there is no utility, and no reference for
 *             distances
 * With options->sequences: moments, autocorrelation, cross-correlation, marginals, kernel discrepancy, and trained
 * judges. A synthetic table of windows from tessera_sample() has the columns "sequence" and "step" in addition to the
 * real one's.
 * Consumes all streams. Errors: DATA if the columns differ, the target cannot be predicted or a table cannot be cut
 * into sequences, naming them; CONDITION if no row of a table meets options->where; USAGE for a target without a
 * holdout; MEMORY; CANCELLED. */
TESSERA_API tessera_status tessera_evaluate(const tessera_context* context, const tessera_evaluate_options* options,
                                            struct ArrowArrayStream* real, struct ArrowArrayStream* synthetic,
                                            struct ArrowArrayStream* holdout, char** json);

/* The USAGE error that tessera_evaluate() with these options would return, before the data are read. */
TESSERA_API tessera_status tessera_check_evaluate_options(const tessera_evaluate_options* options);

/* Several synthetic tables, each against the real one: JSON {"tables": [{"name", "report"}]} in their order, where
 * each report is what tessera_evaluate() gives for that table alone.
 *   synthetic   `count` streams, of 1 or more
 *   names       of the tables, for people: `count` texts that differ
 * Consumes all streams. Errors: as tessera_evaluate(), beginning with the name of the table; USAGE for equal names.
 * Since ABI 1 */
TESSERA_API tessera_status tessera_evaluate_tables(const tessera_context* context,
                                                   const tessera_evaluate_options* options,
                                                   struct ArrowArrayStream* real,
                                                   struct ArrowArrayStream* const* synthetic, const char* const* names,
                                                   size_t count, struct ArrowArrayStream* holdout, char** json);

typedef struct tessera_dedup_options {
  size_t struct_size;
  /* "exact": rows that are equal in every column · "fuzzy": also near copies, found by keys of columns · "nearest":
   * also near copies, found by comparing all rows · "documents": texts, by the share of common pieces of five bytes ·
   * "semantic": rows that the encoder of a TVAE, trained on them, puts near each other. NULL or "auto": nearest up to
   * 10^10 pairs of rows, else fuzzy */
  const char* mode;
  /* similarity from which a row is a near copy, above 0 to 1; 0: 0.9 for documents, else one that rows of independent
   * columns seldom reach, and near copies are reported but kept */
  double threshold;
  const char* columns; /* those that are compared, "a,b"; NULL: all */
  const char* texts;   /* of the kept rows, as tessera_sample_options.texts: NULL or "dictionary", or "plain" */
  /* NULL, or the file that `rows` were read from and one that the kept rows are written to: if both are CSV, not
   * compressed, lines are copied as they stand, "written" of the JSON is true, and `kept` is left as it is */
  const char* source;
  const char* output;
  int32_t overwrite; /* 0: an existing output is TESSERA_E_IO */
} tessera_dedup_options;

/* Rows that are copies of other rows of the table, or of rows of another table (docs/use/dedup.md, which defines the
 * similarity and the JSON).
 *   against   rows of which copies are found, instead of copies within the table; may be NULL
 *   kept      receives the rows that are no copies, in their order; may be NULL. Of rows that are copies of each other
 *             the first is kept
 *   copies    receives "row" and "of" (both from 1: the row that it is a copy of), "kind" (exact, near) and
 *             "similarity"; may be NULL
 * Consumes rows and against. Errors: USAGE for an unknown mode or column, or a threshold out of range; DATA if the
 * tables do not have the same columns; UNSUPPORTED for more than 10^9 rows; MEMORY; CANCELLED. Since ABI 1 */
TESSERA_API tessera_status tessera_dedup(const tessera_context* context, const tessera_dedup_options* options,
                                         struct ArrowArrayStream* rows, struct ArrowArrayStream* against,
                                         struct ArrowArrayStream* kept, struct ArrowArrayStream* copies, char** json);

typedef struct tessera_audit_options {
  size_t struct_size;
  uint64_t seed;    /* of every draw: attacked rows, guesses, sampled rows, models that are trained */
  int64_t rows;     /* sampled from the model, unless synthetic rows are given; 0: 100,000 */
  int32_t shadows;  /* models like `model` that the likelihood-ratio attack trains, even; 0: it is omitted */
  int32_t canaries; /* rows planted in the training table of one more model; 0: none */
} tessera_audit_options;

/* An attack report: what somebody who has the model file, or rows of it, can find out about the rows that the model
 * learned from: who is among them (by distance, density, likelihood), what their other columns hold, which rows and
 * rare values come back. Each attack is also made on rows that the model has not seen: what it is right about there is
 * no leak (docs/quality/privacy.md defines the attacks and the JSON).
 *   model      NULL: only synthetic rows are attacked
 *   training   the rows the model was fitted on, 40 or more
 *   synthetic  rows of it; NULL: options->rows are sampled from the model
 *   holdout    rows of the same source that it has not seen, 40 or more; NULL: a model with the same options is fitted
 *              on one half of the training rows and attacked with the other half
 * Consumes all streams. Errors: USAGE if neither model nor synthetic is given, for synthetic rows alone without a
 * holdout, for shadows or canaries without a model, for an odd number of shadows, and for a model of sequences; DATA if
 * the tables differ or have too few rows; MEMORY; CANCELLED. Since ABI 1 */
TESSERA_API tessera_status tessera_audit(const tessera_context* context, const tessera_audit_options* options,
                                         const tessera_model* model, struct ArrowArrayStream* training,
                                         struct ArrowArrayStream* synthetic, struct ArrowArrayStream* holdout,
                                         char** json);

/* How likely the model takes each row to be: the exact likelihood of its cells, one given those before it, in nats.
 * Of a number in a bin it is the bin's (docs/use/score.md defines columns and JSON).
 *   rows    all columns of the model; consumed
 *   cells   1: `scores` also has "log_probability of COLUMN" for every learned column
 *   scores  receives "log_probability", "unknown" (columns whose values the model does not know) and "least_likely"
 *           (up to three columns), a row for each of `rows`; may be NULL
 *   json    of all rows: mean, quantiles, the ten least likely; may be NULL
 * Errors: USAGE unless the model is one of rows by method made; DATA for a missing column; MEMORY; CANCELLED.
 * Since ABI 1 */
TESSERA_API tessera_status tessera_score(const tessera_context* context, const tessera_model* model,
                                         struct ArrowArrayStream* rows, int cells, struct ArrowArrayStream* scores,
                                         char** json);

/* p(column | all other cells of the row), exactly. The first column, named as `column`, is the prediction: the
 * likeliest text, or the mean number or date. Texts have a column "p(VALUE)" for each value, numbers "median", "low"
 * and "high" (nine tenths of the probability lie between these two).
 *   rows         consumed: all columns of the model, but for `column`, which is ignored
 *   predictions  receives a row for each of them
 * Errors: as tessera_score(); USAGE for a column that rules compute, or of identifiers. Since ABI 1 */
TESSERA_API tessera_status tessera_predict(const tessera_context* context, const tessera_model* model,
                                           struct ArrowArrayStream* rows, const char* column,
                                           struct ArrowArrayStream* predictions);

/* A self-contained HTML page made from JSON alone:
 *   the JSON of tessera_evaluate(); it may have the members "model", from tessera_model_describe(), and "training", a
 *     list of one object for each line of losses: "step", "epoch", "seconds" and the losses by name
 *   the JSON of tessera_evaluate_tables(): the tables side by side
 *   {"model", "training"}: how the model was trained
 * A file is written whole or not at all. Errors: FORMAT for other JSON; IO; MEMORY. */
TESSERA_API tessera_status tessera_report_html(const char* json, char** html);
TESSERA_API tessera_status tessera_report_write(const char* json, const char* path, int overwrite);

/* This library and machine: version, ABI, instruction sets, devices or why there is none. Errors: MEMORY. */
TESSERA_API tessera_status tessera_info(char** json);

#ifdef __cplusplus
}
#endif

#endif
