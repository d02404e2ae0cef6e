#include "models/table/csv_sink.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "engine/error.h"

namespace tessera {
namespace {

bool exists(const std::string& path, struct stat& info) { return ::stat(path.c_str(), &info) == 0; }

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// A reader that went away must be an error, not the death of the program: SIGPIPE is held back around a write and, if it came, taken off the queue.
class PipeGuard {
 public:
  PipeGuard() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeGuard() {
    const int error = errno;
    const timespec now{0, 0};
    if (!was_pending_)
      while (sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  PipeGuard(const PipeGuard&) = delete;
  PipeGuard& operator=(const PipeGuard&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

}  // namespace

CsvSink::CsvSink(const std::string& path, bool overwrite, bool fsync) : path_(path), name_(path == "-" ? "standard output" : path), overwrite_(overwrite), fsync_(fsync) {
  if (path == "-") {
    file_ = STDOUT_FILENO;
    return;
  }
  struct stat info {};
  if (exists(path, info)) {
    if (S_ISDIR(info.st_mode)) throw Error(ErrorCode::io, name_ + ": this is a directory.\n  Name a file inside it.");
    if (!S_ISREG(info.st_mode)) {  // a device or a named pipe is written to as it is
      file_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (file_ < 0) fail("cannot be opened", errno);
      return;
    }
    if (!overwrite) throw Error(ErrorCode::usage, name_ + ": the file is there already.\n  Choose another name, or replace it with --force.");
  }
  if (!exists(folder_of(path), info)) throw Error(ErrorCode::io, name_ + ": there is no directory " + folder_of(path) + ".\n  Make it with: mkdir -p " + folder_of(path));
  temporary_ = path + ".XXXXXX";
  file_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (file_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail("cannot be written", error);
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(file_, 0666 & ~mask);
}

CsvSink::~CsvSink() {
  if (file_ >= 0 && file_ != STDOUT_FILENO) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void CsvSink::fail(const char* action, int error) const {
  std::string why = std::strerror(error), way_out = "Check the path and the disk.";
  if (error == ENOSPC || error == EDQUOT) why = "the disk is full", way_out = "Free some space, or write to another disk; nothing half-written was left.";
  if (error == EFBIG) why = "the file would grow beyond the allowed size", way_out = "Raise the limit (ulimit -f), or write fewer rows.";
  if (error == EPIPE) why = "the program that was reading went away", way_out = "Let it read to the end, or write to a file.";
  if (error == EACCES || error == EPERM) why = "you have no permission to write there", way_out = "Choose another directory, or change its mode with chmod.";
  if (error == EROFS) why = "the file system is read-only", way_out = "Write to another disk.";
  throw Error(ErrorCode::io, name_ + ": " + action + ": " + why + ".\n  " + way_out);
}

void CsvSink::write(std::string_view bytes) {
  const PipeGuard guard;
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("writing failed", errno);
    bytes.remove_prefix(static_cast<size_t>(n));
    bytes_ += n;
  }
}

void CsvSink::finish() {
  if (path_ == "-") return;
  if (fsync_ && !temporary_.empty() && ::fsync(file_) != 0) fail("writing failed", errno);
  const int file = file_;
  file_ = -1;
  if (::close(file) != 0) fail("writing failed", errno);
  if (temporary_.empty()) return;
  // Without overwrite, a file that appeared meanwhile is somebody else's: link() does not replace it.
  if (overwrite_) {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be put in its place", errno);
  } else if (::link(temporary_.c_str(), path_.c_str()) == 0) {
    ::unlink(temporary_.c_str());
  } else if (errno == EEXIST) {
    throw Error(ErrorCode::usage, name_ + ": a file of that name appeared while this one was written.\n  Choose another name, or replace it with --force.");
  } else if (::rename(temporary_.c_str(), path_.c_str()) != 0) {  // a file system without hard links
    fail("cannot be put in its place", errno);
  }
  temporary_.clear();
  if (!fsync_) return;
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // the file is whole; only its name may be lost if the machine stops now
  ::fsync(folder);
  ::close(folder);
}

}  // namespace tessera
