#include "model_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tessera/tessera.hpp"

namespace {

// Whoever had the lock before may have removed its file between our opening it and our locking it.
bool is_named(int file, const std::string& path) {
  struct stat ours{}, named{};
  return ::fstat(file, &ours) == 0 && ::stat(path.c_str(), &named) == 0 && ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

std::string holder(int file) {
  char text[32];
  const ssize_t got = ::pread(file, text, sizeof text, 0);
  const std::string number(text, got > 0 ? static_cast<size_t>(got) : 0);
  return number.empty() ? "" : " (process " + number.substr(0, number.find('\n')) + ")";
}

}  // namespace

ModelLock::ModelLock(const std::string& model) : path_(model + ".lock") {
  for (;;) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file_ < 0) return;
    int error = 0;
    while (::flock(file_, LOCK_EX | LOCK_NB) != 0 && (error = errno) == EINTR) error = 0;
    if (error == EWOULDBLOCK) {
      const std::string who = holder(file_);
      ::close(file_);
      throw tessera::Error(TESSERA_E_IO, fmt::format("{}: another tessera fit{} is writing this model.\n  Wait for it, stop it, or name another --model.", model, who));
    }
    if (error != 0) return;
    if (is_named(file_, path_)) break;
    ::close(file_);
  }
  const std::string number = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file_, 0) == 0) (void)!::pwrite(file_, number.data(), number.size(), 0);
}

ModelLock::~ModelLock() {
  if (file_ < 0) return;
  if (is_named(file_, path_)) ::unlink(path_.c_str());
  ::close(file_);
}
