/* Tables in files. Part of tessera.h, which documents the common rules. */
#ifndef TESSERA_TESSERA_TABLE_H_
#define TESSERA_TESSERA_TABLE_H_

#include "tessera/arrow.h"
#include "tessera/tessera_context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tessera_header { TESSERA_HEADER_DETECT = 0, TESSERA_HEADER_YES = 1, TESSERA_HEADER_NO = 2 } tessera_header;

typedef struct tessera_csv_options {
  size_t struct_size;
  const char* types;   /* "zip=category,id=identifier": overrides the types by the rules of docs/data/tables.md */
  const char* missing; /* further spellings of a missing value, comma-separated: "3O,-99" */
  char delimiter;      /* 0: detected among , ; tab | */
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

typedef struct tessera_csv_write_options {
  size_t struct_size;
  int overwrite;    /* 0: an existing file is TESSERA_E_IO */
  char delimiter;   /* 0: the one of the input, or a comma */
  int64_t* written; /* may be NULL: receives the rows written */
  /* NULL or "like-input": delimiter, quotes, line ends, numbers and dates as in the input; "plain": for programs */
  const char* format;
} tessera_csv_write_options;

/* Reads a table from a file, or from several with the same columns in the same order, one after the other: CSV, JSON,
 * either compressed, Parquet or Arrow IPC (docs/data/files.md).
 *   paths     `count` of them; a name with * ? [ ] that is not a file means the files it matches, sorted; "-" is
 *             standard input (CSV)
 *   options   how CSV files are read; max_rows and sample_seed for others, whose columns have types
 * Parquet and Arrow files are read on request, one batch at a time in memory; they need libtessera_arrow.so
 * (docs/data/parquet.md).
 * Errors: USAGE; IO; DATA, naming file, line, column and value; UNSUPPORTED without the plugin, with instructions to
 * get it; MEMORY; CANCELLED. */
TESSERA_API tessera_status tessera_table_open(const tessera_context* context, const char* const* paths, size_t count,
                                              const tessera_csv_options* options, struct ArrowArrayStream* rows);

/* Writes rows in the format of the path's extension: .parquet · .arrow, .feather or .ipc (Arrow IPC file) · .arrows
 * (Arrow IPC stream) · .json, .jsonl, .csv and others of docs/data/files.md, also with .gz or .zst; CSV without one,
 * and as rows arrive to standard output ("-"). A file is written atomically, with one row group in memory. Consumes
 * rows. Errors: IO; USAGE; the stream's error with its message; UNSUPPORTED without the plugin; CANCELLED. */
TESSERA_API tessera_status tessera_table_write(const tessera_context* context, struct ArrowArrayStream* rows,
                                               const char* path, const tessera_csv_write_options* options);

typedef enum tessera_file_use {
  TESSERA_FILE_READ = 0,       /* a table or a model; names with * ? [ ] as in tessera_table_open() */
  TESSERA_FILE_WRITTEN = 1,    /* rows, in the format of the path's extension; may be a pipe or a device */
  TESSERA_FILE_REGULAR = 2,    /* a model, a lock: not a pipe or a device */
  TESSERA_FILE_CHECKPOINT = 3, /* the checkpoint of tessera_fit_options, both generations */
  TESSERA_FILE_TEXT = 4        /* losses, a report: as WRITTEN, with any extension */
} tessera_file_use;

typedef struct tessera_file {
  size_t struct_size;
  const char* name; /* its name in messages: "the table" */
  const char* path; /* "-": a standard stream */
  tessera_file_use use;
  /* 0: an existing file is TESSERA_E_IO, except for one that is read and for a checkpoint */
  int32_t overwrite;
} tessera_file;

/* Checks all files of a command before it starts. Errors: IO if an output is also another of the files, by any path,
 * hard or symbolic link, or if writing it would fail, or if the file at a checkpoint's path is not a checkpoint; USAGE;
 * UNSUPPORTED. Since ABI 1, unstable */
TESSERA_API tessera_status tessera_check_files(const tessera_file* files, size_t count);

/* A table with known dependences, for demonstrations and tests: name NULL or "people".
 * Errors: USAGE for another name or a negative number of rows; MEMORY. */
TESSERA_API tessera_status tessera_example(const tessera_context* context, const char* name, int64_t rows,
                                           uint64_t seed, struct ArrowArrayStream* out);

#ifdef __cplusplus
}
#endif

#endif
