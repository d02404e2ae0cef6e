#include "session.h"

#include <poll.h>
#include <unistd.h>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>

#ifdef __GLIBC__  // defined by every header of the C library
#include <malloc.h>
#endif

#include "interrupt.h"
#include "terminal/flags.h"
#include "terminal/text.h"
#include "whole_number.h"

namespace {

// The device chosen by --device, and the reason.
std::string chosen_device(const std::string& wish) {
  const auto gpu = nlohmann::json::parse(tessera::info())["gpu"];
  if (!gpu["available"].get<bool>()) return "cpu. " + as_typed(gpu["reason"].get<std::string>());
  std::string name = wish.rfind("cuda:", 0) == 0 ? wish : "cuda:0";
  for (const auto& d : gpu["devices"])
    if (d["device"] == name && d.contains("name")) return name + " (" + d["name"].get<std::string>() + ")";
  return name;
}

// Subtracted from --memory-limit: the program's code, its libraries and small blocks, which the library does not count.
constexpr int64_t kProgramBytes = 16'000'000;

bool reader_is_gone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace

Session::Session(const SharedOptions& options) : progress_(ProgressPrinter::style_for_stderr(options.quiet)) {
  tessera_context_options o{};
  o.threads = options.threads;
  o.device = options.device.c_str();
  o.progress = &ProgressPrinter::callback;
  o.user = &progress_;
  o.memory_limit = static_cast<int64_t>(std::min<uint64_t>(options.memory_limit, INT64_MAX));
  o.memory_held = kProgramBytes;
  o.scratch = options.scratch.c_str();
  context_ = std::make_unique<tessera::Context>(o);
  cancel_on_signals(context_->get());
  if (options.device != "cpu") progress_.line("device", chosen_device(options.device));
  if (ProgressPrinter::style_for_stderr(options.quiet) == ProgressPrinter::Style::none) return;
  heart_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, stop, std::chrono::seconds(1), [&] { return stop.stop_requested(); }))
      progress_.beat();
  });
}

std::string scratch_folder(const std::string& given, const std::string& output) {
  if (given == "off") return "";
  if (!given.empty()) return given;
  if (output.empty() || output == "-") return std::filesystem::temp_directory_path().string();
  const std::string beside = std::filesystem::path(output).parent_path().string();
  return beside.empty() ? "." : beside;
}

void use_one_heap() {
#ifdef __GLIBC__
  (void)::mallopt(M_ARENA_MAX, 1);
#endif
}

Session::~Session() {
  cancel_on_signals(nullptr);
  heart_ = {};
  progress_.clear();
}

double Session::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw tessera::Error(TESSERA_E_IO,
                         std::string("Standard output cannot be written (") + std::strerror(errno) + ").");
}

std::string ending_of(const std::filesystem::path& path) {
  const std::string last = path.extension().string();
  return last == ".gz" || last == ".zst" ? path.stem().extension().string() + last : last;
}

int64_t write_rows(Session& session, tessera::Rows&& rows, const std::string& path,
                   const tessera_csv_write_options& options) {
  try {
    return tessera::write_table(session.context(), std::move(rows), path, options);
  } catch (const tessera::Error& e) {
    if (path == "-" && e.status() == TESSERA_E_IO && reader_is_gone()) {
      session.progress().clear();
      ::raise(SIGPIPE);  // returns if the signal is ignored: then it is an ordinary error
    }
    throw;
  }
}

void print_json(const nlohmann::json& report) {
  print(report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_page(const std::string& page) { print(text::printable(page, true)); }

void CsvArguments::add_to(CLI::App& command) {
  command.add_option("--types", types,
                     "Types of columns, overriding detection (docs/data/tables.md):\nzip=category,id=identifier "
                     "(integer, decimal, boolean, category, date, datetime, identifier; for generated texts also name, "
                     "address, email, phone …)");
  if (command.get_name() != "inspect")
    command.add_option("--schema", schema,
                       "Schema file with column types and settings, as written by inspect --schema");
  command.add_option("--missing", missing, "Additional spellings of a missing value, comma-separated");
  command.add_option("--delimiter", delimiter, "Delimiter: a character, or tab (default: detected: , ; tab or |)");
  command.add_option("--header", header, "Whether the first line holds column names: yes, no, detect")
      ->check(CLI::IsMember({"yes", "no", "detect"}))
      ->capture_default_str();
}

tessera_csv_options CsvArguments::options() const {
  tessera_csv_options o{};
  o.types = text_or_null(types);
  o.schema = text_or_null(schema);
  o.missing = text_or_null(missing);
  o.delimiter = parse_delimiter(delimiter);
  o.header = header == "yes" ? TESSERA_HEADER_YES : header == "no" ? TESSERA_HEADER_NO : TESSERA_HEADER_DETECT;
  return o;
}

char parse_delimiter(const std::string& text) {
  if (text.empty()) return '\0';
  if (text == "tab" || text == "\\t") return '\t';
  if (text.size() != 1 || static_cast<unsigned char>(text[0]) >= 0x80 || text[0] == '"' || text[0] == '\n' ||
      text[0] == '\r')
    throw tessera::Error(TESSERA_E_USAGE, "--delimiter: \"" + text +
                                              "\" is not a delimiter: it must be one ASCII character, neither a quote "
                                              "nor a line end. Write tab for a tab.");
  return text[0];
}

void MemoryArguments::add_to(CLI::App& command, const std::string& help) {
  CLI::Option* most = command.add_option("--memory-limit", limit, help)->transform(CLI::AsSizeValue(true));
  most->transform(whole_bytes());  // CLI11 runs the last transform first
  command
      .add_option("--memory-fraction", fraction,
                  "--memory-limit as a share of the memory available on this machine or in the process's cgroup")
      ->check(CLI::Range(0.01, 1.0))
      ->excludes(most);
}

uint64_t MemoryArguments::bytes() const {
  if (fraction == 0) return limit;
  const int64_t available = tessera::process_memory().available;
  if (available == 0)
    throw tessera::Error(TESSERA_E_UNSUPPORTED,
                         "--memory-fraction: this system does not report available memory.\n  Give "
                         "--memory-limit in bytes.");
  return static_cast<uint64_t>(fraction * static_cast<double>(available));
}
