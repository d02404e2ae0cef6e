// Raking (iterative proportional fitting): one factor per cell of each column, so that accepted rows have the real
// table's shares in every column.
#pragma once
#include <cstdint>
#include <vector>

namespace tessera {

struct RakingOptions {
  int sweeps = 20;
  double damping = 0.7;       // of a step: 1 is an undamped step
  double most = 5;            // factors are clipped to [1/most, most]
  double least_share = 2e-4;  // cells with a smaller share, real or accepted, are not adjusted: their share is noise
  double min_yield = 0.1;     // minimum share of accepted candidates
};

// Acceptance of candidates: with probability min(1, exp(log_weight − cut)).
struct Cut {
  // The cut at which the share `top` of the pool's candidates is accepted with certainty, or lower if otherwise fewer
  // than min_yield of them would be accepted.
  static double of(const std::vector<double>& log_weights, double top, double min_yield);
  static double yield(const std::vector<double>& log_weights, double cut);
};

// The share of candidates of highest weight accepted with certainty; clipping their weight at the cut trades exactness
// for yield.
constexpr double kTopShare = 0.01;

// Log factors by column and cell. cells [rows, columns] row-major; log_ratio [rows]: additional log weight of each
// candidate (0: none); share[j]: the real shares of column j's cells.
std::vector<std::vector<double>> rake(const std::vector<int32_t>& cells, const std::vector<double>& log_ratio,
                                      const std::vector<std::vector<double>>& share, const RakingOptions& options);

}  // namespace tessera
