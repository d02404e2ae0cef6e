// Readers of files that hold one batch at a time.
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/util/io_util.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include "arrow_files.h"

namespace tessera::arrow_files {
namespace {

constexpr int64_t kBatchRows = 1 << 16;
constexpr int64_t kPageBuffer = 1 << 20;  // a column chunk is read in pieces of this size

// Foreign batches are fully validated before they are exported: a consumer of the C interface cannot see where a buffer
// ends. Over that interface an error is a number, and EIO must mean only a failed system call.
class Checked : public arrow::RecordBatchReader {
 public:
  explicit Checked(std::shared_ptr<arrow::RecordBatchReader> from) : from_(std::move(from)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return from_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    arrow::Status status = from_->ReadNext(batch);
    if (status.ok() && *batch != nullptr) status = (*batch)->ValidateFull();
    return status.ok() || status.IsOutOfMemory() || is_failed_call(status) ? status
                                                                           : arrow::Status::Invalid(status.message());
  }

 private:
  std::shared_ptr<arrow::RecordBatchReader> from_;
};

// The batches of an IPC file, which is opened for random access.
class FileBatches : public arrow::RecordBatchReader {
 public:
  explicit FileBatches(std::shared_ptr<arrow::ipc::RecordBatchFileReader> file) : file_(std::move(file)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return file_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    batch->reset();
    if (next_ == file_->num_record_batches()) return arrow::Status::OK();
    return file_->ReadRecordBatch(next_++).Value(batch);
  }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  int next_ = 0;
};

// Keeps the file reader its batches come from.
class ParquetBatches : public arrow::RecordBatchReader {
 public:
  ParquetBatches(std::unique_ptr<parquet::arrow::FileReader> file, std::shared_ptr<arrow::RecordBatchReader> batches)
      : file_(std::move(file)), batches_(std::move(batches)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return batches_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override { return batches_->ReadNext(batch); }

 private:
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
};

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> open_parquet(
    std::shared_ptr<arrow::io::RandomAccessFile> file) {
  parquet::ReaderProperties properties;
  properties.enable_buffered_stream();
  properties.set_buffer_size(kPageBuffer);
  auto raw = parquet::ParquetFileReader::Open(std::move(file), properties);
  parquet::ArrowReaderProperties how(/*use_threads=*/false);
  how.set_batch_size(kBatchRows);
  how.set_pre_buffer(false);
  const parquet::SchemaDescriptor& schema = *raw->metadata()->schema();
  for (int j = 0; j < schema.num_columns(); ++j)
    // texts repeat
    if (schema.Column(j)->physical_type() == parquet::Type::BYTE_ARRAY) how.set_read_dictionary(j, true);
  ARROW_ASSIGN_OR_RAISE(auto reader,
                        parquet::arrow::FileReader::Make(arrow::default_memory_pool(), std::move(raw), how));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatchReader> batches, reader->GetRecordBatchReader());
  return std::make_shared<ParquetBatches>(std::move(reader), std::move(batches));
}

}  // namespace

bool is_failed_call(const arrow::Status& status) {
  return status.IsIOError() && arrow::internal::ErrnoFromStatus(status) != 0;
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> open(const std::string& path, FileKind kind) {
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
  std::shared_ptr<arrow::RecordBatchReader> batches;
  if (kind == FileKind::parquet) {
    ARROW_ASSIGN_OR_RAISE(batches, open_parquet(std::move(file)));
  } else if (kind == FileKind::arrow_file) {
    ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchFileReader::Open(std::move(file)));
    batches = std::make_shared<FileBatches>(std::move(reader));
  } else {
    ARROW_ASSIGN_OR_RAISE(batches, arrow::ipc::RecordBatchStreamReader::Open(std::move(file)));
  }
  return std::make_shared<Checked>(std::move(batches));
}

arrow::Result<int64_t> count_rows(const std::string& path, FileKind kind) {
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
  if (kind == FileKind::parquet) return parquet::ParquetFileReader::Open(std::move(file))->metadata()->num_rows();
  if (kind == FileKind::arrow_stream) return -1;
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchFileReader::Open(std::move(file)));
  return reader->CountRows();
}

}  // namespace tessera::arrow_files
