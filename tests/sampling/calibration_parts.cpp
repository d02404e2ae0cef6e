// The parts of a calibration: distribution functions, raking, and the correction of models with a known flaw.
#include "engine/run/program.h"
#include "models/sampling/calibration/calibration.h"
#include "models/sampling/calibration/choose_tier.h"
#include "models/sampling/calibration/profile_arrays.h"
#include "models/sampling/calibration/raking.h"
#include "models/tables.h"

namespace tessera::whole {
namespace {

// ---- what trials of a tier differ by --------------------------------------------------------------

// Columns of normal numbers, any two of which have this correlation.
std::vector<Column> correlated(int columns, int rows, double correlation, int seed) {
  std::vector<Column> all;
  const auto draw = [&](int j, int i) { return normal(i, static_cast<uint32_t>(seed * 100 + j)); };
  for (int j = 0; j < columns; ++j) {
    all.emplace_back();
    all.back().type = ColumnType::decimal;
    for (int i = 0; i < rows; ++i)
      all.back().numbers.push_back(std::sqrt(correlation) * draw(columns, i) + std::sqrt(1 - correlation) * draw(j, i));
  }
  return all;
}

TEST(TrialNoise, CorrelatedColumnsCountLess) {
  const auto independent = [](double correlation) {
    const std::vector<Column> columns = correlated(8, 4000, correlation, 1);
    std::vector<const Column*> of;
    for (const Column& c : columns) of.push_back(&c);
    return independent_columns(of);
  };
  EXPECT_NEAR(independent(0), 8, 0.8);
  EXPECT_NEAR(independent(0.7), 64 / (8 + 56 * 0.47), 0.4);  // the square of the rank correlation is .47
  EXPECT_NEAR(independent(1), 1, 1e-9);
  EXPECT_EQ(independent_columns({}), 0);
}

// Of two tiers that are equal, one is rarely worse than the other by more than the noise, which is not far more than
// they differ by.
TEST(TrialNoise, BoundsTheDifferenceOfEqualTiers) {
  constexpr int kColumns = 6, kTrial = 200, kSample = 500, kRepeats = 200;
  const auto distance = [](std::vector<double> a, std::vector<double> b) {  // of Kolmogorov and Smirnov
    std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double share = static_cast<double>(std::upper_bound(b.begin(), b.end(), a[i]) - b.begin());
      const double of_b = share / static_cast<double>(b.size()), n = static_cast<double>(a.size());
      most = std::max(
          {most, std::abs(of_b - static_cast<double>(i + 1) / n), std::abs(of_b - static_cast<double>(i) / n)});
    }
    return most;
  };
  for (const double correlation : {0.0, 0.9}) {
    double squares = 0;
    int beyond = 0;
    std::vector<const Column*> of;
    const std::vector<Column> first = correlated(kColumns, kSample, correlation, 1);
    for (const Column& c : first) of.push_back(&c);
    const TrialNoise noise(kTrial, kSample, kSample, independent_columns(of));
    for (int k = 0; k < kRepeats; ++k) {
      const std::vector<Column> real = correlated(kColumns, kSample, correlation, 3 * k),
                                one = correlated(kColumns, kTrial, correlation, 3 * k + 1),
                                other = correlated(kColumns, kTrial, correlation, 3 * k + 2);
      double difference = 0;
      for (size_t j = 0; j < kColumns; ++j) {
        const auto numbers = [&](const Column& c) { return std::vector<double>(c.numbers.begin(), c.numbers.end()); };
        difference += distance(numbers(one[j]), numbers(real[j])) - distance(numbers(other[j]), numbers(real[j]));
      }
      difference /= kColumns;
      squares += difference * difference;
      beyond += difference > noise.shape;
    }
    EXPECT_LE(beyond, kRepeats * 5 / 100) << correlation;
    EXPECT_LE(noise.shape, 3 * std::sqrt(squares / kRepeats)) << correlation;
  }
}

// ---- quantiles ----------------------------------------------------------------------------------

TEST(Quantiles, FewValuesAreKeptExactly) {
  const Quantiles q = Quantiles::of({3, 1, 1, 7});
  EXPECT_TRUE(q.exact());
  EXPECT_EQ(q.rank(1).below, 0);
  EXPECT_EQ(q.rank(1).upto, 0.5);
  EXPECT_EQ(q.rank(3).below, 0.5);
  EXPECT_EQ(q.rank(5).below, q.rank(5).upto) << "a value that never occurs has no stretch of ranks";
  for (const auto& [p, x] : {std::pair{0.0, 1.0}, {0.5, 1.0}, {0.51, 3.0}, {0.75, 3.0}, {0.76, 7.0}, {1.0, 7.0}})
    EXPECT_EQ(q.at(p), x) << p;
}

TEST(Quantiles, ManyValuesAreKeptByTheirRanks) {
  constexpr int kRows = 20000;
  std::vector<double> v;
  for (int i = 0; i < kRows; ++i) v.push_back(std::exp(2 * normal(i)));  // heavy-tailed
  std::vector<double> sorted = v;
  std::sort(sorted.begin(), sorted.end());
  const Quantiles q = Quantiles::of(v);
  EXPECT_FALSE(q.exact());
  EXPECT_LE(q.points().size(), static_cast<size_t>(Quantiles::kPoints));
  EXPECT_EQ(q.at(0), sorted.front());
  EXPECT_EQ(q.at(1), sorted.back());
  for (int i = 1; i < kRows - 1; i += 97) {
    const double p = static_cast<double>(i) / (kRows - 1);
    EXPECT_NEAR(q.rank(sorted[static_cast<size_t>(i)]).below, p, 2e-3);
    EXPECT_NEAR(q.rank(q.at(p)).below, p, 1e-9) << "at() and rank() are each other's inverse";
  }
}

TEST(Quantiles, OnlyTheEndsAreValuesOfSingleRows) {
  constexpr int kRows = 5000;
  std::vector<double> v;
  for (int i = 0; i < kRows; ++i) v.push_back(uniform(i));
  const Quantiles q = Quantiles::of(v);
  for (size_t k = 1; k + 1 < q.points().size(); ++k) {
    EXPECT_GE(q.shares()[k], Quantiles::kTailRows / kRows);
    EXPECT_LE(q.shares()[k], 1 - Quantiles::kTailRows / kRows);
  }
}

TEST(Quantiles, RepeatedValuesAmongManyKeepTheirShare) {
  std::vector<double> v;
  for (int i = 0; i < 30000; ++i) v.push_back(i % 4 == 0 ? 0.25 : uniform(i));
  const Rank r = Quantiles::of(v).rank(0.25);
  EXPECT_NEAR(r.upto - r.below, 0.25, 0.005);
}

TEST(Quantiles, RejectDamagedFiles) {
  EXPECT_THROW(Quantiles::from({1, 2}, {0.5}, true), Error);
  EXPECT_THROW(Quantiles::from({2, 1}, {0.5, 1}, true), Error);
  EXPECT_THROW(Quantiles::from({1, 2}, {0.5, 0.9}, true), Error) << "shares must end at 1";
  EXPECT_THROW(Quantiles::from({1, NAN}, {0.5, 1}, true), Error);
  EXPECT_NO_THROW(Quantiles::from({1, 2}, {0.5, 1}, true));
}

// ---- raking -------------------------------------------------------------------------------------

// A toy whose answer is known: two columns, the model uniform over 3 × 2 cells, the table 60/30/10 and 80/20.
TEST(Raking, AcceptedRowsHaveTheTablesShares) {
  constexpr int kRows = 60000;
  const std::vector<std::vector<double>> share{{0.6, 0.3, 0.1}, {0.8, 0.2}};
  std::vector<int32_t> cells;
  for (int i = 0; i < kRows; ++i) {
    cells.push_back(static_cast<int32_t>(3 * uniform(i, 1)));
    cells.push_back(static_cast<int32_t>(2 * uniform(i, 2)));
  }
  const std::vector<double> nothing(kRows, 0.0);
  const auto factor = rake(cells, nothing, share, {});
  std::vector<double> weight(kRows, 0.0);
  for (size_t i = 0; i < kRows; ++i)
    for (size_t j = 0; j < 2; ++j) weight[i] += factor[j][static_cast<size_t>(cells[2 * i + j])];
  const double cut = Cut::of(weight, kTopShare, kMinYield);
  // Chi-square of the kept rows against the product of the two columns' shares, which is what raking a product gives: 5
  // degrees of freedom.
  std::vector<double> have(6, 0.0);
  double kept = 0;
  for (size_t i = 0; i < kRows; ++i) {
    if (uniform(static_cast<int64_t>(i), 3) >= std::exp(std::min(weight[i] - cut, 0.0))) continue;
    ++have[static_cast<size_t>(cells[2 * i] * 2 + cells[2 * i + 1])];
    ++kept;
  }
  double chi = 0;
  for (size_t a = 0; a < 3; ++a)
    for (size_t b = 0; b < 2; ++b) {
      const double want = kept * share[0][a] * share[1][b], d = have[2 * a + b] - want;
      chi += d * d / want;
    }
  EXPECT_LT(chi, 25.7) << "the 99.99 % point of chi-square with 5 degrees of freedom";
  EXPECT_NEAR(kept / kRows, Cut::yield(weight, cut), 0.01);
}

TEST(Raking, MeetsTheMinimumYield) {
  std::vector<double> w;
  for (int i = 0; i < 10000; ++i) w.push_back(6 * normal(i));  // few rows carry nearly all weight
  for (const double least : {0.02, 0.1, 0.5, 1.0})
    EXPECT_GE(Cut::yield(w, Cut::of(w, kTopShare, least)), least - 1e-6) << least;
}

TEST(Raking, LeavesCellsOfFewRowsUnadjusted) {
  std::vector<int32_t> cells(20000, 0);
  cells[7] = 1;
  const auto factor = rake(cells, std::vector<double>(cells.size(), 0.0), {{0.5, 0.5}}, {});
  EXPECT_EQ(factor[0][1], 0) << "one row cannot stand for half of the table";
}

// ---- density ratio ------------------------------------------------------------------------------

// Two columns of 3 and 2 cells. Real rows have the shares below, which no product of two columns has; the model's rows
// are uniform: the ratio is 6·share.
constexpr double kShare[3][2] = {{0.30, 0.05}, {0.05, 0.25}, {0.15, 0.20}};

RatioRows cells_of(int64_t rows, uint32_t stream, bool real) {
  RatioRows out;
  out.rows = rows;
  for (int64_t i = 0; i < rows; ++i) {
    double u = uniform(i, stream);
    int32_t cell = 0;
    for (; cell < 5; ++cell)
      if ((u -= real ? kShare[cell / 2][cell % 2] : 1.0 / 6) < 0) break;
    out.cells.insert(out.cells.end(), {cell / 2, cell % 2});
  }
  return out;
}

void learns_both_shares(const std::string& precision, std::vector<float>& weights) {
  const auto spans = std::make_shared<const Spans>(std::vector<Spans::Item>{{0, 3, true, -1}, {3, 2, true, -1}});
  RatioConfig config;
  config.hidden = {32, 32};
  config.dropout = 0;  // which draws logits towards 0
  config.most_steps = 4000;
  config.precision = precision;
  const RatioRows real = cells_of(30000, 1, true), model = cells_of(30000, 2, false);
  for (const int threads : {1, 2}) {
    Team team(threads);
    Ratio ratio(spans, config);
    std::vector<Progress> told;
    Monitor monitor;
    monitor.on_progress = [&](const Progress& p) { told.push_back(p); };
    const Ratio::Fitted fitted = ratio.fit(real, model, 0.15, 5, Device::processor(), team, monitor);
    ASSERT_FALSE(told.empty());
    EXPECT_TRUE(told.back().finished);
    EXPECT_EQ(told.back().done, told.back().total);
    EXPECT_LT(fitted.epochs, config.most_epochs) << "it ends where the held-out loss hardly falls any more";
    EXPECT_GT(fitted.epochs, 2);

    double least = 0;  // the loss of the true ratio
    const std::vector<int32_t> all{0, 0, 0, 1, 1, 0, 1, 1, 2, 0, 2, 1};
    std::vector<double> logits(6);
    Ratio::Evaluator(ratio, 6, Device::processor(), team).run(all.data(), nullptr, 6, logits.data());
    for (size_t k = 0; k < 6; ++k) {
      const double want = std::log(6 * kShare[k / 2][k % 2]);
      EXPECT_NEAR(logits[k], want, 0.12) << "cell " << k;
      least += 0.5 * (kShare[k / 2][k % 2] * std::log1p(std::exp(-want)) + std::log1p(std::exp(want)) / 6);
    }
    EXPECT_NEAR(fitted.held_out_loss, least, 0.015);
    if (threads == 1) weights = ratio.weights;
    else EXPECT_EQ(ratio.weights, weights) << "bits do not depend on threads";
  }
}

TEST(Ratio, IsTheLogRatioOfBothSharesInEitherPrecision) {
  std::vector<float> exact, rounded;
  learns_both_shares("fp32", exact), learns_both_shares("bf16", rounded);
  EXPECT_NE(rounded, exact);
}

// ---- repair -------------------------------------------------------------------------------------

// A flawed model of a table: its rows, by number.
using RowMaker = std::function<Table(int64_t offset, int64_t count)>;

struct Repaired {
  Calibration calibration;
  Encoder encoder;
  Table rows;  // as calibrated sampling would give them
  double yield = 0;
};

std::vector<int64_t> all_rows(int64_t n) {
  std::vector<int64_t> rows(static_cast<size_t>(n));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  return rows;
}
Calibration::RowSource numbered(const Encoder& encoder, const RowMaker& model) {
  return [&encoder, model](int64_t at, int64_t n) { return encoder.pick(model(at, n), all_rows(n)); };
}

Repaired repair(const Table& real, const RowMaker& model, Tier tier, int64_t wanted = 6000) {
  Team team(2);
  const Monitor monitor;
  Repaired out;
  out.encoder = Encoder::fit(real, {}, team, monitor);
  out.calibration = Calibration::fit(out.encoder, out.encoder.pick(real, all_rows(real.rows)),
                                     numbered(out.encoder, model), {tier, 5, 1e15, nullptr}, team, monitor);
  // The plan of calibrated sampling over candidates from outside: what it closes up is decoded.
  constexpr int64_t kBatch = 2048;
  Acceptance acceptance(out.encoder, out.calibration, tier, kMinYield);
  const int64_t codes = out.encoder.layout().codes(), alphas = out.encoder.layout().alphas();
  Plan plan;
  Recorder r(plan);
  r.rows = r.input("rows", {kBatch, 3}, DType::index);
  const Var code = r.input("codes", {kBatch, codes}, DType::index), alpha = r.input("alphas", {kBatch, alphas});
  const auto closed = r.emit(CompactRows{}, {acceptance.record(r, code, alpha), code, alpha});
  for (size_t i = 0; i < closed.size(); ++i) r.output(closed[i], "closed." + std::to_string(i));
  Program program(plan, cpu_kernels(), team, 99);
  std::vector<int32_t> identity(3 * kBatch, 0);
  program.bind("rows", identity.data());
  acceptance.bind(program);
  int64_t made = 0;
  for (int64_t at = int64_t{1} << 30; out.rows.rows < wanted && made < 60 * wanted; at += kBatch) {
    const EncodedTable candidates = out.encoder.encode(model(at, kBatch), team, monitor);
    for (int32_t i = 0; i < kBatch; ++i) identity[static_cast<size_t>(3 * i)] = static_cast<int32_t>(at) + i;
    program.bind("codes", candidates.codes.data());
    program.bind("alphas", candidates.alphas.data());
    program.run(1);
    const auto result = [&](int k) { return program.find("closed." + std::to_string(k)); };
    const int32_t n = program.read<int32_t>(result(0))[0];
    std::vector<int64_t> ids;
    for (const int32_t k : program.read<int32_t>(result(1)))
      if (k >= 0) ids.push_back(at + k);
    EXPECT_EQ(ids.size(), static_cast<size_t>(n));
    Table kept = out.encoder.decode(program.read<float>(result(3)).data(), program.read<int32_t>(result(2)).data(),
                                    ids.data(), n, 5);
    out.calibration.map(kept, ids.data(), nullptr, 5);
    kept = out.encoder.pick(kept, all_rows(n));
    if (out.rows.columns.empty()) out.rows = out.encoder.pick(kept, {});
    made += kBatch;
    for (int64_t i = 0; i < n && out.rows.rows < wanted; ++i) {
      for (size_t j = 0; j < out.rows.columns.size(); ++j) {
        const Column& from = kept.columns[j];
        if (is_numeric(from.type)) out.rows.columns[j].numbers.push_back(from.numbers[static_cast<size_t>(i)]);
        else out.rows.columns[j].codes.push_back(from.codes[static_cast<size_t>(i)]);
      }
      ++out.rows.rows;
    }
  }
  out.yield = static_cast<double>(out.rows.rows) / static_cast<double>(made);
  return out;
}

std::string text_of(const Column& c, int64_t i) {
  return c.values[static_cast<size_t>(c.codes[static_cast<size_t>(i)])];
}

double correlation(const Table& t, const std::string& a, const std::string& b) {
  const auto &x = column(t, a).numbers, &y = column(t, b).numbers;
  double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
  const double n = static_cast<double>(t.rows);
  for (size_t i = 0; i < x.size(); ++i) sx += x[i], sy += y[i], xx += x[i] * x[i], yy += y[i] * y[i], xy += x[i] * y[i];
  return (xy - sx * sy / n) / std::sqrt((xx - sx * sx / n) * (yy - sy * sy / n));
}

// x normal, y = x + noise, a colour that goes with x, an amount that is 0 for a third of the rows.
Table truth(int64_t offset, int64_t rows, double shift = 0, bool dependent = true, double zeros = 1.0 / 3,
            double red = 0.5) {
  auto id = [&](int64_t i) { return offset + i; };
  auto x = [&](int64_t i) { return normal(id(i), 10); };
  return table({decimals_by("x", rows, 3, [&](int64_t i) { return std::round(1000 * (x(i) + shift)) / 1000; }),
                decimals_by("y", rows, 3,
                            [&](int64_t i) {
                              return std::round(1000 *
                                                ((dependent ? x(i) : normal(id(i), 12)) + 0.5 * normal(id(i), 14))) /
                                     1000;
                            }),
                texts_by("colour", rows,
                         [&](int64_t i) {
                           const double u = uniform(id(i), 40);
                           if (dependent && x(i) > 1) return u < 0.9 ? "blue" : "red";
                           return u < red ? "red" : "green";
                         }),
                decimals_by("amount", rows, 2, [&](int64_t i) {
                  return uniform(id(i), 41) < zeros ? 0.0 : std::round(100 * std::exp(normal(id(i), 16))) / 100;
                })});
}

// The plan sees codes and alphas, calibration learns from decoded rows: cells must be the same, inputs up to the
// rounding of a sine.
TEST(Calibration, PlanUsesRowsAsDecoded) {
  constexpr int64_t kRows = 3000, kFirst = int64_t{5} << 31;
  constexpr uint64_t kSeed = 77;
  Table real = truth(0, kRows);
  const auto with_gaps = [](Table t) {
    for (size_t i = 0; i < t.columns[0].numbers.size(); i += 7) t.columns[0].numbers[i] = kMissing;
    for (size_t i = 3; i < t.columns[2].codes.size(); i += 11) t.columns[2].codes[i] = -1;
    t.columns.push_back(whole_by("stars", t.rows, [](int64_t i) { return static_cast<double>(i % 5); }));
    t.columns.push_back(
        numbers_by("huge", ColumnType::decimal, t.rows, [](int64_t i) { return 1e280 * normal(i, 5); }));
    return t;
  };
  real = with_gaps(real);
  Team team(2);
  const Monitor monitor;
  const Encoder encoder = Encoder::fit(real, {}, team, monitor);
  const auto model = [&](int64_t at, int64_t n) { return with_gaps(truth(at + 1000000, n, 0.5)); };
  const Calibration c = Calibration::fit(encoder, encoder.pick(real, all_rows(kRows)), numbered(encoder, model),
                                         {Tier::marginals, 5, 1e15, nullptr}, team, monitor);
  const ProfileArrays profile(encoder, c);
  EXPECT_EQ(std::count_if(c.model.begin(), c.model.end(), [](const Quantiles& q) { return !q.empty(); }), 4)
      << "what is mapped";

  const EncodedTable rows = encoder.encode(model(0, kRows), team, monitor);
  std::vector<int64_t> ids;
  std::vector<int32_t> identity, tries;
  for (int64_t i = 0; i < kRows; ++i) {
    ids.push_back(kFirst + i), tries.push_back(static_cast<int32_t>(i % 3));
    identity.insert(identity.end(), {static_cast<int32_t>(static_cast<uint32_t>(ids.back())),
                                     static_cast<int32_t>(ids.back() >> 32), tries.back()});
  }
  Plan plan;
  Recorder r(plan);
  const auto seen =
      r.emit(ProfileRows{profile.table()},
             {r.input("codes", {kRows, encoder.layout().codes()}, DType::index),
              r.input("alphas", {kRows, encoder.layout().alphas()}), r.input("rows", {kRows, 3}, DType::index)});
  r.output(seen[0], "index");
  r.output(seen[1], "value");
  Program program(plan, cpu_kernels(), team, kSeed);
  program.bind("codes", rows.codes.data());
  program.bind("alphas", rows.alphas.data());
  program.bind("rows", identity.data());
  program.run(1);
  const std::vector<int32_t> index = program.read<int32_t>(program.find("index"));
  const std::vector<float> value = program.read<float>(program.find("value"));

  Table decoded = encoder.decode(rows.alphas.data(), rows.codes.data(), ids.data(), kRows, kSeed, tries.data());
  c.map(decoded, ids.data(), tries.data(), kSeed);
  const auto codes = static_cast<size_t>(c.profile.codes()), inputs = static_cast<size_t>(c.profile.inputs());
  std::vector<int32_t> cells(kRows * codes);
  std::vector<float> numbers(kRows * inputs);
  c.profile.encode(decoded, cells.data(), numbers.data());
  const auto owner = c.profile.spans();
  const SpanTable& spans = *owner->table();
  ASSERT_EQ(profile.table()->entries, spans.count);
  for (size_t i = 0; i < static_cast<size_t>(kRows); ++i)
    for (size_t s = 0; s < static_cast<size_t>(spans.count); ++s) {
      const SpanTable::Item& span = spans.items[s];
      const auto slot = static_cast<size_t>(span.slot);
      const size_t at = i * static_cast<size_t>(spans.count) + s;
      ASSERT_EQ(index[at], span.start + (span.softmax ? cells[i * codes + slot] : 0)) << "row " << i << ", span " << s;
      ASSERT_NEAR(value[at], span.softmax ? 1.0f : numbers[i * inputs + slot], 1e-6) << "row " << i << ", span " << s;
    }
}

TEST(Calibration, RepairsShiftedMarginalsAndAWrongSpike) {
  const Table real = truth(0, 8000);
  for (const Tier tier : {Tier::marginals, Tier::full}) {
    const Repaired r = repair(
        real, [](int64_t at, int64_t n) { return truth(at + 1000000, n, 0.7, true, 0.6, 0.7); }, tier);
    ASSERT_EQ(r.rows.rows, 6000) << name(tier);
    const auto& x = column(r.rows, "x").numbers;
    double mean = 0;
    for (const double v : x) mean += v / static_cast<double>(x.size());
    EXPECT_NEAR(mean, 0, 0.06) << name(tier) << ": the model's is 0.7";
    EXPECT_NEAR(share(r.rows, [&](int64_t i) { return column(r.rows, "amount").numbers[static_cast<size_t>(i)] == 0; }),
                1.0 / 3, 0.03)
        << name(tier) << ": the model's is 0.6";
    EXPECT_NEAR(share(r.rows, [&](int64_t i) { return text_of(column(r.rows, "colour"), i) == "red"; }),
                share(real, [&](int64_t i) { return text_of(column(real, "colour"), i) == "red"; }), 0.03)
        << name(tier);
  }
}

TEST(Calibration, RestoresMissingDependence) {
  const Table real = truth(0, 8000);
  const RowMaker independent = [](int64_t at, int64_t n) { return truth(at + 1000000, n, 0, false); };
  const double want = correlation(real, "x", "y"), raw = correlation(independent(0, 6000), "x", "y");
  ASSERT_GT(want, 0.85);
  ASSERT_LT(std::fabs(raw), 0.05);
  const Repaired r = repair(real, independent, Tier::full);
  EXPECT_GT(correlation(r.rows, "x", "y"), 0.7) << "of " << want << "; rows of the model have " << raw;
  EXPECT_EQ(r.calibration.chosen, Tier::full);
  const TierTrial &before = r.calibration.trials.front(), &after = r.calibration.trials.back();
  EXPECT_LT(after.c2st, before.c2st - 0.05);
  EXPECT_LT(after.trend_error, before.trend_error);
}

TEST(Calibration, HardlyChangesAnAccurateModel) {
  const Repaired r = repair(
      truth(0, 8000), [](int64_t at, int64_t n) { return truth(at + 1000000, n); }, Tier::full);
  EXPECT_GT(r.yield, 0.5) << "there is nothing to turn down";
  EXPECT_NEAR(correlation(r.rows, "x", "y"), correlation(truth(0, 8000), "x", "y"), 0.02);
  for (const TierTrial& t : r.calibration.trials) EXPECT_NEAR(t.c2st, 0.5, 0.04) << name(t.tier);
  EXPECT_EQ(r.calibration.full.temperature, 1) << "its square root is no better than by chance";
}

// Rows far outside that the table has a few of: calibration must not bring back more of them than there are.
TEST(Calibration, DoesNotMultiplyOutliers) {
  auto with_outliers = [](int64_t offset, int64_t rows, double of_all) {
    Table t = truth(offset, rows);
    for (int64_t i = 0; i < rows; ++i)
      if (uniform(offset + i, 77) < of_all)
        t.columns[0].numbers[static_cast<size_t>(i)] = 40 + std::round(1000 * uniform(offset + i, 78)) / 1000;
    return t;
  };
  const Table real = with_outliers(0, 8000, 0.002);
  const auto far = [](const Table& t) {
    return share(t, [&](int64_t i) { return column(t, "x").numbers[static_cast<size_t>(i)] > 20; });
  };
  const Repaired r = repair(
      real, [&](int64_t at, int64_t n) { return with_outliers(at + 1000000, n, 0.002); }, Tier::full);
  EXPECT_LT(far(r.rows), 2 * far(real));
  // Exact copies of the outlying rows: no more than chance, which for three decimals of x alone is a few in a thousand.
  std::map<std::string, int> known;
  for (const std::string& line : lines(real)) ++known[line];
  int copies = 0;
  for (const std::string& line : lines(r.rows)) copies += known.count(line) != 0;
  EXPECT_EQ(copies, 0);
}

TEST(Calibration, UsesMarginalsForFewRowsWithANotice) {
  const Repaired r = repair(
      truth(0, 300), [](int64_t at, int64_t n) { return truth(at + 1000000, n, 0.5); }, Tier::marginals, 1000);
  Team team(1);
  const RowMaker shifted = [](int64_t at, int64_t n) { return truth(at + 1000000, n, 0.5); };
  const Calibration c = Calibration::fit(r.encoder, r.encoder.pick(truth(0, 300), all_rows(300)),
                                         numbered(r.encoder, shifted), {Tier::full, 5, 1e15, nullptr}, team, Monitor{});
  EXPECT_FALSE(c.holds(Tier::full));
  EXPECT_TRUE(c.holds(Tier::marginals));
  EXPECT_NE(c.note.find("300 rows are too few"), std::string::npos) << c.note;
}

}  // namespace
}  // namespace tessera::whole
