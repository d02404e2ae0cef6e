// The demo's table "people": synthetic, with known dependences, so that a model can be compared with them. Row i
// depends on (seed, i) only.
//
//   person_id     identifier  P- and ten digits, all different
//   gender        category    female .52, male .48
//   age           integer     0.6·N(34, 8²) + 0.4·N(61, 9²), rounded, held in 18 … 95
//   city          category    8 cities, the k-th with probability (1/k) / H₈ (.368, .184, .123, .092, .074, .061, .053,
//                 .046)
//   education     category    by city: in the first two, (primary, secondary, bachelor, master) = (.10, .35, .35, .20),
//                 elsewhere (.25, .50, .18, .07)
//   income        decimal 2   exp(N(10 + 0.25·level + 0.008·(age − 40), 0.3²)), level 0 … 3 of education; missing .08
//   employed      boolean     true with .90 below the age of 65, .15 from there on; missing .02
//   children      integer     0 below 25 with .9; else Binomial(4, .4)
//   height        decimal 1   N(167, 6.5²) for female, N(180, 7²) for male
//   capital_gain  integer     0 with .85 (a spike), else exp(N(8, 0.8²)) rounded
//   plan          category    basic .6, plus .3, premium .1, and for income above 60,000: .2, .4, .4; missing .12
//   joined        date        2015-01-01 and up to 3,286 days later, uniform
//   last_seen     datetime    joined and an exponential time of mean 200 days later, to the second
//   country       constant    Freedonia
#pragma once
#include <cstdint>

#include "tables/table/table.h"
#include "tessera/arrow.h"

namespace tessera {

// Throws Error(usage) for rows < 1 or > 10¹⁰.
Table example_people(int64_t rows, uint64_t seed);
void example_people(int64_t rows, uint64_t seed, ArrowArrayStream* out);  // in batches of 65,536 rows

}  // namespace tessera
