// Where training starts: the Gaussian copula of the columns. Each column has a score per level (of numbers the normal
// quantile of the level's middle rank; of categories what correlates best with the other columns), and the score of
// column j is normal around a linear prediction from those before. Correlations are reduced by what chance alone makes
// of as many rows, so that few rows start at independent columns.
//   The law of a level, discretized, is ln p(k) = ln frequency(k) + score(k)·μ/σ² − score(k)²/2·(1/σ² − 1) + const: one
// dimension of embeddings, skip connections and head (models/made/start.cpp).
#pragma once
#include <vector>

#include "models/made/network.h"

namespace tessera {

struct Copula {
  std::vector<double> score;   // of each level, mean 0 and variance 1 in its column
  std::vector<double> slopes;  // [columns, columns]: of column j on column i < j
  std::vector<double> spread;  // σ² of each column
  bool empty() const { return spread.empty(); }
  Copula independent() const {
    return {score, std::vector<double>(slopes.size(), 0), std::vector<double>(spread.size(), 1)};
  }
};

bool starts_at_copula(const Made& m);  // else not: without skip connections, or of any order
// From at most 20,000 of the table's rows. Empty for a network that cannot start there. Columns that are not seen, or
// not learned, are independent of others.
Copula learn_copula(const Made& m, const std::vector<double>& frequencies, const EncodedTable& table, Team& team);

}  // namespace tessera
