/* Tessera: generative models of tables. The C interface; tessera.hpp is a thin C++ layer over it.
 *
 * Rows go in and out as Arrow C streams, so that a table passes from and to pandas, polars, DuckDB, R or C++ without a
 * copy of ours in between.
 *
 * Errors. A function that can fail returns a tessera_status. On anything but TESSERA_OK its outputs are untouched, and
 *   tessera_last_error() holds a message for a person: the place (file, line, column, value) and the way out. No C++
 *   exception crosses this interface, and nothing calls exit().
 * Streams that come in are consumed: they are released whatever the function returns. Streams that go out belong to the
 *   caller, who calls their release; they keep alive what they need of model and context. A stream that fails returns
 *   an errno value, and its get_last_error the message.
 * Options are structs whose first field is their size: `tessera_fit_options o = {.struct_size = sizeof o};` sets every
 *   other field to 0, which always means "the default". NULL means the same. A struct from a newer header is accepted
 *   as long as the fields this library does not know are 0.
 * Texts are UTF-8 and end with a zero byte. Those that come out as char** are freed by tessera_string_free().
 * Handles are looked up before they are used: NULL, a freed handle, one of another kind and an address that never was a
 *   handle are TESSERA_E_USAGE. A second free does nothing but leave its message in tessera_last_error(). (A stale
 *   handle cannot be detected once its address has been reused by a new handle of the same kind.)
 * Threads. Every function may be called from any thread; different handles are independent; many threads may use one
 *   model at once, and one thread at a time a stream. Free a handle after its last use. Callbacks run on threads of the
 *   library, one at a time per call.
 * Fork. Between calls there are no threads except those of open streams and of jobs. A child may go on using contexts
 *   and models; streams and jobs that the parent opened return TESSERA_E_UNSUPPORTED there. A GPU that the parent used
 *   cannot be used in the child.
 * Bits. Results depend on rows, options and seed, never on the number of threads.
 *
 * Life cycle. What is declared here is stable: it changes only with TESSERA_ABI_VERSION. What is marked
 *   TESSERA_UNSTABLE may change with any release; a program that defines TESSERA_ONLY_STABLE is warned when it uses it.
 *   Messages for people and the members of JSON texts are not part of the ABI; members are added, and those that are
 *   documented stay. Everything here is since ABI 1. */
#ifndef TESSERA_TESSERA_H_
#define TESSERA_TESSERA_H_

#include <stddef.h>
#include <stdint.h>

#include "tessera/arrow.h"

#if defined(__GNUC__)
#define TESSERA_API __attribute__((visibility("default")))
#else
#define TESSERA_API
#endif

#if defined(TESSERA_ONLY_STABLE) && defined(__GNUC__)
#define TESSERA_UNSTABLE __attribute__((deprecated("may change with any release of Tessera")))
#else
#define TESSERA_UNSTABLE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a program built against an older header would no longer run. tessera_abi_version() is the library's, this
 * one the header's. */
#define TESSERA_ABI_VERSION 1
TESSERA_API uint32_t tessera_abi_version(void);

/* The release, "0.1.0". Static. */
TESSERA_API const char* tessera_version(void);

/* The values are also the exit codes of the program `tessera`. */
typedef enum tessera_status {
  TESSERA_OK = 0,
  TESSERA_E_USAGE = 2,       /* an option or argument makes no sense */
  TESSERA_E_DATA = 3,        /* a table, value or type is not what was promised */
  TESSERA_E_IO = 4,          /* a file cannot be read or written */
  TESSERA_E_MEMORY = 5,      /* an allocation or a memory limit failed */
  TESSERA_E_NUMERIC = 6,     /* NaN or infinity in a training step */
  TESSERA_E_CONDITION = 7,   /* a condition names what was never seen, or cannot be met within the bound */
  TESSERA_E_FORMAT = 8,      /* a model file is damaged, foreign or hostile */
  TESSERA_E_UNSUPPORTED = 9, /* this build or machine cannot do it */
  TESSERA_E_CANCELLED = 10,  /* tessera_context_cancel() was called */
  TESSERA_E_INTERNAL = 70    /* a broken invariant of the library: please report it */
} tessera_status;

/* "OK", "USAGE", …: the names above without their beginnings; "?" for any other value. Static. */
TESSERA_API const char* tessera_status_name(tessera_status status);

/* The message of the last function of this thread that did not return TESSERA_OK; "" before. Valid until the next call
 * of this thread. */
TESSERA_API const char* tessera_last_error(void);

/* Frees a text that came out as char**. NULL is allowed. */
TESSERA_API void tessera_string_free(char* text);

/* Frees memory that came out as void**. NULL is allowed. */
TESSERA_API void tessera_memory_free(void* memory);

/* ---- Context: threads, progress, cancellation ---------------------------------------------------- */

typedef struct tessera_context tessera_context;

/* Valid during the callback only. The phase "notice" is no phase: its `note` is a line that the user should see, such
 * as a checkpoint that could not be written. */
typedef struct tessera_progress {
  size_t struct_size;
  /* "read", "types", "protect", "mixtures", "encode", "train", "prior", "candidates", "ratio", "calibrate", "save",
   * "sample", "write", "evaluate" */
  const char* phase;
  double done;      /* in units of `unit` */
  double total;     /* 0: not known */
  const char* unit; /* "rows", "columns", "epochs", "bytes", "trees", "folds", "steps", "sequences" */
  const char* note; /* what a person wants to see beside the bar: "critic -0.41  generator -1.20"; may be "" */
  int finished;     /* 1: the last event of this phase */
} tessera_progress;

typedef void (*tessera_progress_fn)(const tessera_progress* progress, void* user);

/* One line for each phase that ends, with its amount and time, for programs that keep a log and draw no bar. */
typedef void (*tessera_log_fn)(const char* line, void* user);

typedef struct tessera_context_options {
  size_t struct_size;
  int32_t threads; /* 0: every processor this process may run on */
  tessera_progress_fn progress;
  tessera_log_fn log;
  void* user; /* handed to both callbacks */
  /* where training steps and samples run: NULL or "cpu" · "cuda", "cuda:1" · "auto": the first GPU, else the processor
   * (tessera_info() says why) */
  const char* device;
  /* bytes that all calls and streams of this context together may hold of the host's memory: tables, encoded rows,
   * weights, activations, each counted before it is allocated; beyond it they end in TESSERA_E_MEMORY. What is small
   * beside these is not counted. 0: no limit */
  int64_t memory_limit;
  /* a folder: tables, encoded rows and row lists for which half of memory_limit (1 GiB where there is none) has no room
   * go to files without a name there, which are gone with the call or the process, however it ends; results are the
   * same bit for bit. NULL or "": none, and the limit ends in TESSERA_E_MEMORY. A folder that is missing is
   * TESSERA_E_IO at once, a disk that fills up TESSERA_E_IO when it does. Since ABI 1, unstable */
  const char* scratch;
} tessera_context_options;

/* Errors: USAGE; MEMORY; UNSUPPORTED when the device that is asked for is not there, saying what is missing. */
TESSERA_API tessera_status tessera_context_new(const tessera_context_options* options, tessera_context** context);

/* Streams made with the context stay valid. NULL is allowed. */
TESSERA_API void tessera_context_free(tessera_context* context);

/* Asks every call, stream and job of this context to stop: they return TESSERA_E_CANCELLED within a tenth of a second
 * of training (or a step, where one takes longer) or a
 * batch of rows, and go on doing so until tessera_context_reset(). From any thread; tessera_context_cancel() also from
 * a signal handler, and it alone cannot tell a freed context. */
TESSERA_API void tessera_context_cancel(tessera_context* context);
TESSERA_API void tessera_context_reset(tessera_context* context);

/* ---- Model --------------------------------------------------------------------------------------- */

typedef struct tessera_model tessera_model;

/* One line of training losses: means over the steps since the line before. `step` and `epoch` count from the start of
 * training, seconds are wall time. */
typedef struct tessera_losses {
  size_t struct_size;
  int64_t step;
  double epoch;
  double critic;
  double generator;
  double penalty;
  double seconds;
  /* TVAE: with its loss factor; critic, generator and penalty are CTGAN's, and 0 for the other method */
  double reconstruction;
  double divergence; /* TVAE: KL(q(z | row) || N(0, I)) */
  /* TimeGAN: root mean square error of the next latent step; its critic is the discriminator, its reconstruction the
   * root mean square error of a step */
  double supervised;
  double moments;     /* TimeGAN: differences of means and deviations over a batch */
  const char* method; /* "tvae", "ctgan" or "timegan": what is trained, and so which of these are not 0 */
} tessera_losses;

typedef void (*tessera_losses_fn)(const tessera_losses* losses, void* user);

#define TESSERA_UNTRAINED (-1)
#define TESSERA_KEEP_RARE (-1)

/* What makes sequences of a table (docs/sequences.md): windows of one long table (length), or the rows that share a key
 * (key), or windows of those (both). Texts are names of columns. */
typedef struct tessera_sequence_options {
  size_t struct_size;
  int32_t length;      /* rows of a window, 2 to 4096; 0: sequences stay whole, which needs a key */
  int32_t stride;      /* rows between the starts of windows; 0: 1 */
  const char* key;     /* rows with one value are one sequence; NULL: the table is one */
  const char* index;   /* number, date or time that orders the rows of a sequence; NULL: the order they come in */
  const char* statics; /* comma-separated: columns that do not vary within a key */
} tessera_sequence_options;

/* 0 or NULL in any field: the preset's value. Ranges are checked; a message calls a field as the command line does:
 * --batch-size. */
typedef struct tessera_fit_options {
  size_t struct_size;
  /* "tvae" · "ctgan" · "timegan": sequences. NULL: the one whose own options are given, else tvae */
  const char* method;
  /* NULL, "best": the paper's networks and steps with what measurably helps · "paper": the published model */
  const char* preset;
  uint64_t seed;
  int32_t epochs;               /* TESSERA_UNTRAINED: encoders and initial weights only */
  int32_t batch_size;           /* rows; CTGAN: a multiple of pac */
  int32_t pac;                  /* CTGAN: rows the critic sees at once */
  int32_t embedding_dim;        /* length of the noise; TVAE: latent dimensions */
  const int32_t* generator_dim; /* CTGAN: widths of the hidden layers */
  size_t generator_layers;      /* how many there are in generator_dim */
  const int32_t* discriminator_dim;
  size_t discriminator_layers;
  int32_t discriminator_steps; /* CTGAN: critic steps a generator step */
  double learning_rate;
  const char* passes_off;   /* plan passes to leave out, comma-separated, for study: see tessera_plan() */
  const char* source;       /* where the rows came from, for the provenance kept in the model */
  tessera_losses_fn losses; /* at least once an epoch */
  void* losses_user;
  /* what is learnt after training so that rows look real: "off", "marginals" or "full" (docs/calibration.md). NULL:
   * "full"; "off" under preset "paper" */
  const char* calibrate;
  const int32_t* encoder_dim; /* TVAE: widths of the hidden layers */
  size_t encoder_layers;
  const int32_t* decoder_dim;
  size_t decoder_layers;
  double loss_factor;                        /* TVAE: weight of the reconstruction loss beside the divergence */
  const tessera_sequence_options* sequences; /* TimeGAN needs them, no other method takes them */
  /* TimeGAN: steps of each of its three phases; TESSERA_UNTRAINED: none. Instead of epochs */
  int32_t iterations;
  int32_t embedding_iterations; /* TimeGAN: of one phase, whatever `iterations` says */
  int32_t supervised_iterations;
  int32_t joint_iterations;
  int32_t hidden_dim; /* TimeGAN: units of a recurrent layer */
  int32_t layers;     /* TimeGAN: recurrent layers of a network */
  const char* cell;   /* TimeGAN: NULL, "gru" · "gru-reset-before" (the published one) · "lstm" */
  /* TimeGAN: weight of the discriminator's verdict on what the generator makes before it is supervised */
  double gamma;
  /* Nothing lost (docs/resuming.md). Paths are those of files that appear whole or not at all; "<checkpoint>.previous"
   * is the generation before. */
  /* NULL: none. Written while training goes, when it ends, and when it is cancelled or fails; the caller removes it
   * once the model is saved */
  const char* checkpoint;
  /* "30s", "5m", "2h", "10epochs"; NULL: "60s"; "off": only when training ends, is cancelled or fails */
  const char* checkpoint_every;
  /* 1: go on from `checkpoint`; afresh where there is no whole one. 0: what is there is removed */
  int32_t resume;
  /* epochs without a better held-out measure after which training comes to its end; 0: never before `epochs` */
  int32_t patience;
  /* "best": of the weights measured on held-out rows the best · "last". NULL: "best" where patience is set, else
   * "last" */
  const char* keep;
  /* "90s", "30m", "2h": of the whole run, calibration included. NULL: as long as it takes */
  const char* max_time;
  /* "zip=category,id=identifier": overrides what the rows' own types and the rules of docs/tables.md say. Types stand
   * in a schema too: a column whose metadata say "tessera.type" has that one, here and wherever rows are taken. DATA
   * for a value that does not have its type */
  const char* types;
  /* rows that must share a value for it to be learnt as it is: before anything is learnt, rarer categories are replaced
   * by others and rarer numbers by means over at least that many rows (docs/privacy.md). 0: 5, under preset "paper" all
   * are kept · TESSERA_KEEP_RARE: all */
  int32_t rare_categories;
  double seconds_used; /* of max_time, before this call: what it took to read the table */
  /* "pac=10;generator-dim=256,256": options of the method by name, those above and all others that
   * tessera_method_options() lists. NULL: none */
  const char* settings;
} tessera_fit_options;

/* The options of every method: a JSON list of {option, kind, value, help, default, methods: [{method, help, default,
 * default_paper, low, high | choices}]}. `option` is the
 * name on the command line, "--generator-dim"; without its dashes it is a name for tessera_fit_options.settings. kind:
 * "count" · "number" · "flag" (on, off) · "choice" · "widths" (of layers); `value` stands for one in a help text; the
 * outer help and default sum up those of the methods. Free with tessera_string_free(). */
TESSERA_API tessera_status tessera_method_options(char** json);

/* The USAGE that tessera_fit() or tessera_plan() with these options would end in, before the data are read. */
TESSERA_API tessera_status tessera_check_fit_options(const tessera_fit_options* options);

/* Learns a model of the rows.
 *   rows   consumed; the whole table is held in memory, a column once. Every type of docs/tables.md, which a sampled
 *          row has again: int32 in, int32 out.
 * Errors: USAGE; DATA, naming column, row and value; NUMERIC, naming tensor and step; MEMORY; CANCELLED. With
 * options->checkpoint the message ends in what is kept there. With options->resume also USAGE and DATA when the
 * checkpoint is of other options or of another table, naming the difference; UNSUPPORTED when a later release wrote
 * it. */
TESSERA_API tessera_status tessera_fit(const tessera_context* context, const tessera_fit_options* options,
                                       struct ArrowArrayStream* rows, tessera_model** model);

/* The same call for the first run and for every later one, until the model is there: as tessera_fit() with
 * options->resume = 1, but that a model which was saved already is loaded instead of trained again. However often the
 * training was stopped, the model is equal bit for bit to that of a run that never was.
 *   saved      where the caller saves the model; may be NULL
 *   overwrite  0: a file there that is not the model of these rows and options is USAGE, DATA or FORMAT, naming the
 *              difference; 1: it does not matter
 *   finished   may be NULL; receives 1 if the model at `saved` was it, 0 if it was trained */
TESSERA_API tessera_status tessera_resume(const tessera_context* context, const tessera_fit_options* options,
                                          struct ArrowArrayStream* rows, const char* saved, int overwrite,
                                          int* finished, tessera_model** model);

/* Removes both generations of a checkpoint: to be called when the model has been saved. Files that are not there are
 * removed already. Errors: USAGE; IO. */
TESSERA_API tessera_status tessera_checkpoint_remove(const char* path);

/* The same in the background. */
typedef struct tessera_job tessera_job;

typedef struct tessera_job_state {
  size_t struct_size; /* set by the caller */
  int finished;       /* 1: it has ended, well or not: tessera_job_take_model() says which */
  const char* phase;  /* as in tessera_progress; static; "" before the first */
  double done;
  double total;
  const char* unit;
  char note[160]; /* cut where it does not fit */
} tessera_job_state;

/* Starts tessera_fit() on a thread of its own and returns at once.
 *   options  need not live on, nor what they point to; the losses' `user` must until the job has finished, as must what
 *            the rows read from.
 *   rows     consumed, on the job's thread.
 *   job      any thread may ask it; it must be freed. The context may be freed before it.
 * Errors: USAGE; UNSUPPORTED; MEMORY when there is no further thread. All others come with the model. */
TESSERA_API tessera_status tessera_fit_start(const tessera_context* context, const tessera_fit_options* options,
                                             struct ArrowArrayStream* rows, tessera_job** job);

/* Where it is. Never waits. Errors: USAGE; UNSUPPORTED in a child of the process that started it. */
TESSERA_API tessera_status tessera_job_poll(tessera_job* job, tessera_job_state* state);

/* Waits until it has finished, at most so many seconds; negative: as long as it takes.
 *   finished  may be NULL; receives 1 or 0.
 * Errors: as tessera_job_poll(); USAGE from a callback of the job itself. */
TESSERA_API tessera_status tessera_job_wait(tessera_job* job, double seconds, int* finished);

/* Asks it to stop, as tessera_context_cancel() does, but this job alone. Returns at once; the job has finished soon
 * after, with TESSERA_E_CANCELLED. */
TESSERA_API tessera_status tessera_job_cancel(tessera_job* job);

/* Its model, once: it belongs to the caller. Errors: USAGE when it has not finished or the model was taken; else what
 * tessera_fit() would have returned, with its message. */
TESSERA_API tessera_status tessera_job_take_model(tessera_job* job, tessera_model** model);

/* Cancels it, waits until it has finished, and frees it. NULL is allowed. */
TESSERA_API void tessera_job_free(tessera_job* job);

/* Writes the model whole or not at all: a safetensors file with JSON metadata (docs/file-format.md).
 *   overwrite   0: an existing file is TESSERA_E_IO.
 * Errors: IO, with the file untouched. */
TESSERA_API tessera_status tessera_model_save(const tessera_model* model, const char* path, int overwrite);

/* Nothing in a file is executed; every length in it is checked before use. Errors: IO; FORMAT, saying what is wrong and
 * where; MEMORY. */
TESSERA_API tessera_status tessera_model_load(const char* path, tessera_model** model);

/* The bytes of the file that tessera_model_save() would write; tessera_memory_free() frees them. Errors: MEMORY. */
TESSERA_API tessera_status tessera_model_save_memory(const tessera_model* model, void** data, size_t* size);

/* The same, piece by piece, to the caller's function: 0 to go on, or an errno value. It is called on the caller's
 * thread. Errors: IO with that errno's text; MEMORY. */
typedef int (*tessera_write_fn)(const void* data, size_t size, void* user);
TESSERA_API tessera_status tessera_model_write(const tessera_model* model, tessera_write_fn write, void* user);

/* The bytes are copied and may go at once. Errors: as tessera_model_load(); "(memory)" stands for the file's name. */
TESSERA_API tessera_status tessera_model_load_memory(const void* data, size_t size, tessera_model** model);

/* NULL is allowed. */
TESSERA_API void tessera_model_free(tessera_model* model);

/* The columns that sampled rows have, in the order of the fitted table: a struct schema. The caller releases it.
 * Errors: MEMORY. */
TESSERA_API tessera_status tessera_model_schema(const tessera_model* model, struct ArrowSchema* schema);

/* JSON: method, preset, configuration, columns, encoders, sizes, provenance (docs/file-format.md). Errors: MEMORY. */
TESSERA_API tessera_status tessera_model_describe(const tessera_model* model, char** json);

typedef struct tessera_sample_report {
  int64_t rows;       /* given out so far */
  int64_t candidates; /* made for them: rows/candidates is the yield of condition and calibration */
  /* rows for which, under calibration, the likeliest of 64 candidates was taken, as none was kept */
  int64_t settled;
  const char* calibration; /* the tier the rows went through: "off", "marginals", "full". Static */
} tessera_sample_report;

typedef struct tessera_sample_options {
  size_t struct_size;
  uint64_t seed;
  const char* where;  /* NULL: no condition · "education = 'Masters' and age >= 40" (docs/command-line.md) */
  int32_t batch_size; /* rows made at a time; 0: chosen. Never changes a row */
  /* candidates a row may take under `where`; 0: 65,536, fewer where none of the first million meets it */
  int32_t max_tries;
  /* may be NULL; brought up to date with every batch, and must live until the stream is released */
  tessera_sample_report* report;
  /* "off", "marginals" or "full"; NULL: the tier that served best when the model was fitted. USAGE if the model does
   * not hold it */
  const char* calibrate;
  /* share of candidates that calibration keeps at least; 0: 0.1. Higher is faster and less exact */
  double min_yield;
  /* NULL, "dictionary": columns of text as dictionary<int32, utf8>, the dictionary the same in every batch but for
   * identifiers · "plain": as the fitted rows had them: utf8, large_utf8, utf8_view, binary; dictionaries stay
   * dictionaries. Every other column has the type it came in, whatever this says */
  const char* texts;
} tessera_sample_options;

/* Draws rows [offset, offset + count) of the infinite table that (model, seed, where) defines. Row i is the same for
 * every batch size, thread count and call: sampling 1000 rows, or 10 times 100, gives the same table. With AVX2 and
 * with AVX-512 it is the same too; plain
 *   code (processors without AVX2) and devices round differently, so that their rows differ: mostly in last digits, now
 *       and then in a whole value.
 *   rows   receives a stream whose batches are made as they are asked for. Columns, order and types are those of
 *          tessera_model_schema().
 * Errors: USAGE, with a caret under what does not parse; CONDITION when the condition names what the model has not
 * seen. The stream fails with TESSERA_E_CONDITION's
 *   message when a row cannot be found within max_tries: how many were found, and which term is the rare one. */
TESSERA_API tessera_status tessera_sample(const tessera_context* context, const tessera_model* model, int64_t offset,
                                          int64_t count, const tessera_sample_options* options,
                                          struct ArrowArrayStream* rows);

/* Rows into arrays of the caller's, for programs that want no Arrow. */
typedef enum tessera_value {
  /* double; a date in days, a date with time in seconds since 1970-01-01; a boolean 0 or 1; missing: NaN */
  TESSERA_FLOAT64 = 1,
  /* int64_t; a date in days, a date with time in microseconds since 1970-01-01; a boolean 0 or 1; missing: 0 */
  TESSERA_INT64 = 2,
  TESSERA_TEXT = 3 /* char[width], ending in a zero byte: as a CSV file would hold it; missing: "" */
} tessera_value;

typedef struct tessera_column_buffer {
  size_t struct_size;
  const char* name; /* the column's; NULL: the column at this place */
  tessera_value type;
  void* values;     /* room for `capacity` values */
  size_t width;     /* TESSERA_TEXT: bytes of a value, its zero included */
  uint8_t* missing; /* may be NULL; receives 1 where a value is missing, else 0 */
} tessera_column_buffer;

/* Reads at most `capacity` rows of a stream into the arrays of columns[0 … count) and releases it.
 *   rows   consumed. One of tessera_sample(), tessera_csv_open(), or anyone's.
 *   read   receives the number of rows.
 * Errors: USAGE, also for a name the rows do not have; DATA for a value that the buffer's type cannot hold; whatever
 * the stream failed with; CANCELLED. After an error the arrays hold anything. */
TESSERA_API tessera_status tessera_rows_read(const tessera_context* context, struct ArrowArrayStream* rows,
                                             int64_t capacity, const tessera_column_buffer* columns, size_t count,
                                             int64_t* read);

/* Rows of the Arrow C device interface, batches that lie on a GPU among them, as rows for every function here.
 *   rows   consumed. What lies in the host's memory, pinned and managed memory of CUDA included, passes without a copy;
 *          batches on a CUDA device are copied, column by column, as
 *          they are asked for, by the plugin that the device "cuda" needs too.
 *   out    receives a stream; the caller releases it, or hands it to a function that does.
 * Errors: USAGE; DATA. The stream fails with TESSERA_E_UNSUPPORTED's message where a batch lies on a GPU that cannot be
 * used (it says why: tessera_info()), or on a device of another kind. */
TESSERA_API TESSERA_UNSTABLE tessera_status tessera_rows_from_device(const tessera_context* context,
                                                                     struct ArrowDeviceArrayStream* rows,
                                                                     struct ArrowArrayStream* out);

/* The other way: the rows of any stream, consumed, for programs that take streams of the device interface only. Its
 * batches lie in the host's memory. Errors: USAGE. */
TESSERA_API TESSERA_UNSTABLE tessera_status tessera_rows_to_device(struct ArrowArrayStream* rows,
                                                                   struct ArrowDeviceArrayStream* out);

/* ---- Reports, as JSON ---------------------------------------------------------------------------- */

/* What was understood of a table, column by column, with the reason for each type. Consumes rows. Errors: DATA, MEMORY,
 * CANCELLED. */
TESSERA_API tessera_status tessera_inspect(const tessera_context* context, struct ArrowArrayStream* rows, char** json);

/* The training step these rows and options would run: ops, shapes, bytes, FLOPs, what each pass did, the memory, the
 * floor. Trains nothing. Consumes rows.
 * Errors: as tessera_fit. */
TESSERA_API tessera_status tessera_plan(const tessera_context* context, const tessera_fit_options* options,
                                        struct ArrowArrayStream* rows, char** json);

typedef struct tessera_evaluate_options {
  size_t struct_size;
  /* of every draw: folds, parts of large tables, the random baseline that distances are compared with */
  uint64_t seed;
  int without_distances; /* 1: leave out distances to the closest record, by far the longest part of large tables */
  /* column that utility predicts; NULL: the last one with two or a few values, else the last number */
  const char* target;
  int without_c2st;    /* 1: leave out the classifier two-sample tests */
  int without_utility; /* 1: do not train on synthetic and test on holdout rows */
  /* NULL: tables of rows. Else sequences are compared, made of the real table by these; holdout, target and without_…
   * do not go with them */
  const tessera_sequence_options* sequences;
  /* sequences: trainings of the discriminative and of the predictive judge; 0: 10, TESSERA_NO_JUDGES: none */
  int32_t judges;
} tessera_evaluate_options;

#define TESSERA_NO_JUDGES (-1)

/* How near the synthetic rows are to the real ones, and how near to copies of them: Column Shapes, Column Pair Trends,
 * diagnostics, new rows, how well a
 * classifier tells the two apart, what a model trained on the synthetic rows is worth on holdout rows, distances
 * (docs/metrics.md names each entry).
 *   real      the rows the model was fitted on
 *   holdout   rows of the same source it has not seen; may be NULL: then there is no utility, and distances have
 *             nothing to be compared with
 * With options->sequences: moments, autocorrelation, cross-correlation, marginals, kernel discrepancy, and judges that
 * are trained. A synthetic table that tessera_sample() made of windows has the columns "sequence" and "step" beside the
 * real one's.
 * Consumes all. Errors: DATA when the columns differ, the target cannot be predicted or a table cannot be made into
 * sequences, naming them; USAGE for a target without a holdout; MEMORY; CANCELLED. */
TESSERA_API tessera_status tessera_evaluate(const tessera_context* context, const tessera_evaluate_options* options,
                                            struct ArrowArrayStream* real, struct ArrowArrayStream* synthetic,
                                            struct ArrowArrayStream* holdout, char** json);

/* The USAGE that tessera_evaluate() with these options would end in, before the data are read. */
TESSERA_API tessera_status tessera_check_evaluate_options(const tessera_evaluate_options* options);

/* This library and machine: version, ABI, instruction sets, processors, devices and why there is none. Errors:
 * MEMORY. */
TESSERA_API tessera_status tessera_info(char** json);

/* ---- CSV, as a producer and a consumer of streams ------------------------------------------------ */

typedef enum tessera_header { TESSERA_HEADER_DETECT = 0, TESSERA_HEADER_YES = 1, TESSERA_HEADER_NO = 2 } tessera_header;

typedef struct tessera_csv_options {
  size_t struct_size;
  const char* types;   /* "zip=category,id=identifier": overrides what the rules of docs/tables.md find */
  const char* missing; /* further spellings of a missing value, comma-separated: "3O,-99" */
  char delimiter;      /* 0: found among , ; tab | */
  tessera_header header;
  /* NULL, or the schema of a stream or model of this library: its columns, in its order, read as its types. Borrowed */
  const struct ArrowSchema* like;
  /* 1: the file may have columns that `like` does not: they come in front, with the types found */
  int32_t more_columns;
  /* tessera_table_open() of Parquet and Arrow files: of larger tables so many rows, spread evenly and drawn by
   * sample_seed; 0: all */
  int64_t max_rows;
  uint64_t sample_seed;
} tessera_csv_options;

/* Reads a CSV file ("-": standard input) into typed columns.
 * Errors: IO; DATA, naming file, line, column and value; MEMORY; CANCELLED. */
TESSERA_API tessera_status tessera_csv_open(const tessera_context* context, const char* path,
                                            const tessera_csv_options* options, struct ArrowArrayStream* rows);

typedef struct tessera_csv_write_options {
  size_t struct_size;
  int overwrite;    /* 0: an existing file is TESSERA_E_IO */
  char delimiter;   /* 0: a comma */
  int64_t* written; /* may be NULL: receives the rows written */
} tessera_csv_write_options;

/* Writes rows as CSV to a file, whole or not at all, or to standard output ("-") as they come. Consumes rows.
 * Errors: IO; whatever the stream failed with, with its message; CANCELLED. */
TESSERA_API tessera_status tessera_csv_write(const tessera_context* context, struct ArrowArrayStream* rows,
                                             const char* path, const tessera_csv_write_options* options);

/* ---- Files of any kind --------------------------------------------------------------------------- */

/* Reads a table from a file, or from several with the same columns in the same order, one after the other: CSV, Parquet
 * or Arrow IPC, told apart by their first bytes.
 *   paths     count of them; a name with * ? [ ] that is no file's is the files it matches, sorted; "-" is standard
 *             input (CSV)
 *   options   how CSV files are read; max_rows and sample_seed for others, whose columns have types of their own
 * Parquet and Arrow files are read as they are asked for, one batch at a time in memory; they need libtessera_arrow.so
 * (docs/parquet.md).
 * Errors: USAGE; IO; DATA, naming the file; UNSUPPORTED without the plugin, saying how to get it; MEMORY; CANCELLED. */
TESSERA_API tessera_status tessera_table_open(const tessera_context* context, const char* const* paths, size_t count,
                                              const tessera_csv_options* options, struct ArrowArrayStream* rows);

/* Writes rows as the ending of path says: .parquet · .arrow, .feather or .ipc (Arrow IPC file) · .arrows (Arrow IPC
 * stream) · all others as tessera_csv_write().
 * Whole or not at all; one row group in memory. Consumes rows. Errors: as tessera_csv_write(); UNSUPPORTED without the
 * plugin. */
TESSERA_API tessera_status tessera_table_write(const tessera_context* context, struct ArrowArrayStream* rows,
                                               const char* path, const tessera_csv_write_options* options);

/* The error tessera_table_write(), tessera_csv_write() or tessera_model_save() to this path would end in, before hours
 * are spent on what goes into it. */
TESSERA_API tessera_status tessera_check_output(const char* path, int overwrite);

typedef enum tessera_file_use {
  TESSERA_FILE_READ = 0,      /* a table or a model; names with * ? [ ] as in tessera_table_open() */
  TESSERA_FILE_WRITTEN = 1,   /* rows, losses: a pipe or a device may stand there */
  TESSERA_FILE_REGULAR = 2,   /* a model, a lock: no pipe and no device */
  TESSERA_FILE_CHECKPOINT = 3 /* the checkpoint of tessera_fit_options, both generations */
} tessera_file_use;

typedef struct tessera_file {
  size_t struct_size;
  const char* name; /* what messages call it: "--log", "the table" */
  const char* path; /* "-": a standard stream */
  tessera_file_use use;
  /* 0: a file that is there already is TESSERA_E_IO, but for one that is read and for a checkpoint */
  int32_t overwrite;
} tessera_file;

/* Judges all the files of a piece of work before it begins. Errors: IO where a file that is written is also another of
 * them, by whatever path, hard or symbolic link, or where writing it would fail as tessera_check_output() says, or
 * where what stands at a checkpoint's path is no checkpoint; USAGE; UNSUPPORTED. Since ABI 1, unstable */
TESSERA_API tessera_status tessera_check_files(const tessera_file* files, size_t count);

/* A table with a known truth, for demonstrations and tests: name NULL or "people" (mixtures, skewed categories,
 * dependent columns, dates, missing values, identifiers).
 * Errors: USAGE for another name or a negative number of rows; MEMORY. */
TESSERA_API tessera_status tessera_example(const tessera_context* context, const char* name, int64_t rows,
                                           uint64_t seed, struct ArrowArrayStream* out);

#ifdef __cplusplus
}
#endif

#endif
