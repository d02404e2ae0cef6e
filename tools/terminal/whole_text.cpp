#include "terminal/whole_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tessera/tessera.hpp"

namespace {

bool write_all(int file, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t done = ::write(file, text.data() + at, text.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += static_cast<size_t>(done);
  }
  return ::fsync(file) == 0;
}

}  // namespace

void write_whole(const std::string& path, const std::string& text) {
  const std::string beside = fmt::format("{}.{}", path, ::getpid());
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  bool good = file >= 0 && write_all(file, text);
  if (file >= 0 && ::close(file) != 0) good = false;
  if (good && std::rename(beside.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  if (file >= 0) ::unlink(beside.c_str());
  throw tessera::Error(TESSERA_E_IO, fmt::format("{}: cannot be written ({}).", path, std::strerror(error)));
}
