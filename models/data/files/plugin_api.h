// What the library asks of libtessera_arrow.so, which reads and writes Parquet and Arrow files. The library itself
// needs nothing of Arrow: it opens the plugin at run time, and rows pass as Arrow C streams.
#pragma once
#include <cstdint>

#include "tessera/arrow.h"

namespace tessera {

constexpr int kFilesAbi = 1;  // raised with every change of this file
constexpr const char* kFilesEntry = "tessera_file_plugin";

// data: the file is not what it should be · stopped: the sink or the stream of rows failed
enum class FilesStatus : int { ok, data, io, memory, stopped, failed };

enum class FileKind : int { csv, parquet, arrow_file, arrow_stream };  // csv never reaches the plugin

// Where the bytes of a file go. False: stop; whoever gave the sink knows why.
struct FileSink {
  void* self;
  bool (*write)(void* self, const void* bytes, int64_t count);
};

// A share of the rows, drawn evenly: all rows of all files are cut into `keep` stretches of equal length, and of each
// one row is taken, keyed by the seed.
struct FileSample {
  int64_t all = 0, keep = 0;  // rows of all files together, rows wanted of them
  uint64_t seed = 0;
  int64_t first_row = 0;  // number of this file's first row among all
};

struct FilesApi {
  int abi;                   // kFilesAbi; checked before anything else is read
  const char* name;          // "Arrow C++ 26.0.1"
  const char* (*message)();  // of the last call of this thread that was not ok: a sentence

  // A file as a stream that holds one batch at a time, whatever the size of the file. Batches are checked: offsets and
  // indices lie within their buffers.
  // sample: null for every row.
  FilesStatus (*read)(const char* path, FileKind kind, const FileSample* sample, ArrowArrayStream* out);
  // How many rows a file says it has, without reading them where it does; −1 where only reading would tell.
  FilesStatus (*rows)(const char* path, FileKind kind, int64_t* rows);
  // Takes all rows and always releases the stream. Holds one row group. If `rows` fails, its message is message() and
  // its error number *rows_error.
  FilesStatus (*write)(ArrowArrayStream* rows, FileKind kind, const FileSink* sink, int64_t* written, int* rows_error);
};

using FilesEntry = const FilesApi* (*)();

}  // namespace tessera
