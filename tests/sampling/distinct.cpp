// Rows without copies (models/dedup/distinct_rows.h).
#include "models/dedup/distinct_rows.h"

#include <set>

#include "models/tables.h"

namespace tessera::whole {
namespace {

Table pairs(int64_t n) {  // 12 × 6 pairs, unevenly often
  const auto part = [](int64_t i, uint32_t stream, int of) {
    const double u = uniform(i, stream);
    return static_cast<int>(u * u * of);
  };
  return table({texts_by("a", n, [&](int64_t i) { return "a" + std::to_string(part(i, 1, 12)); }),
                whole_by("b", n, [&](int64_t i) { return part(i, 2, 6); })});
}

const Model& of_pairs() {
  static const Model m = fit(pairs(2000), quick_made(2));
  return m;
}

Table distinct_rows(int64_t count, const Table* against = nullptr, int batch = 0, int threads = 1,
                    std::vector<std::string>* said = nullptr) {
  Team team(threads);
  Monitor monitor;
  if (said != nullptr)
    monitor.on_progress = [&](const Progress& p) {
      if (std::string(p.phase) == "notice") said->push_back(p.note);
    };
  SampleOptions o;
  o.batch = batch;
  const auto open = [&](int64_t first, int64_t n, const Monitor& m) { return of_pairs().sample(first, n, o, team, m); };
  const auto stream = open_distinct_rows(open, of_pairs().schema(), count, against, nullptr, monitor);
  Table out = drain(*stream, of_pairs().schema());
  EXPECT_EQ(stream->report().rows, out.rows);
  return out;
}

TEST(Distinct, AreTheFirstRowsThatEqualNoEarlierOne) {
  std::vector<std::string> first;
  std::set<std::string> seen;
  for (const std::string& line : lines(sample(of_pairs(), 3000)))
    if (first.size() < 30 && seen.insert(line).second) first.push_back(line);
  ASSERT_EQ(first.size(), 30u);
  EXPECT_EQ(lines(distinct_rows(30)), first);
}

TEST(Distinct, DoNotDependOnBatchesOrThreads) {
  const std::vector<std::string> rows = lines(distinct_rows(40));
  for (const auto& [batch, threads] : {std::pair{2, 1}, {64, 3}, {1000, 2}})
    EXPECT_EQ(lines(distinct_rows(40, nullptr, batch, threads)), rows) << batch;
}

TEST(Distinct, EqualNoRowOfTheOtherTable) {
  const Table others = sample(of_pairs(), 25);
  const std::vector<std::string> known = lines(others);
  const Table rows = distinct_rows(20, &others);
  EXPECT_EQ(rows.rows, 20);
  for (const std::string& line : lines(rows)) EXPECT_EQ(std::count(known.begin(), known.end(), line), 0) << line;
}

TEST(Distinct, AShortfallIsSaid) {
  std::vector<std::string> said;
  const Table rows = distinct_rows(500, nullptr, 0, 1, &said);
  EXPECT_LE(rows.rows, 72);  // all pairs there are
  EXPECT_GT(rows.rows, 60);
  ASSERT_FALSE(said.empty());
  EXPECT_NE(said.back().find("of 500 rows"), std::string::npos) << said.back();
}

TEST(Distinct, ATableWithoutAColumnIsRefused) {
  const Table other = without(pairs(3), "b");
  EXPECT_TRUE(thrown([&] { distinct_rows(1, &other); }).says("lacks column \"b\""));
}

}  // namespace
}  // namespace tessera::whole
