// Raking (iterative proportional fitting): one factor a cell of each column, so that the rows that are kept have the
// real table's shares in every column.
#pragma once
#include <cstdint>
#include <vector>

namespace tessera {

struct RakingOptions {
  int sweeps = 20;
  double damping = 0.7;       // of a step: 1 goes all the way at once
  double most = 5;            // factors lie within [1/most, most]
  double least_share = 2e-4;  // cells of fewer rows, real or kept, are left alone: their share is chance
  double min_yield = 0.1;     // share of candidates that must be kept
};

// How candidates are kept: with probability min(1, exp(log_weight − cut)).
struct Cut {
  // The cut at which the share `top` of the pool's candidates are kept for certain, or lower where that would keep
  // fewer than min_yield of them.
  static double of(const std::vector<double>& log_weights, double top, double min_yield);
  static double yield(const std::vector<double>& log_weights, double cut);
};

// The candidates of highest weight that are kept for certain; what they weigh beyond the cut is lost to the ratio's
// exactness and won for the yield.
constexpr double kTopShare = 0.01;

// Log factors by column and cell. cells [rows, columns] row-major; log_ratio [rows]: what is known of each candidate
// besides (0: nothing);
// share[j]: the real shares of column j's cells.
std::vector<std::vector<double>> rake(const std::vector<int32_t>& cells, const std::vector<double>& log_ratio,
                                      const std::vector<std::vector<double>>& share, const RakingOptions& options);

}  // namespace tessera
