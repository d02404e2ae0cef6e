// libtessera_arrow.so: Parquet and Arrow files through Arrow C++, behind tables/files/plugin_api.h.
#include <arrow/c/bridge.h>
#include <arrow/config.h>
#include <parquet/exception.h>

#include <new>
#include <string>

#include "arrow_files.h"

namespace tessera::arrow_files {
namespace {

thread_local std::string last_message;

FilesStatus status_of(const arrow::Status& s) {
  if (s.ok()) return FilesStatus::ok;
  last_message = s.message();
  if (s.IsOutOfMemory()) return FilesStatus::memory;
  if (is_failed_call(s)) return FilesStatus::io;
  if (s.IsCancelled()) return FilesStatus::stopped;
  return s.IsUnknownError() ? FilesStatus::failed : FilesStatus::data;
}

// No exception crosses into a library that another compiler may have built.
template <class Body>
FilesStatus guarded(Body body) noexcept {
  try {
    last_message.clear();
    return status_of(body());
  } catch (const std::bad_alloc&) {
    last_message = "out of memory";
    return FilesStatus::memory;
  } catch (const parquet::ParquetStatusException& e) {
    return status_of(e.status());
  } catch (const parquet::ParquetException& e) {
    last_message = e.what();
    return FilesStatus::data;
  } catch (const std::exception& e) {
    last_message = e.what();
    return FilesStatus::failed;
  }
}

FilesStatus read(const char* path, FileKind kind, const FileSample* sample, ArrowArrayStream* out) {
  return guarded([&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto reader, open(path, kind));
    if (sample != nullptr) reader = sampled(std::move(reader), *sample);
    return arrow::ExportRecordBatchReader(std::move(reader), out);
  });
}

FilesStatus rows(const char* path, FileKind kind, int64_t* count) {
  return guarded([&] { return count_rows(path, kind).Value(count); });
}

FilesStatus write(ArrowArrayStream* rows, FileKind kind, const FileSink* sink, int64_t* written, int* rows_error) {
  *rows_error = 0;
  return guarded([&] { return write_rows(rows, kind, *sink, *written, *rows_error); });
}

const char* message() { return last_message.c_str(); }

constexpr FilesApi kApi{kFilesAbi, "Arrow C++ " ARROW_VERSION_STRING, message, read, rows, write};

}  // namespace
}  // namespace tessera::arrow_files

extern "C" __attribute__((visibility("default"))) const tessera::FilesApi* tessera_file_plugin() {
  return &tessera::arrow_files::kApi;
}
