// Edge-case tables: every valid table can be fitted, saved, loaded and sampled.
#include <nlohmann/json.hpp>
#include <set>

#include "models/tables.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

// Fits, saves, loads and samples; every value is one that the column can hold, however rare it was.
Table through(const Table& real, FitOptions o, int64_t rows = 300) {
  o.rare_rows = 1;
  const Folder folder;
  const Model fitted = fit(real, o);
  fitted.save(folder / "model", false);
  const Model m = Model::load(folder / "model");
  const Table made = sample(m, rows);
  EXPECT_EQ(lines(made), lines(sample(fitted, rows)));
  EXPECT_EQ(made.rows, rows);
  EXPECT_EQ(made.columns.size(), real.columns.size());
  for (size_t c = 0; c < real.columns.size(); ++c) {
    const Column &a = real.columns[c], &b = made.columns[c];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.type, b.type) << a.name;
    EXPECT_EQ(b.size(), rows) << a.name;
    const bool misses = std::any_of(a.numbers.begin(), a.numbers.end(), [](double x) { return x != x; }) ||
                        std::any_of(a.codes.begin(), a.codes.end(), [](int32_t k) { return k < 0; });
    const std::set<std::string> known(a.values.begin(), a.values.end());
    for (int64_t i = 0; i < rows; ++i) {
      if (b.is_missing(i)) {
        EXPECT_TRUE(misses) << a.name << " is never missing";
      } else if (!is_numeric(a.type) && a.type != ColumnType::identifier) {
        EXPECT_EQ(known.count(cell(b, i)), 1u) << a.name << ": " << cell(b, i);
      } else if (is_numeric(a.type)) {
        EXPECT_TRUE(std::isfinite(b.numbers[static_cast<size_t>(i)])) << a.name;
      }
    }
  }
  return made;
}

TEST(Shapes, FitDiscreteColumns) { through(table({letters("x", 300, 3), letters("y", 300, 5)}), quick(3)); }
TEST(Shapes, FitNumbersOnly) {
  const Table made = through(table({reals("x", 300, 1), reals("y", 300, 2)}), quick(3));
  for (const Column& c : made.columns)
    for (const double x : c.numbers) EXPECT_EQ(x, std::nearbyint(100 * x) / 100) << c.name;
}

TEST(Shapes, FitEveryMethod) {
  FitOptions published;
  published.method = "tvae";
  apply_preset(published);
  published.as<TvaeConfig>().epochs = 2;
  std::vector<FitOptions> all{published};
  for (const char* preset : {"best", "paper"})
    all.push_back(quick_tvae(3, 200, preset)), all.push_back(quick_made(2, preset));
  for (const FitOptions& o : all) {
    for (const Table& t :
         {table({letters("x", 300, 3), letters("y", 300, 5)}), table({reals("x", 300, 1), reals("y", 300, 2)}),
          table({letters("x", 100, 4)}), table({reals("x", 100, 1)}), example_people(1, 1), example_people(20, 1)})
      through(t, o);
    const Table constant = table({texts("c", ColumnType::constant, std::vector<std::string>(6, "same")),
                                  numbers("n", ColumnType::integer, std::vector<double>(6, 7))});
    EXPECT_EQ(sample(fit(constant, o), 20, where("n = 7")).rows, 20);
  }
  for (const char* preset : {"best", "paper"}) through(example_people(300, 1), quick_tvae(0, 200, preset), 100);
}

TEST(Shapes, FitConstants) {
  Table t = table({texts("c", ColumnType::constant, std::vector<std::string>(6, "same")),
                   numbers("n", ColumnType::integer, std::vector<double>(6, 7)),
                   numbers("gone", ColumnType::decimal, std::vector<double>(6, kMissing))});
  const Table made = through(t, quick(3), 20);
  for (int64_t i = 0; i < 20; ++i)
    EXPECT_EQ(cell(made.columns[0], i) + cell(made.columns[1], i) + cell(made.columns[2], i), "same7");
  const Thrown impossible = thrown([&] { sample(fit(t, quick(1)), 5, where("n > 7", 30)); });
  EXPECT_EQ(impossible.code, ErrorCode::condition);
  EXPECT_EQ(sample(fit(t, quick(1)), 5, where("n = 7 and gone is null")).rows, 5);
}

TEST(Shapes, FitIdentifiersOnly) {
  const Table t = table(
      {texts_by("id", ColumnType::identifier, 50, [](int64_t i) { return "K-" + std::to_string(1000 + 17 * i); })});
  const Table made = through(t, quick(2), 100);
  EXPECT_EQ(std::set<std::string>(made.columns[0].values.begin(), made.columns[0].values.end()).size(), 100u);
}

TEST(Shapes, FitOneRow) {
  through(example_people(1, 1), quick(3), 20);
  const Table made = through(table({letters("x", 1, 1), numbers("n", ColumnType::integer, {42})}), quick(2), 10);
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(made.columns[1].numbers[static_cast<size_t>(i)], 42);
}
TEST(Shapes, FitOneColumn) {
  through(table({letters("x", 100, 4)}), quick(3));
  through(table({reals("x", 100)}), quick(3));
}

TEST(Shapes, RejectEmptyTables) {
  Table empty = example_people(1, 1);
  empty.rows = 0;
  for (Column& c : empty.columns) c.numbers.clear(), c.codes.clear();
  const Thrown t = thrown([&] { fit(empty, quick(1)); });
  EXPECT_EQ(t.code, ErrorCode::data);
  EXPECT_TRUE(t.says("no rows")) << t.message;
}

// The published sizes on a table smaller than a batch.
TEST(Shapes, FitThreeRowsWithDefaultBatch) {
  FitOptions o;
  o.method = "ctgan";
  apply_preset(o);
  o.as<CtganConfig>().epochs = 2;
  through(example_people(3, 1), o, 30);
}
TEST(Shapes, FitPacOfSeven) {
  FitOptions o = quick(2, 497);
  o.as<CtganConfig>().pac = 7;
  through(example_people(1200, 1), o);
}
TEST(Shapes, FitBatchOfOnePack) {
  FitOptions o = quick(2, 10);
  o.as<CtganConfig>().pac = 10;
  through(example_people(60, 1), o);
}

TEST(Shapes, FitManyCategories) {
  constexpr int64_t rows = 12000;
  const Table real = table(
      {texts_by("zip", rows, [](int64_t i) { return std::to_string(10000 + (i * i) % 4999); }), letters("x", rows, 2)});
  FitOptions o = quick(2, 500);
  const Table made = through(real, o, 6000);
  EXPECT_GT(std::set<std::string>(made.columns[0].values.begin(), made.columns[0].values.end()).size(), 1000u)
      << "rare values come back too";
}

TEST(Shapes, FitTwoHundredColumns) {
  std::vector<Column> columns;
  for (int c = 0; c < 100; ++c) {
    columns.push_back(reals("r" + std::to_string(c), 200, static_cast<uint32_t>(c)));
    columns.push_back(letters("l" + std::to_string(c), 200, 2 + c % 9));
  }
  through(table(std::move(columns)), quick(2, 100));
}

TEST(Shapes, FitNumbersOfAnySize) {
  through(table({numbers_by("huge", ColumnType::decimal, 200, [](int64_t i) { return 1e300 * normal(i); }),
                 numbers_by("tiny", ColumnType::decimal, 200, [](int64_t i) { return 1e-300 * normal(i, 3); }),
                 whole_by("far", 200, [](int64_t i) { return 9007199254740000.0 + static_cast<double>(i); })}),
          quick(2, 50));
}

TEST(Shapes, FitEveryNetworkShape) {
  const Table real = example_people(300, 1);
  for (const auto& [generator, critic] :
       {std::pair<std::vector<int>, std::vector<int>>{{1}, {1}}, {{33}, {7, 5, 3}}, {{16, 8, 24}, {64}}}) {
    FitOptions o = quick(2, 60);
    o.as<CtganConfig>().generator_dim = generator;
    o.as<CtganConfig>().discriminator_dim = critic;
    o.as<CtganConfig>().embedding_dim = 1;
    o.as<CtganConfig>().discriminator_steps = 3;
    o.as<CtganConfig>().pac = 3;
    through(real, o, 50);
  }
}

}  // namespace
}  // namespace tessera::whole
