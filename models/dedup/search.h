// Finds copies of rows: exact ones by hashes, near ones by keys of columns or by an index of all rows. Each pair found
// is confirmed cell by cell. The groups are the same for any number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/dedup/compared_rows.h"
#include "models/dedup/groups.h"
#include "models/quality/common/workers.h"

namespace tessera::dedup {

// Links equal rows. Returns for every row the lowest row of its own table that equals it; of another table only if
// `others` is set, else rows of it that equal no own row are not compared with each other.
RowList find_exact(const Compared& rows, bool others, Groups& groups, const quality::Workers& workers);

constexpr double kRecall = 0.99;        // of a search by keys, for pairs at the threshold
constexpr std::ptrdiff_t kBucket = 32;  // up to this many rows with equal keys, all pairs are compared
constexpr int32_t kNeighbors = 8;       // of a row to compare if nothing splits a bucket

// Estimated misses of the search by keys.
struct KeySearch {
  double recall = 1;         // lower bound for near copies outside crowded buckets
  int64_t pairs = 0;         // with a key in common, once per key; those already linked through others too
  int64_t crowded = 0;       // buckets that were split by further columns
  int64_t crowded_rows = 0;  // rows in crowded buckets
};

// Links near copies among `some` rows, ascending. A near copy differs in few cells: as many replaced cells as the
// threshold allows, and numbers that differ by up to kTolerance of their range in others.
//   A key is the hash of some columns: levels unchanged, numbers by their bin in one of two grids, shifted by half a
//   bin. There are 32 random orders of columns per grid; a key consists of the first `s` columns of an order. Rows with
//   equal keys are compared. A pair with k differing cells of C agrees in a key with P = C(C−k, s) / C(C, s), better
//   than the ((C−k)/(C+k))^s of s minima (MinHash), because cells are in columns; s is the largest with a recall of
//   kRecall. A bucket of more than kBucket rows is crowded: it is split by the next columns of the order.
KeySearch find_near_by_keys(const ComparedRows& rows, const RowList& some, Groups& groups,
                            const quality::Workers& workers);

// Those of `some` rows, ascending, that are own rows, and those that they are compared with.
struct Sides {
  std::span<const int32_t> own, reference;
};
Sides sides_of(const Compared& rows, const RowList& some);

// The number of columns of a key, and its recall.
struct KeyColumns {
  size_t columns;
  double recall;
};
KeyColumns key_columns(size_t columns, size_t numbers, size_t rewritten);

// Similarity by chance: rows with cells drawn column by column from the own rows, and the distance of each to the
// nearest searched row.
class Chance {
 public:
  Chance(const ComparedRows& rows, const RowList& some, const quality::Workers& workers);
  double threshold() const;              // quality::near_copy_similarity()
  double share(double threshold) const;  // of such rows that have a near copy

 private:
  double columns_, numbers_ = 0;
  double searched_ = 1;            // the part of the rows that was searched
  std::vector<double> distances_;  // ascending, mean over columns
};

// The same pairs by comparing all rows, with lower bounds of distances first (quality::NearestIndex): complete.
void find_near_by_index(const ComparedRows& rows, const RowList& some, Groups& groups, const quality::Workers& workers);

}  // namespace tessera::dedup
