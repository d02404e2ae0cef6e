// A file mapped for reading that may be truncated meanwhile: lost pages become zeros and are detected, instead of
// ending the process (SIGBUS).
#pragma once
#include <atomic>
#include <cstddef>

namespace tessera {

class FileMapping {
 public:
  FileMapping() = default;
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  // False if it cannot be mapped. `file` stays open as long as the mapping lives.
  bool map(int file, size_t size);
  bool cut_short() const;  // mapped bytes are gone, touched or not

  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  int file_ = -1;
  char* data_ = nullptr;
  size_t size_ = 0;
  int slot_ = -1;  // among the mappings the signal handler knows
};

}  // namespace tessera
