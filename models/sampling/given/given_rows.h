// Rows with given cells: row i of the result keeps the given cells of row i, and the others are drawn from the
// model's law under them. A row's candidates all show the given cells; one of them is taken with the probability of its
// weight (sampling importance resampling, Rubin 1987), so the law is exact in the limit of many effective candidates.
// Row i depends on (model, seed, what is given of it, i) only.
#pragma once
#include <memory>
#include <string>

#include "models/sampling/given/known_cells.h"
#include "models/sampling/row_stream.h"

namespace tessera {

struct GivenOptions {
  uint64_t seed = 0;
  int batch = 0;                     // candidates made at a time; 0: chosen. Never changes a row
  int most_candidates = 1024;        // of a row
  bool completes = false;            // KnownCellsOptions::completes
  std::shared_ptr<Device> device{};  // null: the processor
  std::string precision = "fp32";
  std::string where;                                // that every row meets, the given cells included; "": nothing
  std::function<std::string(int64_t row)> place{};  // of a row, for messages; null: "row 3"
};

struct GivenReport {
  int64_t rows = 0, candidates = 0;
  double effective = 0;        // candidates, mean over the rows that were resampled: (Σ w)² / Σ w²
  int64_t resampled = 0;       // rows whose candidates did not all weigh the same
  int64_t few = 0;             // of them, rows with fewer than kFewEffective effective candidates
  std::vector<int64_t> empty;  // by column of the table: cells that were to be drawn and are missing in all candidates
  int64_t broken = 0;  // completed rows of which no candidate keeps all rules; the one that breaks fewest is taken
  std::string first_broken{};  // the place of the first
  bool nearest = false;        // the method cannot weigh candidates: the nearest one was taken
  static constexpr double kFewEffective = 4;
};

class GivenStream {
 public:
  virtual ~GivenStream() = default;
  virtual const Table& schema() const = 0;
  // false: no more rows. Throws Error(condition) with the place of a row of which no candidate keeps the table's rules.
  virtual bool next(Table& batch) = 0;
  virtual GivenReport report() const = 0;
};

// What `given` may hold: KnownCells. team and monitor outlive the stream.
std::unique_ptr<GivenStream> open_given(std::shared_ptr<const RowModel> model, Table given, const GivenOptions& options,
                                        Team& team, const Monitor& monitor);

}  // namespace tessera
