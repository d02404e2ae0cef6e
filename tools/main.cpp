// The program: a command line over the C interface.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <string_view>
#include <thread>

#include "commands/commands.h"
#include "commands/help.h"
#include "commands/interrupt.h"
#include "commands/whole_number.h"
#include "terminal/flags.h"
#include "terminal/text.h"

namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 success · 2 usage · 3 data · 4 input/output · 5 memory · 6 NaN or Inf during training · 7 "
    "condition not met · 8 model file · 9 not supported here · 70 internal · 130, 143 interrupted.";

// Runs before the constructors of static objects: a failed allocation there, or in a destructor that cleans up, would
// abort the program.
[[gnu::constructor(101)]] void check_memory_to_begin() {
  constexpr size_t kRoom = 2'000'000;
  void* const memory = ::mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) {
    ::munmap(memory, kRoom);
    return;
  }
  constexpr std::string_view kSaid =
      "tessera: out of memory: the program needs at least 2 MB to start.\n  Raise the limit (ulimit -v).\n";
  (void)!::write(STDERR_FILENO, kSaid.data(), kSaid.size());
  ::_exit(TESSERA_E_MEMORY);
}

int complain(int status, const std::string& message) {
  std::fprintf(stderr, "tessera: %s\n", text::printable(as_typed(message), true).c_str());
  return status;
}

// `message` is the library's; the lines after the first name the saved files.
int interrupted(int signal, const std::string& message) {
  const size_t kept = message.find('\n');
  std::fprintf(stderr, "tessera: stopped by %s; no half-written file remains.%s\n",
               signal == 2 ? "Ctrl-C" : "a termination request",
               kept == std::string::npos ? "" : as_typed(message.substr(kept)).c_str());
  return 128 + signal;
}

// A word, in single quotes if a shell would interpret it.
std::string quoted(const std::string& word) {
  if (!word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%") ==
          std::string::npos)
    return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The parser's error with the nearest name and a pointer to --help. An unknown option is reported before options that
// are missing because of it.
std::string misuse(const CLI::App* app, const CLI::Error& e) {
  std::string command = app->get_name(), listed = "the commands";
  const CLI::App* last = app;
  for (const CLI::App* chosen : app->get_subcommands())
    command += " " + chosen->get_name(), listed = "its options", last = chosen;
  const std::string unknown = unknown_argument(*last);
  return command + ": " + text::printable(unknown.empty() ? e.what() : unknown) + "\n  " + command + " --help lists " +
         listed + ".\n";
}

// The word after --help on the command line; "" if there is none.
std::string help_topic(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::string_view(argv[i]) == "--help" || std::string_view(argv[i]) == "-h") return argv[i + 1];
  return "";
}

// A file that got the descriptor of a closed standard stream would receive that stream's output. /dev/null takes
// the descriptor instead, opened such that the stream's operations fail.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) (void)!::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

// Rank 0 reports errors; other ranks report only local failures (memory, I/O, internal). The launcher ends all
// processes once one has ended.
int complain_from(const Place& place, int status, const std::string& message) {
  if (place.rank == 0) return complain(status, message);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const bool own = status == TESSERA_E_MEMORY || status == TESSERA_E_IO || status == TESSERA_E_INTERNAL;
  return own ? complain(status,
                        "rank " + std::to_string(place.rank) + " of " + std::to_string(place.ranks) + ": " + message)
             : status;
}

int run(const std::function<void()>& command, const Place& place) {
  try {
    command();
    return TESSERA_OK;
  } catch (const tessera::Error& e) {
    const int signal = caught_signal();
    return e.status() == TESSERA_E_CANCELLED && signal != 0 ? interrupted(signal, e.what())
                                                            : complain_from(place, e.status(), e.what());
  } catch (const std::bad_alloc&) {
    return complain_from(place, TESSERA_E_MEMORY, "there is not enough memory.");
  } catch (const std::filesystem::filesystem_error& e) {
    return complain_from(place, TESSERA_E_IO, e.what());
  } catch (const std::exception& e) { return complain_from(place, TESSERA_E_INTERNAL, e.what()); }
}

}  // namespace

CLI::App* Program::add(const std::string& name, const std::string& description) {
  CLI::App* command = app.add_subcommand(name, description);
  command->add_option("--threads", shared.threads, "Threads (default: all cores); does not affect results")
      ->check(whole_number(1, 4096));
  command->add_flag("--quiet", shared.quiet, "Do not show progress");
  command->add_flag("--json", shared.json, "Print a report in JSON on standard output");
  command->footer(kExitCodes);
  return command;
}

void Program::add_device(CLI::App& command) {
  command
      .add_option("--device", shared.device,
                  "Device: cpu, cuda, cuda:N, or auto (the first GPU, else the CPU); tessera info lists devices")
      ->capture_default_str();
}

namespace {

int begin(int argc, char** argv) {
  hold_standard_streams();
  CLI::App app("Synthetic tables: fit a generative model, sample rows, measure their quality.", "tessera");
  app.set_version_flag("--version", std::string("tessera ") + tessera_version() + " (ABI " +
                                        std::to_string(tessera_abi_version()) + ")");
  app.require_subcommand(0, 1);
  app.footer(kExitCodes);
  app.failure_message(misuse);
  app.formatter(help_formatter());
  Program program{app, {}, {}, {}, {}};
  tessera_launched(&program.place.rank, &program.place.ranks);
  for (int i = 0; i < argc; ++i) program.line += (i == 0 ? "" : " ") + quoted(argv[i]);
  for (auto* add : {add_fit, add_sample, add_evaluate, add_audit, add_score, add_dedup, add_inspect, add_info, add_plan,
                    add_estimate, add_tune, add_advise, add_example, add_prior})
    add(program);
  know_flags(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    std::ostringstream page;
    for (CLI::App* command : app.get_subcommands()) arrange_help(*command, help_topic(argc, argv));
    app.exit(e, page, page);
    return run([&] { print(page.str()); }, program.place);
  } catch (const CLI::ParseError& e) {
    app.exit(e);  // prints the error and the pointer to --help
    return TESSERA_E_USAGE;
  }
  if (!program.run)
    return complain(
        TESSERA_E_USAGE,
        "no command given. Commands are fit, sample, evaluate, audit, score, dedup, inspect, info, plan, estimate, "
        "tune, advise, example and prior; tessera --help describes them.");
  return run(program.run, program.place);
}

// Used when there is no memory for an error message.
int complain_without_memory() noexcept {
  constexpr char kText[] = "tessera: there is not enough memory.\n";
  (void)!::write(STDERR_FILENO, kText, sizeof kText - 1);
  return TESSERA_E_MEMORY;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return begin(argc, argv);
  } catch (const tessera::Error& e) {
    return e.status() == TESSERA_E_MEMORY ? complain_without_memory() : complain(e.status(), e.what());
  } catch (const std::bad_alloc&) { return complain_without_memory(); } catch (const std::exception& e) {
    std::fprintf(stderr, "tessera: %s\n", e.what());
    return TESSERA_E_INTERNAL;
  }
}
