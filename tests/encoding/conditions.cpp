// Training by sampling: equal to the published vectors; absent values cannot be drawn; the same for every team.
#include "tables/encoding/conditions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "support/golden.h"
#include "support/thrown.h"

namespace tessera {
namespace {

ConditionTable build(const golden::Case& c, int threads) {
  const auto& raw = c["codes"];
  const std::vector<int32_t> codes(raw.values.begin(), raw.values.end());
  const std::vector<int32_t> width = c.config["widths"].get<std::vector<int32_t>>();
  std::vector<int32_t> code;
  for (size_t j = 0; j < width.size(); ++j) code.push_back(static_cast<int32_t>(j));
  Team team(threads);
  return build_conditions(codes.data(), raw.rows(), raw.cols(), code, width, c.config["log_frequency"], team);
}

TEST(Conditions, Golden) {
  GOLDEN_CASES_OR_SKIP(cases, "condition");
  for (const auto& path : cases) {
    const auto c = golden::read(path);
    SCOPED_TRACE(c.name);
    const ConditionTable t = build(c, 2);
    ASSERT_EQ(t.rows, c.config["n"].get<int64_t>());
    EXPECT_NEAR(t.column_probability(), c["column_probability"].values[0], 1e-14);
    for (size_t p = 0; p < t.count.size(); ++p) {
      EXPECT_NEAR(t.train_joint[p], c["train_joint"].values[p], 1e-14);
      EXPECT_NEAR(t.sample_joint[p], c["sample_joint"].values[p], 1e-14);
    }
    for (size_t j = 0; j < t.width.size(); ++j) {
      const std::string name = std::string(".").append(std::to_string(j));
      const size_t start = static_cast<size_t>(t.cond_start[j]);
      EXPECT_EQ(start, c["cond_start"].values[j]);
      for (size_t v = 0; v < static_cast<size_t>(t.width[j]); ++v) {
        EXPECT_EQ(t.count[start + v], c["count" + name].values[v]);
        EXPECT_NEAR(t.train_probability[start + v], c["train_probability" + name].values[v], 1e-14);
        EXPECT_NEAR(t.sample_probability[start + v], c["sample_probability" + name].values[v], 1e-14);
      }
      const auto& index = c["rows" + name + ".index"].values;
      for (size_t i = 0; i < index.size(); ++i) ASSERT_EQ(t.row_index[j * index.size() + i], index[i]);
      const auto& offset = c["rows" + name + ".offset"].values;
      for (size_t v = 0; v < offset.size(); ++v) ASSERT_EQ(t.row_offset[start + j + v], offset[v]);
    }
  }
}

// First position whose cumulative entry exceeds u: the draw of every backend.
template <class Real>
size_t draw(const std::vector<Real>& cumulative, size_t width, Real u) {
  size_t v = 0;
  while (v + 1 < width && !(u < cumulative[v])) ++v;
  return v;
}

TEST(Conditions, AbsentValuesAreNeverDrawn) {
  // Present: 1, 3, 6 of 8; absent values lie before, between and after them.
  std::vector<int32_t> codes;
  for (int i = 0; i < 1000; ++i) codes.push_back(i < 10 ? 1 : i < 300 ? 3 : 6);
  const std::vector<int32_t> code{0}, width{8};
  Team team(1);
  for (bool log_frequency : {true, false}) {
    const ConditionTable t = build_conditions(codes.data(), 1000, 1, code, width, log_frequency, team);
    for (int i = 0; i <= 4000; ++i) {
      const double u = i == 0 ? 1e-300 : i == 4000 ? std::nextafter(1.0, 0.0) : i / 4000.0;
      const float f = i == 0 ? 1e-38f : i == 4000 ? std::nextafterf(1.0f, 0.0f) : static_cast<float>(u);
      for (const auto* cumulative : {&t.train_cumulative, &t.sample_cumulative})
        EXPECT_GT(t.count[draw(*cumulative, 8, u)], 0) << u;
      for (const auto* cumulative : {&t.train_cumulative_f32, &t.sample_cumulative_f32})
        EXPECT_GT(t.count[draw(*cumulative, 8, f)], 0) << u;
    }
    EXPECT_EQ(t.row_offset[0], t.row_offset[1]);
    EXPECT_EQ(t.sample_probability[0], 0);
    EXPECT_EQ(t.train_probability[7], 0);
  }
}

TEST(Conditions, TakesTheCategorySpansOfALayout) {
  // Two code columns: a mode span, which is no condition, and a category span of three values.
  RowLayout layout;
  layout.spans = {
      {0, Span::Part::alpha, 0, 1, -1}, {0, Span::Part::mode, 1, 2, -1}, {1, Span::Part::category, 3, 3, 0}};
  EncodedTable table{4, {0, 0, 0, 0}, {0, 2, 1, 0, 0, 2, 1, 1}};
  Team team(2);
  const ConditionTable t = build_conditions(table, layout, true, team);
  EXPECT_EQ(t.columns(), 1);
  EXPECT_EQ(t.code[0], 1);
  EXPECT_EQ(t.count, (std::vector<int64_t>{1, 1, 2}));
  EXPECT_EQ(t.row_index, (std::vector<int32_t>{1, 3, 0, 2}));
}

TEST(Conditions, NoDiscreteColumnGivesAnEmptyTable) {
  RowLayout layout;
  layout.spans = {{0, Span::Part::alpha, 0, 1, -1}, {0, Span::Part::mode, 1, 2, -1}};
  Team team(1);
  const ConditionTable t = build_conditions(EncodedTable{2, {0, 0}, {0, 1}}, layout, true, team);
  EXPECT_EQ(t.columns(), 0);
  EXPECT_EQ(t.cond_width, 0);
}

TEST(Conditions, ACodeOutOfRangeIsAnError) {
  const std::vector<int32_t> codes{0, 1, 5}, code{0}, width{3};
  Team team(2);
  test::expect_error(ErrorCode::data, {"code 5"},
                     [&] { build_conditions(codes.data(), 3, 1, code, width, true, team); });
}

}  // namespace
}  // namespace tessera
