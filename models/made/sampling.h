// Rows drawn column by column from a network of models/made/network.h, as plans.
#pragma once
#include <vector>

#include "models/made/network.h"

namespace tessera {

// What is known of columns before they are drawn: of the same levels for all rows of a batch (1 row), or of each row's
// own (a batch of rows); 0 rows: nothing.
struct Known {
  int64_t rows = 0;
  std::vector<char> columns{};  // those that something is known of; empty: any
};

// Rows: outputs "codes", "alphas" (none). Bound: "rows" [batch, 3] (who each row is). A unit is final once the columns
// that it sees are drawn, so all columns together cost one pass.
// With something known, also bound "evidence" [known.rows, levels], ln of what is left of each level; and output
// "log_weight" [batch, 1]: Σ over those columns of ln P(what is left | columns before). Rows drawn so, weighed by it,
// have the law under the condition.
void record_sampling(Recorder& r, const Made& m, int64_t batch, const Known& known = {});

// Rows under what is known of each row, proposed by the network of any order `any` and weighed by `ordered`, whose law
// they follow: as record_sampling() with something known of each row, but "log_weight" is ln p(row) + Σ evidence of
// its levels − ln q(row). A pass for each column. Also bound: "shown" [batch, columns], the levels (among all levels)
// of columns of which one is left, −1 for others; "hidden" [batch, columns]: 0 there, 1 for others.
void record_any_order(Recorder& r, const Made& ordered, const Made& any, int64_t batch);

// Of rows drawn as by record_sampling(), how many are expected to have each level: the sum of its probabilities, given
// the columns before; output "expected" [1, levels].
void record_expected_counts(Recorder& r, const Made& m, int64_t batch);

}  // namespace tessera
