// Training by sampling: conditions have their probabilities, absent values are never drawn, and the gathered rows
// satisfy the conditions.
#include <gtest/gtest.h>

#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

// Two discrete columns over a table of 60 rows: four values with 30, 0, 24 and 6 rows; two with 0 and 60.
struct Table {
  static constexpr int kRows = 60;
  std::vector<int> codes;
  Spans spans{{{0, 1, false, -1}, {1, 4, true, 0}, {5, 2, true, 4}}};
  std::vector<double> probability{0.5, 0, 0.4, 0.1, 0, 1};

  Table() {
    for (int r = 0; r < kRows; ++r) codes.insert(codes.end(), {r % 10 == 7 ? 3 : r % 2 == 0 ? 0 : 2, 1});
  }
  // Conditions, rows and the rows' sparse entries after `step` steps, for a batch.
  Values draw(int64_t batch, int64_t steps, const KernelTable* table) const {
    Sandbox s;
    std::vector<double> cumulative;
    double sum = 0;
    for (size_t k = 0; k < probability.size(); ++k) cumulative.push_back(sum = (k == 4 ? 0 : sum) + probability[k]);
    cumulative[3] = cumulative[5] = 1;
    std::vector<int> offset, index;
    for (const auto& [column, width] : {std::pair{0, 4}, {1, 2}}) {
      int count = 0;
      for (int v = 0; v < width; ++v) {
        offset.push_back(count);
        for (int r = 0; r < kRows; ++r)
          if (codes[static_cast<size_t>(2 * r + column)] == v) index.push_back(r), ++count;
      }
      offset.push_back(count);
    }
    const Var c = s.real("cumulative", {1, 6}), start = s.index("start", {3, 1}, std::vector<int>{0, 4, 6});
    s.values["cumulative"] = cumulative;
    const auto drawn = s.r.emit(DrawConditions{1, batch, 2, kRows}, {c, start, s.index("offset", {8, 1}, offset),
                                                                     s.index("index", {2 * kRows, 1}, index), Var{}});
    const auto entries = s.r.emit(GatherRows{spans.table()},
                                  {s.index("codes", {kRows, 2}, codes), s.real("alphas", {kRows, 1}), drawn[1]});
    s.see(drawn[0], "condition");
    s.see(drawn[1], "row");
    s.see(sparse_dense(entries[0], entries[1], 7, 3), "dense");
    return s.run({table, {}, 1, steps});
  }
};

TEST(Conditions, FollowTheirProbabilities) {
  const Table t;
  const int64_t batch = 20000;
  const Values v = t.draw(batch, 1, &cpu_kernels());
  std::vector<double> seen(6);
  for (const double c : v.at("condition")) ++seen[static_cast<size_t>(c)];
  EXPECT_EQ(seen[1], 0);
  EXPECT_EQ(seen[4], 0);
  double chi = 0;
  for (size_t k = 0; k < 6; ++k) {
    const double want = 0.5 * t.probability[k] * static_cast<double>(batch);  // the column uniformly
    if (want > 0) chi += (seen[k] - want) * (seen[k] - want) / want;
  }
  EXPECT_LT(chi, 3 + 5 * std::sqrt(6.0)) << "four values with a share: three degrees of freedom";
}

TEST(Conditions, GatherMatchingRowsUniformly) {
  const Table t;
  const int64_t batch = 20000;
  for (const KernelTable* table : {&cpu_kernels(), cpu_kernels("double")}) {
    const Values v = t.draw(batch, 1, table);
    std::vector<double> seen(Table::kRows);
    for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
      const int condition = static_cast<int>(v.at("condition")[i]), row = static_cast<int>(v.at("row")[i]);
      ASSERT_GE(row, 0);
      ASSERT_LT(row, Table::kRows);
      ASSERT_EQ(t.codes[static_cast<size_t>(2 * row + (condition >= 4))], condition >= 4 ? condition - 4 : condition);
      ASSERT_EQ(v.at("dense")[7 * i + 1 + static_cast<size_t>(condition)], 1) << "the gathered row holds the value";
      if (condition == 0) ++seen[static_cast<size_t>(row)];
    }
    const double rows = 30, total = 0.25 * static_cast<double>(batch);
    double chi = 0;
    for (int r = 0; r < Table::kRows; ++r)
      if (t.codes[static_cast<size_t>(2 * r)] == 0)
        chi += (seen[static_cast<size_t>(r)] - total / rows) * (seen[static_cast<size_t>(r)] - total / rows) /
               (total / rows);
    EXPECT_LT(chi, 29 + 5 * std::sqrt(58.0) + 5);
  }
}

TEST(Conditions, AgreeInFloatAndDoubleAndDifferByStep) {
  const Table t;
  EXPECT_EQ(t.draw(64, 1, &cpu_kernels()).at("row"), t.draw(64, 1, cpu_kernels("double")).at("row"));
  EXPECT_NE(t.draw(64, 1, &cpu_kernels()).at("row"), t.draw(64, 2, &cpu_kernels()).at("row"));
}

}  // namespace
}  // namespace tessera::sandbox
