// The plugin's parts.
#pragma once
#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <memory>
#include <string>

#include "tables/files/plugin_api.h"

namespace tessera::arrow_files {

// Whether a system call failed (a failing disk, a missing file). Arrow also uses IOError for invalid contents: too
// short, not decompressed.
bool is_failed_call(const arrow::Status& status);

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> open(const std::string& path, FileKind kind);
arrow::Result<int64_t> count_rows(const std::string& path, FileKind kind);
std::shared_ptr<arrow::RecordBatchReader> sampled(std::shared_ptr<arrow::RecordBatchReader> from,
                                                  const FileSample& sample);
arrow::Status write_rows(ArrowArrayStream* rows, FileKind kind, const FileSink& sink, int64_t& written,
                         int& rows_error);

}  // namespace tessera::arrow_files
