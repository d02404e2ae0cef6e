#include "models/sampling/calibration/raking.h"

#include <algorithm>
#include <cmath>

namespace tessera {

double Cut::yield(const std::vector<double>& w, double cut) {
  double sum = 0;
  for (const double x : w) sum += std::exp(std::min(x - cut, 0.0));
  return sum / static_cast<double>(w.size());
}

double Cut::of(const std::vector<double>& w, double top, double min_yield) {
  std::vector<double> sorted(w);
  const size_t at = std::min(static_cast<size_t>((1 - top) * static_cast<double>(w.size())), w.size() - 1);
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(at), sorted.end());
  double high = sorted[at];
  if (yield(w, high) >= min_yield) return high;
  double low = *std::min_element(w.begin(), w.end());  // keeps every candidate
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (yield(w, middle) >= min_yield ? low : high) = middle;
  }
  return low;
}

std::vector<std::vector<double>> rake(const std::vector<int32_t>& cells, const std::vector<double>& log_ratio,
                                      const std::vector<std::vector<double>>& share, const RakingOptions& o) {
  const size_t rows = log_ratio.size(), columns = share.size();
  std::vector<std::vector<double>> factor(columns);
  for (size_t j = 0; j < columns; ++j) factor[j].assign(share[j].size(), 0);
  std::vector<double> weight = log_ratio, mass;
  const double bound = std::log(o.most);
  for (int sweep = 0; sweep < o.sweeps; ++sweep) {
    const double cut = Cut::of(weight, kTopShare, o.min_yield);
    for (size_t j = 0; j < columns; ++j) {
      double total = 0;
      mass.assign(share[j].size(), 0);
      for (size_t i = 0; i < rows; ++i) {
        const double k = std::exp(std::min(weight[i] - cut, 0.0));
        total += k;
        mass[static_cast<size_t>(cells[i * columns + j])] += k;
      }
      for (size_t c = 0; c < mass.size(); ++c) {
        double& f = factor[j][c];
        const double have = mass[c] / total, want = share[j][c], before = f;
        if (have < o.least_share || want < o.least_share) {
          mass[c] = 0;
          continue;
        }
        f = std::clamp(f + o.damping * std::log(want / have), -bound, bound);
        mass[c] = f - before;
      }
      for (size_t i = 0; i < rows; ++i) weight[i] += mass[static_cast<size_t>(cells[i * columns + j])];
    }
  }
  return factor;
}

}  // namespace tessera
