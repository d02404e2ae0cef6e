// A sample of a file's rows, one from each interval: evenly spaced, to cover the file's order, and random within, to
// avoid aliasing with its periods.
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>

#include "arrow_files.h"
#include "kernels/math/philox.h"

namespace tessera::arrow_files {
namespace {

// a separate number beside those of Purpose (kernels/math/philox.h): selects the training rows of a large file
constexpr uint32_t kPurpose = 0x7600;

class Sampled : public arrow::RecordBatchReader {
 public:
  Sampled(std::shared_ptr<arrow::RecordBatchReader> from, const FileSample& sample)
      : from_(std::move(from)), sample_(sample), row_(sample.first_row) {}
  std::shared_ptr<arrow::Schema> schema() const override { return from_->schema(); }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    ARROW_RETURN_NOT_OK(from_->ReadNext(batch));
    if (*batch == nullptr) return arrow::Status::OK();
    const int64_t begin = row_, end = row_ += (*batch)->num_rows();
    arrow::Int64Builder chosen;
    for (; stretch_ < sample_.keep; ++stretch_) {
      const int64_t row = row_of(stretch_);
      if (row >= end) break;
      if (row >= begin) ARROW_RETURN_NOT_OK(chosen.Append(row - begin));
    }
    ARROW_ASSIGN_OR_RAISE(const auto indices, chosen.Finish());
    ARROW_ASSIGN_OR_RAISE(const auto taken, arrow::compute::Take(*batch, indices));
    *batch = taken.record_batch();
    return arrow::Status::OK();
  }

 private:
  int64_t start_of(int64_t interval) const {
    return static_cast<int64_t>(static_cast<__int128>(interval) * sample_.all / sample_.keep);
  }
  int64_t row_of(int64_t interval) const {
    const int64_t start = start_of(interval), length = start_of(interval + 1) - start;
    const Philox p = philox(0, static_cast<uint32_t>(interval), static_cast<uint32_t>(interval >> 32), kPurpose << 16,
                            static_cast<uint32_t>(sample_.seed), static_cast<uint32_t>(sample_.seed >> 32));
    const uint64_t uniform = static_cast<uint64_t>(p.word[0]) << 32 | p.word[1];
    return start +
           static_cast<int64_t>((static_cast<unsigned __int128>(uniform) * static_cast<uint64_t>(length)) >> 64);
  }

  std::shared_ptr<arrow::RecordBatchReader> from_;
  FileSample sample_;
  int64_t row_, stretch_ = 0;
};

}  // namespace

std::shared_ptr<arrow::RecordBatchReader> sampled(std::shared_ptr<arrow::RecordBatchReader> from,
                                                  const FileSample& sample) {
  return std::make_shared<Sampled>(std::move(from), sample);
}

}  // namespace tessera::arrow_files
