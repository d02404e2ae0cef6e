// Tables in files: CSV by ourselves, Parquet and Arrow through the plugin; several files as one table.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "engine/run/monitor.h"
#include "engine/run/team.h"
#include "models/data/csv/reader.h"
#include "models/data/files/plugin_api.h"

namespace tessera {

// By its first bytes. A file that cannot be read, standard input and whatever is neither Parquet nor Arrow counts as
// CSV, whose reader says what is wrong.
FileKind kind_of_input(const std::string& path);
// By its ending: .parquet · .arrow, .feather, .ipc · .arrows; CSV for all others.
FileKind kind_of_output(const std::string& path);

// Names with * ? [ ] that are no file's name become the files they match, sorted. Error(io) where none does.
std::vector<std::string> expand_paths(const std::vector<std::string>& patterns);

// Opens Parquet and Arrow files of the same columns as one stream, of which one batch at a time is in memory.
// `progress` is called with the rows so far; it may throw.
// Error(io | data | unsupported), naming the file; the stream's errors name it too.
// `most`: of larger tables so many rows, spread evenly and drawn by `seed`; 0: all.
struct RowSample {
  int64_t most = 0;
  uint64_t seed = 0;
};
void open_arrow_files(const std::vector<std::string>& paths, const RowSample& sample,
                      std::function<void(int64_t rows, bool finished)> progress, ArrowArrayStream* out);

// Writes rows as kind_of_output(path) says, whole or not at all; always releases the stream. Returns the rows written.
int64_t write_arrow_file(ArrowArrayStream* rows, const std::string& path, bool overwrite);

}  // namespace tessera
