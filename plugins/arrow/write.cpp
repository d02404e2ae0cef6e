// Rows into files, one row group at a time.
#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/type_traits.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>

#include "arrow_files.h"

namespace tessera::arrow_files {
namespace {

constexpr int64_t kGroupRows = 1 << 18;

class SinkStream : public arrow::io::OutputStream {
 public:
  explicit SinkStream(const FileSink& sink) : sink_(sink) { set_mode(arrow::io::FileMode::WRITE); }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return at_; }
  arrow::Status Write(const void* bytes, int64_t count) override {
    at_ += count;
    return sink_.write(sink_.self, bytes, count) ? arrow::Status::OK()
                                                 : arrow::Status::Cancelled("the file could not be written");
  }
  using arrow::io::OutputStream::Write;

 private:
  const FileSink& sink_;
  int64_t at_ = 0;
  bool closed_ = false;
};

// Categories arrive as dictionaries whose values differ from batch to batch, which an Arrow file cannot store; readers
// prefer texts anyway, and Parquet builds its own dictionaries.
// A decimal of Parquet has a scale from 0 to its precision: others are written with explicit zeros.
std::shared_ptr<arrow::DataType> plain_type(const std::shared_ptr<arrow::DataType>& type, FileKind kind) {
  if (type->id() == arrow::Type::DICTIONARY)
    return plain_type(static_cast<const arrow::DictionaryType&>(*type).value_type(), kind);
  if (kind != FileKind::parquet || !arrow::is_decimal(type->id())) return type;
  const auto& decimal = static_cast<const arrow::DecimalType&>(*type);
  const int32_t scale = std::max(decimal.scale(), 0), digits = decimal.scale() < 0
                                                                   ? decimal.precision() - decimal.scale()
                                                                   : std::max(decimal.precision(), scale);
  if (scale == decimal.scale() && digits == decimal.precision()) return type;
  return digits <= arrow::Decimal128Type::kMaxPrecision
             ? arrow::decimal128(digits, scale)
             : arrow::decimal256(std::min(digits, arrow::Decimal256Type::kMaxPrecision), scale);
}

std::shared_ptr<arrow::Schema> plain_schema(const arrow::Schema& schema, FileKind kind) {
  arrow::FieldVector fields;
  for (const auto& field : schema.fields()) fields.push_back(field->WithType(plain_type(field->type(), kind)));
  return arrow::schema(std::move(fields), schema.metadata());
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> plain_batch(const arrow::RecordBatch& batch,
                                                               const std::shared_ptr<arrow::Schema>& schema) {
  arrow::ArrayVector columns = batch.columns();
  for (int j = 0; j < batch.num_columns(); ++j) {
    std::shared_ptr<arrow::Array>& column = columns[static_cast<size_t>(j)];
    if (column->type_id() == arrow::Type::DICTIONARY) {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(*column);
      ARROW_ASSIGN_OR_RAISE(column, arrow::compute::Take(*coded.dictionary(), *coded.indices(),
                                                         arrow::compute::TakeOptions::NoBoundsCheck()));
    }
    const auto& type = schema->field(j)->type();
    if (!column->type()->Equals(*type)) { ARROW_ASSIGN_OR_RAISE(column, arrow::compute::Cast(*column, type)); }
  }
  return arrow::RecordBatch::Make(schema, batch.num_rows(), std::move(columns));
}

// The next batch, or null at the end; the reader's own failure is distinguished from ours.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> next(ArrowArrayStream* rows,
                                                        const std::shared_ptr<arrow::Schema>& schema, int& rows_error) {
  ArrowArray array{};
  rows_error = rows->get_next(rows, &array);
  if (rows_error != 0) {
    const char* why = rows->get_last_error(rows);
    return arrow::Status::Cancelled(why == nullptr ? "the stream of rows failed" : why);
  }
  if (array.release == nullptr) return nullptr;
  return arrow::ImportRecordBatch(&array, schema);
}

template <class Write>
arrow::Status each_batch(ArrowArrayStream* rows, const std::shared_ptr<arrow::Schema>& given,
                         const std::shared_ptr<arrow::Schema>& plain, int64_t& written, int& rows_error, Write write) {
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(auto batch, next(rows, given, rows_error));
    if (batch == nullptr) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(batch, plain_batch(*batch, plain));
    ARROW_RETURN_NOT_OK(write(*batch));
    written += batch->num_rows();
  }
}

struct Released {
  ArrowArrayStream* stream;
  ~Released() {
    if (stream->release != nullptr) stream->release(stream);
  }
};

}  // namespace

arrow::Status write_rows(ArrowArrayStream* rows, FileKind kind, const FileSink& sink, int64_t& written,
                         int& rows_error) {
  const Released released{rows};
  written = 0;
  ArrowSchema raw{};
  rows_error = rows->get_schema(rows, &raw);
  if (rows_error != 0) {
    const char* why = rows->get_last_error(rows);
    return arrow::Status::Cancelled(why == nullptr ? "the stream of rows has no schema" : why);
  }
  ARROW_ASSIGN_OR_RAISE(const auto given, arrow::ImportSchema(&raw));
  const auto plain = plain_schema(*given, kind);
  const auto out = std::make_shared<SinkStream>(sink);
  using arrow::Compression;
  if (kind == FileKind::parquet) {
    Compression::type codec = Compression::UNCOMPRESSED;
    for (const auto wanted : {Compression::SNAPPY, Compression::ZSTD})
      if (arrow::util::Codec::IsAvailable(wanted)) codec = wanted;
    const auto properties =
        parquet::WriterProperties::Builder()
            .compression(codec)
            ->compression_level(codec == Compression::ZSTD ? 1 : arrow::util::kUseDefaultCompressionLevel)
            ->max_row_group_length(kGroupRows)
            ->created_by("tessera")
            ->build();
    const auto how = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    ARROW_ASSIGN_OR_RAISE(auto writer,
                          parquet::arrow::FileWriter::Open(*plain, arrow::default_memory_pool(), out, properties, how));
    ARROW_RETURN_NOT_OK(each_batch(rows, given, plain, written, rows_error,
                                   [&](const arrow::RecordBatch& batch) { return writer->WriteRecordBatch(batch); }));
    return writer->Close();
  }
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  ARROW_ASSIGN_OR_RAISE(auto writer, kind == FileKind::arrow_file ? arrow::ipc::MakeFileWriter(out, plain, options)
                                                                  : arrow::ipc::MakeStreamWriter(out, plain, options));
  ARROW_RETURN_NOT_OK(each_batch(rows, given, plain, written, rows_error,
                                 [&](const arrow::RecordBatch& batch) { return writer->WriteRecordBatch(batch); }));
  return writer->Close();
}

}  // namespace tessera::arrow_files
