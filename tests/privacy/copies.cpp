// The attacker looks for members among the synthetic rows. A model that copies gives back training rows in every cell
// more often than it happens to give rows that it has not seen, and its rows lie nearer to training rows than to as
// many held-out ones.
#include "privacy/people.h"

namespace tessera::privacy {
namespace {

constexpr int64_t kSampled = 10000;
// share of synthetic rows that may be nearer to a member, by the lower end of its interval; .5: nothing is given away
constexpr double kMaxNearer = 0.53;

void expect_no_copies(const Parts& p, const Table& synthetic) {
  const Copies c = copies(p.split(), synthetic);
  EXPECT_GT(by_chance(c.of_members, c.of_held_out), 1e-3)
      << c.of_members.hits << " copies of members, " << c.of_held_out.hits << " of held-out rows";
  EXPECT_LT(c.nearer.low, kMaxNearer) << c.nearer.value << " nearer to members";
}

TEST(Copies, Tvae) { expect_no_copies(people(), rows_of(of_people("tvae"), kSampled)); }
TEST(Copies, Ctgan) { expect_no_copies(people(), rows_of(of_people("ctgan"), kSampled)); }
TEST(Copies, Sequences) { expect_no_copies(patients_apart(), wide(rows_of(of_patients(), 2000))); }

// The rows of one table, then of another.
Table joined(const Table& a, const Table& b) {
  std::vector<Column> out;
  for (size_t j = 0; j < a.columns.size(); ++j) {
    const Column &x = a.columns[j], &y = b.columns[j];
    const auto cell = [&](int64_t i) { return i < a.rows ? whole::cell(x, i) : whole::cell(y, i - a.rows); };
    const auto number = [&](int64_t i) {
      return i < a.rows ? x.numbers[static_cast<size_t>(i)] : y.numbers[static_cast<size_t>(i - a.rows)];
    };
    out.push_back(is_numeric(x.type) ? whole::numbers_by(x.name, x.type, a.rows + b.rows, number, x.decimals)
                                     : whole::texts_by(x.name, x.type, a.rows + b.rows, cell));
  }
  return whole::table(std::move(out));
}

// A "model" that gives the training rows back is found, and one of which every fourth row is one.
TEST(Copies, DetectACopyingModel) {
  const Parts& p = people();
  const Copies all = copies(p.split(), p.members),
               some = copies(p.split(), joined(example_people(300, 11), example_people(900, 14)));
  EXPECT_EQ(all.of_members.hits, kPeople);
  EXPECT_EQ(all.of_held_out.hits, 0);
  EXPECT_EQ(all.nearer.value, 1);
  EXPECT_EQ(some.of_members.hits, 300);
  EXPECT_GT(some.nearer.low, kMaxNearer);
}

// Rows that are all alike lie nearer to a member or they do not: that is one observation.
TEST(Copies, CollapsedModelRevealsNothing) {
  const Parts& p = people();
  Table one = example_people(1, 15);
  for (int k = 0; k < 6; ++k) one = joined(one, one);
  const Copies c = copies(p.split(), one);
  EXPECT_LT(c.nearer.low, 0.5);
  EXPECT_GT(c.nearer.high, 0.5);
}

}  // namespace
}  // namespace tessera::privacy
