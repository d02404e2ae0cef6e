// Column Pair Trends: similarity of the dependence of two columns in two tables. 1 = equal.
// Definitions: sdmetrics' CorrelationSimilarity and ContingencySimilarity. All rows are used; sdmetrics draws 50,000 of
// larger tables.
#pragma once
#include <cstdint>
#include <vector>

#include "models/quality/common/workers.h"
#include "models/quality/metrics/comparison.h"

namespace tessera::quality {

struct PairOptions {
  // sdmetrics ≥ 0.27 counts a pair only if the real |ρ| or Cramér's V is above these
  double correlation_threshold = 0.5;
  double association_threshold = 0.3;
};

struct PairTrend {
  int a = 0, b = 0;         // columns of the comparison, a < b
  const char* metric = "";  // "CorrelationSimilarity" | "ContingencySimilarity"
  // numbers in mixed pairs cut by each table's own range, as sdmetrics does; NaN: undefined
  double score = 0;
  double score_real_edges = 0;  // the same with both tables cut by the real table's range, open at both ends
  double real_correlation = 0, synthetic_correlation = 0;  // NaN unless a correlation
  // Cramér's V (own edges); NaN unless a contingency of at least 2 × 2 levels
  double real_association = 0, synthetic_association = 0;
  bool counts = false;          // above the threshold
  const char* error = nullptr;  // why the score is undefined
  double chance = 0;            // 1 − score_real_edges that two samples of one table are expected to have
};

// Every pair a < b in column order, tables[0] against tables[1].
std::vector<PairTrend> pair_trends(const Comparison& c, const PairOptions& options, const Workers& workers);

// Pearson's ρ over the rows complete in both; NaN with fewer than two such rows, or if a column is constant on them.
double correlation(std::span<const double> x, std::span<const double> y);

// Levels of a column for a contingency: codes in [−1, count), −1 (missing) being a level too. Numbers in 10 equal bins
// are levels 0 … 10.
struct Levels {
  std::span<const int32_t> wide;  // one of the two is filled
  std::span<const int8_t> narrow;
  int32_t count = 0;
};

// Bins of [low, high] with the table's own edges lo + i·((hi − lo)/10): the maximum, alone, is bin 10; missing is bin
// 10 too, a quirk of sdmetrics.
std::vector<int8_t> own_bins(std::span<const double> numbers, double low, double high);
// Bins by another table's range, values outside in the first and last bin (0 and 9); missing is −1.
std::vector<int8_t> open_bins(std::span<const double> numbers, double low, double high);

// 1 − ½ Σ |R_ij − S_ij| of the joint shares; unless null, the association receives Cramér's V of both tables, and
// `chance` the expectation of ½ Σ |R_ij − S_ij| for two samples of one table, by the pooled shares.
struct Association {
  double real, synthetic;
};
double contingency_similarity(const Levels& real_a, const Levels& real_b, const Levels& synthetic_a,
                              const Levels& synthetic_b, Association* association, double* chance = nullptr);

}  // namespace tessera::quality
