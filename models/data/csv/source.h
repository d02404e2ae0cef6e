// The bytes of a CSV file: a regular file is mapped, a pipe or device is read into memory.
#pragma once
#include <cstddef>
#include <string>

#include "engine/run/monitor.h"
#include "engine/storage/files.h"
#include "models/data/csv/file_mapping.h"

namespace tessera {

class CsvSource {
 public:
  // "-" is standard input. Throws Error(io) for what cannot be opened or read (missing file, directory, permission),
  // Error(data) for an empty file.
  CsvSource(const std::string& path, const Monitor& monitor);
  ~CsvSource();
  CsvSource(const CsvSource&) = delete;
  CsvSource& operator=(const CsvSource&) = delete;

  const std::string& name() const { return name_; }  // the name for messages
  const char* begin() const { return begin_; }
  const char* end() const { return end_; }

  // Throws Error(io) if the file was truncated since it was opened: data read since may be zeros. Call it before using
  // the data or reporting errors in it.
  void check_whole() const;
  [[noreturn]] void fail_changed() const;

  // Tells the kernel that bytes before `until` are not needed soon, so that the text does not stay resident beside the
  // table. A mapped file may be read again; the bytes of a pipe are lost, hence `for_good`.
  void release_behind(const char* until, bool for_good);

 private:
  void read_whole(int file, const Monitor& monitor);

  std::string name_;
  Descriptor file_;
  FileMapping mapping_;     // of a file; else
  char* memory_ = nullptr;  // what was read
  size_t capacity_ = 0;     // and how much it may be
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  size_t released_ = 0;  // bytes released in this pass
};

}  // namespace tessera
