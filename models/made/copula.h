// Where training starts: the Gaussian copula of the columns. A number has one score per level, the normal quantile of
// the level's middle rank. A category has up to eight, the directions in which the other columns' scores differ most
// between its levels; so have numbers of few values beside their rank, and the levels beside numbers, such as missing.
// The scores of column j are normal around a linear prediction from those before. Correlations are reduced by what
// chance alone makes of as many rows, so that few rows start at independent columns.
//   The law of a level with scores s, discretized, is
//     ln p(k) = ln frequency(k) + sᵀ·P·μ − sᵀ·(P − 1)·s/2 + const,
// with the prediction μ and the inverse P of the covariance around it: as many dimensions of embeddings, skip
// connections and head (models/made/start.cpp). Here s is bounded: scores of rare levels are large, and the exponential
// would make too much of them.
#pragma once
#include <vector>

#include "models/made/network.h"

namespace tessera {

struct Copula {
  static constexpr int kMaxScores = 8;  // of a level

  std::vector<size_t> first;      // [columns + 1]: where the scores of a column begin, numbered over all columns
  std::vector<double> score;      // [levels, kMaxScores]: uncorrelated, of mean 0 and variance 1; 0: unused
  std::vector<double> bounded;    // [levels, kMaxScores]: within ±3, for the law of the level itself
  std::vector<double> slopes;     // [scores, scores]: of a column's bounded score on the score of a column before
  std::vector<double> precision;  // [scores, kMaxScores]: P, of the score and one of its own column
  bool empty() const { return precision.empty(); }
  size_t scores() const { return first.back(); }
  Copula independent() const;
};

bool starts_at_copula(const Made& m);  // else not: without skip connections, or of any order
// From at most 20,000 of the table's rows. Empty for a network that cannot start there. Columns that are not seen, or
// not learned, are independent of others.
Copula learn_copula(const Made& m, const std::vector<double>& frequencies, const EncodedTable& table, Team& team);

}  // namespace tessera
