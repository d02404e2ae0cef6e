// Training uses dropout and conditions on the table's rows; sampling uses all units, averaged weights, and rows that
// the network draws. Its mean probabilities therefore differ from the table's frequencies. So after training each
// level's logit is shifted until the column's mean probabilities over drawn rows equal these frequencies.
#pragma once
#include <vector>

#include "models/made/network.h"
#include "models/method/method.h"

namespace tessera {

// Changes the head's bias in the network's `weights`, which rank 0 holds. `frequencies` are those of the levels, column
// by column, among the rows of `table`, which rows are drawn from if columns are given. Ends at context.until; a notice
// reports what was omitted.
void match_marginals(const Made& m, const std::vector<double>& frequencies, const EncodedTable& table,
                     std::vector<float>& weights, const RunContext& context);

// Memory of match_marginals().
int64_t bytes_of_matching(const Made& m, const RunContext& context);
// Its work, in rows of a training step.
double rows_of_matching(const Made& m, int64_t table_rows);

}  // namespace tessera
