// Distances to the closest record: whether the synthetic table is nearer to its training rows than unseen rows are. All
// are exact, without subsampling. `c.tables[0]` is the real (training) table.
#pragma once
#include <cstdint>
#include <vector>

#include "models/quality/common/workers.h"
#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

// sdmetrics' DCR: for every row of table `query` the smallest mean over columns of min(|Δ| / range, 1) or [≠] to a row
// of table `reference`, with the reference table's ranges (range 0: Δ ≠ 0); missing on one side counts 1, on both 0. In
// [0, 1].
std::vector<double> gower_nearest(const Comparison& c, size_t query, size_t reference, const Workers& workers);

struct OverfittingProtection {
  double score, closer_to_training, closer_to_holdout;  // score = min(2·(1 − closer_to_training), 1)
};
OverfittingProtection overfitting_protection(const std::vector<double>& to_training,
                                             const std::vector<double>& to_holdout);

struct BaselineProtection {
  double score, synthetic_median, random_median;  // score = min(synthetic / random, 1); NaN if both are 0
};
BaselineProtection baseline_protection(const std::vector<double>& synthetic_to_real,
                                       const std::vector<double>& random_to_real);

// Appends a table of `rows` rows whose columns are drawn independently and uniformly: numbers over the real range
// (whole ones for integers), levels among those that occur, including missing if it occurs. Keyed by (seed, column,
// row).
// Returns its index in c.tables.
size_t append_random_baseline(Comparison& c, int64_t rows, uint64_t seed);

// The same with the columns of the real table, each cell of a row from a row of its own: what chance alone brings.
size_t append_independent_rows(Comparison& c, int64_t rows, uint64_t seed);

// The similarity, 1 − distance, from which a row is a near copy: the least, of at least .9, that one in a hundred rows
// with independent columns has to its nearest row (`distances` of such rows, ascending, in `searched` of the rows that
// count; 1: in all). At most that of two rows which differ by a hundredth of the range in every number, so that these
// always are near copies; `numbers`: the share of columns that are numbers.
double near_copy_similarity(const std::vector<double>& distances, double numbers, double searched = 1);

// Two smallest L1 distances of every row of `query` to rows of `reference` (TabSyn's DCR): numbers divided by the real
// range with missing values replaced by the real mean, columns without a real range excluded, and 2 for levels
// (including missing) that differ. `kept` > 0: only that many reference rows, drawn by seed.
struct L1Nearest {
  std::vector<double> first, second;  // second: infinity if the reference has one row
};
L1Nearest l1_nearest(const Comparison& c, size_t query, size_t reference, const Workers& workers, int64_t kept = 0,
                     uint64_t seed = 0);

// d1 / d2 of each row; 0 if d2 is 0, NaN if there is no second row.
std::vector<double> nearest_ratios(const L1Nearest& nearest);

// Share of rows with a < b; `ties` counts for each equal pair.
double share_closer(const std::vector<double>& a, const std::vector<double>& b, double ties);

}  // namespace tessera::quality
