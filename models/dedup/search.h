// How copies are found: exact ones by hashes, near ones by keys of columns or by an index of all rows. Each pair
// that is found was compared cell by cell; the same groups for any number of threads.
#pragma once
#include <cstdint>
#include <vector>

#include "models/dedup/compared_rows.h"
#include "models/dedup/groups.h"
#include "models/quality/common/workers.h"

namespace tessera::dedup {

// Links equal rows. Returns of every row the lowest row of its own table that equals it.
std::vector<int32_t> find_exact(const ComparedRows& rows, Groups& groups, const quality::Workers& workers);

// What the search by keys may have missed.
struct KeySearch {
  double recall = 1;         // of near copies outside crowded buckets: at least
  int64_t compared = 0;      // pairs
  int64_t crowded = 0;       // buckets that were divided by further columns
  int64_t crowded_rows = 0;  // rows that were in one
};

// Links near copies among `some` rows, ascending. A near copy has its differences in few cells: as many rewritten ones
// as the threshold allows, and numbers up to kTolerance of their range away in others.
//   A key is the hash of some columns: levels as they are, numbers by their bin in one of two grids, shifted by half
//   a bin. 32 random orders of columns in each grid; a key has the first `s` columns of an order. Rows with equal keys
//   are compared. A pair with k differing cells of C agrees in a key with P = C(C−k, s) / C(C, s), better than the
//   ((C−k)/(C+k))^s of s minima (MinHash), because cells are in columns; s is the largest with a recall of kRecall.
//   A bucket of more than kBucket rows is crowded: it is divided by the next columns of the order.
KeySearch find_near_by_keys(const ComparedRows& rows, const std::vector<int32_t>& some, Groups& groups,
                            const quality::Workers& workers);

// The number of columns of a key, and the recall that it has.
struct KeyColumns {
  size_t columns;
  double recall;
};
KeyColumns key_columns(size_t columns, size_t numbers, size_t rewritten);

// The same pairs by comparing all rows, by lower bounds of distances first (quality::NearestIndex): misses nothing.
void find_near_by_index(const ComparedRows& rows, const std::vector<int32_t>& some, Groups& groups,
                        const quality::Workers& workers);

}  // namespace tessera::dedup
