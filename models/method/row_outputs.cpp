#include "models/method/row_outputs.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int64_t kBatch = 2048;

}  // namespace

std::vector<std::vector<float>> outputs_of_rows(const EncodedTable& table, int64_t most, const States& states,
                                                const std::vector<std::string>& names, Purpose purpose,
                                                const RunContext& context,
                                                const std::function<void(Recorder& r, int64_t batch)>& record) {
  const int64_t rows = std::min(table.rows, most), batch = std::max<int64_t>(std::min(rows, kBatch), 2);
  const auto program = compile(context.target(), purpose, [&](Recorder& r) { record(r, batch); });
  std::vector<int32_t> row(static_cast<size_t>(batch));
  bind_rows(*program, table);
  program->bind_if("row", row.data());
  load_states(*program, states);
  const auto width = [&](Id value) { return program->plan().shape(value).cols; };
  std::vector<std::vector<float>> out(names.size());
  for (size_t k = 0; k < names.size(); ++k) out[k].reserve(static_cast<size_t>(rows * width(program->find(names[k]))));
  for (int64_t first = 0; first < rows; first += batch) {
    const int64_t n = std::min(batch, rows - first);
    for (int64_t i = 0; i < batch; ++i)
      row[static_cast<size_t>(i)] = static_cast<int32_t>((first + std::min(i, n - 1)) * table.rows / rows);
    program->run(1);
    table.relax();
    for (size_t k = 0; k < names.size(); ++k) {
      const Id value = program->find(names[k]);
      const std::vector<float> x = program->read<float>(value);
      out[k].insert(out[k].end(), x.begin(), x.begin() + n * width(value));
    }
    context.monitor.check_cancelled("prior");
  }
  return out;
}

}  // namespace tessera
