// Files read whole, and files written whole or not at all. In every path "-" is a standard stream.
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

// Throws the Error(io) that writing `path` would end in, before hours are spent on what goes into it: it exists and
// `overwrite` is false, its directory is missing or cannot be written to, it is a directory. An empty path is
// Error(usage).
void check_writable(const std::string& path, bool overwrite);

// A file that appears under its name only when commit() has succeeded; until then, and when destroyed without it, the
// old file (or none) is there.
// Bytes go to a nameless file of the same directory (to a hidden one where the file system has no nameless files), are
// synced, take the name in one step, and the directory is synced. A pipe, a device and standard output are written
// straight, and a reader that goes away is an error, not a SIGPIPE.
// A symbolic link keeps pointing where it did.
class AtomicFile {
 public:
  // Error(io) as check_writable(). `sync` off: a machine that stops within seconds may lose the file.
  AtomicFile(std::string path, bool overwrite, bool sync = true);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);  // Error(io): disk full, quota, …
  // With `keep_old_as`, what has the name now gets that one first, replacing what has it: at every moment one of the
  // two names holds a whole file.
  void commit(const std::string& keep_old_as = "");
  int64_t written() const { return written_; }

 private:
  void take_name();
  [[noreturn]] void fail(const char* doing, int error) const;

  std::string path_;    // as the caller gave it
  std::string target_;  // after symbolic links
  std::string directory_;
  std::string temporary_;  // name of the hidden file while there is one
  bool overwrite_, sync_;
  bool straight_ = false;  // a pipe, a device, standard output
  Descriptor file_{-1};
  int64_t written_ = 0;
};

void write_file(const std::string& path, std::string_view bytes, bool overwrite);

// A file without a name in a folder, to read and write, gone with its descriptor or the process; and so many bytes for
// it, which writing then cannot lack.
// Error(io) naming the folder: no such folder, no permission, disk full.
Descriptor open_scratch(const std::string& directory);
void extend_scratch(const Descriptor& file, int64_t bytes, const std::string& directory);

bool file_exists(const std::string& path);
void remove_file(const std::string& path);  // one that is not there is removed already; Error(io)

}  // namespace tessera
