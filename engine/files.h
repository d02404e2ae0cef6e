// Files read whole, and files written whole or not at all.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera {

// The bytes of a file. Throws Error(io) naming the path, or Error(memory) when it is larger than `limit` bytes.
std::string read_file(const std::string& path, int64_t limit = INT64_MAX);

// Throws the Error(io) that writing `path` would end in, before hours are spent on what goes into it: it exists and `overwrite` is false,
// its directory is missing or cannot be written to, it is a directory.
void check_writable(const std::string& path, bool overwrite);

// A file that appears under its name only when commit() has succeeded; until then, and when destroyed without it, the old file (or none) is there.
// Bytes go to a nameless file of the same directory (to a hidden one where the file system has no nameless files), are synced, take the name in one
// step, and the directory is synced. A path that is a pipe or a device is written straight. A symbolic link keeps pointing where it did.
class AtomicFile {
 public:
  AtomicFile(std::string path, bool overwrite);  // Error(io) as check_writable
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t size);  // Error(io): disk full, quota, …
  void commit();
  int64_t written() const { return written_; }

 private:
  void take_name();
  [[noreturn]] void fail(const char* doing, int error) const;

  std::string path_;       // as the caller gave it: what messages say
  std::string target_;     // after symbolic links
  std::string directory_;
  std::string temporary_;  // name of the hidden file while there is one
  bool overwrite_;
  bool straight_ = false;  // a pipe or a device
  int fd_ = -1;
  int64_t written_ = 0;
};

void write_file(const std::string& path, const std::string& bytes, bool overwrite);

}  // namespace tessera
