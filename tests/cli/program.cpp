#include "cli/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace fs = std::filesystem;

namespace {

constexpr const char* kOurs = ".run";  // prefix of the files that hold standard streams

}  // namespace

Running::Running(const fs::path& folder, const Line& arguments, const std::string& input) {
  static std::atomic<int> counter{0};
  const std::string stem = kOurs + std::to_string(counter++);
  out_ = folder / (stem + ".out"), err_ = folder / (stem + ".err"), in_ = folder / (stem + ".in");
  std::ofstream(in_, std::ios::binary) << input;
  std::vector<char*> argv{const_cast<char*>(TESSERA_PROGRAM)};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  process_ = ::fork();
  if (process_ != 0) return;
  const auto redirect = [](const fs::path& path, int flags, int to) { ::dup2(::open(path.c_str(), flags, 0600), to); };
  redirect(in_, O_RDONLY, 0);
  redirect(out_, O_WRONLY | O_CREAT | O_TRUNC, 1);
  redirect(err_, O_WRONLY | O_CREAT | O_TRUNC, 2);
  if (::chdir(folder.c_str()) == 0) ::execv(TESSERA_PROGRAM, argv.data());
  ::_exit(127);
}

Running::~Running() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void Running::signal(int number) const { ::kill(process_, number); }

bool Running::wait_for_error_text(const std::string& text) const {
  for (int i = 0; i < 6000; ++i) {
    if (has(read_bytes(err_), text)) return true;
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0)
      return has(read_bytes(err_), text);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

Outcome Running::wait() {
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_bytes(out_), read_bytes(err_)};
  for (const auto& path : {out_, err_, in_}) fs::remove(path);
  return outcome;
}

Outcome Cli::must(const Line& arguments, const std::string& input) {
  const Outcome outcome = run(arguments, input);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome;
}

std::string Cli::read(const std::string& name) const { return read_bytes(folder_ / name); }

std::vector<std::string> Cli::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_))
    if (const std::string name = entry.path().filename().string(); name.rfind(kOurs, 0) != 0) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

void Cli::example(int rows) {
  must({"example", "people.csv", "--rows", std::to_string(rows), "--seed", "1", "--quiet"});
}

void Cli::model() {
  example();
  must("fit people.csv --model m.tessera --epochs 1 --batch-size 50 --quiet");
}
