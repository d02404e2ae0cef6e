// Training sees units left out, sampling sees all of them, and weights that are averages: mean probabilities then
// differ from the frequencies that they were fitted to. So after training each level's logit is shifted until the
// column's mean probabilities over the training rows are the frequencies in these rows.
#pragma once
#include <vector>

#include "models/made/network.h"
#include "models/method/method.h"

namespace tessera {

// `weights` of the network, changed in their head's bias. Rows of a large table are taken evenly.
void match_marginals(const Made& m, const EncodedTable& table, std::vector<float>& weights, const RunContext& context);

// The work, in rows of a training step.
double rows_of_matching(int64_t table_rows);

}  // namespace tessera
