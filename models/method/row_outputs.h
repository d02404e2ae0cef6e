// Outputs of a plan for rows of the encoded table.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/method/method.h"

namespace tessera {

// The outputs `names` of a plan for evenly spaced rows of the table, at most `max_rows`. The plan reads table rows
// from the bound leaf "row" [batch, 1]; `states` are put into it.
class RowOutputs {
 public:
  using Record = std::function<void(Recorder& r, int64_t batch)>;
  RowOutputs(const EncodedTable& table, int64_t max_rows, const States& states, std::vector<std::string> names,
             Purpose purpose, const RunContext& context, const Record& record);
  // The memory of its program.
  static int64_t bytes(const EncodedTable& table, int64_t max_rows, Purpose purpose, const RunContext& context,
                       const Record& record);

  int64_t rows() const { return rows_; }
  int64_t width(size_t output) const;

  // All rows in order, a batch at a time: `count` rows from `first`, row by row in each output. The values are valid
  // until the next batch.
  using See = std::function<void(int64_t first, int64_t count, const std::vector<std::vector<float>>& outputs)>;
  void each_batch(const See& see);

 private:
  const EncodedTable& table_;
  const std::vector<std::string> names_;
  const RunContext& context_;
  const int64_t rows_, batch_;
  std::vector<int32_t> row_;
  std::unique_ptr<Program> program_;
};

}  // namespace tessera
