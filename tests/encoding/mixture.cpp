// The mixture fit: equal to the published vectors from the same partition, as good as scikit-learn's own fits from its
// own, exact on counts.
#include "tables/mixture/mixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "kernels/math/philox.h"
#include "support/golden.h"

namespace tessera {
namespace {

MixtureOptions options(const nlohmann::json& c) {
  MixtureOptions o;
  o.components = c["components"];
  o.weight_concentration = c["weight_concentration_prior"];
  o.mean_precision = c["mean_precision_prior"];
  o.degrees_of_freedom = c["degrees_of_freedom_prior"];
  o.covariance_floor = c["reg_covar"];
  o.max_iterations = c["max_iter"];
  o.tolerance = c["tol"];
  return o;
}

// One group per row.
Groups rows_as_groups(const std::vector<double>& x) {
  return {x, std::vector<double>(x.size(), 1), std::vector<double>(x.size(), 0)};
}

std::vector<int32_t> labels(const golden::Case& c) {
  const auto& v = c["label"].values;
  return {v.begin(), v.end()};
}

double stddev(const std::vector<double>& x) {
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  double s = 0;
  for (double v : x) s += (v - mean) * (v - mean);
  return std::sqrt(s / static_cast<double>(x.size()));
}

void expect_close(const Mixture& m, const golden::Case& c, double tolerance) {
  const double sd = stddev(c["x"].values);
  for (size_t k = 0; k < m.weights.size(); ++k) {
    SCOPED_TRACE("component " + std::to_string(k));
    EXPECT_NEAR(m.weights[k], c["weights"].values[k], tolerance);
    EXPECT_NEAR(m.means[k] / sd, c["means"].values[k] / sd, tolerance);
  }
}

TEST(Mixture, GoldenFromLabelsInDouble) {
  GOLDEN_CASES_OR_SKIP(cases, "vgm");
  for (const auto& path : cases) {
    const auto c = golden::read(path);
    SCOPED_TRACE(c.name);
    const Mixture m = fit_mixture(rows_as_groups(c["x"].values), labels(c), options(c.config), MixturePrecision::fp64);
    const auto& e = c.config["expected"];
    ASSERT_EQ(m.iterations(), e["iterations"].get<int>());
    EXPECT_EQ(m.converged, e["converged"].get<bool>());
    expect_close(m, c, 1e-8);
    for (size_t k = 0; k < m.weights.size(); ++k) {
      EXPECT_NEAR(m.covariances[k] / c["covariances"].values[k], 1, 1e-8);
      EXPECT_NEAR(m.stick_a[k] / c["stick_a"].values[k], 1, 1e-8);
      EXPECT_NEAR(m.stick_b[k] / c["stick_b"].values[k], 1, 1e-8);
      EXPECT_NEAR(m.mean_precision[k] / c["mean_precision"].values[k], 1, 1e-8);
      EXPECT_NEAR(m.degrees_of_freedom[k] / c["degrees_of_freedom"].values[k], 1, 1e-8);
      EXPECT_EQ(m.weights[k] > c.config["valid_weight"].get<double>(), c["valid"].values[k] != 0);
    }
    for (size_t i = 0; i < m.lower_bounds.size(); ++i)
      EXPECT_NEAR(m.lower_bounds[i] / c["lower_bounds"].values[i], 1, 1e-8) << "iteration " << i;
    const size_t components = m.weights.size();
    std::vector<double> r(components);
    for (size_t i = 0; i < c["probe"].values.size(); ++i) {
      m.log_responsibilities(c["probe"].values[i], r);
      const double top = *std::max_element(r.begin(), r.end());
      double sum = 0;
      for (double& v : r) sum += v = std::exp(v - top);
      for (size_t k = 0; k < components; ++k)
        EXPECT_NEAR(r[k] / sum, c["probe_proba"].values[i * components + k], 1e-8);
    }
  }
}

TEST(Mixture, GoldenFromLabelsInFloat) {
  GOLDEN_CASES_OR_SKIP(cases, "vgm");
  for (const auto& path : cases) {
    const auto c = golden::read(path);
    SCOPED_TRACE(c.name);
    auto o = options(c.config);
    o.max_iterations = c.config["expected"]["iterations"];
    o.tolerance = 0;  // the stop rule is the double fit's business: compare after as many iterations
    const Mixture m = fit_mixture(rows_as_groups(c["x"].values), labels(c), o, MixturePrecision::fp32);
    ASSERT_EQ(m.iterations(), o.max_iterations);
    expect_close(m, c, 1e-4);
  }
}

TEST(Mixture, CountsGiveTheFitOfTheRows) {
  GOLDEN_CASES_OR_SKIP(cases, "vgm");
  for (const auto& path : cases) {
    const auto c = golden::read(path);
    SCOPED_TRACE(c.name);
    std::map<std::pair<double, int32_t>, double> counts;  // a value that starts in two components stays two groups
    const auto label = labels(c);
    for (size_t i = 0; i < label.size(); ++i) counts[{c["x"].values[i], label[i]}] += 1;
    Groups g;
    std::vector<int32_t> start;
    for (const auto& [key, n] : counts)
      g.value.push_back(key.first), g.count.push_back(n), g.spread.push_back(0), start.push_back(key.second);
    const Mixture m = fit_mixture(g, start, options(c.config), MixturePrecision::fp64);
    EXPECT_EQ(m.iterations(), c.config["expected"]["iterations"].get<int>());
    expect_close(m, c, 1e-8);
  }
}

TEST(Mixture, OwnStartReachesTheReferenceBound) {
  GOLDEN_CASES_OR_SKIP(cases, "vgm");
  for (const auto& path : cases) {
    const auto c = golden::read(path);
    std::vector<double> x = c["x"].values;
    std::sort(x.begin(), x.end());
    double low = INFINITY, high = -INFINITY;
    for (const auto& e : c.config["expected"]["end_to_end"]) {
      low = std::min(low, e["bound_per_row"].get<double>());
      high = std::max(high, e["bound_per_row"].get<double>());
    }
    for (uint64_t seed : {0, 1, 2, 3, 4}) {
      const Mixture m = fit_mixture(group_sorted(x, 1 << 20), options(c.config), seed, 3, MixturePrecision::fp64);
      RecordProperty(c.name + std::to_string(seed),
                     std::to_string(m.lower_bounds.back() / static_cast<double>(x.size())));
      EXPECT_GE(m.lower_bounds.back() / static_cast<double>(x.size()), low - std::max(high - low, 0.01))
          << c.name << " seed " << seed;
    }
  }
}

// Rows of three normals of known place.
std::vector<double> three_normals(size_t n) {
  std::vector<double> x;
  for (uint32_t i = 0; i < n; ++i) {
    const Philox p = philox(0, i, 0, 1, 2, 3);
    const double normal = std::sqrt(-2 * std::log(open_uniform(p.word[0], p.word[1]))) *
                          std::cos(6.283185307179586 * open_uniform(p.word[2], p.word[2]));
    const double u = open_uniform(p.word[3], 0);
    x.push_back(u < 0.5 ? normal : u < 0.8 ? 20 + 2 * normal : -30 + 0.5 * normal);
  }
  std::sort(x.begin(), x.end());
  return x;
}

TEST(Mixture, GroupsKeepCountMeanAndSecondMoment) {
  const auto x = three_normals(20000);
  const Groups g = group_sorted(x, 500);
  ASSERT_LE(g.size(), 500u);
  double rows = 0, sum = 0, squares = 0, sum_x = 0, squares_x = 0;
  for (size_t i = 0; i < g.size(); ++i) {
    rows += g.count[i], sum += g.count[i] * g.value[i], squares += g.count[i] * (g.value[i] * g.value[i] + g.spread[i]);
    if (i > 0) { ASSERT_LT(g.value[i - 1], g.value[i]); }
  }
  for (double v : x) sum_x += v, squares_x += v * v;
  EXPECT_EQ(rows, 20000);
  EXPECT_NEAR(sum, sum_x, 1e-9 * std::abs(squares_x));
  EXPECT_NEAR(squares / squares_x, 1, 1e-12);
}

TEST(Mixture, EqualValuesShareAGroup) {
  std::vector<double> x;
  for (int i = 0; i < 30000; ++i) x.push_back(i < 9000 ? 5 : 5 + i / 2 * 0.001);
  const Groups g = group_sorted(x, 100);
  EXPECT_EQ(g.value[0], 5);
  EXPECT_EQ(g.count[0], 9000);
  EXPECT_EQ(std::accumulate(g.count.begin(), g.count.end(), 0.0), 30000);
}

TEST(Mixture, FindsTheTruthAlsoFromGroupsInFloat) {
  const auto x = three_normals(40000);
  for (MixturePrecision p : {MixturePrecision::fp64, MixturePrecision::fp32}) {
    const Mixture m = fit_mixture(group_sorted(x, 4096), MixtureOptions{}, 7, 0, p);
    double near_left = 0, near_middle = 0, near_right = 0;
    for (size_t k = 0; k < m.weights.size(); ++k)
      (m.means[k] < -20 ? near_left : m.means[k] > 10 ? near_right : near_middle) += m.weights[k];
    EXPECT_NEAR(near_left, 0.2, 0.01);
    EXPECT_NEAR(near_middle, 0.5, 0.01);
    EXPECT_NEAR(near_right, 0.3, 0.01);
  }
}

TEST(Mixture, StartsFromFewerValuesThanComponents) {
  const Groups g{{1, 2}, {100, 3}, {0, 0}};
  const Mixture m = fit_mixture(g, MixtureOptions{}, 0, 0, MixturePrecision::fp64);
  int valid = 0;
  for (double w : m.weights) valid += w > 0.005;
  EXPECT_EQ(valid, 2);
  EXPECT_TRUE(m.converged);
}

TEST(Mixture, MoreComponentsThanPossibleIsAnError) {
  MixtureOptions o;
  o.components = 65;
  EXPECT_THROW(fit_mixture(Groups{{1}, {1}, {0}}, o, 0, 0, MixturePrecision::fp64), Error);
}

}  // namespace
}  // namespace tessera
