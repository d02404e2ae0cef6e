// Made: autoregressive masks, sampling in one pass from the network's law, bits, files, edge-case tables, learned
// dependences.
#include <nlohmann/json.hpp>

#include "engine/passes/passes.h"
#include "engine/run/program.h"
#include "models/made/copula.h"
#include "models/made/dependence.h"
#include "models/made/marginals.h"
#include "models/made/sampling.h"
#include "models/method/given.h"
#include "models/method/method.h"
#include "models/tables.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

RowLayout layout_of(const std::vector<int>& widths) {
  RowLayout l;
  for (const int w : widths) {
    l.spans.push_back({static_cast<int>(l.spans.size()), Span::Part::category, l.data_width, w, -1, w / 2});
    l.data_width += w;
  }
  return l;
}

MadeConfig small() {
  MadeConfig c;
  c.hidden = 40, c.embedding_dim = 3, c.context_dim = 5;
  return c;
}

// The initial network, with an informative context.
std::vector<float> start(const Made& m) {
  std::vector<double> even(static_cast<size_t>(m.levels));
  for (const Span& s : m.columns) std::fill_n(even.begin() + s.start, s.width, 1.0 / s.width);
  std::vector<float> w = initial_network(m, even, 5);
  const Parameter& context = m.network.find("context.weight");
  for (int64_t k = 0; k < context.shape.count(); ++k) w[static_cast<size_t>(context.offset + k)] *= 8;
  return w;
}

// −log p(column | columns before, or `shown`) of rows of codes, row after row.
std::vector<float> surprises_of(const Made& m, const std::vector<float>& weights, std::vector<int32_t> codes,
                                const std::vector<float>& shown = {}) {
  const int64_t columns = m.count(), rows = static_cast<int64_t>(codes.size()) / columns;
  for (size_t i = 0; i < codes.size(); ++i) codes[i] += m.columns[i % static_cast<size_t>(columns)].start;
  Plan plan;
  Recorder r(plan);
  r.own(m.network);
  const Var index = r.input("index", {rows, columns}, DType::index);
  const Var beside = shown.empty() ? Var{} : r.input("shown", {rows, columns});
  r.output(surprises_beside(r, m, index, beside, false), "surprises");
  optimize(plan);
  Team team(2);
  Program p(std::move(plan), cpu_kernels(), team, 1);
  p.bind("index", codes.data());
  p.bind_if("shown", shown.data());
  load_states(p, {{m.network.name, weights}});
  p.run(1);
  return p.read<float>(p.find("surprises"));
}

// Every row that the widths allow.
std::vector<int32_t> all_rows(const std::vector<int>& widths) {
  std::vector<int32_t> codes;
  int64_t rows = 1;
  for (const int w : widths) rows *= w;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t left = i;
    for (const int w : widths) codes.push_back(static_cast<int32_t>(left % w)), left /= w;
  }
  return codes;
}

TEST(Made, ConditionsEachColumnOnPreviousColumns) {
  const std::vector<int> widths{3, 2, 40, 5, 2, 7};
  const Made m(layout_of(widths), small());
  const std::vector<float> weights = start(m);
  const std::vector<int32_t> row{1, 0, 20, 3, 1, 2};
  const std::vector<float> before = surprises_of(m, weights, row);
  for (size_t j = 0; j < widths.size(); ++j) {
    std::vector<int32_t> other = row;
    other[j] = (other[j] + 1) % widths[j];
    const std::vector<float> after = surprises_of(m, weights, other);
    for (size_t i = 0; i < widths.size(); ++i) {
      if (i == j) continue;
      EXPECT_EQ(after[i] != before[i], i > j) << "column " << i << " and column " << j;
    }
  }
}

TEST(Made, ConditionsOnShownColumnsInAnyOrder) {
  const std::vector<int> widths{3, 2, 40, 5, 2, 7};
  const Made m(layout_of(widths), small(), Sees::shown_columns);
  const std::vector<float> weights = start(m), shown{0, 1, 0, 1, 1, 0};
  const std::vector<int32_t> row{1, 0, 20, 3, 1, 2};
  const std::vector<float> before = surprises_of(m, weights, row, shown);
  for (size_t j = 0; j < widths.size(); ++j) {
    std::vector<int32_t> other = row;
    other[j] = (other[j] + 1) % widths[j];
    const std::vector<float> after = surprises_of(m, weights, other, shown);
    for (size_t i = 0; i < widths.size(); ++i)
      EXPECT_TRUE(i == j || (after[i] != before[i]) == (shown[j] == 1)) << "column " << i << " and column " << j;
  }
}

TEST(Made, ProbabilitiesAddUpToOne) {
  const std::vector<int> widths{3, 4, 2, 5};
  const Made m(layout_of(widths), small());
  const std::vector<float> each = surprises_of(m, start(m), all_rows(widths));
  double sum = 0;
  for (size_t i = 0; i < each.size(); i += widths.size())
    sum += std::exp(-static_cast<double>(each[i] + each[i + 1] + each[i + 2] + each[i + 3]));
  EXPECT_NEAR(sum, 1, 1e-4);
}

struct DrawnRows {
  std::vector<int32_t> codes;
  std::vector<float> log_weight;  // under evidence
};

// Rows of a sampling plan whose other inputs `bind` binds.
DrawnRows drawn_by(Plan plan, int64_t rows, const States& states, const std::function<void(Program&)>& bind) {
  optimize(plan);
  Team team(2);
  Program p(std::move(plan), cpu_kernels(), team, 3);
  std::vector<int32_t> identity(static_cast<size_t>(3 * rows), 0);
  for (int64_t i = 0; i < rows; ++i) identity[static_cast<size_t>(3 * i)] = static_cast<int32_t>(i);
  p.bind("rows", identity.data());
  bind(p);
  load_states(p, states);
  p.run(1);
  const Id weights = p.find("log_weight");
  return {p.read<int32_t>(p.find("codes")), weights == kNone ? std::vector<float>{} : p.read<float>(weights)};
}

DrawnRows draw(const Made& m, const std::vector<float>& weights, int64_t rows,
               const std::vector<float>& evidence = {}) {
  Plan plan;
  Recorder r(plan);
  r.start_purposes(Purpose::sample);
  record_sampling(r, m, rows, {evidence.empty() ? 0 : static_cast<int64_t>(evidence.size()) / m.levels});
  return drawn_by(std::move(plan), rows, {{"network", weights}},
                  [&](Program& p) { p.bind_if("evidence", evidence.data()); });
}

// Proposals of another, unrelated network; columns with a single allowed level are shown.
DrawnRows draw_in_any_order(const Made& m, const std::vector<float>& weights, const std::vector<float>& evidence) {
  RowLayout layout;
  layout.spans = m.columns, layout.data_width = static_cast<int>(m.levels);
  const Made any(layout, m.config, Sees::shown_columns);
  const int64_t rows = static_cast<int64_t>(evidence.size()) / m.levels;
  std::vector<int32_t> shown;
  std::vector<float> hidden;
  for (int64_t i = 0; i < rows; ++i)
    for (const Span& s : m.columns) {
      const float* left = evidence.data() + i * m.levels;
      std::vector<int> possible;
      for (int k = s.start; k < s.start + s.width; ++k)
        if (left[k] > kImpossible) possible.push_back(k);
      shown.push_back(possible.size() == 1 ? possible.front() : -1);
      hidden.push_back(possible.size() == 1 ? 0 : 1);
    }
  Plan plan;
  Recorder r(plan);
  r.start_purposes(Purpose::sample);
  record_any_order(r, m, any, rows);
  return drawn_by(std::move(plan), rows, {{"network", weights}, {"any_order", start(any)}}, [&](Program& p) {
    p.bind("evidence", evidence.data());
    p.bind("shown", shown.data());
    p.bind("hidden", hidden.data());
  });
}

// One pass for all columns draws from the law that one pass per column would give; also without the weights that wide
// tables omit.
TEST(Made, SamplesTheLawOfTheNetwork) {
  const std::vector<int> widths{3, 4, 2, 5};
  for (const int skip_columns : {4, 3}) {
    MadeConfig config = small();
    config.skip_columns = skip_columns;
    const Made m(layout_of(widths), config);
    EXPECT_EQ(m.skips(), skip_columns == 4);
    const std::vector<float> weights = start(m);
    constexpr int64_t kRows = 1 << 16;
    const std::vector<int32_t> drawn = draw(m, weights, kRows).codes, rows = all_rows(widths);
    std::map<std::vector<int32_t>, double> count;
    for (size_t i = 0; i < drawn.size(); i += 4)
      ++count[{drawn.begin() + static_cast<std::ptrdiff_t>(i), drawn.begin() + static_cast<std::ptrdiff_t>(i) + 4}];
    const std::vector<float> each = surprises_of(m, weights, rows);
    double statistic = 0;  // χ² with 119 degrees of freedom
    for (size_t i = 0; i < rows.size(); i += 4) {
      const double expected = kRows * std::exp(-static_cast<double>(each[i] + each[i + 1] + each[i + 2] + each[i + 3]));
      const double found =
          count[{rows.begin() + static_cast<std::ptrdiff_t>(i), rows.begin() + static_cast<std::ptrdiff_t>(i) + 4}];
      statistic += (found - expected) * (found - expected) / expected;
    }
    EXPECT_LT(statistic, 119 + 4 * std::sqrt(2.0 * 119)) << "the draws do not follow the network";
  }
}

// Three normal numbers in 12 bins, of which two correlate by `r`; a category of four levels that follows the third.
EncodedTable linear(int64_t rows, double r, int64_t first = 0) {
  const auto bin = [](double x) { return static_cast<int32_t>(12 * std::min(std::erfc(-x / M_SQRT2) / 2, 0.999)); };
  EncodedTable t;
  t.rows = rows;
  for (int64_t i = first; i < first + rows; ++i) {
    const double x = normal(i, 1), y = normal(i, 2), z = r * x + std::sqrt(1 - r * r) * normal(i, 3);
    const int part = bin(z) / 3, order[] = {2, 0, 3, 1};
    for (const int32_t code : {bin(x), bin(y), bin(z), static_cast<int32_t>(order[part])}) t.codes.push_back(code);
  }
  return t;
}

RowLayout layout_of_linear() {
  RowLayout l = layout_of({12, 12, 12, 4});
  for (Span& s : l.spans) s.ascending = s.width == 4 ? 0 : s.width;
  return l;
}

double correlation(const std::vector<int32_t>& codes, size_t columns, size_t a, size_t b) {
  double n = 0, sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (size_t i = 0; i < codes.size(); i += columns) {
    const double x = codes[i + a], y = codes[i + b];
    ++n, sa += x, sb += y, saa += x * x, sbb += y * y, sab += x * y;
  }
  return (sab - sa * sb / n) / std::sqrt((saa - sa * sa / n) * (sbb - sb * sb / n));
}

std::vector<double> even_frequencies(const Made& m) {
  std::vector<double> even(static_cast<size_t>(m.levels));
  for (const Span& s : m.columns) std::fill_n(even.begin() + s.start, s.width, 1.0 / s.width);
  return even;
}

// Before any training, rows have the correlations of the table, and a category in any order its part in them.
TEST(Made, StartsAtTheGaussianCopula) {
  const Made m(layout_of_linear(), small());
  const EncodedTable table = linear(400, 0.8);
  const std::vector<double> even = even_frequencies(m);
  Team one(1), three(3);
  const Copula copula = learn_copula(m, even, table, one), again = learn_copula(m, even, table, three);
  EXPECT_EQ(copula.score, again.score);
  EXPECT_EQ(copula.slopes, again.slopes);
  const std::vector<int32_t> drawn = draw(m, initial_network(m, even, 5, &copula), 1 << 14).codes;
  EXPECT_NEAR(correlation(drawn, 4, 0, 2), correlation({table.codes.begin(), table.codes.end()}, 4, 0, 2), 0.06);
  EXPECT_NEAR(correlation(drawn, 4, 0, 1), 0, 0.05);
  std::array<double, 4> sum{}, rows{};
  for (size_t i = 0; i < drawn.size(); i += 4) {
    sum[static_cast<size_t>(drawn[i + 3])] += drawn[i + 2];
    ++rows[static_cast<size_t>(drawn[i + 3])];
  }
  for (const auto& [low, high] : {std::pair{2u, 0u}, {0u, 3u}, {3u, 1u}})
    EXPECT_LT(sum[low] / rows[low] + 1, sum[high] / rows[high]);
  for (const double n : rows) EXPECT_NEAR(n / (1 << 14), 0.25, 0.05);
}

// The same law, whether the first columns are given or drawn.
TEST(Made, StartsAtTheGaussianCopulaAfterGivenColumns) {
  const RowLayout layout = layout_of_linear();
  const Made all(layout, small());
  const EncodedTable table = linear(400, 0.8);
  const std::vector<double> even = even_frequencies(all);
  Team team(1);
  const auto each = [&](const Made& m) {
    const Copula copula = learn_copula(m, even, table, team);
    return surprises_of(m, initial_network(m, even, 5, &copula), table.codes);
  };
  const std::vector<float> expected = each(all);
  for (const int given : {1, 2, 3}) {
    const Made after(layout, small(), Sees::columns_before, given);
    const std::vector<float> drawn = each(after);
    const auto columns = static_cast<size_t>(after.drawn_count()), first = static_cast<size_t>(given);
    ASSERT_EQ(drawn.size(), static_cast<size_t>(table.rows) * columns);
    for (size_t i = 0; i < drawn.size(); ++i)
      EXPECT_NEAR(drawn[i], expected[i / columns * (columns + first) + first + i % columns], 1e-5) << given << ' ' << i;
  }
}

// Correlations of nearly equal columns, each reduced by what chance makes of few rows, are those of no table.
TEST(Made, StartsWhereColumnsAreNearlySumsOfOthers) {
  constexpr int kColumns = 32;
  constexpr int64_t kRows = 150;
  RowLayout layout = layout_of(std::vector<int>(kColumns, 12));
  for (Span& s : layout.spans) s.ascending = s.width;
  const Made m(layout, small());
  EncodedTable table;
  table.rows = kRows;
  for (int64_t i = 0; i < kRows; ++i)
    for (uint32_t j = 0; j < kColumns; ++j) {
      const double on_first = normal(j, 90), on_second = normal(j, 91);
      const double x = on_first * normal(i, 1) + on_second * normal(i, 2) + 0.05 * normal(i, 3 + j);
      const double p = std::erfc(-x / std::hypot(on_first, on_second) / M_SQRT2) / 2;
      table.codes.push_back(static_cast<int32_t>(12 * std::min(p, 0.999)));
    }
  Team team(1);
  const std::vector<double> even = even_frequencies(m);
  const Copula copula = learn_copula(m, even, table, team), none = copula.independent();
  const auto surprise = [&](const Copula& c) {
    const std::vector<float> each = surprises_of(m, initial_network(m, even, 5, &c), table.codes);
    return std::accumulate(each.begin(), each.end(), 0.0) / kRows;
  };
  EXPECT_LT(surprise(copula), 0.7 * surprise(none));
  for (const double slope : copula.slopes) EXPECT_LT(std::abs(slope), 2);  // of nearly singular sums: thousands
}

// A city of six has its own mean of each of three numbers, in no common order, and postcodes of its own: numbers whose
// ranks say nothing of the city. All this is there before any training.
TEST(Made, StartsAtTheMeansOfCategories) {
  constexpr int64_t kRows = 1200, kCities = 6, kColumns = 5;
  const double means[kCities][3] = {{1, 0, -1}, {-1, 1, 1}, {0, -1, 1}, {1, 1, 0}, {-1, -1, -1}, {0, 0, 0}};
  const int postcode[kCities][2] = {{3, 8}, {0, 11}, {5, 6}, {1, 9}, {2, 7}, {4, 10}};
  RowLayout layout = layout_of({kCities, 2 * kCities, 12, 12, 12});
  for (Span& s : layout.spans) s.ascending = s.width == kCities ? 0 : s.width;
  const Made m(layout, MadeConfig{});
  EncodedTable table;
  table.rows = kRows;
  for (int64_t i = 0; i < kRows; ++i) {
    const int64_t city = i % kCities;
    table.codes.push_back(static_cast<int32_t>(city));
    table.codes.push_back(postcode[city][normal(i, 1) > 0]);
    for (uint32_t k = 0; k < 3; ++k) {
      const double x = (means[city][k] + 0.5 * normal(i, 2 + k)) / 0.95;
      table.codes.push_back(static_cast<int32_t>(12 * std::min(std::erfc(-x / M_SQRT2) / 2, 0.999)));
    }
  }
  const auto city_means = [&](const std::vector<int32_t>& codes) {
    std::array<std::array<double, kColumns>, kCities> sum{};
    for (size_t i = 0; i < codes.size(); i += kColumns)
      for (size_t k = 1; k < kColumns; ++k) {
        auto& of = sum[static_cast<size_t>(codes[i])];
        const int32_t* own = postcode[codes[i]];
        of[k] += k > 1 ? codes[i + k] : codes[i + 1] == own[0] || codes[i + 1] == own[1];
        if (k == 1) ++of[0];
      }
    for (auto& of : sum)
      for (size_t k = 1; k < kColumns; ++k) of[k] /= of[0];
    return sum;
  };
  Team team(1);
  const std::vector<double> even = even_frequencies(m);
  const Copula copula = learn_copula(m, even, table, team);
  const auto real = city_means({table.codes.begin(), table.codes.end()});
  const auto drawn = city_means(draw(m, initial_network(m, even, 5, &copula), 1 << 14).codes);
  for (size_t c = 0; c < kCities; ++c) {
    EXPECT_GT(drawn[c][1], 0.8) << "postcodes of city " << c;
    for (size_t k = 2; k < kColumns; ++k) EXPECT_NEAR(drawn[c][k], real[c][k], 1) << "city " << c << ", number " << k;
  }
}

// What chance makes of few rows is no dependence.
TEST(Made, StartsAtIndependentColumnsWithoutDependence) {
  const Made m(layout_of_linear(), small());
  double sum = 0, squares = 0;
  Team team(1);
  for (int64_t k = 0; k < 20; ++k) {
    const Copula c = learn_copula(m, even_frequencies(m), linear(100, 0, 1000 * k), team);
    for (const auto& [of, on] : {std::pair{1u, 0u}, {2u, 0u}, {2u, 1u}}) {  // the ranks of the three numbers
      const double slope = c.slopes[c.first[of] * c.scores() + c.first[on]];
      sum += slope != 0, squares += slope * slope;
    }
  }
  EXPECT_LT(sum, 0.7 * 60);
  EXPECT_LT(squares / 60, 0.5 / 100);  // of correlations as they are: .01
}

// Dependence in steps that no correlation shows; x, y: numbers of 12 levels, the others letters of 3 kinds.
EncodedTable stepped(int64_t rows, uint32_t stream) {
  EncodedTable table;
  table.rows = rows;
  const auto draw = [&](int64_t i, uint32_t k, int levels) {
    return static_cast<int32_t>(levels * std::min(std::erfc(-normal(i, stream + k) / M_SQRT2) / 2, 0.999));
  };
  for (int64_t i = 0; i < rows; ++i) {
    const int32_t x = draw(i, 1, 12), noise = draw(i, 2, 12), y = (x / 3) % 2 == 0 ? noise / 2 : 6 + noise / 2;
    for (const int32_t code : {draw(i, 3, 3), x, draw(i, 4, 12), draw(i, 5, 3), y, draw(i, 6, 3)})
      table.codes.push_back(code);
  }
  return table;
}

// What depends on nothing before it is not learned, what nothing depends on is not seen; neither for any threads.
TEST(Made, LeavesOutColumnsWhoseDependenceIsChance) {
  RowLayout layout = layout_of({3, 12, 12, 3, 12, 3});
  for (Span& s : layout.spans) s.ascending = s.width == 12 ? 12 : 0;
  int64_t mistakes = 0;
  for (const int64_t rows : {200, 2000})
    for (uint32_t k = 0; k < 10; ++k) {
      Made m(layout, small());
      const EncodedTable table = stepped(rows, 100 * k);
      Team team(1 + k % 3);
      leave_out_chance(m, even_frequencies(m), table, team);
      ASSERT_EQ(m.seen.size(), 6u);
      EXPECT_TRUE(m.is_seen(1) && m.is_seen(4) && m.is_learned(4)) << rows << ' ' << k;
      EXPECT_FALSE(m.is_learned(0));
      mistakes += m.is_seen(0) + m.is_seen(2) + m.is_seen(3) + m.is_seen(5) + m.is_learned(1);
    }
  EXPECT_LE(mistakes, 6);  // of 100; 3 pairs of 1,000 at two statistics
}

// Weighted draws follow the conditional law: given levels, excluded levels, and a level that is half allowed, the same
// for all rows or different for each row.
TEST(Made, WeightedDrawsFollowTheConditionalLaw) {
  const std::vector<int> widths{3, 4, 2, 5};
  const Made m(layout_of(widths), small());
  const std::vector<float> weights = start(m);
  constexpr int64_t kRows = 1 << 16;
  std::vector<float> left(static_cast<size_t>(m.levels), 0.0f);
  left[1] = kImpossible, left[2] = std::log(0.5f);               // of the first column
  left[3 + 4] = kImpossible;                                     // of the third
  for (const size_t k : {9, 10, 12, 13}) left[k] = kImpossible;  // of the last, all but one
  std::vector<float> of_each;
  for (int64_t i = 0; i < kRows; ++i) of_each.insert(of_each.end(), left.begin(), left.end());
  const std::vector<int32_t> rows = all_rows(widths);
  const std::vector<float> each = surprises_of(m, weights, rows);
  std::map<std::vector<int32_t>, double> law;
  double total = 0;
  for (size_t i = 0; i < rows.size(); i += 4) {
    double ln = 0;
    for (size_t j = 0; j < 4; ++j)
      ln += static_cast<double>(left[static_cast<size_t>(m.columns[j].start + rows[i + j])] - each[i + j]);
    const auto at = rows.begin() + static_cast<std::ptrdiff_t>(i);
    if (ln > -1e20) total += law[{at, at + 4}] = std::exp(ln);
  }
  for (const auto& [drawn, log_weight] :
       {draw(m, weights, kRows, left), draw(m, weights, kRows, of_each), draw_in_any_order(m, weights, of_each)}) {
    std::map<std::vector<int32_t>, double> found, squares;
    double sum = 0;
    for (size_t i = 0; i < log_weight.size(); ++i) {
      const auto at = drawn.begin() + static_cast<std::ptrdiff_t>(4 * i);
      const std::vector<int32_t> row{at, at + 4};
      ASSERT_TRUE(law.contains(row)) << "a level without probability was drawn";
      const double w = std::exp(static_cast<double>(log_weight[i]));
      sum += w, found[row] += w, squares[row] += w * w;
    }
    EXPECT_NEAR(sum / kRows, total, 0.02 * total) << "the mean weight is the probability of the evidence";
    for (const auto& [row, p] : law)
      EXPECT_NEAR(found[row] / sum, p / total, 5 * std::sqrt(squares[row]) / sum + 1e-4) << row[0] << row[1] << row[2];
  }
}

// A column of more levels than are tabulated with their products with the weights. Of drawn levels, the mean
// probability is the mean of Σ p².
TEST(Made, ConditionsOnColumnsOfManyLevels) {
  const std::vector<int> widths{9000, 3};
  const Made m(layout_of(widths), small());
  const std::vector<float> weights = start(m);
  constexpr int64_t kRows = 1 << 13;
  std::vector<int32_t> codes = draw(m, weights, kRows).codes;
  const std::vector<float> taken = surprises_of(m, weights, codes);
  double mean = 0, square = 0, wanted = 0;
  for (size_t i = 1; i < taken.size(); i += 2) {
    const double p = std::exp(-static_cast<double>(taken[i]));
    mean += p / kRows, square += p * p / kRows;
  }
  for (int level = 0; level < 3; ++level) {
    for (size_t i = 1; i < codes.size(); i += 2) codes[i] = level;
    const std::vector<float> each = surprises_of(m, weights, codes);
    for (size_t i = 1; i < each.size(); i += 2) wanted += std::exp(-2 * static_cast<double>(each[i])) / kRows;
  }
  const double error = std::sqrt((square - mean * mean) / kRows);
  EXPECT_GT(wanted, 1.0 / 3 + 8 * error) << "the first column says something of the second";
  EXPECT_NEAR(mean, wanted, 4 * error);
}

// A table of which only the number of rows is read.
EncodedTable rows_only(int64_t rows) {
  EncodedTable t;
  t.rows = rows;
  return t;
}

// Among the drawn rows each level has its requested frequency.
TEST(Made, MatchesMarginals) {
  const std::vector<int> widths{3, 4, 2, 5};
  const Made m(layout_of(widths), small());
  std::vector<double> asked;
  for (const int width : widths)
    for (int k = 0; k < width; ++k) asked.push_back(2.0 * (k + 1) / (width * (width + 1)));
  std::vector<float> weights = start(m);
  const auto furthest = [&] {
    constexpr int64_t kRows = 20'000;
    std::vector<double> shares(asked.size(), 0.0);
    const std::vector<int32_t> codes = draw(m, weights, kRows).codes;
    for (size_t i = 0; i < codes.size(); ++i)
      shares[static_cast<size_t>(m.columns[i % widths.size()].start + codes[i])] += 1.0 / kRows;
    double most = 0;
    for (size_t k = 0; k < asked.size(); ++k) most = std::max(most, std::abs(shares[k] - asked[k]));
    return most;
  };
  const double before = furthest();
  Team team(2);
  const Monitor monitor;
  const std::set<std::string> off;
  match_marginals(m, asked, rows_only(100'000), weights, {1, off, team, monitor});
  EXPECT_GT(before, 0.1);
  EXPECT_LT(furthest(), 0.012);  // three standard deviations of a share are .0106
}

// Omitted groups are reported; without a limit all groups are matched and shown.
TEST(Made, MatchesMarginalsWithinTheTime) {
  const Made m(layout_of({3, 4}), small());
  const std::vector<double> asked{0.2, 0.3, 0.5, 0.1, 0.2, 0.3, 0.4};
  Team team(1);
  const std::set<std::string> off;
  const auto drawn = [&](const Deadline& until, std::string& notices) {
    Progress last;
    Monitor monitor;
    monitor.on_progress = [&](const Progress& p) {
      if (std::string(p.phase) == "notice") notices += p.note;
      else last = p;
    };
    std::vector<float> weights = start(m);
    match_marginals(m, asked, rows_only(10'000), weights, {1, off, team, monitor, until});
    EXPECT_TRUE(last.total == 0 || (std::string(last.phase) == "marginals" && last.finished));
    return last.total == 0 ? 0 : last.done / last.total;
  };
  std::string in_time, short_time, late;
  EXPECT_EQ(drawn({}, in_time), 1);
  EXPECT_EQ(in_time, "");
  double now = 0;  // every look at the clock takes a second
  const double some = drawn(Deadline(20, [&now] { return now += 1; }), short_time);
  EXPECT_TRUE(some > 0 && some < 1) << some;
  EXPECT_NE(short_time.find("The time limit was reached"), std::string::npos) << short_time;
  EXPECT_EQ(drawn(Deadline(1, [] { return 2.0; }), late), 0);
  EXPECT_NE(late.find("were not matched"), std::string::npos) << late;
}

// Files of earlier releases do not state the number of columns above which contexts omit embeddings: they never did.
TEST(Made, ReadsFilesOfEarlierReleases) {
  nlohmann::json json = config_json(kMade.config(true));
  EXPECT_LT(read_config(kMade, json).as<MadeConfig>().skip_columns, 1 << 16);
  EXPECT_LT(read_config(kMade, json).as<MadeConfig>().seen_codes, 128);
  json.erase("skip_columns"), json.erase("seen_codes");
  EXPECT_EQ(read_config(kMade, json).as<MadeConfig>().seen_codes, 128);
  EXPECT_EQ(read_config(kMade, json).as<MadeConfig>().skip_columns, 1 << 16);
}

Model fitted_made(uint64_t seed = 3, int threads = 2, const std::string& preset = "best", bool any_order = false) {
  FitOptions o = quick_made(6, preset);
  o.seed = seed;
  o.as<MadeConfig>().any_order = any_order;
  return fit(example_people(600, 5), o, threads);
}

TEST(Made, KeepsBothNetworksInAnyOrder) {
  const std::string both = fitted_made(3, 2, "best", true).bytes();
  for (const char* tensor :
       {"\"network.embedding.weight\"", "\"any_order.embedding.weight\"", "\"any_order.head.bias\""})
    EXPECT_NE(both.find(tensor), std::string::npos) << tensor;
}

// y tells of x what half of the rows tell; z is exactly x + 10, in one row of five missing.
TEST(Made, LearnsDependenceBetweenColumns) {
  const int64_t n = 4000;
  const auto x_of = [](int64_t i) { return std::floor(8 * uniform(i)); };
  const auto y_of = [&](int64_t i) { return uniform(i, 1) < 0.5 ? x_of(i) : std::floor(8 * uniform(i, 2)); };
  const Table t =
      table({whole_by("x", n, x_of), whole_by("y", n, y_of),
             whole_by("z", n, [&](int64_t i) { return uniform(i, 3) < 0.2 ? std::nan("") : x_of(i) + 10; })});
  FitOptions o = quick_made(20);
  const Table made = sample(fit(t, o, 2), n);
  const auto value = [&](const char* name, int64_t i) { return column(made, name).numbers[static_cast<size_t>(i)]; };
  const double same = share(made, [&](int64_t i) { return value("x", i) == value("y", i); });
  const double missing = share(made, [&](int64_t i) { return std::isnan(value("z", i)); });
  const double right = share(made, [&](int64_t i) { return value("z", i) == value("x", i) + 10; });
  // Three standard errors of the table and of the sample, and the error of training.
  EXPECT_NEAR(same, 0.5 + 0.5 / 8, 0.06);
  EXPECT_NEAR(missing, 0.2, 0.04);
  EXPECT_GT(right, 0.97 * (1 - missing));
}

TEST(Made, MeetsConditionsExactly) {
  const Table made = sample(fitted_made(), 400, where("gender = 'male' and age >= 30"));
  for (int64_t i = 0; i < made.rows; ++i) {
    EXPECT_EQ(cell(column(made, "gender"), i), "male");
    EXPECT_GE(column(made, "age").numbers[static_cast<size_t>(i)], 30);
  }
}

// What little a table of noise and of a weak dependence teaches soon is memory: the held-out rows stop that.
TEST(Made, StopsTrainingOnHeldOutRows) {
  FitOptions o = quick_made(300);
  o.patience = 100;
  std::string said;
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) {
    if (p.phase == std::string("train")) said = p.note;
  };
  Team team(2);
  const Column y =
      decimals_by("y", 400, 2, [](int64_t i) { return std::nearbyint(100 * (normal(i, 1) + normal(i, 2))) / 100; });
  const Model m = Model::fit(table({reals("x", 400, 1), y, letters("z", 400, 7)}), o, team, monitor);
  EXPECT_EQ(said.rfind("stopped before the model reveals who was in the table: ", 0), 0u) << said;
  EXPECT_EQ(said.rfind(" epochs"), said.size() - 7) << said;
  const nlohmann::json about = m.describe()["provenance"];
  EXPECT_EQ(about["stopped"], "membership");
  EXPECT_LT(about["steps"].get<int>(), 300 * 3);
}

}  // namespace
}  // namespace tessera::whole
