#include "models/method/row_outputs.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int64_t kBatch = 2048;

int64_t batch_of(int64_t rows) { return std::max<int64_t>(std::min(rows, kBatch), 2); }

}  // namespace

int64_t RowOutputs::bytes(const EncodedTable& table, int64_t max_rows, Purpose purpose, const RunContext& context,
                          const Record& record) {
  const int64_t batch = batch_of(std::min(table.rows, max_rows));
  return bytes_of_program(context.target(), purpose, [&](Recorder& r) { record(r, batch); });
}

RowOutputs::RowOutputs(const EncodedTable& table, int64_t max_rows, const States& states,
                       std::vector<std::string> names, Purpose purpose, const RunContext& context, const Record& record)
    : table_(table),
      names_(std::move(names)),
      context_(context),
      rows_(std::min(table.rows, max_rows)),
      batch_(batch_of(rows_)),
      row_(static_cast<size_t>(batch_)),
      program_(compile(context.target(), purpose, [&](Recorder& r) { record(r, batch_); })) {
  bind_rows(*program_, table);
  program_->bind_if("row", row_.data());
  load_states(*program_, states);
}

int64_t RowOutputs::width(size_t output) const { return program_->plan().shape(program_->find(names_[output])).cols; }

void RowOutputs::each_batch(const See& see) {
  std::vector<std::vector<float>> outputs(names_.size());
  for (int64_t first = 0; first < rows_; first += batch_) {
    const int64_t n = std::min(batch_, rows_ - first);
    for (int64_t i = 0; i < batch_; ++i)
      row_[static_cast<size_t>(i)] = static_cast<int32_t>((first + std::min(i, n - 1)) * table_.rows / rows_);
    program_->run(1);
    table_.relax();
    for (size_t k = 0; k < names_.size(); ++k) outputs[k] = program_->read<float>(program_->find(names_[k]));
    see(first, n, outputs);
    context_.monitor.check_cancelled("prior");
  }
}

}  // namespace tessera
