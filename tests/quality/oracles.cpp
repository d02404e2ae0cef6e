// Fast paths against the definition, written plainly: every pair of rows, every edge, every cell.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/quality/common/statistics.h"
#include "models/quality/learners/nearest.h"
#include "models/quality/metrics/column_shapes.h"
#include "models/quality/metrics/distances.h"
#include "models/quality/metrics/new_rows.h"
#include "models/quality/metrics/pair_trends.h"
#include "tables.h"

namespace tq = tessera::quality;
using tessera::Table;
using tq::ComparedColumn;
using tq::Comparison;
using tq::Kind;

namespace {

struct Tables {
  Table real, synthetic, holdout;
  Comparison c;
  Tables(int64_t n, int64_t m, int64_t h, uint32_t seed)
      : real(quality_test::random_table(n, seed)),
        synthetic(quality_test::random_table(m, seed + 1)),
        holdout(quality_test::random_table(h, seed + 2)) {
    c = tq::compare_tables({{"real", &real}, {"synthetic", &synthetic}, {"holdout", &holdout}});
  }
};

bool both_or_one_missing(double x, double y) { return std::isnan(x) || std::isnan(y); }

double gower(const Comparison& c, size_t query, size_t i, size_t reference, size_t j) {
  double sum = 0;
  for (size_t k = 0; k < c.facts.size(); ++k) {
    const ComparedColumn &q = c.tables[query].columns[k], &r = c.tables[reference].columns[k];
    if (c.facts[k].kind == Kind::categorical) {
      sum += q.codes[i] != r.codes[j];
    } else if (both_or_one_missing(q.numbers[i], r.numbers[j])) {
      sum += std::isnan(q.numbers[i]) != std::isnan(r.numbers[j]);
    } else {
      const double gap = std::abs(q.numbers[i] - r.numbers[j]), range = r.high - r.low;
      sum += range > 0 ? std::min(gap / range, 1.0) : gap != 0;
    }
  }
  return sum / static_cast<double>(c.facts.size());
}

double l1(const Comparison& c, size_t query, size_t i, size_t reference, size_t j) {
  double sum = 0;
  for (size_t k = 0; k < c.facts.size(); ++k) {
    const ComparedColumn &q = c.tables[query].columns[k], &r = c.tables[reference].columns[k],
                         &real = c.tables[0].columns[k];
    if (c.facts[k].kind == Kind::categorical) {
      sum += q.codes[i] != r.codes[j] ? 2 : 0;
      continue;
    }
    const double range = real.high - real.low;
    if (!(range > 0)) continue;
    double mean = 0, n = 0;
    for (const double x : real.numbers)
      if (!std::isnan(x)) mean += x, n += 1;
    mean /= n;
    const double x = std::isnan(q.numbers[i]) ? mean : q.numbers[i], y = std::isnan(r.numbers[j]) ? mean : r.numbers[j];
    sum += std::abs(x / range - y / range);
  }
  return sum;
}

bool agrees(const Comparison& c, size_t i, size_t j, double tolerance) {
  for (size_t k = 0; k < c.facts.size(); ++k) {
    const ComparedColumn &s = c.tables[1].columns[k], &r = c.tables[0].columns[k];
    if (c.facts[k].kind == Kind::categorical) {
      if (s.codes[i] != r.codes[j]) return false;
    } else if (both_or_one_missing(s.numbers[i], r.numbers[j])) {
      if (std::isnan(s.numbers[i]) != std::isnan(r.numbers[j])) return false;
    } else if (std::abs(r.numbers[j] - s.numbers[i]) > tolerance * std::abs(s.numbers[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST(QualityOracle, GowerNearestOfEveryRow) {
  quality_test::Bench bench;
  for (const auto& [n, m] : {std::pair<int64_t, int64_t>{1, 40}, {63, 50}, {64, 50}, {65, 50}, {700, 200}}) {
    const Tables t(n, m, 90, static_cast<uint32_t>(n));
    for (const size_t reference : {size_t{0}, size_t{2}}) {
      const auto fast = tq::gower_nearest(t.c, 1, reference, bench.workers);
      for (size_t i = 0; i < fast.size(); ++i) {
        double slow = INFINITY;
        for (size_t j = 0; j < static_cast<size_t>(t.c.tables[reference].rows); ++j)
          slow = std::min(slow, gower(t.c, 1, i, reference, j));
        ASSERT_DOUBLE_EQ(slow, fast[i]) << n << " rows, row " << i;
      }
    }
  }
}

TEST(QualityOracle, TwoNearestUnderL1) {
  quality_test::Bench bench;
  for (const int64_t n : {1, 2, 64, 129, 500}) {
    const Tables t(n, 150, 70, static_cast<uint32_t>(100 + n));
    for (const size_t reference : {size_t{0}, size_t{2}}) {
      const auto fast = tq::l1_nearest(t.c, 1, reference, bench.workers);
      for (size_t i = 0; i < fast.first.size(); ++i) {
        std::vector<double> all;
        for (size_t j = 0; j < static_cast<size_t>(t.c.tables[reference].rows); ++j)
          all.push_back(l1(t.c, 1, i, reference, j));
        std::sort(all.begin(), all.end());
        ASSERT_NEAR(all[0], fast.first[i], 1e-12) << n << " rows, row " << i;
        if (all.size() > 1) ASSERT_NEAR(all[1], fast.second[i], 1e-12);
        else ASSERT_TRUE(std::isinf(fast.second[i]));
      }
    }
  }
}

// Wide tables sum in several chunks; codes beyond 16 bits share positions; every instruction set gives the same bits.
TEST(QualityOracle, NearestOnEveryKernelWithManyColumnsAndLevels) {
  std::mt19937 gen(3);
  for (const int numbers : {0, 1, 16, 37}) {
    const int levels = 40 - numbers, rows = 300, queries = 60;
    std::vector<std::vector<double>> x, qx;
    std::vector<std::vector<int32_t>> codes, query_codes;
    tq::DistanceTable reference{rows, {}}, query{queries, {}};
    for (int c = 0; c < numbers; ++c) {
      std::vector<double> a(static_cast<size_t>(rows)), b(static_cast<size_t>(queries));
      for (double& v : a) v = gen() % 10 == 0 ? tessera::kMissing : static_cast<double>(gen() % 1000);
      for (double& v : b) v = gen() % 10 == 0 ? tessera::kMissing : static_cast<double>(gen() % 4000) - 1500;
      x.push_back(std::move(a));
      qx.push_back(std::move(b));
    }
    for (int c = 0; c < levels; ++c) {
      std::vector<int32_t> a(static_cast<size_t>(rows)), b(static_cast<size_t>(queries));
      for (auto* column : {&a, &b})
        for (int32_t& v : *column) v = static_cast<int32_t>(gen() % 3) * 65536 + static_cast<int32_t>(gen() % 3) - 1;
      codes.push_back(std::move(a));
      query_codes.push_back(std::move(b));
    }
    for (size_t c = 0; c < x.size(); ++c) {
      reference.columns.push_back({x[c], {}, 1000});
      query.columns.push_back({qx[c], {}, 1000});
    }
    for (size_t c = 0; c < codes.size(); ++c) {
      reference.columns.push_back({{}, codes[c], 1});
      query.columns.push_back({{}, query_codes[c], 1});
    }
    for (const tessera::ArrayKernels* kernels : tessera::runnable_array_kernels()) {
      const tq::NearestIndex index(reference, {1, 1}, *kernels);
      tq::NearestIndex::Scratch scratch;
      for (int i = 0; i < queries; ++i) {
        std::vector<double> all;
        for (size_t j = 0; j < static_cast<size_t>(rows); ++j) {
          double sum = 0;
          for (size_t c = 0; c < x.size(); ++c) {
            const double a = qx[c][static_cast<size_t>(i)], b = x[c][j];
            sum += both_or_one_missing(a, b) ? (std::isnan(a) != std::isnan(b)) : std::min(std::abs(a - b) / 1000, 1.0);
          }
          for (size_t c = 0; c < codes.size(); ++c) sum += query_codes[c][static_cast<size_t>(i)] != codes[c][j];
          all.push_back(sum);
        }
        std::sort(all.begin(), all.end());
        const auto found = index.search(query, i, true, scratch);
        ASSERT_EQ(all[0], found.first) << kernels->name << ", " << numbers << " numbers";
        ASSERT_EQ(all[1], found.second) << kernels->name << ", " << numbers << " numbers";
      }
    }
  }
}

// Many rows at nearly the same distance: a bound that is too sharp by less than one position would lose the nearest.
TEST(QualityOracle, NearestAmongAlmostEquallyNear) {
  std::mt19937 gen(9);
  std::uniform_real_distribution<double> uniform(0, 1);
  const size_t rows = 3000, queries = 400, columns = 8;
  std::vector<std::vector<double>> x(columns, std::vector<double>(rows)), q(columns, std::vector<double>(queries));
  tq::DistanceTable reference{static_cast<int64_t>(rows), {}}, query{static_cast<int64_t>(queries), {}};
  for (size_t c = 0; c < columns; ++c) {
    for (double& v : x[c]) v = uniform(gen);
    for (double& v : q[c]) v = 0.5 + 0.001 * uniform(gen);
    reference.columns.push_back({x[c], {}, 1});
    query.columns.push_back({q[c], {}, 1});
  }
  // Rows on one sphere of the L1 distance around (½, …, ½), up to parts of a position.
  for (size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += std::abs(x[c][i] - 0.5);
    for (size_t c = 0; c < columns; ++c) x[c][i] = 0.5 + (x[c][i] - 0.5) * (0.9 + 1e-4 * uniform(gen)) / sum;
  }
  for (const double cap : {1.0, static_cast<double>(INFINITY)})
    for (const tessera::ArrayKernels* kernels : tessera::runnable_array_kernels()) {
      const tq::NearestIndex index(reference, {cap, cap == 1.0 ? 1.0 : 2.0}, *kernels);
      tq::NearestIndex::Scratch scratch;
      for (size_t i = 0; i < queries; ++i) {
        double best = INFINITY;
        for (size_t j = 0; j < rows; ++j) {
          double sum = 0;
          for (size_t c = 0; c < columns; ++c) sum += std::abs(q[c][i] - x[c][j]);
          best = std::min(best, sum);
        }
        ASSERT_EQ(best, index.search(query, static_cast<int64_t>(i), false, scratch).first)
            << kernels->name << " row " << i;
      }
    }
}

TEST(QualityOracle, RowsMatchedWithinTolerance) {
  quality_test::Bench bench;
  for (const double tolerance : {0.0, 0.01, 0.2}) {
    Tables t(250, 400, 10, 11);
    // Few columns, so that there are matches; some copied rows, so that there are exact ones.
    for (Table* table : {&t.real, &t.synthetic}) table->columns.resize(4);
    for (size_t k = 0; k < 4; ++k)
      for (size_t i = 0; i < 40; ++i) {
        if (tessera::is_numeric(t.real.columns[k].type))
          t.synthetic.columns[k].numbers[i] = t.real.columns[k].numbers[2 * i];
      }
    const Comparison c = tq::compare_tables({{"real", &t.real}, {"synthetic", &t.synthetic}});
    const auto fast = tq::match_rows(c, 1, 0, tolerance, bench.workers);
    int64_t matches = 0;
    for (size_t i = 0; i < fast.size(); ++i) {
      bool slow = false;
      for (size_t j = 0; j < 250 && !slow; ++j) slow = agrees(c, i, j, tolerance);
      ASSERT_EQ(slow, fast[i] != 0) << "row " << i << " at " << tolerance;
      matches += slow;
    }
    EXPECT_GT(matches, 0);
    EXPECT_LT(matches, 400);
  }
}

TEST(QualityOracle, KolmogorovSmirnovOverEveryValue) {
  const Tables t(400, 300, 10, 21);
  for (size_t k = 0; k < t.c.facts.size(); ++k) {
    const auto a = t.c.tables[0].columns[k].numbers, b = t.c.tables[1].columns[k].numbers;
    const double fast = tq::ks_complement(a, b, false);
    double gap = 0, na = 0, nb = 0;
    for (const double x : a) na += !std::isnan(x);
    for (const double x : b) nb += !std::isnan(x);
    if (na == 0 || nb == 0) continue;
    for (const auto* column : {&a, &b})
      for (const double at : *column) {
        if (std::isnan(at)) continue;
        double below_a = 0, below_b = 0;
        for (const double x : a) below_a += x <= at;
        for (const double x : b) below_b += x <= at;
        gap = std::max(gap, std::abs(below_a / na - below_b / nb));
      }
    EXPECT_NEAR(1 - gap, fast, 1e-12) << t.c.facts[k].name;
  }
}

// Dense counts and sorted keys are the same contingency; and both are the definition.
TEST(QualityOracle, ContingencyDenseAndSorted) {
  std::mt19937 gen(5);
  for (const int spread : {1, 300}) {  // 300: levels enough that cells are counted by sorted keys
    const size_t n = 500, m = 400;
    const int32_t levels = 7 * spread + 1;
    std::vector<int32_t> ra(n), rb(n), sa(m), sb(m);
    const auto fill = [&](std::vector<int32_t>& v) {
      for (int32_t& x : v) x = static_cast<int32_t>(gen() % 8) * spread - 1;
      for (int32_t& x : v) x = std::max(x, -1);
    };
    for (auto* v : {&ra, &rb, &sa, &sb}) fill(*v);
    for (size_t i = 0; i < n; i += 2) rb[i] = ra[i];
    tq::Association association;
    const double fast = tq::contingency_similarity({ra, {}, levels}, {rb, {}, levels}, {sa, {}, levels},
                                                   {sb, {}, levels}, &association);
    std::map<std::pair<int, int>, double> r, s;
    std::map<int, double> in_a, in_b;
    for (size_t i = 0; i < n; ++i) r[{ra[i], rb[i]}] += 1, in_a[ra[i]] += 1, in_b[rb[i]] += 1;
    for (size_t i = 0; i < m; ++i) s[{sa[i], sb[i]}] += 1;
    for (const auto& [key, count] : s) r.try_emplace(key, 0);
    double distance = 0, chi2 = 0;
    for (const auto& [key, count] : r) distance += std::abs(count / n - (s.count(key) != 0 ? s[key] : 0) / m);
    for (const auto& [a, count_a] : in_a)
      for (const auto& [b, count_b] : in_b) {
        const double expected = count_a * count_b / n, seen = r.count({a, b}) != 0 ? r[{a, b}] : 0;
        chi2 += (seen - expected) * (seen - expected) / expected;
      }
    EXPECT_NEAR(1 - distance / 2, fast, 1e-12);
    EXPECT_NEAR(std::sqrt(chi2 / n / static_cast<double>(std::min(in_a.size(), in_b.size()) - 1)), association.real,
                1e-12);
  }
}
