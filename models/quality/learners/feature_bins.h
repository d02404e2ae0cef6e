// Columns divided into at most 256 bins, one byte per value, for the histograms of boosted trees.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::quality {

// One column of a feature matrix; one of the two is filled.
struct FeatureColumn {
  std::span<const double> numbers;  // NaN: missing
  std::span<const int32_t> codes;   // −1: missing, else in [0, levels)
  int32_t levels = 0;
};

struct Features {
  int64_t rows = 0;
  std::vector<FeatureColumn> columns;
};

// Bin 0 of every column is "missing". Numbers: bins in ascending order, one per value up to 255 distinct ones, else
// with about equal numbers of rows and a separate bin for every frequent value. Categories: one bin per level, frequent
// ones first; levels rarer than the 254th, or unseen when the bins were made, share the last bin.
class FeatureBins {
 public:
  static constexpr int kMaxBins = 256;

  explicit FeatureBins(const Features& x);

  struct Column {
    bool category = false;
    int bins = 1;               // bins that can occur, missing included
    std::vector<double> upper;  // numbers: bin b (from 1) holds upper[b − 2] < x ≤ upper[b − 1]; the last one is open
    std::vector<uint8_t> bin;  // categories: of each level
  };
  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::vector<Column> columns_;
};

// The bins of every value, row-major, because histograms and trees read rows.
class BinnedRows {
 public:
  // `x` has the columns `bins` were made from; its levels may be more.
  BinnedRows(const FeatureBins& bins, const Features& x);

  int64_t rows() const { return rows_; }
  size_t columns() const { return bins_.size(); }
  int bins(size_t column) const { return bins_[column]; }
  bool category(size_t column) const { return category_[column] != 0; }
  const uint8_t* row(int64_t i) const { return bytes_.data() + static_cast<size_t>(i) * bins_.size(); }

 private:
  int64_t rows_;
  std::vector<int> bins_;
  std::vector<char> category_;
  std::vector<uint8_t> bytes_;
};

}  // namespace tessera::quality
