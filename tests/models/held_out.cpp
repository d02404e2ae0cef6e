// Held-out sequences share no row with training sequences.
#include "models/tables.h"
#include "models/training/validation.h"

namespace tessera::whole {
namespace {

Table series(int64_t keys, int64_t rows_each) {
  const int64_t rows = keys * rows_each;
  return table({whole_by("key", rows, [&](int64_t i) { return 1.0 + static_cast<double>(i / rows_each); }),
                whole_by("kind", rows, [&](int64_t i) { return static_cast<double>(i / rows_each % 7); }),
                decimals_by("x", rows, 4, [](int64_t i) { return uniform(i); })});
}

struct Held {
  EncodedSequences all, rest, held;
};

Held split(const Table& t, const SequenceOptions& options, bool scattered = false, uint64_t seed = 5) {
  Team team(1);
  Sequences sequences = cut(Table(t), options);
  const SequenceEncoder encoder = SequenceEncoder::fit(sequences, 5, 1, team, {});
  Held out;
  out.all = encoder.encode(std::move(sequences), team, {});
  out.rest = encoder.encode(cut(Table(t), options), team, {});
  out.held = hold_out(out.rest, encoder, seed, scattered);
  return out;
}

TEST(HeldOutRows, AreDrawnByTheSeed) {
  Team team(1);
  const Table t = series(200, 5);
  const Encoder encoder = Encoder::fit(t, {}, team, {});
  const auto held = [&](uint64_t seed) {
    EncodedTable rows = encoder.encode(Table(t), team, {});
    return hold_out(rows, encoder.layout(), seed).codes;
  };
  for (const uint64_t seed : {5, 6}) EXPECT_EQ(held(seed) == held(5), seed == 5);
}

// Every held-out sequence is one of the table's, and overlaps no training sequence.
void check(const Held& h) {
  std::map<int32_t, int32_t> left;  // rows that are trained on
  for (size_t i = 0; i < h.rest.first.size(); ++i)
    for (int32_t t = 0; t < h.rest.length[i]; ++t) left[h.rest.first[i] + t] = 1;
  size_t found = 0;
  for (size_t i = 0; i < h.all.first.size() && found < h.held.first.size(); ++i) {
    const float* here = h.all.steps.alphas.data() + h.all.first[i];
    const float* there = h.held.steps.alphas.data() + h.held.first[found];
    if (h.all.length[i] != h.held.length[found] || !std::equal(here, here + h.all.length[i], there)) continue;
    for (int32_t t = 0; t < h.all.length[i]; ++t) EXPECT_EQ(left.count(h.all.first[i] + t), 0u) << i;
    ++found;
  }
  EXPECT_EQ(found, h.held.first.size());
  EXPECT_EQ(h.held.attributes.rows, h.held.size());
  EXPECT_EQ(h.rest.attributes.rows, h.rest.size());
}

TEST(HeldOutSequences, AreTheLastWindowsOfOneSeries) {
  SequenceOptions o;
  o.length = 10;
  const Table t = without(series(1, 500), "kind");
  const Held h = split(t, o);
  EXPECT_EQ(h.held.size(), 491 / 20);
  EXPECT_EQ(h.rest.size(), 491 - 491 / 20 - 9);
  check(h);
}

// A run is the windows that begin within ten rows. Training loses them and the nine on each side.
TEST(HeldOutSequences, AreRunsOfWindowsFromAllOverALongSeries) {
  SequenceOptions o;
  o.length = 10;
  const Held h = split(without(series(1, 1500), "kind"), o, true);
  EXPECT_EQ(h.held.size(), 50);
  EXPECT_GE(h.rest.size(), 1491 - 5 * 28);
  EXPECT_GT(h.rest.first.back(), 1400) << "held out are not the last ones";
  check(h);
}

TEST(HeldOutSequences, MayOverlapOthersInAShortSeries) {
  SequenceOptions o;
  o.length = 10;
  const Held h = split(without(series(1, 500), "kind"), o, true);
  EXPECT_EQ(h.held.size(), 491 / 5);
  EXPECT_EQ(h.rest.size() + h.held.size(), 491);
}

TEST(HeldOutSequences, AreWholeKeys) {
  SequenceOptions o;
  o.key = "key", o.statics = {"kind"};
  const Held h = split(series(200, 5), o);
  EXPECT_EQ(h.held.size(), 20);
  EXPECT_EQ(h.rest.size(), 180);
  check(h);
  for (const uint64_t seed : {5, 6})
    EXPECT_EQ(split(series(200, 5), o, false, seed).held.steps.alphas == h.held.steps.alphas, seed == 5)
        << "by the seed";
}

// Keys of unequal lengths are rows of steps: 500 of 9,008 and of 8,039 steps, where a fifth of the keys are 200 and 40;
// but no fewer than 20 keys.
TEST(HeldOutSequences, HaveTheStepsThatATableHoldsOut) {
  SequenceOptions o;
  o.key = "key";
  const auto held = [&](int64_t keys, int64_t rows_each) {
    Table t = without(series(keys, rows_each), "kind");
    --t.rows;  // of the last key
    for (Column& c : t.columns) c.numbers.resize(static_cast<size_t>(t.rows));
    const Held h = split(t, o, true);
    EXPECT_EQ(h.rest.size() + h.held.size(), keys);
    check(h);
    return h.held.size();
  };
  EXPECT_EQ(held(1001, 9), 56);
  EXPECT_EQ(held(201, 40), 20);
}

TEST(HeldOutSequences, AreWholeKeysWhereWindowsAreCut) {
  SequenceOptions o;
  o.key = "key", o.length = 3;
  const Held h = split(without(series(100, 5), "kind"), o);
  EXPECT_EQ(h.held.size() % 3, 0);
  EXPECT_GE(h.held.size(), 20);
  EXPECT_EQ(h.rest.size() + h.held.size(), 300);
  check(h);
}

TEST(HeldOutSequences, RejectTooFewSequences) {
  SequenceOptions o;
  o.length = 10;
  EXPECT_THROW((void)split(series(1, 60), o), Error);
  o.length = 60;
  EXPECT_THROW((void)split(series(1, 150), o), Error) << "none would be left to train on";
}

// By default rows are held out where there are enough of them: no table is too short for that.
TEST(HeldOutSequences, NoDefaultNeedsMoreRowsThanATableHas) {
  for (const int64_t rows : {80, 81, 90, 100, 101}) {
    FitOptions o = quick_made(1);
    o.patience = 5, o.patience_if_possible = true;
    o.sequences.length = 2;
    EXPECT_NO_THROW((void)fit(without(without(series(1, rows), "key"), "kind"), o)) << rows;
  }
}

}  // namespace
}  // namespace tessera::whole
