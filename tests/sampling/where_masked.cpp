// Conditions on columns of Made: levels that do not meet them are never drawn, and what is returned has the law that
// rejection gives.
#include "models/tables.h"
#include "tables/expression/where.h"

namespace tessera::whole {
namespace {

// Three columns that depend on each other: x a number in bins, c of four levels, y a number near x that has gaps; and
// one that depends on none, with a rare level.
const Model& chained() {
  constexpr int64_t kRows = 3000;
  static const Model m = [] {
    const auto x = [](int64_t i) { return std::round(100 * normal(i, 1)) / 100; };
    const auto c = [&](int64_t i) { return std::floor(std::clamp(x(i) + 2 + 0.5 * normal(i, 2), 0.0, 3.0)); };
    return fit(table({decimals_by("x", kRows, 2, x),
                      texts_by("c", kRows, [&](int64_t i) { return std::string(1, static_cast<char>('a' + c(i))); }),
                      decimals_by("y", kRows, 2,
                                  [&](int64_t i) {
                                    return uniform(i, 3) < 0.1 ? kMissing
                                                               : std::round(100 * (x(i) + c(i) + normal(i, 4))) / 100;
                                  }),
                      texts_by("k", kRows, [](int64_t i) { return uniform(i, 5) < 0.03 ? "rare" : "common"; })}),
               quick_made(15));
  }();
  return m;
}

// Cells of a histogram over x, c and y.
size_t cell_of(const Table& t, int64_t i) {
  const double x = column(t, "x").numbers[static_cast<size_t>(i)], y = column(t, "y").numbers[static_cast<size_t>(i)];
  const auto c = static_cast<size_t>(cell(column(t, "c"), i)[0] - 'a');
  const auto part = [](double v) { return v != v ? size_t{4} : static_cast<size_t>(std::clamp(v + 2, 0.0, 3.0)); };
  return (part(x) * 4 + c) * 5 + part(y);
}

// χ² of two samples over the cells that both together fill, and its degrees of freedom.
std::pair<double, int> two_sample(const std::vector<double>& a, const std::vector<double>& b) {
  double na = 0, nb = 0, statistic = 0;
  for (size_t k = 0; k < a.size(); ++k) na += a[k], nb += b[k];
  int cells = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const double both = a[k] + b[k], expected_a = both * na / (na + nb), expected_b = both * nb / (na + nb);
    if (std::min(expected_a, expected_b) < 5) continue;
    ++cells;
    statistic += std::pow(a[k] - expected_a, 2) / expected_a + std::pow(b[k] - expected_b, 2) / expected_b;
  }
  return {statistic, cells - 1};
}

std::vector<double> histogram(const Table& t, const std::vector<char>* keep = nullptr) {
  std::vector<double> count(80, 0);
  for (int64_t i = 0; i < t.rows; ++i)
    if (keep == nullptr || (*keep)[static_cast<size_t>(i)] != 0) ++count[cell_of(t, i)];
  return count;
}

TEST(WhereMasked, RowsHaveTheDistributionOfRejection) {
  static const Table free = sample(chained(), 120000, {}, {0, 2});
  for (const char* condition :
       {"y > 1.237", "c = 'd'", "c in ('a', 'b') and y < 0.5", "x between 0.213 and 0.4", "y is null and x > 1",
        "x < -1 or x > 1.513", "c like 'd%' or c = 'b'", "(c = 'a' and x > -1.2) or (c = 'd' and y > 2)",
        "y between 2.5 and 2.9 and c != 'd'", "x = 0.5", "k = 'rare'"}) {
    std::vector<char> keep;
    std::vector<int64_t> failed;
    const Where parsed = parse_where(condition, chained().schema());
    match_where(parsed, free, keep, failed);
    SampleReport report;
    const Table made = sample(chained(), 4000, where(condition), {0, 2}, &report);
    std::vector<char> met;
    match_where(parsed, made, met, failed);
    EXPECT_EQ(std::count(met.begin(), met.end(), 1), made.rows) << condition;
    const auto [statistic, freedom] = two_sample(histogram(made), histogram(free, &keep));
    EXPECT_LT(statistic, freedom + 4 * std::sqrt(2.0 * std::max(freedom, 1)) + 6) << condition << ", " << freedom;
    const double by_rejection = static_cast<double>(std::count(keep.begin(), keep.end(), 1)) / 120000;
    EXPECT_GT(4000.0 / static_cast<double>(report.candidates), 0.95 * by_rejection) << condition;
  }
}

// A condition on the first column needs no correction: every candidate is a row, in a bin that the condition cuts too.
TEST(WhereMasked, AcceptsEveryCandidateForTheFirstColumn) {
  SampleReport report;
  sample(chained(), 500, where("x between 0.213 and 0.4"), {}, &report);
  EXPECT_EQ(report.candidates, 500);
}

// What the columns before hardly tell of costs less than rejection: half of its candidates, if not fewer.
TEST(WhereMasked, FindsARareLevelSoonerThanRejection) {
  SampleReport report;
  sample(chained(), 500, where("k = 'rare'"), {}, &report);
  EXPECT_LT(static_cast<double>(report.candidates), 0.5 * 500 / 0.03);
}

// Many comparisons of a column cost little each: by pairs, or by one table a number, these would take hours.
TEST(WhereMasked, ManyTermsAreAsOneThatImpliesThem) {
  const std::vector<std::string> free = lines(sample(chained(), 50, where("y > 0.5")));
  std::string any = "y > 0.5", all = "y > 0.5", none = "y > 0.5";
  for (int i = 0; i < 4000; ++i) {
    any += " or y > " + std::to_string(0.5 + i * 1e-3);
    all += " and y > " + std::to_string(0.5 - i * 1e-3);
    none += " and y > -" + std::to_string(i);
  }
  EXPECT_EQ(lines(sample(chained(), 50, where(any))), free);
  EXPECT_EQ(lines(sample(chained(), 50, where(all))), free);
  const Thrown t = thrown([&] { sample(chained(), 50, where("y < 0.25 and " + none)); });
  EXPECT_EQ(t.code, ErrorCode::condition);
  EXPECT_TRUE(t.says("both \"y < 0.25\" and \"y > 0.5\"")) << t.message.substr(0, 300);
}

TEST(WhereMasked, RowsAreEqualForAnyBatchThreadsAndSlice) {
  SampleOptions o = where("y > 1.237 and c != 'b'");
  const std::vector<std::string> all = lines(sample(chained(), 300, o));
  o.batch = 7;
  EXPECT_EQ(lines(sample(chained(), 300, o, {0, 3})), all);
  const std::vector<std::string> part = lines(sample(chained(), 100, o, {150, 2}));
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 150));
}

}  // namespace
}  // namespace tessera::whole
