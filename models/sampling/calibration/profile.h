// The real table for calibration, by column in the user's units: the cell of a value (a category, a repeated number, a
// quantile bin, missing), the share of rows in each cell, and the inputs of the density ratio for a row.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/plan/plan.h"
#include "kernels/math/profile.h"
#include "tables/protection/quantiles.h"
#include "tables/table/table.h"

namespace tessera {

struct ColumnProfile {
  static constexpr int kBins = ProfileTable::kBins, kInputs = ProfileTable::kInputs;
  static constexpr int kMaxTexts = 256;  // texts with their own cell; the rest share one
  static constexpr int kMaxHeaped = 64;
  static constexpr double kHeaped = 0.01, kFixed = 0.05;  // shares of the rows

  int column = 0;  // of the table
  bool numeric = false;

  // Texts: the cell of each level, for codes below cell_of_level.size(); all others have the cell `other`.
  std::vector<int32_t> cell_of_level;
  int32_t other = 0;

  // Numbers.
  std::vector<double> heaped;  // ascending: held by at least kHeaped of the rows, one cell each
  std::vector<double> fixed;   // the subset with a share of at least kFixed: not mapped
  Quantiles real;              // all numbers of the column
  Quantiles free;              // those that are not fixed: the target of the map

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
  std::vector<ColumnProfile> columns;  // of columns that the encoder has a code for

  // `sample`: real rows with texts numbered as the encoder numbers them (Encoder::pick); levels[j]: the number of
  // column j's texts with their own level, −1 if the column has no code (a constant, an identifier, or a column that
  // protection turned into one).
  static Profile of(const Table& sample, const std::vector<int32_t>& levels);

  int codes() const { return static_cast<int>(columns.size()); }
  int inputs() const;                          // numbers × kInputs
  std::shared_ptr<const Spans> spans() const;  // of the ratio's input row: each column's inputs, then its cell
  // cells [rows, codes()], inputs [rows, inputs()], both row-major.
  void encode(const Table& rows, int32_t* cells, float* inputs) const;
};

}  // namespace tessera
