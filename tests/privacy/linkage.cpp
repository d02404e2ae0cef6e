// The attacker knows some columns of a person and wants another, or to tell the person from all others
// (attacks/linkage.h: singling out, linkability, inference, rare combinations). He is right about anybody as often as
// the population lets him be; about members no more often than about held-out people.
#include "privacy/attacks/linkage.h"

#include "privacy/people.h"

namespace tessera::privacy {
namespace {

constexpr int64_t kSampled = 3000;
// of members' over held-out people's share of right guesses, by the lower end of a 99 % interval
constexpr double kMaxExcess = 0.03;

void expect_nobody(const Split& split, const Table& synthetic, const LinkageOptions& o) {
  for (const Attack& a : linkage_attacks(split, synthetic, o)) {
    ASSERT_GT(a.members.trials, 50) << a.name;
    EXPECT_LT(a.excess().low, kMaxExcess)
        << a.name << ": right about " << a.members.hits << " of " << a.members.trials << " members and "
        << a.held_out.hits << " of " << a.held_out.trials << " held-out people";
  }
}

TEST(Linkage, Tvae) { expect_nobody(people().split(), rows_of(of_people("tvae"), kSampled), known_of_people()); }
TEST(Linkage, Ctgan) { expect_nobody(people().split(), rows_of(of_people("ctgan"), kSampled), known_of_people()); }
TEST(Linkage, Sequences) {
  expect_nobody(patients_apart().split(), wide(rows_of(of_patients(), 1000)), known_of_patients());
}

// Each attack finds a "model" that gives the training rows back.
TEST(Linkage, DetectsAModelThatRepeatsItsRows) {
  const Parts& p = people();
  for (const Attack& a : linkage_attacks(p.split(), p.members, known_of_people()))
    EXPECT_GT(a.excess().low, kMaxExcess) << a.name << ": " << a.members.share() << ", " << a.held_out.share();
}

}  // namespace
}  // namespace tessera::privacy
