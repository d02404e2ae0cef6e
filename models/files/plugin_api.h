// What the library asks of libtessera_arrow.so, which reads and writes Parquet and Arrow files. The library itself needs nothing of Arrow: it opens the plugin at run time,
// and rows pass as Arrow C streams.
#pragma once
#include <cstdint>

#include "tessera/arrow.h"

namespace tessera {

constexpr int kFilesAbi = 1;
constexpr const char* kFilesEntry = "tessera_file_plugin";

enum class FilesStatus : int { ok, data, io, memory, stopped, failed };  // data: the file is not what it should be · stopped: the sink or the stream of rows failed

enum class FileKind : int { csv, parquet, arrow_file, arrow_stream };  // csv never reaches the plugin

// Where the bytes of a file go. False: stop; whoever gave the sink knows why.
struct FileSink {
  void* self;
  bool (*write)(void* self, const void* bytes, int64_t count);
};

struct FilesApi {
  int abi;           // kFilesAbi; checked before anything else is read
  const char* name;  // "Arrow C++ 26.0.1"
  const char* (*message)();  // of the last call of this thread that was not ok: a sentence

  // A file as a stream that holds one batch at a time, whatever the size of the file. Batches are checked: offsets and indices lie within their buffers.
  FilesStatus (*read)(const char* path, FileKind kind, ArrowArrayStream* out);
  // Takes all rows and always releases the stream. Holds one row group. If `rows` fails, its message is message() and its error number *rows_error.
  FilesStatus (*write)(ArrowArrayStream* rows, FileKind kind, const FileSink* sink, int64_t* written, int* rows_error);
};

using FilesEntry = const FilesApi* (*)();

}  // namespace tessera
