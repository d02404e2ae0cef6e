// Where written bytes go: standard output, or a file that appears whole or not at all.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

class CsvSink {
 public:
  CsvSink(const std::string& path, bool overwrite, bool fsync);
  ~CsvSink();  // without finish(): the file is taken back
  CsvSink(const CsvSink&) = delete;
  CsvSink& operator=(const CsvSink&) = delete;

  void write(std::string_view bytes);
  void finish();
  int64_t bytes() const { return bytes_; }

 private:
  [[noreturn]] void fail(const char* action, int error) const;

  std::string path_, name_, temporary_;
  bool overwrite_, fsync_;
  int file_ = -1;
  int64_t bytes_ = 0;
};

}  // namespace tessera
