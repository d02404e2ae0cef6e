#include "sweep/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "tessera/tessera.hpp"

namespace sweep {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

int open_file(const std::string& path, int how) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666);
  if (file < 0) throw tessera::Error(TESSERA_E_IO, path + ": it cannot be written (" + std::strerror(errno) + ").");
  return file;
}

// In the new process, where only what is safe in a signal handler may be called.
[[noreturn]] void become(char* const* arguments, pid_t parent, int out, int log) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(TESSERA_E_INTERNAL);
  const int none = ::open("/dev/null", O_RDONLY);
  ::dup2(none, STDIN_FILENO), ::dup2(out, STDOUT_FILENO), ::dup2(log, STDERR_FILENO);
  ::execv(kThisProgram, arguments);
  ::_exit(TESSERA_E_INTERNAL);
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::string& out, const std::string& log) {
  std::vector<std::string> words{"tessera"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> line;
  for (std::string& word : words) line.push_back(word.data());
  line.push_back(nullptr);
  const int to = open_file(out, O_TRUNC), also = open_file(log, O_APPEND);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) become(line.data(), parent, to, also);
  const int error = errno;
  ::close(to), ::close(also);
  if (process_ < 0)
    throw tessera::Error(TESSERA_E_IO, std::string("No process can be started (") + std::strerror(error) + ").");
}

Child::~Child() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

std::optional<Child::End> Child::poll() {
  int status = 0;
  if (process_ <= 0 || ::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
  process_ = -1;
  return WIFSIGNALED(status) ? End{0, WTERMSIG(status)} : End{WEXITSTATUS(status), 0};
}

void Child::interrupt() const { ::kill(process_, SIGTERM); }

}  // namespace sweep
