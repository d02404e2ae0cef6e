// Tables in files: CSV built in, Parquet and Arrow through the plugin; several files as one table.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "tables/csv/reader.h"
#include "tables/files/plugin_api.h"

namespace tessera {

// By the first bytes. A file that cannot be read, standard input and anything else counts as CSV, whose reader reports
// errors.
FileKind kind_of_input(const std::string& path);
// By its extension: .parquet · .arrow, .feather, .ipc · .arrows; csv for text: .csv, .tsv, .tab, .txt, .json, .jsonl,
// .ndjson, each also with .gz or .zst, a path without extension, pipes and "-". Error(usage) for any other extension.
FileKind kind_of_output(const std::string& path);

// Throws Error(data) with a remedy if a file is a spreadsheet, or compressed by anything but gzip or Zstandard.
void check_is_text(const std::string& path);

// Names with * ? [ ] that are not a file's name are replaced by the files they match, sorted. Error(io) if none
// matches.
std::vector<std::string> expand_paths(const std::vector<std::string>& patterns);

// Opens Parquet and Arrow files with the same columns as one stream, with one batch at a time in memory.
// `progress` is called with the rows so far; it may throw.
// Error(io | data | unsupported), naming the file; the stream's errors name it too.
// `most`: the number of rows to draw evenly, by `seed`, from larger tables; 0: all.
struct RowSample {
  int64_t most = 0;
  uint64_t seed = 0;
};
void open_arrow_files(const std::vector<std::string>& paths, const RowSample& sample,
                      std::function<void(int64_t rows, bool finished)> progress, ArrowArrayStream* out);

// Writes rows in the format of kind_of_output(path), atomically; always releases the stream. Returns the rows written.
int64_t write_arrow_file(ArrowArrayStream* rows, const std::string& path, bool overwrite);

}  // namespace tessera
