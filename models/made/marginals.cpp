#include "models/made/marginals.h"

#include <algorithm>
#include <cmath>

#include "models/layers/recording.h"

namespace tessera {
namespace {

constexpr int kRounds = 2;
constexpr int64_t kPassRows = 256, kMostRows = 128 * kPassRows;
constexpr double kForward = 1.0 / 3;  // of a step: it has no gradients
constexpr double kPrior = 8;          // rows that a level is taken to have as predicted: rare levels move little

// Evenly spaced rows of a table, in whole batches. A batch takes less memory than a step of training.
struct Rows {
  int64_t table, batch, used;
  Rows(int64_t rows, int64_t batch_of_step)
      : table(rows),
        batch(std::max<int64_t>(std::min({rows, batch_of_step, kPassRows}), 2)),
        used(std::max(std::min(rows, kMostRows) / batch, int64_t{1}) * batch) {}
  int64_t row(int64_t i) const { return i * table / used; }
};

std::vector<double> counts_of(const Made& m, const EncodedTable& table, const Rows& rows) {
  std::vector<double> counts(static_cast<size_t>(m.levels), 0.0);
  const size_t columns = m.columns.size();
  for (int64_t i = 0; i < rows.used; ++i)
    for (size_t j = 0; j < columns; ++j)
      ++counts[static_cast<size_t>(m.columns[j].start + table.codes[static_cast<size_t>(rows.row(i)) * columns + j])];
  return counts;
}

// How many rows each level is expected to have.
std::vector<double> expected_counts(Program& program, std::vector<int32_t>& row, const Rows& rows,
                                    const RunContext& context) {
  std::vector<double> sums;
  for (int64_t first = 0; first < rows.used; first += rows.batch) {
    context.monitor.check_cancelled("train");
    for (int64_t i = 0; i < rows.batch; ++i) row[static_cast<size_t>(i)] = static_cast<int32_t>(rows.row(first + i));
    program.refresh({"row"});
    program.run(1);
    const std::vector<float> some = program.read<float>(program.find("expected"));
    sums.resize(some.size(), 0.0);
    for (size_t k = 0; k < some.size(); ++k) sums[k] += static_cast<double>(some[k]);
  }
  return sums;
}

}  // namespace

double rows_of_matching(int64_t table_rows) {
  return kRounds * kForward * static_cast<double>(std::min(table_rows, kMostRows));
}

void match_marginals(const Made& m, const EncodedTable& table, std::vector<float>& weights, const RunContext& context) {
  const Rows rows(table.rows, m.config.batch);
  const auto program = compile(context.target(), Purpose::held_out,
                               [&](Recorder& r) { record_expected_counts(r, m, table.rows, rows.batch); });
  std::vector<int32_t> row(static_cast<size_t>(rows.batch));
  bind_rows(*program, table);
  program->bind_if("row", row.data());
  const std::vector<double> counts = counts_of(m, table, rows);
  const auto bias = static_cast<size_t>(m.network.find("head.bias").offset);
  for (int round = 0; round < kRounds; ++round) {
    load_states(*program, {{"network", weights}});
    const std::vector<double> expected = expected_counts(*program, row, rows, context);
    for (size_t k = 0; k < counts.size(); ++k)
      weights[bias + k] += static_cast<float>(std::log((counts[k] + kPrior) / (expected[k] + kPrior)));
  }
  table.relax();
}

}  // namespace tessera
