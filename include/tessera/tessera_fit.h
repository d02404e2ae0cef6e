/* Fitting a model, at once or in the background. Part of tessera.h, which documents the common rules. */
#ifndef TESSERA_TESSERA_FIT_H_
#define TESSERA_TESSERA_FIT_H_

#include "tessera/tessera_context.h"
#include "tessera/tessera_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Fit ----------------------------------------------------------------------------------------- */

/* One line of training losses: means over the steps since the previous line. `step` and `epoch` count from the start of
 * training, seconds are wall time. */
typedef struct tessera_losses {
  size_t struct_size;
  int64_t step;
  double epoch;
  double seconds;
  const char* method; /* "made", "tvae", "ctgan" or "timegan" */
  /* all losses of the method, by name: "critic", "reconstruction"; 0 where the phase has none */
  const char* const* names;
  const double* values;
  size_t count; /* number of names and values */
} tessera_losses;

typedef void (*tessera_losses_fn)(const tessera_losses* losses, void* user);

#define TESSERA_KEEP_RARE (-1)
#define TESSERA_NO_PATIENCE (-1)

/* How a table is cut into sequences (docs/data/sequences.md): windows of one long table (length), or the rows that
 * share a key (key), or windows of those (both). Texts are names of columns. */
typedef struct tessera_sequence_options {
  size_t struct_size;
  int32_t length;  /* rows of a window, 2 to 4096; 0: whole sequences; needs a key */
  int32_t stride;  /* rows between the starts of windows; 0: 1 */
  const char* key; /* rows with the same value form a sequence; NULL: the table is one */
  /* number, date or time that orders the rows of a sequence; "none": the order of the rows. NULL or "": a date or time
   * that rises in every row, else the order of the rows */
  const char* index;
  /* comma-separated: columns that do not vary within a key; "none": no column. NULL or "": with the preset "best", a
   * fit finds them. */
  const char* statics;
} tessera_sequence_options;

/* 0 or NULL in any field: the preset's value. Ranges are checked. Messages name a field by its key in backquotes,
 * `device=cpu`, and those of sequences as sequence_length, sequence_key, sequence_index, stride and static. */
typedef struct tessera_fit_options {
  size_t struct_size;
  /* "made" · "tvae" · "ctgan" · "timegan": sequences. NULL: the first that supports all these options */
  const char* method;
  /* NULL, "best": the paper's networks and steps with measured improvements · "paper": the published model */
  const char* preset;
  /* "epochs=10;generator_dim=256,256": options of the method by name, those that tessera_method_options() lists.
   * NULL: none. "epochs=0" of rows, "iterations=0" of sequences: encoders and initial weights only */
  const char* settings;
  uint64_t seed;
  const char* passes_off;   /* plan passes to disable, comma-separated, for study: see tessera_plan() */
  const char* source;       /* source of the rows, stored in the model's provenance */
  tessera_losses_fn losses; /* called at least once per epoch */
  void* losses_user;
  /* correction learned after training: "off", "marginals" or "full" (docs/methods/calibration.md). NULL: "full" for
   * tvae and ctgan under preset "best", else "off" */
  const char* calibrate;
  const tessera_sequence_options* sequences; /* required by TimeGAN, refused by other methods */
  /* Checkpoints (docs/use/resuming.md). Files are written atomically; "<checkpoint>.previous" is the previous one. */
  /* NULL: none. Written during training, when it ends, and when it is cancelled or fails; the caller removes it once
   * the model is saved */
  const char* checkpoint;
  /* "30s", "5m", "2h", "10epochs"; NULL: "60s"; "off": only when training ends, is cancelled or fails */
  const char* checkpoint_every;
  /* 1: continue from `checkpoint`; start from scratch if there is no intact one. 0: an existing one is removed */
  int32_t resume;
  /* epochs without a better held-out measure after which training is ended. 0: the method's default: made 1, the others
   * none · TESSERA_NO_PATIENCE: training is not ended before `epochs` */
  int32_t patience;
  /* "best": the weights with the best held-out measure · "last". NULL: "best" if patience is set, else "last" */
  const char* keep;
  const char* max_time; /* "90s", "30m", "2h": limit of the whole run, calibration included. NULL: none */
  /* "zip=category,id=identifier": overrides the types of the rows and the rules of docs/data/tables.md. A schema may
   * also give types: a column whose metadata contain "tessera.type" has that type, here and in every function that
   * takes rows. DATA for a value that does not have its type */
  const char* types;
  /* rows that must share a value for it to be learned unchanged. Before training, rarer categories are replaced by
   * others and rarer numbers by means over at least this many rows (docs/quality/privacy.md). 0: 5, under preset
   * "paper" all are kept · TESSERA_KEEP_RARE: all */
  int32_t rare_categories;
  double seconds_used;   /* part of max_time that passed before this call, for reading the table */
  const char* recompute; /* gradient checkpointing: "off" · "auto", NULL · "all" (docs/engine/memory.md) */
  /* ranks that train together (docs/engine/devices.md): "4", "all" or GPUs "0,2,5" in this process · "launched": the
   * processes of a launcher, which all make this call; all but rank 0 get a NULL model. NULL: one */
  const char* devices;
  /* gradient shards per batch, 1 to 64: all rank counts that divide it give one model; 0: chosen */
  int32_t virtual_shards;
  const char* rules; /* search for rules (docs/use/rules.md): "find" · "off". NULL: "find"; "off" for preset "paper" */
  const char* rule;  /* further rules, one per line, as tessera_sample_options.where: "end >= start". NULL: none */
  const char* precision; /* of products in training: NULL, "fp32" · "bf16" · "auto" · … (docs/methods/precision.md) */
  int32_t micro_batch; /* rows or sequences of a step in memory at once (docs/engine/memory.md); 0: the batch */
  /* how ctgan and tvae encode numbers (docs/data/encoding.md): modes of a mixture, "modes" · quantile bins, "bins".
   * NULL: the preset's choice */
  const char* numbers;
  /* what is divided among ranks: the rows of a batch, "data", NULL · the columns of the table, "model": weights,
   * moments and gradients of tvae and ctgan that are as wide as a row · "auto": columns only if a rank does not fit
   * otherwise (docs/engine/devices.md) */
  const char* parallel;
  /* Differential privacy (docs/quality/differential_privacy.md): the model is a function of noisy counts and gradients
   * that are (epsilon, delta)-differentially private for adding or removing a row. Methods "made" and "tvae", rows
   * without keys; every column's type is declared by `types` or a schema file. 0: none */
  double epsilon;
  double delta; /* at most 0.01; 0: 1e-5. Refused without epsilon */
  /* with epsilon, what is noisy: counts, of which rows are drawn to train on, "counts" · gradients, "gradients"
   * (DP-SGD) · "both": the latter after the former · "auto", NULL: chosen by the number of columns */
  const char* privacy;
  /* the launches of a training step on a GPU, for study: "fusion" in the JSON of tessera_plan(), changed
   * (docs/engine/lab.md). No bit of a model depends on it. NULL: chosen */
  const char* fusion;
} tessera_fit_options;

/* Rank and number of the processes of mpirun, srun or TESSERA_RENDEZVOUS, else 0 and 1. NULL is allowed. Unstable */
TESSERA_API void tessera_launched(int32_t* rank, int32_t* ranks);
/* USAGE if variables of a launcher are incomplete or contradict each other: tessera_launched() then gives 0 and 1. */
TESSERA_API TESSERA_UNSTABLE tessera_status tessera_check_launched(void);

/* The options of every method: a JSON list of {option, kind, value, help, default, methods: [{method, help, default,
 * default_paper, low, high | choices}]}. `option` is its
 * name in tessera_fit_options.settings, "generator_dim". kind: "count" · "number" · "flag" (on, off) · "choice" ·
 * "widths" (of layers); `value` stands for one in a help text; the outer help and default sum up those of the methods.
 * Free with tessera_string_free(). */
TESSERA_API tessera_status tessera_method_options(char** json);

/* The USAGE error that tessera_fit() or tessera_plan() with these options would return, before the data are read. */
TESSERA_API tessera_status tessera_check_fit_options(const tessera_fit_options* options);

/* Fits a model to the rows.
 *   rows   consumed; the whole table is held in memory, each column once. Every type of docs/data/tables.md; sampled
 *          rows have the same types: int32 in, int32 out.
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
  int finished;       /* 1: it has ended, with or without success: see tessera_job_take_model() */
  const char* phase;  /* as in tessera_progress; static; "" before the first */
  double done;
  double total;
  const char* unit;
  char note[160]; /* truncated if too long */
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

#ifdef __cplusplus
}
#endif

#endif
