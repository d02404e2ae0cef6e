// The real table as calibration sees it, column by column and in the user's units: which cell of a column a value falls
// into (a category, a repeated number, a quantile bin, missing), what share of the rows each cell holds, and how a row
// becomes the inputs of the density ratio.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/plan/plan.h"
#include "kernels/math/profile.h"
#include "models/data/table/table.h"
#include "models/sampling/calibration/quantiles.h"

namespace tessera {

struct ColumnProfile {
  static constexpr int kBins = ProfileTable::kBins, kInputs = ProfileTable::kInputs;
  static constexpr int kMostTexts = 256;  // texts with a cell of their own; the rest share one
  static constexpr int kMostHeaped = 64;
  static constexpr double kHeaped = 0.01, kFixed = 0.05;  // shares of the rows

  int column = 0;  // of the table
  bool numeric = false;

  // Texts: the cell of each level, for codes below cell_of_level.size(); all others fall into the cell `other`.
  std::vector<int32_t> cell_of_level;
  int32_t other = 0;

  // Numbers.
  std::vector<double> heaped;  // ascending: held by at least kHeaped of the rows, a cell each
  std::vector<double> fixed;   // of them, those held by kFixed: the map of the numbers leaves them alone
  Quantiles real;              // all numbers of the column
  Quantiles free;              // those that are not fixed: where the map goes

  std::vector<double> share;  // of the real rows, by cell; the last cell is for missing values

  int cells() const { return static_cast<int>(share.size()); }
  int32_t missing() const { return static_cast<int32_t>(share.size()) - 1; }
  bool is_fixed(double x) const;
  int32_t cell(const Column& values, int64_t row) const;
  int32_t cell_of_number(double x, double rank) const;  // rank: number_rank() among `real`
  int32_t cell_of_text(int32_t level) const {
    return static_cast<size_t>(level) < cell_of_level.size() ? cell_of_level[static_cast<size_t>(level)] : other;
  }
};

struct Profile {
  std::vector<ColumnProfile> columns;  // of columns that the encoder has a code of

  // `sample`: real rows with texts numbered as the encoder numbers them (Encoder::pick); levels[j]: how many of column
  // j's texts have a level of their own, −1 where the column has no code (a constant, an identifier, what the
  // protection of rare values left as one).
  static Profile of(const Table& sample, const std::vector<int32_t>& levels);

  int codes() const { return static_cast<int>(columns.size()); }
  int inputs() const;                          // numbers × kInputs
  std::shared_ptr<const Spans> spans() const;  // of the ratio's input row: each column's inputs, then its cell
  // cells [rows, codes()], inputs [rows, inputs()], both row-major.
  void encode(const Table& rows, int32_t* cells, float* inputs) const;
};

}  // namespace tessera
