// Shared by all commands: common options, a context with progress and signals, and standard output.
#pragma once
#include <CLI/App.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>

#include "terminal/progress.h"
#include "tessera/tessera.hpp"

struct SharedOptions {
  int threads = 0;
  std::string device = "cpu";
  bool quiet = false;
  bool json = false;
  uint64_t memory_limit = 0;  // 0: none
  std::string scratch;        // folder; empty: none
};

// What an option of the library takes: no text where none was given. Points into `text`.
inline const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

// One heap for all threads, called before there are threads: the memory left in heaps per thread, and with it the peak
// that `estimate` bounds, would depend on scheduling.
void use_one_heap();

class Session {
 public:
  explicit Session(const SharedOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const tessera::Context& context() const { return *context_; }
  ProgressPrinter& progress() { return progress_; }
  double seconds() const;  // since the session began

 private:
  ProgressPrinter progress_;
  std::jthread heart_;  // calls progress_.beat()
  std::unique_ptr<tessera::Context> context_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

// Writes everything to standard output; throws tessera::Error(TESSERA_E_IO) on failure (a full disk behind a
// redirection).
void print(const std::string& text);
// A report; a path in it that is not UTF-8 is shown with replacement characters.
void print_json(const nlohmann::json& report);
// The same for a page of text, with control characters escaped.
void print_page(const std::string& page);

// ".csv" of rows.csv, ".csv.gz" of rows.csv.gz.
std::string ending_of(const std::filesystem::path& path);

// Writes rows to a file, or to standard output ("-"): there a closed reader (… | head) ends the process silently by
// SIGPIPE, as for every Unix tool.
int64_t write_rows(Session& session, tessera::Rows&& rows, const std::string& path,
                   const tessera_csv_write_options& options);

// --memory-limit, and --memory-fraction of the available memory.
struct MemoryArguments {
  uint64_t limit = 0;
  double fraction = 0;
  void add_to(CLI::App& command, const std::string& help);
  // Bytes; 0: no limit. Error(UNSUPPORTED) where the kernel does not report available memory.
  uint64_t bytes() const;
};

// The folder of scratch files: `given`, none for "off", by default that of the output (no file: the system's).
std::string scratch_folder(const std::string& given, const std::string& output);

// The CSV options of every command that reads a table.
struct CsvArguments {
  std::string types, missing, delimiter, schema, header = "detect";
  void add_to(CLI::App& command);
  tessera_csv_options options() const;  // borrows from this struct
};

// A delimiter: "," ";" "|" "tab" or any other single character; '\0' for an empty text.
char parse_delimiter(const std::string& text);
