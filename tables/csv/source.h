// The text of a CSV file: a regular file is mapped, a pipe or device is read into memory. A file that is compressed is
// decompressed, one that is not UTF-8 is converted, and JSON becomes CSV, into memory or scratch.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/monitor.h"
#include "base/storage/files.h"
#include "base/storage/spill_vector.h"
#include "base/text/encoding.h"
#include "tables/csv/file_mapping.h"

namespace tessera {

class CsvSource {
 public:
  // "-" is standard input. Throws Error(io) for what cannot be opened or read (missing file, directory, permission),
  // Error(data) for an empty file, as decompress() and records_as_csv() for compressed files and JSON.
  // `limit`: of what is decompressed or converted; null: none.
  CsvSource(const std::string& path, const Monitor& monitor, const std::shared_ptr<MemoryLimit>& limit = nullptr);
  ~CsvSource();
  CsvSource(const CsvSource&) = delete;
  CsvSource& operator=(const CsvSource&) = delete;

  const std::string& name() const { return name_; }  // the name for messages
  // Where a row stands, for messages: the line of the text, or the number of a JSON record. `row`: from 0, in it.
  std::string place(int64_t line, int64_t row) const;
  bool is_json() const { return is_json_; }
  Encoding encoding() const { return encoding_; }  // of the file; what is read is UTF-8

  // Text in which bytes were found that are not UTF-8 is read as Windows-1252 from now on, if it can be that: begin()
  // and end() change. Else false.
  bool read_as_windows_1252(const Monitor& monitor);

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
  void free_read();
  std::string_view raw() const { return {begin_, static_cast<size_t>(end_ - begin_)}; }
  void convert(const std::string& path, const Monitor& monitor);
  void decode(Encoding from, const Monitor& monitor);
  void keep(Bulk<char> text);

  std::string name_;
  Descriptor file_;
  FileMapping mapping_;     // of a file; else
  char* memory_ = nullptr;  // what was read
  size_t capacity_ = 0;     // and how much it may be
  Bulk<char> text_;         // what was decompressed or converted; else empty
  std::shared_ptr<MemoryLimit> limit_;
  bool is_json_ = false;
  Encoding encoding_ = Encoding::utf8;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  size_t released_ = 0;  // bytes released in this pass
};

}  // namespace tessera
