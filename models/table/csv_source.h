// The bytes of a CSV file: a regular file is mapped, a pipe or device is read whole.
#pragma once
#include <cstddef>
#include <string>

#include "engine/monitor.h"

namespace tessera {

class CsvSource {
 public:
  // "-" is standard input. Throws Error(io) for what cannot be opened or read (missing file, directory, permission), Error(data) for an empty file.
  CsvSource(const std::string& path, const Monitor& monitor);
  ~CsvSource();
  CsvSource(const CsvSource&) = delete;
  CsvSource& operator=(const CsvSource&) = delete;

  const std::string& name() const { return name_; }  // as messages should call it
  const char* begin() const { return begin_; }
  const char* end() const { return end_; }

  // Tells the kernel that bytes before `until` are not needed soon, so that the text does not stay resident beside the table. A mapped file may be read
  // again; of a pipe the bytes are gone, hence `for_good`.
  void release_behind(const char* until, bool for_good);

 private:
  void map(int file, size_t size);
  void read_whole(int file, const Monitor& monitor);

  std::string name_;
  char* memory_ = nullptr;
  size_t capacity_ = 0;  // bytes mapped
  bool from_file_ = false;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  size_t released_ = 0;  // bytes given back in this pass
};

}  // namespace tessera
