#include "model_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "tessera/tessera.hpp"

namespace {

// The previous owner of the lock may have removed its file between our open and our lock.
bool is_named(int file, const std::string& path) {
  struct stat ours {
  }, named{};
  return ::fstat(file, &ours) == 0 && ::stat(path.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
         ours.st_ino == named.st_ino;
}

// The contents of a lock file, before the process id.
constexpr std::string_view kLockText = "lock of tessera fit, process ";

std::string content(int file) {
  char text[64];
  const ssize_t got = ::pread(file, text, sizeof text, 0);
  return {text, got > 0 ? static_cast<size_t>(got) : 0};
}

// The process id in a lock file; empty if another process has not written it yet.
std::string holder(const std::string& text) {
  return text.empty() ? ""
                      : fmt::format(" (process {})", text.substr(kLockText.size(), text.find('\n') - kLockText.size()));
}

bool is_lock(int file) {
  struct stat about {};
  return ::fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
         (about.st_size == 0 || content(file).rfind(kLockText, 0) == 0);
}

// Any other file with the lock's name is foreign and is not touched.
[[noreturn]] void foreign(const std::string& path, const std::string& model) {
  throw tessera::Error(TESSERA_E_IO, fmt::format("{}: the lock of {} needs this name, but this file is not a lock.\n  "
                                                 "Move it away, or choose another --model.",
                                                 path, model));
}

// The lock file is never empty once it has its name: an empty file is treated as foreign and is not removed.
void write_text(int file) {
  const std::string text = fmt::format("{}{}\n", kLockText, ::getpid());
  if (::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()))
    (void)!::ftruncate(file, static_cast<off_t>(text.size()));
}

// A new lock, written and locked before it gets its name: a process that is killed meanwhile leaves nothing. −1 with
// errno if the name exists or no file can be created.
int make_lock(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (const int file = ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666); file >= 0) {
    write_text(file);
    const std::string self = fmt::format("/proc/self/fd/{}", file);
    if (::flock(file, LOCK_EX | LOCK_NB) == 0 &&
        ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return file;
    ::close(file);
  }
  // the name exists, or the file system has no unnamed files
  return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

}  // namespace

ModelLock::ModelLock(const std::string& model) : path_(path_for(model)) {
  for (;;) {
    file_ = make_lock(path_);
    const bool found = file_ < 0 && errno == EEXIST;
    if (found) file_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (found && file_ < 0 && errno == ENOENT) continue;  // removed meanwhile
    if (found && (file_ < 0 ? errno != EACCES && errno != EROFS : !is_lock(file_))) {
      if (file_ >= 0) ::close(file_);
      foreign(path_, model);
    }
    if (file_ < 0) return;
    kept_ = found && content(file_).empty();
    int error = 0;
    while (::flock(file_, LOCK_EX | LOCK_NB) != 0 && (error = errno) == EINTR) error = 0;
    if (error == EWOULDBLOCK) {
      const std::string who = holder(content(file_));
      ::close(file_);
      throw tessera::Error(
          TESSERA_E_IO,
          fmt::format(
              "{}: another tessera fit{} is writing this model.\n  Wait for it, stop it, or choose another --model.",
              model, who));
    }
    if (error != 0) return;
    if (is_named(file_, path_)) break;
    ::close(file_);
  }
  write_text(file_);
}

ModelLock::~ModelLock() {
  if (file_ < 0) return;
  if (kept_) (void)!::ftruncate(file_, 0);
  else if (is_named(file_, path_)) ::unlink(path_.c_str());
  ::close(file_);
}
