// The program: a command line over the C interface.
#include <fcntl.h>
#include <unistd.h>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>

#include "commands/commands.h"
#include "commands/interrupt.h"
#include "commands/whole_number.h"
#include "terminal/text.h"

namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done · 2 usage · 3 data · 4 input/output · 5 memory · 6 not a number in training · 7 condition not "
    "met · 8 model file · 9 not supported here · "
    "70 internal · 130, 143 interrupted.";

int complain(int status, const std::string& message) {
  std::fprintf(stderr, "tessera: %s\n", text::printable(message, true).c_str());
  return status;
}

// `message` is what the library said; what follows its first line is what was kept.
int interrupted(int signal, const std::string& message) {
  const size_t kept = message.find('\n');
  std::fprintf(stderr, "tessera: stopped by %s; nothing half-written is left.%s\n",
               signal == 2 ? "Ctrl-C" : "a request to terminate",
               kept == std::string::npos ? "" : message.c_str() + kept);
  return 128 + signal;
}

// A word in single quotes where a shell would read something into it.
std::string quoted(const std::string& word) {
  if (!word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%") ==
          std::string::npos)
    return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The parser knows what is wrong; where help is, we say as everywhere else.
std::string misuse(const CLI::App* app, const CLI::Error& e) {
  std::string command = app->get_name(), listed = "the commands";
  for (const CLI::App* chosen : app->get_subcommands()) command += " " + chosen->get_name(), listed = "what it takes";
  return command + ": " + text::printable(e.what()) + "\n  " + command + " --help lists " + listed + ".\n";
}

// A file of ours that got the number of a closed standard stream would receive what is meant for that stream. What
// stands there instead refuses to be read or written.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) (void)!::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int run(const std::function<void()>& command) {
  try {
    command();
    return TESSERA_OK;
  } catch (const tessera::Error& e) {
    const int signal = caught_signal();
    return e.status() == TESSERA_E_CANCELLED && signal != 0 ? interrupted(signal, e.what())
                                                            : complain(e.status(), e.what());
  } catch (const std::bad_alloc&) {
    return complain(TESSERA_E_MEMORY, "there is not enough memory for this.");
  } catch (const std::filesystem::filesystem_error& e) {
    return complain(TESSERA_E_IO, e.what());
  } catch (const std::exception& e) { return complain(TESSERA_E_INTERNAL, e.what()); }
}

}  // namespace

CLI::App* Program::add(const std::string& name, const std::string& description) {
  CLI::App* command = app.add_subcommand(name, description);
  command
      ->add_option("--threads", shared.threads, "Threads (default: every processor); never changes a bit of a result")
      ->check(whole_number(1, 4096));
  command->add_flag("--quiet", shared.quiet, "No progress");
  command->add_flag("--json", shared.json, "A report for programs on standard output");
  command->footer(kExitCodes);
  return command;
}

void Program::add_device(CLI::App& command) {
  command
      .add_option("--device", shared.device,
                  "Where it runs: cpu, cuda, cuda:N, or auto: the first GPU, else the processor; tessera info says "
                  "what there is")
      ->capture_default_str();
}

int main(int argc, char** argv) {
  hold_standard_streams();
  CLI::App app("Generative models of tables: learns a table, draws synthetic rows, says how good they are.", "tessera");
  app.set_version_flag("--version", std::string("tessera ") + tessera_version() + " (ABI " +
                                        std::to_string(tessera_abi_version()) + ")");
  app.require_subcommand(0, 1);
  app.footer(kExitCodes);
  app.failure_message(misuse);
  Program program{app, {}, {}, {}};
  for (int i = 0; i < argc; ++i) program.line += (i == 0 ? "" : " ") + quoted(argv[i]);
  for (auto* add : {add_fit, add_sample, add_evaluate, add_inspect, add_info, add_plan, add_example}) add(program);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    std::ostringstream page;
    app.exit(e, page, page);
    return run([&] { print(page.str()); });
  } catch (const CLI::ParseError& e) {
    app.exit(e);  // says what and where --help is
    return TESSERA_E_USAGE;
  }
  if (!program.run)
    return complain(
        TESSERA_E_USAGE,
        "say what to do: fit, sample, evaluate, inspect, info, plan or example. tessera --help explains them.");
  return run(program.run);
}
