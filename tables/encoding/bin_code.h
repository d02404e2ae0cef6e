// Encodes a numeric column as one choice among levels that ascend by value. A level is a quantile bin, or a value that
// many rows share; missing is the last. A number inside a bin is drawn by rank between the stored quantiles and rounded
// to the column's grid. Autoregressive models of tables encode numbers as bins (Naru, Yang et al. 2019, arXiv
// 1905.04278).
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tables/protection/quantiles.h"

namespace tessera {

class BinCode {
 public:
  // Minimum rows per bin, if there are at least two bins.
  static constexpr double kMinBinRows = 16;

  std::vector<double> spikes;  // ascending; decoded exactly
  bool missing = false;        // the last level marks a missing value
  int decimals = -1;           // digits after the point of decoded bin values; −1: not rounded
  double step = 1;             // whole numbers only: a power of ten that divides every number

  // Bins of about equal shares of the values that are not spikes (ascending, at least one), at most `most` bins;
  // `atoms`: numbers of bins are those of few values. The caller sets spikes, missing, decimals and step before.
  void fit_bins(const std::vector<double>& ascending, int most, bool atoms = true);
  // From a model file: bin k ends with point ends[k]. False if they are inconsistent.
  bool restore(Quantiles body, std::vector<int> ends);

  int bins() const { return static_cast<int>(ends_.size()); }
  int levels() const { return bins() + static_cast<int>(spikes.size()); }  // without missing
  int width() const { return levels() + (missing ? 1 : 0); }
  const Quantiles& body() const { return body_; }
  const std::vector<int>& ends() const { return ends_; }

  // n values (NaN: missing) → code[i·stride]. Returns the first row that is missing though the column had no missing
  // value, or −1.
  int64_t encode(const double* x, int64_t n, int32_t* code, int64_t stride) const;
  // The value of a level; `uniform` in (0, 1) is the position in a bin. NaN for missing.
  double value(int32_t level, double uniform) const;
  // The smallest and the largest value of all levels. The first level may be a spike within the first bin.
  double low() const;
  double high() const;

 private:
  void arrange();
  double on_grid_of_column(double x) const;

  Quantiles body_;         // of the values that are not spikes
  std::vector<int> ends_;  // the last point of each bin; strictly ascending points
  // Derived by arrange():
  std::vector<double> upper_;  // of each bin
  std::vector<int32_t> bin_level_, spike_level_;
  std::vector<int32_t> kind_;  // of each level: a bin k as k, spike k as −1 − k
};

}  // namespace tessera
