#include "engine/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "engine/error.h"

namespace tessera {
namespace {

constexpr size_t kMostPerCall = size_t{1} << 30;  // write(2) and read(2) take at most 2 GiB − 4 KiB

std::string reason(int error) {
  char text[128];
  return strerror_r(error, text, sizeof text);
}

[[noreturn]] void io_error(const std::string& message) { throw Error(ErrorCode::io, message); }

std::string follow_links(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string join(const std::string& directory, const std::string& file) { return directory + (directory.back() == '/' ? "" : "/") + file; }

bool is_stream(mode_t mode) { return S_ISFIFO(mode) || S_ISCHR(mode) || S_ISSOCK(mode); }

// A name no other process and no other thread of this one takes.
std::string hidden_name(const std::string& target) {
  static std::atomic<uint32_t> counter{0};
  return fmt::format(".{}.{}.{}.part", target.substr(target.find_last_of('/') + 1), ::getpid(), counter++);
}

// A file with no name in `directory`, or −1 where the file system or the kernel has none.
int open_nameless([[maybe_unused]] const std::string& directory) {
#ifdef O_TMPFILE
  if (::access("/proc/self/fd", X_OK) == 0) return ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
#endif
  return -1;
}

bool give_name(int fd, const std::string& path) {
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

std::string read_file(const std::string& path, int64_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about{};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0) {
    const int error = errno;
    io_error(path + ": cannot be read (" + reason(error) + ")." + (error == ENOENT ? " Check the path and the spelling." : ""));
  }
  if (S_ISDIR(about.st_mode)) io_error(path + " is a directory, not a file.");
  std::string bytes;
  size_t filled = 0;
  for (;;) {
    // One byte more than the file is said to have, so that the end is met without another round.
    if (filled == bytes.size()) bytes.resize(filled == 0 ? static_cast<size_t>(about.st_size) + 1 : filled + std::max<size_t>(filled / 2, 1 << 16));
    const ssize_t got = ::read(file.get(), bytes.data() + filled, std::min(bytes.size() - filled, kMostPerCall));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) io_error(path + ": reading failed after " + std::to_string(filled) + " bytes (" + reason(errno) + ").");
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    if (filled > static_cast<uint64_t>(limit)) throw Error(ErrorCode::memory, path + " is larger than the " + std::to_string(limit) + " bytes it may have.");
  }
  bytes.resize(filled);
  return bytes;
}

void check_writable(const std::string& path, bool overwrite) {
  if (path.empty()) io_error("An output file needs a name; the one given is empty.");
  const std::string target = follow_links(path);
  struct stat about{};
  if (::stat(target.c_str(), &about) == 0) {
    if (S_ISDIR(about.st_mode)) io_error(path + " is a directory. Name a file inside it.");
    if (is_stream(about.st_mode)) return;
    if (!overwrite) io_error(path + " exists already. Give another name, or --force to replace it.");
  } else if (path.back() == '/') {
    io_error(path + " names a directory. Name a file inside it.");
  }
  const std::string directory = directory_of(target);
  if (::stat(directory.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) io_error(path + ": there is no directory " + directory + ". Create it with mkdir -p " + directory + ".");
  if (::access(directory.c_str(), W_OK | X_OK) != 0) io_error(path + ": directory " + directory + " cannot be written to (" + reason(errno) + ").");
}

AtomicFile::AtomicFile(std::string path, bool overwrite) : path_(std::move(path)), overwrite_(overwrite) {
  check_writable(path_, overwrite_);
  target_ = follow_links(path_);
  directory_ = directory_of(target_);
  struct stat about{};
  const bool exists = ::stat(target_.c_str(), &about) == 0;
  if (exists && is_stream(about.st_mode)) {
    straight_ = true;
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    fd_ = open_nameless(directory_);
    if (fd_ < 0) {
      temporary_ = join(directory_, hidden_name(target_));
      fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd_ < 0) temporary_.clear();
    }
    if (fd_ >= 0 && exists) (void)!::fchmod(fd_, about.st_mode & 07777);  // a replaced file keeps its rights, where we may set them
  }
  if (fd_ < 0) fail("cannot be opened for writing", errno);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* doing, int error) const {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  std::string message = path_ + ": " + doing + " (" + reason(error) + ") after " + std::to_string(written_) + " bytes.";
  if (full) message += " Free some space, or name an output on another disk.";
  if (!straight_) message += " Nothing half-written is left.";
  io_error(message);
}

void AtomicFile::write(const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size != 0) {
    const ssize_t put = ::write(fd_, at, std::min(size, kMostPerCall));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("cannot be written", errno);
    at += put;
    size -= static_cast<size_t>(put);
    written_ += put;
  }
}

void AtomicFile::take_name() {
  if (temporary_.empty()) {
    if (!overwrite_) {  // a link never replaces, so a file that came in the meantime stays
      if (!give_name(fd_, target_)) fail("cannot take its name", errno);
      return;
    }
    const std::string name = join(directory_, hidden_name(target_));
    if (!give_name(fd_, name)) fail("cannot take its name", errno);
    temporary_ = name;
  }
  if (!overwrite_) {
    if (::link(temporary_.c_str(), target_.c_str()) == 0) return;  // the destructor removes the other name
    if (errno == EEXIST) fail("cannot take its name", errno);      // else: a file system without links, where rename must do
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot take its name", errno);
  temporary_.clear();
}

void AtomicFile::commit() {
  if (!straight_) {
    if (::fsync(fd_) != 0) fail("cannot be brought to disk", errno);
    take_name();
  }
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0 && errno != EINTR) fail("cannot be closed", errno);
  if (straight_) return;
  // The name itself is on disk only when the directory is; a file system that cannot sync directories is not a reason to fail.
  const Descriptor directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
}

void write_file(const std::string& path, const std::string& bytes, bool overwrite) {
  AtomicFile file(path, overwrite);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace tessera
