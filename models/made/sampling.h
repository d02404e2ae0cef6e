// Rows drawn column by column from a network of models/made/network.h, as plans.
#pragma once
#include <vector>

#include "models/made/network.h"

namespace tessera {

// Evidence about columns before they are drawn: the same for all rows of a batch (1 row), or each row's own (a batch of
// rows); 0 rows: none.
struct Known {
  int64_t rows = 0;
  std::vector<char> columns{};  // columns with evidence; empty: possibly all
};

// Rows: outputs "codes", "alphas" (none). Bound: "rows" [batch, 3] (the identity of each row). A unit is final once its
// input columns are drawn, so all columns together cost one pass. With evidence, also bound "evidence" [known.rows,
// levels], ln of the allowed share of each level; and output "log_weight" [batch, 1]: Σ over those columns of
// ln P(allowed levels | columns before). Rows weighted by it have the conditional distribution.
// With given columns, also bound "given" [batch, given columns], numbered over all columns; "codes" are of the others.
void record_sampling(Recorder& r, const Made& m, int64_t batch, const Known& known = {});

// Rows under each row's evidence, proposed by the any-order network `any` and weighted for the distribution of
// `ordered`: as record_sampling() with evidence for each row, but "log_weight" is ln p(row) + Σ evidence of its levels
// − ln q(row). One pass per column. Also bound: "shown" [batch, columns], the only allowed level of a column (numbered
// over all columns), −1 if there are several; "hidden" [batch, columns]: 0 for shown columns, 1 for others.
void record_any_order(Recorder& r, const Made& ordered, const Made& any, int64_t batch);

// The expected number of rows with each level, for rows drawn as by record_sampling(): the sum of its probabilities,
// given the columns before; output "expected" [1, drawn levels]. Bound: "rows", and "given".
void record_expected_counts(Recorder& r, const Made& m, int64_t batch);

}  // namespace tessera
