/* Threads, progress and cancellation. Part of tessera.h, which documents the common rules. */
#ifndef TESSERA_TESSERA_CONTEXT_H_
#define TESSERA_TESSERA_CONTEXT_H_

#include "tessera/tessera_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Context: threads, progress, cancellation ---------------------------------------------------- */

typedef struct tessera_context tessera_context;

/* Valid during the callback only. "notice" is not a phase: its `note` is a line for the user, for instance about a
 * checkpoint that could not be written. */
typedef struct tessera_progress {
  size_t struct_size;
  /* "read", "types", "rules", "protect", "mixtures", "encode", "attributes", "train", "prior", "candidates", "ratio",
   * "calibrate", "save", "sample", "write", "evaluate", "dedup", "tables" */
  const char* phase;
  double done;      /* in units of `unit` */
  double total;     /* 0: unknown */
  const char* unit; /* "rows", "columns", "epochs", "bytes", "trees", "folds", "steps", "sequences", "tables" */
  const char* note; /* text beside the progress bar: "critic -0.41  generator -1.20"; may be "" */
  int finished;     /* 1: the last event of this phase */
} tessera_progress;

typedef void (*tessera_progress_fn)(const tessera_progress* progress, void* user);

/* One line at the end of each phase, with its amount and time, for programs that keep a log and draw no bar. */
typedef void (*tessera_log_fn)(const char* line, void* user);

typedef struct tessera_context_options {
  size_t struct_size;
  int32_t threads; /* 0: all processors available to this process */
  tessera_progress_fn progress;
  tessera_log_fn log;
  void* user; /* passed to both callbacks */
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
  /* bytes of memory_limit that the calls leave free, for memory of the caller that should count toward the limit. 0:
   * none. Since ABI 1, unstable */
  int64_t memory_held;
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

#ifdef __cplusplus
}
#endif

#endif
