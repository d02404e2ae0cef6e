#include "base/storage/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "base/text/printable.h"

namespace tessera {
namespace {

constexpr size_t kMaxPerCall = size_t{1} << 30;  // write(2) and read(2) take at most 2 GiB − 4 KiB

std::string spoken(int error) {
  char text[128];
  return strerror_r(error, text, sizeof text);
}

// Why an operation failed, and what may help.
struct Cause {
  std::string why, way_out;
};

Cause cause_of_reading(int error) {
  if (error == ENOENT)
    return {"there is no such file", "Check the spelling; relative paths start in the current directory."};
  if (error == EACCES)
    return {"you have no permission to read it", "Ask its owner, or change its permissions with chmod."};
  return {spoken(error), "Check the path and try again."};
}

Cause cause_of_writing(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return {"the disk is full", "Free some space, or name an output on another disk."};
    case EFBIG: return {"the file would grow beyond the allowed size", "Raise the limit (ulimit -f), or write less."};
    case EPIPE: return {"the program that was reading went away", "Let it read to the end, or write to a file."};
    case EACCES:
    case EPERM:
      return {"you have no permission to write there",
              "Choose another directory, or change its permissions with chmod."};
    case EROFS: return {"the file system is read-only", "Name an output on another disk."};
    case EEXIST:
      return {"a file with that name appeared meanwhile", "Choose another name, or replace it with `overwrite=yes`."};
    case ENAMETOOLONG:
      return {"the name is too long",
              "Use a shorter one: most file systems allow 255 bytes for a name and 4095 for a path."};
    case ELOOP: return {"its symbolic links are circular", "Name the file itself, or remove the links."};
    case ENOTDIR: return {"a part of its path is a file, not a directory", "Check the path."};
    case EISDIR: return {"this is a directory", "Name a file inside it."};
    default: return {spoken(error), "Check the path and the disk."};
  }
}

[[noreturn]] void io_error(const std::string& path, const std::string& what, const std::string& way_out) {
  throw Error(ErrorCode::io, printable(path) + ": " + what + ".\n  " + way_out);
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string join(const std::string& directory, const std::string& file) {
  return directory + (directory.back() == '/' ? "" : "/") + file;
}

bool is_stream(mode_t mode) { return S_ISFIFO(mode) || S_ISCHR(mode) || S_ISSOCK(mode); }

// The target of a path, symbolic links followed. Error(io) if no file can be created there or it must not be replaced.
struct Target {
  std::string path, directory;
  bool exists = false;
  mode_t mode = 0;
};

[[noreturn]] void no_target(const std::string& path, int error) {
  const Cause cause = cause_of_writing(error);
  io_error(path, "no file can be written here: " + cause.why, cause.way_out);
}

void check_kind(const std::string& path, mode_t mode, bool overwrite) {
  if (S_ISDIR(mode)) no_target(path, EISDIR);
  if (S_ISSOCK(mode) || S_ISBLK(mode))
    io_error(path, S_ISSOCK(mode) ? "this is a socket" : "this is a disk, not a file on one", "Name a file.");
  if (S_ISREG(mode) && !overwrite)
    io_error(path, "the file exists", "Choose another name, or replace it with `overwrite=yes`.");
}

Target find_target(const std::string& path, bool overwrite) {
  Target t{path, "", false, 0};
  struct stat about {};
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) != nullptr) t.path = resolved;
  // A pipe behind /dev/stdout exists, but has no path that can be resolved.
  t.exists = ::stat(t.path.c_str(), &about) == 0;
  t.mode = about.st_mode;
  if (t.exists) {
    check_kind(path, t.mode, overwrite);
  } else {
    const int error = errno;
    if (::lstat(path.c_str(), &about) == 0 && error == ENOENT)
      io_error(path, "this is a symbolic link to a file that does not exist",
               "Name that file itself, or remove the link.");
    if (error != ENOENT) no_target(path, error);
    if (path.back() == '/') no_target(path, EISDIR);
  }
  t.directory = directory_of(t.path);
  if (::stat(t.directory.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
    io_error(path, "there is no directory " + t.directory, "Create it with: mkdir -p " + t.directory);
  return t;
}

// The prefix of the hidden files of a target; truncated so that the full name is valid in a file system.
std::string hidden_stem(const std::string& target) {
  constexpr size_t kMaxStem = 200;
  return "." + target.substr(target.find_last_of('/') + 1).substr(0, kMaxStem) + ".";
}

// A name that no other process or thread uses.
std::string hidden_name(const std::string& target) {
  static std::atomic<uint32_t> counter{0};
  return fmt::format("{}{}.{}.part", hidden_stem(target), ::getpid(), counter++);
}

// Removes the hidden files of a process that was killed while it wrote `target`; only for files that are named from the
// start.
void remove_stale(const std::string& directory, const std::string& target) {
  const std::string begin = hidden_stem(target), end = ".part";
  DIR* folder = ::opendir(directory.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (name.size() <= begin.size() + end.size() || name.compare(0, begin.size(), begin) != 0 ||
        name.compare(name.size() - end.size(), end.size(), end) != 0)
      continue;
    const auto process = static_cast<pid_t>(std::strtol(name.c_str() + begin.size(), nullptr, 10));
    if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) ::unlink(join(directory, name).c_str());
  }
  ::closedir(folder);
}

// An unnamed file in `directory`, or −1 if the file system or the kernel does not support it.
int open_nameless([[maybe_unused]] const std::string& directory) {
#ifdef O_TMPFILE
  if (::access("/proc/self/fd", X_OK) == 0) return ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
#endif
  return -1;
}

// An unnamed file in the target's directory, or, if unsupported, one with the hidden name stored in `temporary`.
Descriptor open_temporary(const Target& target, std::string& temporary) {
  Descriptor file(open_nameless(target.directory));
  if (file.get() >= 0) return file;
  remove_stale(target.directory, target.path);
  // A killed process of another container may have had our number.
  for (int tries = 0; file.get() < 0 && tries < 100 && (tries == 0 || errno == EEXIST); ++tries) {
    temporary = join(target.directory, hidden_name(target.path));
    file = Descriptor(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  }
  if (file.get() < 0) temporary.clear();
  return file;
}

bool give_name(int fd, const std::string& path) {
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

// A closed reader and a file size limit must be errors, not end the program: SIGPIPE and SIGXFSZ are blocked around a
// write and, if raised, removed from the queue.
class SignalGuard {
 public:
  SignalGuard() {
    sigemptyset(&ours_);
    sigset_t pending;
    sigpending(&pending);
    for (const int signal : {SIGPIPE, SIGXFSZ})
      if (sigismember(&pending, signal) != 1) sigaddset(&ours_, signal);
    pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  ~SignalGuard() {
    const int error = errno;
    const timespec now{0, 0};
    int taken;
    do taken = sigtimedwait(&ours_, nullptr, &now);
    while (taken > 0 || (taken < 0 && errno == EINTR));
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  sigset_t ours_, before_;  // signals that were not pending before are those of the write
};

}  // namespace

int Descriptor::close() {
  const int fd = std::exchange(fd_, -1);
  if (fd <= STDERR_FILENO || ::close(fd) == 0 || errno == EINTR) return 0;  // Linux has closed it, interrupted or not
  return errno;
}

Descriptor open_to_read(const std::string& path) {
  const std::string name = path == "-" ? "standard input" : path;
  Descriptor file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0) {
    const Cause cause = cause_of_reading(errno);
    io_error(name, "cannot be opened: " + cause.why, cause.way_out);
  }
  if (S_ISDIR(about.st_mode)) io_error(name, "this is a directory, not a file", "Name a file inside it.");
  return file;
}

std::string read_file(const std::string& path, int64_t limit) {
  const Descriptor file = open_to_read(path);
  struct stat about {};
  ::fstat(file.get(), &about);
  std::string bytes;
  size_t filled = 0;
  for (;;) {
    // One byte more than the file's size, so that the end is detected without another read.
    if (filled == bytes.size())
      bytes.resize(filled == 0 ? static_cast<size_t>(about.st_size) + 1
                               : filled + std::max<size_t>(filled / 2, 1 << 16));
    const ssize_t got = ::read(file.get(), bytes.data() + filled, std::min(bytes.size() - filled, kMaxPerCall));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      io_error(path, fmt::format("reading failed after {} bytes: {}", filled, spoken(errno)), "Check the disk.");
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    if (filled > static_cast<uint64_t>(limit))
      throw Error(ErrorCode::memory, fmt::format("{} is larger than the limit of {} bytes.", path, limit));
  }
  bytes.resize(filled);
  return bytes;
}

void check_writable(const std::string& path, bool overwrite) {
  if (path.empty()) throw Error(ErrorCode::usage, "An output file needs a name; the one given is empty.");
  if (path == "-") return;
  const Target target = find_target(path, overwrite);
  if (!target.exists || !is_stream(target.mode)) {
    const AtomicFile probe(path, overwrite, false);       // its files are removed with it
  } else if (::access(target.path.c_str(), W_OK) != 0) {  // opening a pipe would wait for its reader
    no_target(path, errno);
  }
}

AtomicFile::AtomicFile(std::string path, bool overwrite, bool sync)
    : path_(std::move(path)), overwrite_(overwrite), sync_(sync) {
  if (path_.empty()) throw Error(ErrorCode::usage, "An output file needs a name; the one given is empty.");
  if (path_ == "-") {
    straight_ = true;
    file_ = Descriptor(STDOUT_FILENO);
    return;
  }
  const Target target = find_target(path_, overwrite_);
  target_ = target.path, directory_ = target.directory;
  straight_ = target.exists && is_stream(target.mode);
  file_ = straight_ ? Descriptor(::open(target_.c_str(), O_WRONLY | O_CLOEXEC)) : open_temporary(target, temporary_);
  if (file_.get() < 0)
    fail(straight_ ? "cannot be opened for writing" : ("the directory " + directory_ + " cannot be written to").c_str(),
         errno);
  // a replaced file keeps its permissions, if this process may set them
  if (!straight_ && target.exists) (void)!::fchmod(file_.get(), target.mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* doing, int error) const {
  const Cause cause = cause_of_writing(error);
  const std::string after = written_ == 0 ? "" : fmt::format(" after {} bytes", written_);
  io_error(path_ == "-" ? "standard output" : path_, doing + after + ": " + cause.why,
           cause.way_out + (straight_ ? "" : " No half-written file remains."));
}

void AtomicFile::write(std::string_view bytes) {
  const SignalGuard guard;
  while (!bytes.empty()) {
    const ssize_t put = ::write(file_.get(), bytes.data(), std::min(bytes.size(), kMaxPerCall));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("cannot be written", errno);
    bytes.remove_prefix(static_cast<size_t>(put));
    written_ += put;
  }
}

void AtomicFile::take_name() {
  if (temporary_.empty()) {
    if (!overwrite_) {  // a link never replaces, so a file that came in the meantime stays
      if (!give_name(file_.get(), target_)) fail("cannot be renamed to its final name", errno);
      return;
    }
    const std::string name = join(directory_, hidden_name(target_));
    if (!give_name(file_.get(), name)) fail("cannot be renamed to its final name", errno);
    temporary_ = name;
  }
  if (!overwrite_) {
    if (::link(temporary_.c_str(), target_.c_str()) == 0) return;  // the destructor removes the other name
    // else: a file system without links; rename instead
    if (errno == EEXIST) fail("cannot be renamed to its final name", errno);
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be renamed to its final name", errno);
  temporary_.clear();
}

void AtomicFile::commit(const std::string& keep_old_as) {
  if (!straight_) {
    if (sync_ && ::fsync(file_.get()) != 0) fail("cannot be synced to disk", errno);
    if (!keep_old_as.empty()) {
      if (::rename(target_.c_str(), keep_old_as.c_str()) != 0 && errno != ENOENT)
        fail("cannot be renamed to its final name", errno);
      // the name is free: linked directly, without a hidden name that a kill would leave behind
      overwrite_ = false;
    }
    take_name();
  }
  if (const int error = file_.close(); error != 0) fail("cannot be closed", error);
  if (straight_ || !sync_) return;
  // The name itself is on disk only when the directory is; a file system that cannot sync directories is not a reason
  // to fail.
  const Descriptor directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
}

Descriptor open_scratch(const std::string& directory) {
#ifdef O_TMPFILE
  if (const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); fd >= 0) return Descriptor(fd);
#endif
  std::string name = join(directory.empty() ? "." : directory, ".tessera.scratch.XXXXXX");
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) {
    const std::string why = errno == ENOENT ? "there is no such folder" : cause_of_writing(errno).why;
    io_error(directory, "no scratch file can be created in this folder: " + why,
             "Choose another folder with `scratch`, or raise `memory_limit` so that none is needed.");
  }
  ::unlink(name.c_str());
  return Descriptor(fd);
}

void extend_scratch(const Descriptor& file, int64_t bytes, const std::string& directory) {
  const SignalGuard guard;
  struct statvfs disk {};
  struct stat about {};
  int error = 0;
  // Checked first: a request that no disk can satisfy should not fill one.
  if (::fstatvfs(file.get(), &disk) == 0 && ::fstat(file.get(), &about) == 0 &&
      static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize + static_cast<uint64_t>(about.st_size) <
          static_cast<uint64_t>(bytes))
    error = ENOSPC;
  while (error == 0 && about.st_size < bytes) {
    error = ::posix_fallocate(file.get(), about.st_size, bytes - about.st_size);
    if (error != EINTR) break;
    error = 0;
  }
  if (error == 0) return;
  const Cause cause = cause_of_writing(error);
  io_error(directory, fmt::format("a scratch file in this folder cannot grow to {} bytes: {}", bytes, cause.why),
           "Choose a folder on a larger disk with `scratch`, or raise `memory_limit` so that less is needed.");
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
  const Cause cause = cause_of_writing(errno);
  io_error(path, "cannot be removed: " + cause.why, cause.way_out);
}

void write_file(const std::string& path, std::string_view bytes, bool overwrite) {
  AtomicFile file(path, overwrite);
  file.write(bytes);
  file.commit();
}

}  // namespace tessera
