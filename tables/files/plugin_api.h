// The library's interface to libtessera_arrow.so, which reads and writes Parquet and Arrow files. The library itself
// does not depend on Arrow: it opens the plugin at run time, and rows pass as Arrow C streams.
#pragma once
#include <cstdint>

#include "tessera/arrow.h"

namespace tessera {

constexpr int kFilesAbi = 1;  // raised with every change of this file
constexpr const char* kFilesEntry = "tessera_file_plugin";

// data: the file is invalid · stopped: the sink or the stream of rows failed
enum class FilesStatus : int { ok, data, io, memory, stopped, failed };

enum class FileKind : int { csv, parquet, arrow_file, arrow_stream };  // csv never reaches the plugin

// Receives the bytes of a file. False: stop; the owner of the sink knows the reason.
struct FileSink {
  void* self;
  bool (*write)(void* self, const void* bytes, int64_t count);
};

// A sample of the rows, drawn evenly: all rows of all files are divided into `keep` intervals of equal length, and one
// row of each is drawn with the seed.
struct FileSample {
  int64_t all = 0, keep = 0;  // rows of all files together, rows wanted of them
  uint64_t seed = 0;
  int64_t first_row = 0;  // number of this file's first row among all
};

struct FilesApi {
  int abi;                   // kFilesAbi; checked before anything else is read
  const char* name;          // "Arrow C++ 26.0.1"
  const char* (*message)();  // of the last failed call of this thread: a sentence

  // A file as a stream that holds one batch at a time, for files of any size. Batches are checked: offsets and indices
  // lie within their buffers. sample: null for every row.
  FilesStatus (*read)(const char* path, FileKind kind, const FileSample* sample, ArrowArrayStream* out);
  // The number of rows stated in a file, without reading them; −1 if the file does not state it.
  FilesStatus (*rows)(const char* path, FileKind kind, int64_t* rows);
  // Consumes all rows and always releases the stream. Holds one row group. If `rows` fails, its message is message()
  // and its error number *rows_error.
  FilesStatus (*write)(ArrowArrayStream* rows, FileKind kind, const FileSink* sink, int64_t* written, int* rows_error);
};

using FilesEntry = const FilesApi* (*)();

}  // namespace tessera
