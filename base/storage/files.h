// Files read completely, and files written atomically. In every path "-" is a standard stream.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

// An open file, closed at the end unless it is a standard stream.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  int close();  // 0, or the error; afterwards get() is −1

 private:
  int fd_;
};

// A file (or standard input) to read from. Throws Error(io) naming the path and why: missing, no permission, a
// directory.
Descriptor open_to_read(const std::string& path);

// The bytes of a file. Throws Error(io) as open_to_read(), or Error(memory) when it is larger than `limit` bytes.
std::string read_file(const std::string& path, int64_t limit = INT64_MAX);

// Throws the Error(io) that writing `path` would cause, before hours are spent on its contents: it exists and
// `overwrite` is false, its directory is missing or not writable, it is a directory. An empty path is Error(usage).
void check_writable(const std::string& path, bool overwrite);

// A file that appears under its name only when commit() succeeds; until then, and if destroyed without it, the old file
// (or none) remains.
// Bytes go to an unnamed file in the same directory (to a hidden one if the file system has no unnamed files), which is
// synced and linked to its name in one step; then the directory is synced. Pipes, devices and standard output are
// written directly, and a closed reader is an error, not a SIGPIPE.
// A symbolic link keeps its target.
class AtomicFile {
 public:
  // Error(io) as check_writable(). `sync` off: a machine that stops within seconds may lose the file.
  AtomicFile(std::string path, bool overwrite, bool sync = true);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);  // Error(io): disk full, quota, …
  // With `keep_old_as`, the existing file is first renamed to that, replacing any such file: at every moment one of the
  // two names holds a complete file.
  void commit(const std::string& keep_old_as = "");
  int64_t written() const { return written_; }

 private:
  void take_name();
  [[noreturn]] void fail(const char* doing, int error) const;

  std::string path_;    // as given by the caller
  std::string target_;  // after symbolic links
  std::string directory_;
  std::string temporary_;  // name of the hidden file while there is one
  bool overwrite_, sync_;
  bool straight_ = false;  // a pipe, a device, standard output
  Descriptor file_{-1};
  int64_t written_ = 0;
};

void write_file(const std::string& path, std::string_view bytes, bool overwrite);

// An unnamed file in a folder, to read and write, removed with its descriptor or the process; and the reservation of
// its bytes, so that writing cannot run out of space.
// Error(io) naming the folder: no such folder, no permission, disk full.
Descriptor open_scratch(const std::string& directory);
void extend_scratch(const Descriptor& file, int64_t bytes, const std::string& directory);

bool file_exists(const std::string& path);
void remove_file(const std::string& path);  // a missing file counts as removed; Error(io)

}  // namespace tessera
