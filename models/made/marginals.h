// Training sees units left out, and rows that it has fitted; sampling sees all units, weights that are averages, and
// rows that the network draws. Its mean probabilities then differ from the frequencies that it was fitted to. So after
// training each level's logit is shifted until the column's mean probabilities over drawn rows are these frequencies.
#pragma once
#include <vector>

#include "models/made/network.h"
#include "models/method/method.h"

namespace tessera {

// `weights` of the network, rank 0's, changed in their head's bias. `frequencies` of the levels, column by column,
// among `table_rows` rows.
void match_marginals(const Made& m, const std::vector<double>& frequencies, int64_t table_rows,
                     std::vector<float>& weights, const RunContext& context);

// What that takes of memory.
int64_t bytes_of_matching(const Made& m, const RunContext& context);
// The work, in rows of a training step.
double rows_of_matching(int64_t table_rows);

}  // namespace tessera
