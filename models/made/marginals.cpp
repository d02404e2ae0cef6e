#include "models/made/marginals.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/layers/recording.h"
#include "models/made/sampling.h"

namespace tessera {
namespace {

constexpr int64_t kPassRows = 256, kMostDrawn = 512 * kPassRows;
constexpr int64_t kPassesAtOnce = 8;  // per rank, before the counts are added
constexpr int64_t kDrawnPerRow = 4;   // so that the sampling error is small compared with the table's
constexpr double kDrawing = 1.0 / 3;  // of a step: it has no gradients
constexpr double kPrior = 8;          // pseudo-rows with the predicted frequency: rare levels move little

// Two rounds: a coarse one, then the final one.
std::array<int64_t, 2> passes(int64_t table_rows) {
  const int64_t all = (std::min(kDrawnPerRow * table_rows, kMostDrawn) + kPassRows - 1) / kPassRows;
  return {(all + 3) / 4, all};
}

// The expected share of each level among drawn rows.
std::vector<double> expected_shares(Program& program, std::vector<int32_t>& rows, int64_t count,
                                    const RunContext& context) {
  const Id expected = program.find("expected");
  const int64_t levels = program.plan().shape(expected).count();
  std::vector<double> shares(static_cast<size_t>(levels), 0.0);
  const auto draw = [&](int64_t first, int64_t passes, float* counts) {
    for (int64_t pass = first; pass < first + passes; ++pass, counts += levels) {
      context.monitor.check_cancelled("train");
      for (int64_t i = 0; i < kPassRows; ++i)
        rows[static_cast<size_t>(3 * i)] = static_cast<int32_t>(pass * kPassRows + i);
      program.refresh({"rows"});
      program.run(1);
      std::ranges::copy(program.read<float>(expected), counts);
    }
  };
  const auto add = [&](const float* counts) {
    for (size_t k = 0; k < shares.size(); ++k)
      shares[k] += static_cast<double>(counts[k]) / static_cast<double>(count * kPassRows);
  };
  context.shared.in_order<float>(count, kPassesAtOnce, levels, draw, add);
  return shares;
}

}  // namespace

double rows_of_matching(int64_t table_rows) {
  const auto [first, second] = passes(table_rows);
  return kDrawing * static_cast<double>((first + second) * kPassRows);
}

int64_t bytes_of_matching(const Made& m, const RunContext& context) {
  return bytes_of_program(context.target(), Purpose::pilot,
                          [&](Recorder& r) { record_expected_counts(r, m, kPassRows); });
}

void match_marginals(const Made& m, const std::vector<double>& frequencies, int64_t table_rows,
                     std::vector<float>& weights, const RunContext& context) {
  weights = context.shared.given(std::move(weights));
  Target target = context.target();
  target.seed += kOtherRows;
  const auto program = compile(target, Purpose::pilot, [&](Recorder& r) { record_expected_counts(r, m, kPassRows); });
  std::vector<int32_t> rows(static_cast<size_t>(3 * kPassRows), 0);
  program->bind_if("rows", rows.data());
  const auto bias = static_cast<size_t>(m.network.find("head.bias").offset);
  const double prior = kPrior / static_cast<double>(table_rows);
  for (const int64_t count : passes(table_rows)) {
    load_states(*program, {{"network", weights}});
    const std::vector<double> expected = expected_shares(*program, rows, count, context);
    for (size_t k = 0; k < frequencies.size(); ++k)
      weights[bias + k] += static_cast<float>(std::log((frequencies[k] + prior) / (expected[k] + prior)));
  }
}

}  // namespace tessera
