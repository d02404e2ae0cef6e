// Who was in the training table, guessed from how near synthetic rows come. The attacker has a large synthetic sample,
// candidates, and a reference: rows of the same population that were not learned. Distances are Gower's
// (quality/distances.h) in units of the reference's ranges.
#pragma once
#include <vector>

#include "models/quality/metrics/comparison.h"
#include "privacy/attacks/statistics.h"
#include "tables/table/table.h"

namespace tessera::privacy {

struct Split {
  const Table* members;    // training rows
  const Table* held_out;   // rows that were not; the attacker does not know which is which
  const Table* reference;  // other rows that were not, which he knows
};

// Membership scores: the higher, the likelier a member.
struct Scores {
  std::vector<double> members, held_out;
  Interval area() const { return area_under_roc(members, held_out); }
};

// The distance to the nearest synthetic row (distance to the closest record; the Monte Carlo attack of Hilprecht et al.
// 2019 with the nearest neighbour as its radius).
Scores by_distance(const Split& split, const Table& synthetic);

// The ratio of two densities estimated by nearest neighbours, of the synthetic rows and of the reference: overfitting
// shows where the model is denser than the population (DOMIAS: van Breugel et al. 2023). As many synthetic rows as the
// reference has, or a multiple of them.
Scores by_density_ratio(const Split& split, const Table& synthetic);

struct Copies {
  Rate of_members, of_held_out;  // synthetic rows that equal such a row in every cell
  // Share of synthetic rows that are nearer to a member than to a held-out row, of as many of each; .5: nothing is
  // given away. Synthetic rows that have the same nearest row count as one when the interval is made: a model whose
  // rows are all alike says as little as one row does.
  Interval nearer;
};
Copies copies(const Split& split, const Table& synthetic);

// Rows of two tables compared; table 0 sets the scale of numbers. Gower's distance of two rows in some columns, as
// quality::gower_nearest() has it, and the row it is least for.
using Columns = std::vector<size_t>;
double distance(const quality::Comparison& c, const Columns& columns, size_t a, size_t row_a, size_t b, size_t row_b,
                double enough);
size_t nearest(const quality::Comparison& c, const Columns& columns, size_t table, size_t row, size_t reference);
Columns all_columns(const quality::Comparison& c);

}  // namespace tessera::privacy
