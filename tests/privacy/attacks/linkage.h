// The three risks of the European guidance on anonymisation, measured as Giomi et al. 2022 do (Anonymeter): an attacker
// who has the synthetic rows makes guesses about members, and the same guesses about held-out rows. What he gets right
// more often about members is what the model has given away of its training rows; what he gets right about both is what
// holds of the population.
//   singling out  people whom a predicate finds that exactly one synthetic row meets, and exactly one row of the table
//   linkability   of a person he knows some columns from one source and others from another: the nearest synthetic row
//                 is the same for both
//   inference     the secret of the nearest synthetic row in the columns he knows is the person's
//   rare combinations  of a person whose known columns nobody else shares: a synthetic row has them together with the
//                      person's secret
#pragma once
#include <string>
#include <vector>

#include "privacy/attacks/nearness.h"

namespace tessera::privacy {

struct Attack {
  std::string name;
  Rate members, held_out;
  Interval excess() const { return difference(members, held_out); }
};

struct LinkageOptions {
  // columns that are public of everybody; the others but the secret stand for a second source
  std::vector<std::string> known;
  std::string secret;
  int64_t guesses = 500;  // at most, about each side; of singling out: predicates
  uint64_t seed = 1;
};

std::vector<Attack> linkage_attacks(const Split& split, const Table& synthetic, const LinkageOptions& options);

}  // namespace tessera::privacy
