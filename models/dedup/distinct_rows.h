// Rows without copies: of an infinite table, the first that equal no earlier one and no row of another table.
#pragma once
#include <functional>
#include <memory>

#include "base/monitor.h"
#include "models/sampling/row_stream.h"

namespace tessera {

// Rows [first, first + count) of the infinite table.
using OpenRows = std::function<std::unique_ptr<RowStream>(int64_t first, int64_t count, const Monitor& monitor)>;

// The first `count` distinct rows, in their order: they do not depend on batches. Cells are compared by value, all but
// those of identifiers, which differ in every row. `against` (may be null) has the columns of `schema`. If many draws
// in a row bring nothing new, fewer rows come, and a notice says how many. The keys of all rows, 16 bytes each in a
// table at most three quarters full, are an array of `limit` (may be null). Throws Error(data) for a missing column.
std::unique_ptr<RowStream> open_distinct_rows(OpenRows open, const Table& schema, int64_t count, const Table* against,
                                              std::shared_ptr<MemoryLimit> limit, const Monitor& monitor);

}  // namespace tessera
