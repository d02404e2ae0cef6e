// Tables with a known law: after a short fit the sampled rows follow it; those of an untrained model do not, so the
// bounds discriminate.
#include <set>

#include "models/known_law.h"
#include "models/tables.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

// sup |F_a − F_b| of the present values.
double ks(const Column& a, const Column& b) {
  auto sorted = [](const Column& c) {
    std::vector<double> v;
    for (const double x : c.numbers)
      if (x == x) v.push_back(x);
    std::sort(v.begin(), v.end());
    return v;
  };
  const auto x = sorted(a), y = sorted(b);
  double worst = 0;
  for (const auto* from : {&x, &y})
    for (const double at : *from) {
      auto below = [at](const std::vector<double>& v) {
        return static_cast<double>(std::upper_bound(v.begin(), v.end(), at) - v.begin()) /
               static_cast<double>(v.size());
      };
      worst = std::max(worst, std::fabs(below(x) - below(y)));
    }
  return worst;
}

// ½ Σ |p_a − p_b| over the values of both, missing being one.
double tv(const Column& a, const Column& b) {
  std::map<std::string, double> difference;
  for (int64_t i = 0; i < a.size(); ++i) difference[cell(a, i)] += 1.0 / static_cast<double>(a.size());
  for (int64_t i = 0; i < b.size(); ++i) difference[cell(b, i)] -= 1.0 / static_cast<double>(b.size());
  double sum = 0;
  for (const auto& [value, d] : difference) sum += std::fabs(d) / 2;
  return sum;
}

double missing_share(const Column& c) {
  int64_t n = 0;
  for (int64_t i = 0; i < c.size(); ++i) n += c.is_missing(i);
  return static_cast<double>(n) / static_cast<double>(c.size());
}

// Mean of a numeric column over the rows for which `holds`, missing values left out.
template <class F>
double mean_where(const Table& t, const char* name, F holds) {
  const Column& c = column(t, name);
  double sum = 0, n = 0;
  for (int64_t i = 0; i < t.rows; ++i)
    if (!c.is_missing(i) && holds(i)) sum += c.numbers[static_cast<size_t>(i)], ++n;
  return sum / n;
}
template <class A, class B>
double share_given(const Table& t, A holds, B given) {
  return share(t, [&](int64_t i) { return given(i) && holds(i); }) / share(t, given);
}

// Measures of the people table's dependences; each is 0 in a table of independent columns.
std::map<std::string, double> dependence(const Table& t) {
  auto is = [&](const char* c, const char* v) { return [&t, c, v](int64_t i) { return text(t, c, i) == v; }; };
  auto old = [&](int64_t i) { return number(t, "age", i) >= 66; };
  auto young = [&](int64_t i) { return number(t, "age", i) < 64; };
  auto capital = [&](int64_t i) { return text(t, "city", i) == "Northport" || text(t, "city", i) == "Eastville"; };
  auto country = [&](int64_t i) { return !capital(i); };
  auto studied = [&](int64_t i) {
    return text(t, "education", i) == "bachelor" || text(t, "education", i) == "master";
  };
  return {
      {"height by gender",
       mean_where(t, "height", is("gender", "male")) - mean_where(t, "height", is("gender", "female"))},
      {"education by city", share_given(t, studied, capital) - share_given(t, studied, country)},
      {"employed by age", share_given(t, is("employed", "true"), young) - share_given(t, is("employed", "true"), old)},
      {"log income by education", std::log(mean_where(t, "income", is("education", "master")) /
                                           mean_where(t, "income", is("education", "primary")))}};
}

void types_and_ranges_hold(const Table& real, const Table& made, bool trained = true) {
  for (size_t c = 0; c < real.columns.size(); ++c) {
    const Column &a = real.columns[c], &b = made.columns[c];
    ASSERT_EQ(a.name, b.name);
    EXPECT_EQ(a.type, b.type) << a.name;
    EXPECT_EQ(a.format, b.format) << a.name;
    EXPECT_EQ(a.decimals, b.decimals) << a.name;
    double low = INFINITY, high = -INFINITY;
    for (const double x : a.numbers)
      if (x == x) low = std::min(low, x), high = std::max(high, x);
    if (!trained && a.name == "last_seen") {  // drawn as a time after the day of joining
      const auto& joined = column(real, "joined").numbers;
      const auto [first, last] = std::minmax_element(joined.begin(), joined.end());
      double longest = 0;
      for (size_t i = 0; i < joined.size(); ++i)
        if (a.numbers[i] == a.numbers[i]) longest = std::max(longest, a.numbers[i] - 86400 * joined[i]);
      low = 86400 * *first, high = 86400 * *last + longest;
    }
    const double scale = std::pow(10.0, a.decimals);
    for (const double x : b.numbers) {
      if (x != x) continue;
      ASSERT_GE(x, low) << a.name;
      ASSERT_LE(x, high) << a.name;
      ASSERT_EQ(x, std::nearbyint(x * scale) / scale) << a.name;
    }
    if (a.type == ColumnType::identifier || is_numeric(a.type)) continue;
    const std::set<std::string> known(a.values.begin(), a.values.end());
    for (int64_t i = 0; i < made.rows; ++i)
      ASSERT_TRUE(b.is_missing(i) || known.count(cell(b, i)) == 1) << a.name << ": " << cell(b, i);
    if (a.type == ColumnType::constant) { EXPECT_EQ(missing_share(b), 0) << a.name; }
  }
  std::set<std::string> ids(column(real, "person_id").values.begin(), column(real, "person_id").values.end());
  for (int64_t i = 0; i < made.rows; ++i) {
    const std::string id = text(made, "person_id", i);
    ASSERT_TRUE(ids.insert(id).second) << id << " is a training value or was made before";
    ASSERT_EQ(id.size(), 12u) << id;
    ASSERT_EQ(id.compare(0, 2, "P-"), 0) << id;
  }
}

// The largest marginal distance, and its column.
std::pair<double, std::string> worst_marginal(const Table& real, const Table& made) {
  std::pair<double, std::string> worst{0, ""};
  for (size_t c = 0; c < real.columns.size(); ++c) {
    const Column& a = real.columns[c];
    if (a.type != ColumnType::identifier)
      worst = std::max(worst, {is_numeric(a.type) ? ks(a, made.columns[c]) : tv(a, made.columns[c]), a.name});
  }
  return worst;
}

TEST(Truth, LearnsThePeopleTable) {
  const Table real = example_people(10000, 1);
  const Table made = sample(fit(real, quick(40)), 10000);
  types_and_ranges_hold(real, made);

  const auto [distance, name] = worst_marginal(real, made);
  EXPECT_LE(distance, 0.12) << name;
  for (const char* c : {"income", "employed", "plan"})
    EXPECT_NEAR(missing_share(column(made, c)), missing_share(column(real, c)), 0.04) << c;
  for (const char* c : {"age", "height", "joined", "gender", "city"}) EXPECT_EQ(missing_share(column(made, c)), 0) << c;
  for (const auto& [what, truth] : dependence(real)) {
    const double found = dependence(made)[what];
    EXPECT_GE(found, 0.4 * truth) << what;
    EXPECT_LE(found, 1.5 * truth) << what;
  }
}

// The same bounds on an untrained model: types, ranges and identifiers come from the encoder and hold; the learned
// properties are absent.
TEST(Truth, UntrainedModelKeepsOnlyTypes) {
  const Table real = example_people(4000, 1);
  const Table made = sample(fit(real, quick(0)), 4000);
  types_and_ranges_hold(real, made, false);
  EXPECT_GT(worst_marginal(real, made).first, 0.3);
  for (const auto& [what, truth] : dependence(real)) EXPECT_LT(dependence(made)[what], 0.4 * truth) << what;
}

TEST(Truth, LearnsJointLawOfTwoCategories) {
  EXPECT_LE(distance_from_known(sample(fit(known_categories(4000), quick(30)), 8000)), 0.08);
}

TEST(Truth, LearnsSpikesAndHeavyTails) {
  constexpr int64_t rows = 4000;
  auto gain = [](int64_t i) { return uniform(i, 1) < 0.7 ? 0 : std::nearbyint(std::exp(6 + normal(i, 2))); };
  const Table real =
      table({whole_by("gain", rows, gain), texts_by("kind", rows, [](int64_t i) { return i % 3 == 0 ? "k" : "l"; })});
  const Table made = sample(fit(real, quick(150)), 8000);
  EXPECT_NEAR(share(made, [&](int64_t i) { return number(made, "gain", i) == 0; }), 0.7, 0.06);
  auto quantile = [](const Table& t, double q) {
    std::vector<double> v;
    for (const double x : column(t, "gain").numbers)
      if (x != 0) v.push_back(x);
    std::sort(v.begin(), v.end());
    return v[static_cast<size_t>(q * static_cast<double>(v.size() - 1))];
  };
  // The law is log-normal: a factor of e is one standard deviation of it. Over seven seeds these logarithms had
  // standard deviations of .23 and .27 around 0 (after 60 epochs .4, with this program and the one before alike); the
  // bounds are three of them.
  EXPECT_NEAR(std::log(quantile(made, 0.5) / quantile(real, 0.5)), 0, 0.7);
  EXPECT_NEAR(std::log(quantile(made, 0.95) / quantile(real, 0.95)), 0, 0.8);
}

TEST(Truth, LearnsDependentMissingValues) {
  constexpr int64_t rows = 4000;
  auto answered = [](int64_t i) { return uniform(i, 1) < 0.6; };
  const Table real =
      table({texts_by("asked", ColumnType::boolean, rows, [&](int64_t i) { return answered(i) ? "Yes" : "No"; }),
             decimals_by("score", rows, 1, [&](int64_t i) {
               return uniform(i, 2) < (answered(i) ? 0.05 : 0.8) ? kMissing
                                                                 : std::nearbyint(10 * (20 + 3 * normal(i, 3))) / 10;
             })});
  const Table made = sample(fit(real, quick(30)), 8000);
  auto missing_given = [&](const char* value) {
    return share_given(
        made, [&](int64_t i) { return column(made, "score").is_missing(i); },
        [&](int64_t i) { return text(made, "asked", i) == value; });
  };
  EXPECT_NEAR(share(made, [&](int64_t i) { return text(made, "asked", i) == "Yes"; }), 0.6, 0.05);
  EXPECT_NEAR(missing_given("Yes"), 0.05, 0.08);
  EXPECT_NEAR(missing_given("No"), 0.80, 0.12);
}

TEST(Truth, LearnsTablesOfDates) {
  constexpr int64_t rows = 3000;
  const Table real = table({dates_by("from", rows, [](int64_t i) { return std::floor(17000 + 400 * uniform(i, 1)); }),
                            times_by("at", rows, [](int64_t i) { return std::floor(1.6e9 + 1e6 * normal(i, 2)); })});
  const Table made = sample(fit(real, quick(60)), 3000);
  for (size_t c = 0; c < 2; ++c) {
    EXPECT_LE(ks(real.columns[c], made.columns[c]), 0.12) << real.columns[c].name;
    EXPECT_EQ(made.columns[c].format, real.columns[c].format);
    for (const double x : made.columns[c].numbers) ASSERT_EQ(x, std::floor(x));
  }
}

}  // namespace
}  // namespace tessera::whole
