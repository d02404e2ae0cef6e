#include "models/made/marginals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "models/layers/recording.h"
#include "models/made/sampling.h"
#include "tables/notice.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

constexpr int64_t kMaxPassRows = 256, kMaxPassCells = 400 * kMaxPassRows, kMaxDrawn = 512 * kMaxPassRows;
constexpr int64_t kPassesAtOnce = 8;      // per rank, before the counts are added
constexpr int64_t kPassesUnwatched = 64;  // between two checks of the clock
constexpr int64_t kDrawnPerRow = 4;       // so that the sampling error is small compared with the table's
constexpr int64_t kMinDrawn = 4096;
constexpr double kCoarse = 0.25;      // of the rows: the first round
constexpr double kDrawing = 1.0 / 3;  // of a step: it has no gradients
// Pseudo-rows with the predicted frequency: rare levels move little. In a small table all levels are rare.
constexpr double kPrior = 8, kPriorShare = 1e-3;

// Rows per pass: fewer for a wide table, so that the clock is checked often enough.
int64_t pass_rows(const Made& m) {
  return std::clamp<int64_t>(kMaxPassCells / std::max(m.count(), 1) / 16 * 16, 16, kMaxPassRows);
}

// Passes of two rounds: a coarse one, then the final one.
std::array<int64_t, 2> passes(const Made& m, int64_t table_rows) {
  const int64_t each = pass_rows(m),
                all = (std::clamp(kDrawnPerRow * table_rows, kMinDrawn, kMaxDrawn) + each - 1) / each;
  return {std::max<int64_t>(1, static_cast<int64_t>(kCoarse * static_cast<double>(all + 3))), all};
}

// Draws rows and accumulates the expected count of each level.
class Drawn {
 public:
  Drawn(const Made& m, const EncodedTable& table, const Target& target, int64_t all, const RunContext& context)
      : m_(m),
        table_(table),
        each_(pass_rows(m)),
        all_(all),
        context_(context),
        program_(compile(target, Purpose::pilot, [&](Recorder& r) { record_expected_counts(r, m, each_); })),
        rows_(static_cast<size_t>(3 * each_), 0),
        given_(static_cast<size_t>(m.given * each_)) {
    program_->bind_if("rows", rows_.data());
    program_->bind_if("given", given_.data());
  }

  // The expected share of each level over `passes` passes, or fewer if time runs out; empty if there is no time at all.
  std::vector<double> shares(const std::vector<float>& network, int64_t passes, Deadline until) {
    load_states(*program_, {{"network", network}});
    const Id expected = program_->find("expected");
    const int64_t levels = program_->plan().shape(expected).count();
    std::vector<double> shares(static_cast<size_t>(levels), 0.0);
    const auto draw = [&](int64_t first, int64_t count, float* counts) {
      for (int64_t pass = first; pass < first + count; ++pass, counts += levels) {
        context_.monitor.check_cancelled("train");
        for (int64_t i = 0; i < each_; ++i) rows_[static_cast<size_t>(3 * i)] = static_cast<int32_t>(pass * each_ + i);
        give(pass);
        program_->refresh({"rows", "given"});
        program_->run(1);
        std::ranges::copy(program_->read<float>(expected), counts);
      }
    };
    const auto add = [&](const float* counts) {
      for (size_t k = 0; k < shares.size(); ++k) shares[k] += static_cast<double>(counts[k]);
    };
    int64_t done = 0;
    for (int64_t next = 1; done < passes; next = std::min(2 * next, kPassesUnwatched)) {
      // The clock is checked before each group; a group is at most twice as long as the one before.
      const bool time = until.left() > 0 && until.next(2);
      const int64_t count = context_.shared.agreed(time ? std::min(next, passes - done) : 0);
      if (count == 0) break;
      context_.shared.in_order<float>(
          count, kPassesAtOnce, levels, [&](int64_t first, int64_t n, float* counts) { draw(done + first, n, counts); },
          add);
      done += count, done_ += count;
      report(false);
    }
    if (done == 0) return {};
    for (double& share : shares) share /= static_cast<double>(done * each_);
    return shares;
  }

  void end() const {
    report(true);
    if (done_ < all_)
      notice(
          context_.monitor,
          fmt::format("The time limit was reached: marginals were matched over {} of {} drawn rows and are less exact.",
                      grouped(done_ * each_), grouped(all_ * each_)));
  }

 private:
  // The given columns of rows spread over the table.
  void give(int64_t pass) {
    constexpr uint64_t kStride = 0x9E3779B97F4A7C15;  // odd: it meets rows evenly
    const auto columns = static_cast<size_t>(m_.count());
    for (int64_t i = 0; m_.given > 0 && i < each_; ++i) {
      const uint64_t at = static_cast<uint64_t>(pass * each_ + i) * kStride;
      const auto row = static_cast<size_t>((at >> 11) % static_cast<uint64_t>(table_.rows));
      for (int j = 0; j < m_.given; ++j)
        given_[static_cast<size_t>(i * m_.given + j)] =
            m_.columns[static_cast<size_t>(j)].start + table_.codes[row * columns + static_cast<size_t>(j)];
    }
  }
  void report(bool finished) const {
    context_.monitor.report(
        {"marginals", static_cast<double>(done_ * each_), static_cast<double>(all_ * each_), "rows", "", finished});
  }

  const Made& m_;
  const EncodedTable& table_;
  const int64_t each_, all_;
  const RunContext& context_;
  const std::unique_ptr<Program> program_;
  std::vector<int32_t> rows_, given_;
  int64_t done_ = 0;  // passes
};

}  // namespace

double rows_of_matching(const Made& m, int64_t table_rows) {
  const auto [first, second] = passes(m, table_rows);
  return kDrawing * static_cast<double>((first + second) * pass_rows(m));
}

int64_t bytes_of_matching(const Made& m, const RunContext& context) {
  return bytes_of_program(context.target(), Purpose::pilot,
                          [&](Recorder& r) { record_expected_counts(r, m, pass_rows(m)); });
}

void match_marginals(const Made& m, const std::vector<double>& frequencies, const EncodedTable& table,
                     std::vector<float>& weights, const RunContext& context) {
  weights = context.shared.given(std::move(weights));
  if (!context.shared.agreed(context.until.left() > 0))  // building the plan of a wide table takes time, too
    return notice(context.monitor,
                  "The time limit was reached: marginals were not matched to the table and are less exact.");
  Target target = context.target();
  target.seed += kOtherRows;
  const auto [coarse, final] = passes(m, table.rows);
  Drawn drawn(m, table, target, coarse + final, context);
  const auto bias = static_cast<size_t>(m.network.find("head.bias").offset);
  const double prior = std::min(kPrior / static_cast<double>(table.rows), kPriorShare);
  const auto shift = [&](const std::vector<double>& expected) {
    for (size_t k = 0; k < expected.size(); ++k)
      weights[bias + k] += static_cast<float>(
          std::log((frequencies[static_cast<size_t>(m.given_levels) + k] + prior) / (expected[k] + prior)));
  };
  shift(drawn.shares(weights, coarse, context.until.sooner(kCoarse / (1 + kCoarse))));
  shift(drawn.shares(weights, final, context.until));
  drawn.end();
}

}  // namespace tessera
