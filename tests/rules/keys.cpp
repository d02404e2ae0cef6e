// Two columns that are a key together: no pair occurs twice in samples, and what counts within a value has no gaps.
#include <nlohmann/json.hpp>
#include <set>

#include "rules/orders.h"

namespace tessera::whole {
namespace {

constexpr int64_t kUsers = 300;

struct Loans {
  std::vector<double> user, loan, course;
  std::vector<std::string> name;
};
// 1 to 6 loans of each user, numbered from `first`; courses of 12, none twice.
Loans loans(double first = 1) {
  Loans out;
  for (int64_t u = 0; u < kUsers; ++u) {
    const auto start = static_cast<int>(12 * uniform(u, 2)),
               step = std::vector<int>{1, 5, 7, 11}[static_cast<size_t>(4 * uniform(u, 3))];
    for (int n = 0; n < 1 + static_cast<int>(6 * uniform(u, 1)); ++n) {
      out.user.push_back(5000 + static_cast<double>(u)), out.loan.push_back(first + n);
      out.course.push_back((start + n * step) % 12);
      out.name.push_back("U" + std::to_string(10000 + 7 * u));
    }
  }
  return out;
}

Table loan_table(const Loans& l, bool texts_of_users = false) {
  const auto rows = static_cast<int64_t>(l.user.size());
  return table(
      {texts_of_users ? texts("user", ColumnType::identifier, l.name) : numbers("user", ColumnType::integer, l.user),
       numbers("loan", ColumnType::integer, l.loan),
       decimals_by("amount", rows, 2, [](int64_t i) { return std::floor(1e5 * uniform(i, 5)) / 100; }),
       texts_by("status", rows, [](int64_t i) { return uniform(i, 6) < 0.3 ? "open" : "closed"; })});
}

void expect_counts(const Table& t, double first, int64_t rows) {
  std::map<std::string, std::set<double>> loans;
  for (int64_t i = 0; i < t.rows; ++i)
    EXPECT_TRUE(loans[cell(column(t, "user"), i)].insert(column(t, "loan").numbers[static_cast<size_t>(i)]).second)
        << i;
  for (const auto& [user, numbers] : loans) {
    EXPECT_EQ(*numbers.begin(), first) << user;
    EXPECT_EQ(*numbers.rbegin() - *numbers.begin() + 1, static_cast<double>(numbers.size())) << user;
  }
  EXPECT_NEAR(static_cast<double>(loans.size()), static_cast<double>(rows) / 3.5, 0.12 * static_cast<double>(rows) + 3);
}

TEST(Keys, CountWithoutGapsInSamples) {
  for (const bool texts_of_users : {false, true})
    for (const double first : {0, 1}) {
      const Table real = loan_table(loans(first), texts_of_users);
      const Model m = fit(real, quick_made(2));
      EXPECT_NE(m.bytes().find("user and loan are unique together"), std::string::npos);
      for (const int64_t rows : {int64_t{100}, real.rows, 2 * real.rows + 17})
        expect_counts(sample(m, rows), first, rows);
      const Table open = sample(m, 200, where("status = 'open'"));
      expect_counts(open, first, 200);
      const std::vector<std::string> all = lines(sample(m, 700)), part = lines(sample(m, 100, {}, {500, 3}));
      EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 500));
      EXPECT_EQ(name(m.schema().columns[0].type), name(real.columns[0].type));
    }
}

Table courses() {
  const Loans l = loans();
  Table t = loan_table(l);
  std::vector<std::string> names;
  for (const double c : l.course) names.push_back("course " + std::to_string(static_cast<int>(c)));
  t.columns[1] = texts("course", ColumnType::category, names);
  return t;
}

TEST(Keys, GivenKeysHaveUniquePairs) {
  FitOptions options = quick_made(2);
  options.rules.given = {"user and course are unique together"};
  const Model m = fit(courses(), options);
  const Table rows = sample(m, 1500);
  std::set<std::string> pairs, names;
  for (int64_t i = 0; i < rows.rows; ++i) {
    const std::string course = cell(column(rows, "course"), i);
    names.insert(course);
    EXPECT_TRUE(pairs.insert(cell(column(rows, "user"), i) + "|" + course).second) << i;
  }
  EXPECT_EQ(names.size(), 12u);
}

TEST(Keys, RejectKeysThatTheTableBreaks) {
  const auto refused = [](Table t, const std::string& rule) {
    RuleOptions options;
    options.given = {rule};
    return thrown([&] { found(std::move(t), options); }).message;
  };
  Table twice = courses();
  twice.columns[0].numbers[1] = twice.columns[0].numbers[0], twice.columns[1].codes[1] = twice.columns[1].codes[0];
  EXPECT_NE(refused(twice, "user and course are unique together").find("rows 1 and 2 both hold \"5000\" and \"course"),
            std::string::npos);
  Table gap = courses();
  gap.columns[0].numbers[6] = kMissing;
  EXPECT_NE(refused(gap, "user and course are unique together").find("column \"user\" is missing in row 7"),
            std::string::npos);
  EXPECT_NE(refused(courses(), "user, course and status are unique together").find("a key is of two columns"),
            std::string::npos);
}

// Running numbers of few categories, and numbers that have gaps, are columns like others.
TEST(Keys, AreNotFoundElsewhere) {
  Loans l = loans();
  l.loan[5] += 1000;
  EXPECT_EQ(said(found(loan_table(l))), std::vector<std::string>{});
  Table years = loan_table(loans());  // invented ones would follow the last
  years.columns[0].name = "Year";
  EXPECT_EQ(said(found(years)), std::vector<std::string>{});
  std::vector<std::string> regions;
  std::vector<double> numbers_within(3, 0), running;
  for (int64_t i = 0; i < 900; ++i) {
    const auto r = static_cast<size_t>(3 * uniform(i, 1));
    regions.push_back("region " + std::to_string(r)), running.push_back(++numbers_within[r]);
  }
  const Table t =
      table({texts("region", ColumnType::category, regions), numbers("number", ColumnType::integer, running)});
  for (const std::string& rule : said(found(t))) EXPECT_EQ(rule.find("unique"), std::string::npos) << rule;
}

TEST(Keys, RejectDamagedFiles) {
  Table t = loan_table(loans());
  const nlohmann::json good = reduced(t).to_json();
  expect_refused(good, 0, "column",
                 nlohmann::json{{"name", "nowhere"}, {"type", "integer"}, {"format", ""}, {"decimals", 0}}, t);
  expect_refused(good, 0, "values", nlohmann::json{"x"}, t);
}

}  // namespace
}  // namespace tessera::whole
