// Rows of the model as candidates: drawn in batches, mapped, encoded for the density ratio and selected, in slices
// processed in parallel.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "models/sampling/calibration/calibration.h"

namespace tessera {

// Rows [begin, begin + rows) of a table.
Table rows_of(const Table& table, int64_t begin, int64_t rows);

// Bytes of a row in memory, without the texts of its columns.
int64_t bytes_of_row(const Table& table);

class CandidatePool {
 public:
  static constexpr int64_t kAtOnce = 16384;  // rows requested from the model at once

  // Rows [first, first + rows) of the model. `all`: rows of this pool and the previous ones, for progress. Empty if
  // sampling and learning from the rows, which takes as long again, would exceed the time limit.
  static CandidatePool draw(const Calibration::RowSource& model, int64_t first, int64_t rows, int64_t all,
                            Deadline& until, Team& team, const Monitor& monitor);

  int64_t rows() const { return rows_; }
  void map(const Calibration& calibration, uint64_t seed, Team& team);  // maps numbers in place
  RatioRows encode(const Profile& profile, Team& team) const;
  // The first `most` rows that keep(row of the pool) accepts, as one table.
  Table select(int64_t most, const std::function<bool(int64_t)>& keep) const;
  // Every number of column j, with missing ones as NaN.
  void each_number(size_t j, const std::function<void(double)>& visit) const;

 private:
  int64_t first_ = 0, rows_ = 0;
  std::vector<Table> slices_;
};

}  // namespace tessera
