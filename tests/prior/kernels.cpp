// The kernels of random tables against their formulas, with every instruction set that runs here.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "base/cpu/cpu_features.h"

namespace {

using tessera::Activation;
using tessera::ArrayKernels;
using tessera::RandomCurve;

std::vector<float> numbers(size_t n, double scale, uint32_t seed = 5) {
  std::mt19937 gen(seed);
  std::normal_distribution<double> normal;
  std::vector<float> x;
  for (size_t i = 0; i < n; ++i) x.push_back(static_cast<float>(scale * normal(gen)));
  return x;
}

TEST(PriorKernels, ActivationsAreTheirFormulas) {
  const std::vector<std::function<double(double)>> formulas{
      [](double x) { return std::tanh(x); },
      [](double x) { return x > 0 ? x : 0.01 * x; },
      [](double x) { return x > 0 ? x : std::expm1(x); },
      [](double x) { return x; },
      [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); },
      [](double x) { return x / (1 + std::exp(-x)); },
      [](double x) { return std::max(x, 0.0); },
      [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); },
      [](double x) { return std::min(std::max(x, 0.0), 6.0); },
      [](double x) { return std::min(std::max(x, -1.0), 1.0); },
      [](double x) { return x >= 0 ? 1.0 : -1.0; },
      [](double x) { return std::exp(-x * x); },
      [](double x) { return std::exp(x); },
      [](double x) { return std::sqrt(std::fabs(x)); },
      [](double x) { return std::fabs(x) <= 1 ? 1.0 : 0.0; },
      [](double x) { return std::sin(x); },
      [](double x) { return x * x; },
      [](double x) { return std::fabs(x); }};
  for (const ArrayKernels* kernels : tessera::runnable_array_kernels())
    for (size_t f = 0; f < formulas.size(); ++f) {
      const std::vector<float> x = numbers(1037, 3);
      std::vector<float> y = x;
      kernels->activate(static_cast<Activation>(f), 0.25f, 2, -0.5f, nullptr, static_cast<int64_t>(y.size()), y.data());
      for (size_t i = 0; i < x.size(); ++i) {
        const double z = static_cast<double>(std::fma(2.0f, x[i] - 0.25f, -0.5f)), exact = formulas[f](z);
        if (f == 14 && std::fabs(std::fabs(z) - 1) < 1e-5) continue;
        ASSERT_NEAR(exact, static_cast<double>(y[i]), 2e-6 * (1 + std::fabs(exact) * (1 + std::fabs(z))))
            << kernels->name << ", function " << f << " at " << z;
      }
    }
}

TEST(PriorKernels, CurvesAreTheirSumsOfSines) {
  for (const ArrayKernels* kernels : tessera::runnable_array_kernels()) {
    auto curve = std::make_unique<RandomCurve>();
    const std::vector<float> normal = numbers(tessera::kCurveTerms, 1);
    std::mt19937 gen(3);
    std::uniform_real_distribution<double> uniform(0, 1);
    double squares = 0;
    for (int k = 0; k < tessera::kCurveTerms; ++k) {
      curve->frequency[k] = static_cast<float>(256 * uniform(gen));
      curve->turn[k] = static_cast<float>(uniform(gen));
      curve->weight[k] = std::pow(curve->frequency[k], -0.7f) * normal[static_cast<size_t>(k)];
      squares += std::pow(static_cast<double>(curve->weight[k]), 2) / 2;
    }
    kernels->tabulate_curve(*curve);
    std::vector<float> x = numbers(3000, 2.2);
    x.insert(x.end(), {-4, 4, 3.9999998f, -40, 123.5f});
    std::vector<float> y = x;
    kernels->activate(Activation::random, 0, 1, 0, curve.get(), static_cast<int64_t>(y.size()), y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      double exact = 0;
      for (int k = 0; k < tessera::kCurveTerms; ++k)
        exact += static_cast<double>(curve->weight[k]) *
                 std::sin(static_cast<double>(curve->frequency[k]) * static_cast<double>(x[i]) +
                          2 * M_PI * static_cast<double>(curve->turn[k]));
      ASSERT_NEAR(exact, static_cast<double>(y[i]), 1.3e-5 * std::sqrt(squares)) << kernels->name << " at " << x[i];
    }
    float infinite[] = {INFINITY, NAN, 0};
    kernels->activate(Activation::random, 0, 1, 0, curve.get(), 3, infinite);
    EXPECT_TRUE(std::isnan(infinite[0]) && std::isnan(infinite[1]) && std::isfinite(infinite[2]));
  }
}

TEST(PriorKernels, MomentsAreThoseOfTheShiftedNumbers) {
  for (const ArrayKernels* kernels : tessera::runnable_array_kernels())
    for (const size_t n : {size_t{1}, size_t{15}, size_t{1000}}) {
      std::vector<float> x = numbers(n, 2), noise = numbers(n, 1, 8);
      std::vector<double> exact;
      for (size_t i = 0; i < n; ++i)
        exact.push_back(static_cast<double>(x[i]) + 1000.25 + 0.5 * static_cast<double>(noise[i]));
      double mean = 0, deviation = 0, sum = 0, squares = 0;
      kernels->shifted_moments(x.data(), noise.data(), 0.5f, 1000.25f, static_cast<int64_t>(n), &mean, &deviation);
      for (const double e : exact) sum += e;
      for (const double e : exact) squares += std::pow(e - sum / static_cast<double>(n), 2);
      EXPECT_NEAR(sum / static_cast<double>(n), mean, 1e-4);
      EXPECT_NEAR(n > 1 ? std::sqrt(squares / static_cast<double>(n - 1)) : 0, deviation, 1e-4);
      std::vector<float> same(n, 0.1f);
      kernels->shifted_moments(same.data(), nullptr, 0, 0.2f, static_cast<int64_t>(n), &mean, &deviation);
      EXPECT_EQ(0, deviation) << "of equal numbers";
    }
}

TEST(PriorKernels, SplitsHaveTheBestGain) {
  std::mt19937 gen(1);
  for (const ArrayKernels* kernels : tessera::runnable_array_kernels())
    for (const int width : tessera::kTreeWidths) {
      const int64_t n = 300;
      const int nodes = 4, bins = 37;
      std::vector<uint8_t> bin, node;
      for (int64_t i = 0; i < n; ++i)
        bin.push_back(static_cast<uint8_t>(gen() % bins)), node.push_back(static_cast<uint8_t>(gen() % nodes));
      const std::vector<float> residual = numbers(static_cast<size_t>(n * width), 1);
      std::vector<float> sums(static_cast<size_t>(nodes * tessera::kTreeBins * width)),
          rows(nodes * tessera::kTreeBins);
      float gain[nodes] = {};
      int32_t cut[nodes];
      bool better[nodes];
      kernels->split_feature(
          {n, nodes, width, bins, bin.data(), node.data(), residual.data(), sums.data(), rows.data()}, gain, cut,
          better);
      for (int k = 0; k < nodes; ++k) {
        double best = 0;
        for (int c = 1; c < bins; ++c) {
          double here = 0;
          for (const bool right : {false, true}) {
            std::vector<double> g(static_cast<size_t>(width), 0);
            double count = 0;
            for (int64_t i = 0; i < n; ++i) {
              if (node[static_cast<size_t>(i)] != k || (bin[static_cast<size_t>(i)] >= c) != right) continue;
              count += 1;
              for (int o = 0; o < width; ++o)
                g[static_cast<size_t>(o)] += static_cast<double>(residual[static_cast<size_t>(i * width + o)]);
            }
            for (const double v : g) here += v * v / (count + 1);
          }
          best = std::max(best, here);
        }
        EXPECT_TRUE(better[k]);
        EXPECT_NEAR(best, static_cast<double>(gain[k]), 1e-3 * best) << kernels->name << ", width " << width;
      }
    }
}

TEST(PriorKernels, DistancesAreSumsOfPowers) {
  constexpr int64_t kRows = 1000, kStride = 1008, kDims = 5;
  const std::vector<float> x = numbers(static_cast<size_t>(kStride * kDims), 3), center = numbers(kDims, 1, 6);
  for (const ArrayKernels* kernels : tessera::runnable_array_kernels())
    for (const float p : {0.5f, 1.0f, 2.0f, 3.7f}) {
      std::vector<float> out(kRows), data = x;
      data[3] = center[0];
      data[7] = NAN, data[9] = INFINITY, data[11] = 1e-35f;
      kernels->power_distances(data.data(), kStride, kDims, kRows, center.data(), p, out.data());
      for (size_t i = 0; i < kRows; ++i) {
        double sum = 0;
        for (size_t d = 0; d < kDims; ++d)
          sum += std::pow(std::fabs(static_cast<double>(data[d * kStride + i]) - static_cast<double>(center[d])),
                          static_cast<double>(p));
        if (i == 7) ASSERT_TRUE(std::isnan(out[i])) << kernels->name;
        else if (i == 9) ASSERT_TRUE(std::isinf(out[i])) << kernels->name;
        else ASSERT_NEAR(sum, static_cast<double>(out[i]), 3e-5 * sum + 1e-12) << kernels->name << ", p " << p;
      }
    }
}

TEST(PriorKernels, NearestCentersAreThoseOfTheDistances) {
  constexpr int64_t kStride = 96, kDims = 9, kCenters = 40;
  const std::vector<float> x = numbers(static_cast<size_t>(kStride * kDims), 3),
                           centers = numbers(kCenters * kDims, 3, 6);
  for (const ArrayKernels* kernels : tessera::runnable_array_kernels())
    for (const float p : {0.5f, 2.0f}) {
      std::vector<float> best(kStride, INFINITY), least(kStride, INFINITY), distance(kStride);
      std::vector<int32_t> nearest(kStride, -1);
      for (int32_t k = 0; k < kCenters; ++k) {
        const float* center = centers.data() + k * kDims;
        kernels->nearest_center(x.data(), kStride, kDims, center, p, k, best.data(), nearest.data());
        kernels->power_distances(x.data(), kStride, kDims, kStride, center, p, distance.data());
        for (size_t i = 0; i < kStride; ++i) least[i] = std::min(least[i], distance[i]);
      }
      for (size_t i = 0; i < kStride; ++i) {
        EXPECT_NEAR(least[i], best[i], 1e-3f * least[i]) << kernels->name;
        kernels->power_distances(x.data() + i, kStride, kDims, 1, centers.data() + nearest[i] * kDims, p,
                                 distance.data());
        EXPECT_NEAR(least[i], distance[0], 1e-3f * least[i]) << kernels->name << ", center " << nearest[i];
      }
    }
}

TEST(PriorKernels, CutsCountWhatIsBelow) {
  constexpr size_t kRows = 501, kStride = 112, kNodes = 4;
  const std::vector<float> x = numbers(kRows * kStride, 1), y = numbers(kRows, 1, 7);
  std::mt19937 gen(8);
  for (const size_t classes : {size_t{1}, size_t{3}}) {
    std::vector<float> times;
    std::vector<int32_t> run, row, end;
    for (size_t i = 0; i < kRows; ++i) {
      times.push_back(static_cast<float>(gen() % 3));
      run.push_back(static_cast<int32_t>(gen() % ((kNodes - 1) * classes)));  // the last node is empty
    }
    for (size_t r = 0; r < kNodes * classes; ++r) {
      for (size_t i = 0; i < kRows; ++i)
        if (static_cast<size_t>(run[i]) == r && times[i] > 0) row.push_back(static_cast<int32_t>(i));
      end.push_back(static_cast<int32_t>(row.size()));
    }
    const std::vector<float> cut = numbers(kNodes * kStride, 0.5, 9);
    for (const ArrayKernels* kernels : tessera::runnable_array_kernels()) {
      const tessera::RandomCuts level{
          kStride, kNodes, static_cast<int64_t>(classes), x.data(), y.data(), times.data(), row.data(), end.data()};
      std::vector<float> low(kNodes * kStride), high(low.size()), rows(low.size() * classes, -1), sums(low.size(), -1);
      kernels->node_ranges(level, low.data(), high.data());
      kernels->sums_below(level, cut.data(), rows.data(), sums.data());
      for (size_t k = 0; k < kNodes; ++k)
        for (size_t f = 0; f < kStride; ++f) {
          float from = INFINITY, to = -INFINITY;
          std::vector<double> below(classes, 0);
          double sum = 0;
          for (const int32_t r : row) {
            const auto i = static_cast<size_t>(r), group = static_cast<size_t>(run[i]) % classes;
            if (static_cast<size_t>(run[i]) / classes != k) continue;
            const float v = x[i * kStride + f];
            from = std::min(from, v), to = std::max(to, v);
            if (v <= cut[k * kStride + f])
              below[group] += static_cast<double>(times[i]), sum += static_cast<double>(times[i] * y[i]);
          }
          ASSERT_EQ(from, low[k * kStride + f]) << kernels->name;
          ASSERT_EQ(to, high[k * kStride + f]) << kernels->name;
          for (size_t c = 0; c < classes; ++c)
            ASSERT_EQ(below[c], static_cast<double>(rows[(k * classes + c) * kStride + f])) << kernels->name;
          if (classes == 1) { ASSERT_NEAR(sum, static_cast<double>(sums[k * kStride + f]), 1e-4) << kernels->name; }
        }
    }
  }
}

}  // namespace
