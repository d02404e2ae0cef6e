// The attacker has a row and asks whether it was learned. He scores it by the nearest synthetic row, by the ratio of
// two densities, or by the networks in the model file (attacks/nearness.h, attacks/likelihood.h); the area under the
// ROC curve says how well scores tell members from held-out rows: .5 is a coin.
#include "privacy/attacks/likelihood.h"
#include "privacy/people.h"

namespace tessera::privacy {
namespace {

constexpr int64_t kSampled = 10000;
// By the lower end of a 99 % interval; what is beyond is a defect. Synthetic rows and the decoder say next to nothing
// of who was learned. The density ratio's network, which the file of a calibrated model holds, knows more, and the more
// the fewer rows there were: docs/quality/privacy.md says how much.
constexpr double kMaxArea = 0.55, kMaxAreaOfRatio = 0.72;

void expect_little(const char* how, const Scores& s, double most = kMaxArea) {
  if (s.members.empty()) return;
  const Interval a = s.area();
  EXPECT_LT(a.low, most) << how << ": an area of " << a.value << " [" << a.low << ", " << a.high << "]";
  testing::Test::RecordProperty(how, std::to_string(a.value));
}

void attack(const Split& split, const Table& synthetic) {
  expect_little("distance", by_distance(split, synthetic));
  expect_little("density_ratio", by_density_ratio(split, synthetic));
}

void attack_rows(const char* method) {
  const Split split = people().split();
  const Model& m = of_people(method);
  attack(split, rows_of(m, kSampled));
  expect_little("classifier", by_classifier(split, m), kMaxAreaOfRatio);
  expect_little("decoder", by_decoder(split, m, 1000));
}

TEST(Membership, Tvae) { attack_rows("tvae"); }
TEST(Membership, Ctgan) { attack_rows("ctgan"); }
TEST(Membership, Sequences) { attack(patients_apart().split(), wide(rows_of(of_patients(), 2000))); }

// The default method at its defaults, on small tables, which it could learn by heart: the file gives ln p(row) exactly.
Parts few_people(int64_t count) {
  return {example_people(count, 11), example_people(kPeople, 12), example_people(kPeople, 13)};
}

TEST(Membership, MadeOfFewRows) {
  for (const int64_t count : {300, 1000}) {
    const Parts p = few_people(count);
    FitOptions o = options("made", 30, Tier::off);
    const Model m = whole::fit(example_people(count, 11), o);
    EXPECT_EQ(m.describe()["provenance"]["stopped"], "membership");
    expect_little("chain", by_chain(p.split(), m));
    attack(p.split(), rows_of(m, kSampled));
  }
}

TEST(Membership, DetectsAnOverfittedChain) {
  const Parts p = few_people(300);
  FitOptions o = options("made", 40, Tier::off);
  o.patience = 0;
  const Interval a = by_chain(p.split(), whole::fit(example_people(300, 11), o)).area();
  EXPECT_GT(a.low, 0.8) << a.value;
}

// Rows as the model makes them, before calibration keeps some of them.
TEST(Membership, TvaeUncalibrated) {
  SampleOptions o;
  o.calibrate = Tier::off;
  attack(people().split(), whole::sample(of_people("tvae"), kSampled, o));
}

// The attacks have power: against a "model" that gives the training rows back they are nearly always right, and against
// one that gives them back with noise in each number often.
TEST(Membership, DetectsAModelThatRepeatsItsRows) {
  const Parts& p = people();
  EXPECT_GT(by_distance(p.split(), p.members).area().low, 0.999);
  EXPECT_GT(by_density_ratio(p.split(), p.members).area().low, 0.999);
  Table noisy = example_people(kPeople, 11);
  for (Column& c : noisy.columns) {
    if (!is_numeric(c.type)) continue;
    double low = INFINITY, high = -INFINITY;
    for (const double x : c.numbers)
      if (x == x) low = std::min(low, x), high = std::max(high, x);
    for (size_t i = 0; i < c.numbers.size(); ++i)
      c.numbers[i] += 0.05 * (high - low) * whole::normal(static_cast<int64_t>(i), 20);
  }
  EXPECT_GT(by_density_ratio(p.split(), noisy).area().low, 0.7);
}

// And the attacks on networks: a decoder trained for long on few rows memorizes them.
TEST(Membership, DetectsAnOverfittedDecoder) {
  const Parts p{example_people(60, 11), example_people(400, 12), example_people(60, 13)};
  FitOptions o = options("tvae", 1500, Tier::off);
  o.as<TvaeConfig>().batch = 60;
  o.as<TvaeConfig>().weight_decay = 0;
  const Model m = whole::fit(example_people(60, 11), o);
  const Interval a = by_decoder(p.split(), m, 4000).area();
  EXPECT_GT(a.low, 0.6) << a.value;
}

}  // namespace
}  // namespace tessera::privacy
