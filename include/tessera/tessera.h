/* Tessera: generative models of tables. The C interface; tessera.hpp is a thin C++ layer over it.
 *
 * Rows are passed as Arrow C streams: from and to pandas, polars, DuckDB, R or C++ without an intermediate copy.
 * Errors. A function that can fail returns a tessera_status. On anything but TESSERA_OK its outputs are untouched, and
 *   tessera_last_error() holds a message with its place and the way out. No C++ exception crosses this interface.
 * Input streams are consumed: they are released whatever the function returns. Output streams belong to the caller, who
 *   calls their release; they keep alive what they need of model and context. A stream that fails returns an errno
 *   value; its get_last_error returns the message.
 * Options are structs whose first field is their size: `tessera_fit_options o = {.struct_size = sizeof o};` sets every
 *   other field to 0, the default, as NULL does. Fields of a newer header that this library does not know must be 0.
 * Texts are UTF-8 and end with a zero byte. Texts returned through char** are freed by tessera_string_free().
 * Handles are looked up before they are used: NULL, a freed handle, one of another kind and an address that never was a
 *   handle are TESSERA_E_USAGE, unless a new handle of the same kind has the address. A second free sets the message.
 * Threads. Every function may be called from any thread; different handles are independent; many threads may use one
 *   model at once, and one thread at a time a stream. Free a handle after its last use. Callbacks run on threads of the
 *   library, one at a time per call.
 * Fork. Between calls only open streams and jobs have threads. A child may use contexts and models, but no GPU that the
 *   parent used; streams and jobs that the parent opened return TESSERA_E_UNSUPPORTED there.
 * Bits. Results depend on rows, options and seed, never on the number of threads.
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

/* The message of this thread's last function that did not return TESSERA_OK; "" before. Valid until its next call. */
TESSERA_API const char* tessera_last_error(void);

/* Frees a text returned through char**. NULL is allowed. */
TESSERA_API void tessera_string_free(char* text);

/* Frees memory returned through void**. NULL is allowed. */
TESSERA_API void tessera_memory_free(void* memory);

/* ---- Context: threads, progress, cancellation ---------------------------------------------------- */

typedef struct tessera_context tessera_context;

/* Valid during the callback only. "notice" is not a phase: its `note` is a line for the user, for instance about a
 * checkpoint that could not be written. */
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

/* One line at the end of each phase, with its amount and time, for programs that keep a log and draw no bar. */
typedef void (*tessera_log_fn)(const char* line, void* user);

typedef struct tessera_context_options {
  size_t struct_size;
  int32_t threads; /* 0: every processor this process may run on */
  tessera_progress_fn progress;
  tessera_log_fn log;
  void* user; /* handed to both callbacks */
  /* where it runs: NULL or "cpu" · "cuda", "cuda:1" · "auto": the first GPU, else the CPU (tessera_info() tells why) */
  const char* device;
  /* limit in bytes of the host memory that all calls and streams of this context hold together: tables, encoded rows,
   * weights, activations, each counted before it is allocated; beyond it they return TESSERA_E_MEMORY. Small
   * allocations are not counted. 0: no limit */
  int64_t memory_limit;
  /* a folder: tables, encoded rows and row lists that do not fit in half of memory_limit (1 GiB without a limit) go to
   * unnamed files there, which disappear with the call or the process, however it ends; results are bit-identical. NULL
   * or "": none, and exceeding the limit returns TESSERA_E_MEMORY. A missing folder is TESSERA_E_IO at once, a full
   * disk TESSERA_E_IO when it occurs. Since ABI 1, unstable */
  const char* scratch;
} tessera_context_options;

/* Errors: USAGE; MEMORY; UNSUPPORTED if the requested device is not available, naming what is missing. */
TESSERA_API tessera_status tessera_context_new(const tessera_context_options* options, tessera_context** context);

/* Streams made with the context stay valid. NULL is allowed. */
TESSERA_API void tessera_context_free(tessera_context* context);

/* Asks every call, stream and job of this context to stop: they return TESSERA_E_CANCELLED within a tenth of a second
 * of training (or one step, if it takes longer) or a batch of rows, and keep doing so until tessera_context_reset().
 * From any thread; tessera_context_cancel() also from a signal handler, and only it cannot detect a freed context. */
TESSERA_API void tessera_context_cancel(tessera_context* context);
TESSERA_API void tessera_context_reset(tessera_context* context);

/* ---- Model --------------------------------------------------------------------------------------- */

typedef struct tessera_model tessera_model;

/* One line of training losses: means over the steps since the previous line. `step` and `epoch` count from the start of
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
  double reconstruction; /* Made: nats a row */
  double divergence;     /* TVAE: KL(q(z | row) || N(0, I)) */
  /* TimeGAN: root mean square error of the next latent step; its critic is the discriminator, its reconstruction the
   * root mean square error of a step */
  double supervised;
  double moments;     /* TimeGAN: differences of means and deviations over a batch */
  const char* method; /* "made", "tvae", "ctgan" or "timegan": what is trained, and so which of these are not 0 */
  /* all losses of the method, by name: "critic", "reconstruction"; 0 where the phase has none */
  const char* const* names;
  const double* values;
  size_t count; /* how many there are in names and values */
} tessera_losses;

typedef void (*tessera_losses_fn)(const tessera_losses* losses, void* user);

#define TESSERA_UNTRAINED (-1)
#define TESSERA_KEEP_RARE (-1)

/* How a table is cut into sequences (docs/sequences.md): windows of one long table (length), or the rows that share a
 * key (key), or windows of those (both). Texts are names of columns. */
typedef struct tessera_sequence_options {
  size_t struct_size;
  int32_t length;      /* rows of a window, 2 to 4096; 0: sequences stay whole, which needs a key */
  int32_t stride;      /* rows between the starts of windows; 0: 1 */
  const char* key;     /* rows with one value are one sequence; NULL: the table is one */
  const char* index;   /* number, date or time that orders the rows of a sequence; NULL: the order they come in */
  const char* statics; /* comma-separated: columns that do not vary within a key */
} tessera_sequence_options;

/* 0 or NULL in any field: the preset's value. Ranges are checked; messages call a field as the command line does. */
typedef struct tessera_fit_options {
  size_t struct_size;
  /* "made" · "tvae" · "ctgan" · "timegan": sequences. NULL: the first that has all these options ask for */
  const char* method;
  /* NULL, "best": the paper's networks and steps with measured improvements · "paper": the published model */
  const char* preset;
  uint64_t seed;
  int32_t epochs;               /* TESSERA_UNTRAINED: encoders and initial weights only */
  int32_t batch_size;           /* rows; CTGAN: a multiple of pac */
  int32_t pac;                  /* CTGAN: rows the critic sees at once */
  int32_t embedding_dim;        /* length of the noise; TVAE: latent dimensions; Made: of a level */
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
  /* correction learned after training: "off", "marginals" or "full" (docs/calibration.md). NULL: of tvae and ctgan
   * under preset "best" "full", else "off" */
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
  int32_t hidden_dim; /* TimeGAN: units of a recurrent layer; Made: of a hidden one */
  int32_t layers;     /* TimeGAN: recurrent layers of a network; Made: residual blocks */
  const char* cell;   /* TimeGAN: NULL, "gru" · "gru-reset-before" (the published one) · "lstm" */
  double gamma;       /* TimeGAN: weight of the adversarial loss on latent steps before the supervisor */
  /* Checkpoints (docs/resuming.md). Files are written atomically; "<checkpoint>.previous" is the previous one. */
  /* NULL: none. Written during training, when it ends, and when it is cancelled or fails; the caller removes it once
   * the model is saved */
  const char* checkpoint;
  /* "30s", "5m", "2h", "10epochs"; NULL: "60s"; "off": only when training ends, is cancelled or fails */
  const char* checkpoint_every;
  /* 1: continue from `checkpoint`; start from scratch if there is no intact one. 0: an existing one is removed */
  int32_t resume;
  /* epochs without a better held-out measure after which training is ended; 0: not before `epochs`; Made: 1 */
  int32_t patience;
  /* "best": the weights with the best held-out measure · "last". NULL: "best" if patience is set, else "last" */
  const char* keep;
  const char* max_time; /* "90s", "30m", "2h": limit of the whole run, calibration included. NULL: none */
  /* "zip=category,id=identifier": overrides the types of the rows and the rules of docs/tables.md. A schema may also
   * give types: a column whose metadata contain "tessera.type" has that type, here and in every function that takes
   * rows. DATA for a value that does not have its type */
  const char* types;
  /* rows that must share a value for it to be learned unchanged: before training, rarer categories are replaced by
   * others and rarer numbers by means over at least this many rows (docs/privacy.md). 0: 5, under preset "paper" all
   * are kept · TESSERA_KEEP_RARE: all */
  int32_t rare_categories;
  double seconds_used; /* of max_time, before this call: what it took to read the table */
  /* "pac=10;generator-dim=256,256": options of the method by name, those above and all others that
   * tessera_method_options() lists. NULL: none */
  const char* settings;
  const char* recompute; /* values of a step made again, not kept: "off" · "auto", NULL · "all" (engine/memory.md) */
  /* ranks that train together on the CPU (docs/engine/devices.md): "4" or "all" in this process · "launched": the
   * processes of mpirun or srun, which all make this call; but rank 0, they get a NULL model. NULL: one */
  const char* devices;
  int32_t virtual_shards; /* parts of a batch summed apart, of which ranks take equal numbers: 1 to 64; 0: chosen */
  const char* rules; /* that rows keep (docs/methods/rules.md). "find" · "off". NULL: "find"; "off" of preset "paper" */
  const char* rule;  /* further ones, one a line, as tessera_sample_options.where: "end >= start". NULL: none */
  const char* precision; /* of training's products: NULL, "fp32" · "bf16" · "auto" · … (docs/methods/precision.md) */
} tessera_fit_options;

/* Rank and number of the processes that mpirun or srun started, 0 and 1 without them. NULL is allowed. Unstable */
TESSERA_API void tessera_launched(int32_t* rank, int32_t* ranks);

/* The options of every method: a JSON list of {option, kind, value, help, default, methods: [{method, help, default,
 * default_paper, low, high | choices}]}. `option` is the
 * name on the command line, "--generator-dim"; without its dashes it is a name for tessera_fit_options.settings. kind:
 * "count" · "number" · "flag" (on, off) · "choice" · "widths" (of layers); `value` stands for one in a help text; the
 * outer help and default sum up those of the methods. Free with tessera_string_free(). */
TESSERA_API tessera_status tessera_method_options(char** json);

/* The USAGE error that tessera_fit() or tessera_plan() with these options would return, before the data are read. */
TESSERA_API tessera_status tessera_check_fit_options(const tessera_fit_options* options);

/* Fits a model to the rows.
 *   rows   consumed; the whole table is held in memory, each column once. Every type of docs/tables.md; sampled rows
 *          have the same types: int32 in, int32 out.
 * Errors: USAGE; DATA, naming column, row and value; NUMERIC, naming tensor and step; MEMORY; CANCELLED. With
 * options->checkpoint the message ends with what is saved there. With options->resume also USAGE and DATA if the
 * checkpoint belongs to other options or another table, naming the difference; UNSUPPORTED if a later release wrote
 * it. */
TESSERA_API tessera_status tessera_fit(const tessera_context* context, const tessera_fit_options* options,
                                       struct ArrowArrayStream* rows, tessera_model** model);

/* The same call for the first run and for every later one, until the model is finished: as tessera_fit() with
 * options->resume = 1, except that a saved model is loaded instead of trained again. However often training was
 * interrupted, the model is bit-identical to that of an uninterrupted run.
 *   saved      where the caller saves the model; may be NULL
 *   overwrite  0: a file there that is not the model of these rows and options is USAGE, DATA or FORMAT, naming the
 *              difference; 1: it is ignored
 *   finished   may be NULL; receives 1 if the model at `saved` was loaded, 0 if it was trained */
TESSERA_API tessera_status tessera_resume(const tessera_context* context, const tessera_fit_options* options,
                                          struct ArrowArrayStream* rows, const char* saved, int overwrite,
                                          int* finished, tessera_model** model);

/* Removes both files of a checkpoint, once the model is saved. Missing files count as removed. Errors: USAGE; IO. */
TESSERA_API tessera_status tessera_checkpoint_remove(const char* path);

typedef struct tessera_job tessera_job; /* the same in the background */

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
 *   options  and what they point to need not outlive the call; the losses' `user` and the source of the rows must live
 *            until the job has finished.
 *   rows     consumed, on the job's thread.
 *   job      usable from any thread; it must be freed. The context may be freed before it.
 * Errors: USAGE; UNSUPPORTED; MEMORY if no thread can be started. All others are returned with the model. */
TESSERA_API tessera_status tessera_fit_start(const tessera_context* context, const tessera_fit_options* options,
                                             struct ArrowArrayStream* rows, tessera_job** job);

/* Its progress. Never waits. Errors: USAGE; UNSUPPORTED in a child of the process that started it. */
TESSERA_API tessera_status tessera_job_poll(tessera_job* job, tessera_job_state* state);

/* Waits until it has finished, at most `seconds`; negative: without limit. finished may be NULL; receives 1 or 0.
 * Errors: as tessera_job_poll(); USAGE from a callback of the job itself. */
TESSERA_API tessera_status tessera_job_wait(tessera_job* job, double seconds, int* finished);

/* Asks this job to stop, as tessera_context_cancel() does for a context. Returns at once; the job finishes soon after,
 * with TESSERA_E_CANCELLED. */
TESSERA_API tessera_status tessera_job_cancel(tessera_job* job);

/* Its model, once: it belongs to the caller. Errors: USAGE if it has not finished or the model was taken; else those of
 * tessera_fit(), with their message. */
TESSERA_API tessera_status tessera_job_take_model(tessera_job* job, tessera_model** model);

/* Cancels it, waits until it has finished, and frees it. NULL is allowed. */
TESSERA_API void tessera_job_free(tessera_job* job);

/* Writes the model atomically: a safetensors file with JSON metadata (docs/file-format.md). overwrite 0: an existing
 * file is TESSERA_E_IO. Errors: IO, with the file untouched. */
TESSERA_API tessera_status tessera_model_save(const tessera_model* model, const char* path, int overwrite);

/* Nothing in a file is executed; every length in it is checked before use. Errors: IO; FORMAT, naming the defect and
 * its place; MEMORY. */
TESSERA_API tessera_status tessera_model_load(const char* path, tessera_model** model);

/* The bytes of the file that tessera_model_save() would write; tessera_memory_free() frees them. Errors: MEMORY. */
TESSERA_API tessera_status tessera_model_save_memory(const tessera_model* model, void** data, size_t* size);

/* The same, piece by piece, to the caller's function, which returns 0 to continue, or an errno value. It is called on
 * the caller's thread. Errors: IO with that errno's text; MEMORY. */
typedef int (*tessera_write_fn)(const void* data, size_t size, void* user);
TESSERA_API tessera_status tessera_model_write(const tessera_model* model, tessera_write_fn write, void* user);

/* The bytes are copied and may be freed at once. Errors: as tessera_model_load(), of a file named "(memory)". */
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
  /* rows for which, under calibration, the most likely of 64 candidates was taken because none was accepted */
  int64_t settled;
  const char* calibration; /* the tier the rows went through: "off", "marginals", "full". Static */
} tessera_sample_report;

typedef struct tessera_sample_options {
  size_t struct_size;
  uint64_t seed;
  const char* where;  /* NULL: no condition · "education = 'Masters' and age >= 40" (docs/command-line.md) */
  int32_t batch_size; /* rows made at a time; 0: chosen. Never changes a row */
  /* maximum candidates per row under `where`; 0: 65,536, fewer if none of the first million meets it */
  int32_t max_tries;
  /* may be NULL; updated with every batch, and must live until the stream is released */
  tessera_sample_report* report;
  /* "off", "marginals" or "full"; NULL: the best tier measured when the model was fitted. USAGE if the model does not
   * hold it */
  const char* calibrate;
  /* minimum share of candidates that calibration accepts; 0: 0.1. Higher is faster and less exact */
  double min_yield;
  /* NULL, "dictionary": columns of text as dictionary<int32, utf8>, with the same dictionary in every batch except for
   * identifiers · "plain": as in the fitted rows: utf8, large_utf8, utf8_view, binary; dictionaries stay dictionaries.
   * Other columns always have the type of the fitted rows */
  const char* texts;
  const char* precision; /* of the generator's products, as in tessera_fit_options. NULL: "fp32" */
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
 *   rows   consumed. A stream of tessera_sample(), tessera_csv_open(), or any other producer.
 *   read   receives the number of rows.
 * Errors: USAGE, also for a name the rows do not have; DATA for a value that the buffer's type cannot hold; the
 * stream's error; CANCELLED. After an error the contents of the arrays are unspecified. */
TESSERA_API tessera_status tessera_rows_read(const tessera_context* context, struct ArrowArrayStream* rows,
                                             int64_t capacity, const tessera_column_buffer* columns, size_t count,
                                             int64_t* read);

/* Rows of the Arrow C device interface, including batches in GPU memory, as rows for every function here.
 *   rows   consumed. Host memory, including pinned and managed memory of CUDA, passes without a copy; batches on a CUDA
 *          device are copied on request, column by column, by the plugin that the device "cuda" needs too.
 *   out    receives a stream; the caller releases it, or passes it to a function that does.
 * Errors: USAGE; DATA. The stream fails with TESSERA_E_UNSUPPORTED's message if a batch is on a GPU that cannot be used
 * (tessera_info() tells why), or on another kind of device. */
TESSERA_API TESSERA_UNSTABLE tessera_status tessera_rows_from_device(const tessera_context* context,
                                                                     struct ArrowDeviceArrayStream* rows,
                                                                     struct ArrowArrayStream* out);

/* The reverse: the rows of any stream, consumed, for programs that only take streams of the device interface. Its
 * batches are in host memory. Errors: USAGE. */
TESSERA_API TESSERA_UNSTABLE tessera_status tessera_rows_to_device(struct ArrowArrayStream* rows,
                                                                   struct ArrowDeviceArrayStream* out);

/* ---- Reports, as JSON ---------------------------------------------------------------------------- */

/* How a table was read, column by column: why it has its type. Consumes rows. Errors: DATA, MEMORY, CANCELLED. */
TESSERA_API tessera_status tessera_inspect(const tessera_context* context, struct ArrowArrayStream* rows, char** json);

/* The rules that a table shows and fit keeps (docs/methods/rules.md). Consumes rows. Errors: as tessera_fit. */
TESSERA_API tessera_status tessera_find_rules(const tessera_context* context, const tessera_fit_options* options,
                                              struct ArrowArrayStream* rows, char** json);

/* The training step that these rows and options would run: ops, shapes, bytes, FLOPs, the effect of each pass, the
 * memory, the floor. Trains nothing. Consumes rows. Errors: as tessera_fit.
 * tessera_estimate(): what such a fit takes of memory, by part and phase (docs/engine/memory.md). */
TESSERA_API tessera_status tessera_plan(const tessera_context* context, const tessera_fit_options* options,
                                        struct ArrowArrayStream* rows, char** json);
TESSERA_API tessera_status tessera_estimate(const tessera_context* context, const tessera_fit_options* options,
                                            struct ArrowArrayStream* rows, char** json);

typedef struct tessera_evaluate_options {
  size_t struct_size;
  /* of every draw: folds, subsets of large tables, the random baseline rows of distances */
  uint64_t seed;
  int without_distances; /* 1: leave out distances to the closest record, by far the longest part of large tables */
  /* column that utility predicts; NULL: the last one with two or a few values, else the last number */
  const char* target;
  int without_c2st;    /* 1: leave out the classifier two-sample tests */
  int without_utility; /* 1: do not train on synthetic and test on holdout rows */
  /* NULL: rows are compared. Else sequences, cut from the real table by these options; holdout, target and without_… do
   * not apply */
  const tessera_sequence_options* sequences;
  /* sequences: training runs of the discriminative and of the predictive judge; 0: 10, TESSERA_NO_JUDGES: none */
  int32_t judges;
  int32_t drawings; /* 1: also what tessera_report_html() draws: counts, none of them of 1 to 4 real rows */
} tessera_evaluate_options;

#define TESSERA_NO_JUDGES (-1)

/* How close the synthetic rows are to the real ones, and how close to copies of them: Column Shapes, Column Pair
 * Trends, diagnostics, new rows, classifier two-sample tests, utility of a model trained on the synthetic rows,
 * distances (docs/metrics.md defines each entry).
 *   real      the rows the model was fitted on
 *   holdout   rows of the same source it has not seen; may be NULL: then there is no utility, and no reference for
 *             distances
 * With options->sequences: moments, autocorrelation, cross-correlation, marginals, kernel discrepancy, and trained
 * judges. A synthetic table of windows from tessera_sample() has the columns "sequence" and "step" in addition to the
 * real one's.
 * Consumes all streams. Errors: DATA if the columns differ, the target cannot be predicted or a table cannot be cut
 * into sequences, naming them; USAGE for a target without a holdout; MEMORY; CANCELLED. */
TESSERA_API tessera_status tessera_evaluate(const tessera_context* context, const tessera_evaluate_options* options,
                                            struct ArrowArrayStream* real, struct ArrowArrayStream* synthetic,
                                            struct ArrowArrayStream* holdout, char** json);

/* The USAGE error that tessera_evaluate() with these options would return, before the data are read. */
TESSERA_API tessera_status tessera_check_evaluate_options(const tessera_evaluate_options* options);

/* This library and machine: version, ABI, instruction sets, devices or why there is none. Errors: MEMORY. */
TESSERA_API tessera_status tessera_info(char** json);

/* ---- CSV, as a producer and a consumer of streams ------------------------------------------------ */

typedef enum tessera_header { TESSERA_HEADER_DETECT = 0, TESSERA_HEADER_YES = 1, TESSERA_HEADER_NO = 2 } tessera_header;

typedef struct tessera_csv_options {
  size_t struct_size;
  const char* types;   /* "zip=category,id=identifier": overrides what the rules of docs/tables.md find */
  const char* missing; /* further spellings of a missing value, comma-separated: "3O,-99" */
  char delimiter;      /* 0: found among , ; tab | */
  tessera_header header;
  /* NULL, or the schema of a stream or model of this library: its columns, in its order and types. Borrowed */
  const struct ArrowSchema* like;
  /* 1: the file may have columns that `like` does not: they come first, with the detected types */
  int32_t more_columns;
  /* Parquet and Arrow files: the number of rows drawn evenly, by sample_seed, from larger tables; 0: all */
  int64_t max_rows;
  uint64_t sample_seed;
  const char* schema; /* NULL, or a schema file (docs/data/schema.md); `types` override it */
} tessera_csv_options;

/* Reads a CSV file ("-": standard input) into typed columns.
 * Errors: IO; DATA, naming file, line, column and value; MEMORY; CANCELLED. */
TESSERA_API tessera_status tessera_csv_open(const tessera_context* context, const char* path,
                                            const tessera_csv_options* options, struct ArrowArrayStream* rows);

typedef struct tessera_csv_write_options {
  size_t struct_size;
  int overwrite;    /* 0: an existing file is TESSERA_E_IO */
  char delimiter;   /* 0: the one of the input, or a comma */
  int64_t* written; /* may be NULL: receives the rows written */
  /* NULL or "like-input": delimiter, quotes, line ends, numbers and dates as in the input; "plain": for programs */
  const char* format;
} tessera_csv_write_options;

/* Writes rows as CSV atomically to a file, or to standard output ("-") as they arrive. Consumes rows.
 * Errors: IO; USAGE; the stream's error with its message; CANCELLED. */
TESSERA_API tessera_status tessera_csv_write(const tessera_context* context, struct ArrowArrayStream* rows,
                                             const char* path, const tessera_csv_write_options* options);

/* ---- Files of any kind --------------------------------------------------------------------------- */

/* Reads a table from a file, or from several with the same columns in the same order, one after the other: CSV, JSON,
 * either compressed, Parquet or Arrow IPC (docs/data/files.md).
 *   paths     `count` of them; a name with * ? [ ] that is not a file means the files it matches, sorted; "-" is
 *             standard input (CSV)
 *   options   how CSV files are read; max_rows and sample_seed for others, whose columns have types
 * Parquet and Arrow files are read on request, one batch at a time in memory; they need libtessera_arrow.so
 * (docs/parquet.md).
 * Errors: USAGE; IO; DATA, naming the file; UNSUPPORTED without the plugin, with instructions to get it; MEMORY;
 * CANCELLED. */
TESSERA_API tessera_status tessera_table_open(const tessera_context* context, const char* const* paths, size_t count,
                                              const tessera_csv_options* options, struct ArrowArrayStream* rows);

/* Writes rows in the format of the path's extension: .parquet · .arrow, .feather or .ipc (Arrow IPC file) · .arrows
 * (Arrow IPC stream) · .json, .jsonl, .csv and others of docs/data/files.md, also with .gz or .zst.
 * Atomic; one row group in memory. Consumes rows. Errors: as tessera_csv_write(); UNSUPPORTED without the plugin. */
TESSERA_API tessera_status tessera_table_write(const tessera_context* context, struct ArrowArrayStream* rows,
                                               const char* path, const tessera_csv_write_options* options);

/* The error that writing to this path would return, before hours are spent on the contents. */
TESSERA_API tessera_status tessera_check_output(const char* path, int overwrite);

typedef enum tessera_file_use {
  TESSERA_FILE_READ = 0,       /* a table or a model; names with * ? [ ] as in tessera_table_open() */
  TESSERA_FILE_WRITTEN = 1,    /* rows, in the format of the path's ending; may be a pipe or a device */
  TESSERA_FILE_REGULAR = 2,    /* a model, a lock: no pipe and no device */
  TESSERA_FILE_CHECKPOINT = 3, /* the checkpoint of tessera_fit_options, both generations */
  TESSERA_FILE_TEXT = 4        /* losses, a report: as WRITTEN, whatever the ending */
} tessera_file_use;

typedef struct tessera_file {
  size_t struct_size;
  const char* name; /* what messages call it: "--log", "the table" */
  const char* path; /* "-": a standard stream */
  tessera_file_use use;
  /* 0: an existing file is TESSERA_E_IO, except for one that is read and for a checkpoint */
  int32_t overwrite;
} tessera_file;

/* Checks all files of a command before it starts. Errors: IO if an output is also another of the files, by any path,
 * hard or symbolic link, or if writing it would fail (tessera_check_output()), or if the file at a checkpoint's path is
 * not a checkpoint; USAGE; UNSUPPORTED. Since ABI 1, unstable */
TESSERA_API tessera_status tessera_check_files(const tessera_file* files, size_t count);

/* A table with known dependences, for demonstrations and tests: name NULL or "people".
 * Errors: USAGE for another name or a negative number of rows; MEMORY. */
TESSERA_API tessera_status tessera_example(const tessera_context* context, const char* name, int64_t rows,
                                           uint64_t seed, struct ArrowArrayStream* out);

#ifdef __cplusplus
}
#endif

#include "tessera/tessera_report.h"

#endif
