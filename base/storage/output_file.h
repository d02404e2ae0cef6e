// An atomic file that may compress its bytes as they are written.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/storage/compression.h"
#include "base/storage/files.h"

namespace tessera {

class OutputFile {
 public:
  // Errors as AtomicFile and make_compressor().
  OutputFile(const std::string& path, bool overwrite, bool sync, Compression compression)
      : compressor_(make_compressor(compression, path)),
        file_(path, overwrite, sync),
        sink_([this](std::string_view bytes) { file_.write(bytes); }) {}

  void write(std::string_view bytes) {
    if (compressor_ != nullptr) compressor_->write(bytes, sink_);
    else file_.write(bytes);
  }
  void commit() {
    if (compressor_ != nullptr) compressor_->finish(sink_);
    file_.commit();
  }
  int64_t written() const { return file_.written(); }  // bytes of the file

 private:
  std::unique_ptr<Compressor> compressor_;
  AtomicFile file_;
  ByteSink sink_;
};

}  // namespace tessera
