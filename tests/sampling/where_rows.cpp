// Conditions on a fitted model: every row meets them, the search is bounded and honest about its yield, and a condition
// that no row can meet is refused.
#include <set>

#include "models/tables.h"
#include "tables/csv/example.h"

namespace tessera::whole {
namespace {

// kind: "common" or "rare" (1 %), on which nothing else depends but `level` (1 … 40 for common, 60 … 100 for rare).
Table two_kinds() {
  constexpr int64_t kRows = 4000;
  auto rare = [](int64_t i) { return uniform(i, 1) < 0.01; };
  return table(
      {texts_by("kind", kRows, [&](int64_t i) { return rare(i) ? "rare" : "common"; }),
       whole_by("level", kRows, [&](int64_t i) { return std::floor((rare(i) ? 60 : 1) + 40 * uniform(i, 2)); }),
       texts_by("code", ColumnType::identifier, kRows,
                [](int64_t i) { return std::to_string(10000 + (i * 7919) % 20011); }),
       texts_by("street", kRows,
                [](int64_t i) { return i % 2 == 0 ? "Main Road" : "Lane " + std::to_string(i % 60); })});
}

const Model& model_of_people() {
  static const Model m = fit(example_people(3000, 1), quick(12));
  return m;
}

struct Law {
  const char* where;
  bool (*holds)(const Table&, int64_t);
};

const Law kLaws[] = {
    {"gender = 'male'", [](const Table& t, int64_t i) { return text(t, "gender", i) == "male"; }},
    {"city in ('Weston', 'Midbury', 'Old Harbour')",
     [](const Table& t, int64_t i) {
       const auto c = text(t, "city", i);
       return c == "Weston" || c == "Midbury" || c == "Old Harbour";
     }},
    {"city not in ('Northport', 'Eastville')",
     [](const Table& t, int64_t i) {
       const auto c = text(t, "city", i);
       return c != "Northport" && c != "Eastville";
     }},
    {"age between 40 and 49",
     [](const Table& t, int64_t i) { return number(t, "age", i) >= 40 && number(t, "age", i) <= 49; }},
    {"age < 25", [](const Table& t, int64_t i) { return number(t, "age", i) < 25; }},
    {"height > 180.5", [](const Table& t, int64_t i) { return number(t, "height", i) > 180.5; }},
    {"income is null", [](const Table& t, int64_t i) { return column(t, "income").is_missing(i); }},
    {"income >= 30000 and income <= 40000",
     [](const Table& t, int64_t i) { return number(t, "income", i) >= 30000 && number(t, "income", i) <= 40000; }},
    {"employed = FALSE", [](const Table& t, int64_t i) { return text(t, "employed", i) == "false"; }},
    {"employed is null", [](const Table& t, int64_t i) { return text(t, "employed", i).empty(); }},
    {"capital_gain = 0", [](const Table& t, int64_t i) { return number(t, "capital_gain", i) == 0; }},
    {"children in (2, 3)",
     [](const Table& t, int64_t i) { return number(t, "children", i) == 2 || number(t, "children", i) == 3; }},
    {"joined between '2016-01-01' and '2018-12-31'",
     [](const Table& t, int64_t i) { return number(t, "joined", i) >= 16801 && number(t, "joined", i) <= 17896; }},
    {"last_seen >= '2020-01-01T00:00:00'",
     [](const Table& t, int64_t i) { return number(t, "last_seen", i) >= 18262 * 86400.0; }},
    {"plan is not null and plan != 'basic' and gender = 'female' and age >= 30",
     [](const Table& t, int64_t i) {
       const auto p = text(t, "plan", i);
       return (p == "plus" || p == "premium") && text(t, "gender", i) == "female" && number(t, "age", i) >= 30;
     }},
    {"country = 'Freedonia'", [](const Table& t, int64_t i) { return text(t, "country", i) == "Freedonia"; }},
};

TEST(WhereRows, EveryRowSatisfiesEveryTerm) {
  for (const Law& law : kLaws) {
    SampleReport report;
    const Table t = sample(model_of_people(), 300, where(law.where), {}, &report);
    ASSERT_EQ(t.rows, 300) << law.where;
    EXPECT_EQ(report.rows, 300) << law.where;
    EXPECT_GE(report.candidates, 300) << law.where;
    EXPECT_EQ(share(t, [&](int64_t i) { return law.holds(t, i); }), 1.0) << law.where;
  }
}

// A condition that all rows meet changes nothing of a row but who it is: the first try is the row that is made without
// it.
TEST(WhereRows, ATrueConditionChangesOnlyIdentifiers) {
  const Table met = sample(model_of_people(), 700, where("country = 'Freedonia' and age >= 0")),
              free = sample(model_of_people(), 700);
  const Column &in = column(met, "person_id"), &out = column(free, "person_id");
  std::set<std::string> who(in.values.begin(), in.values.end());
  who.insert(out.values.begin(), out.values.end());
  EXPECT_EQ(who.size(), 1400u) << "ten digits have room for both samples";
  EXPECT_EQ(lines(without(met, "person_id")), lines(without(free, "person_id")));
}

TEST(WhereRows, ReachesRareValuesThroughTheConditionVector) {
  const Model m = fit(two_kinds(), quick(25));
  SampleReport report;
  const Table t = sample(m, 1000, where("kind = 'rare'"), {}, &report);
  EXPECT_EQ(share(t, [&](int64_t i) { return text(t, "kind", i) == "rare"; }), 1.0);
  EXPECT_LT(static_cast<double>(report.candidates) / 1000, 3.0)
      << "a share of 1 % must not cost a hundred candidates a row";
  // What depends on it follows.
  EXPECT_GT(share(t, [&](int64_t i) { return number(t, "level", i) >= 60; }), 0.6);
  const Table free = sample(m, 1000);
  EXPECT_LT(share(free, [&](int64_t i) { return number(free, "level", i) >= 60; }), 0.2);
}

// A row is the same person however many tries it took, so that no two share an identifier.
TEST(WhereRows, IdentifiersStayUnique) {
  const Model m = fit(two_kinds(), quick(2));
  const Table t = sample(m, 3000, where("level > 20"));
  std::set<std::string> seen(column(t, "code").values.begin(), column(t, "code").values.end());
  std::set<std::string> used;
  for (int64_t i = 0; i < t.rows; ++i) used.insert(text(t, "code", i));
  EXPECT_EQ(used.size(), 3000u);
  const Table training = two_kinds();
  for (const std::string& v : column(training, "code").values) EXPECT_EQ(used.count(v), 0u) << v;
}

// Rows of several samples can be put together: with other seeds, or under other conditions, they have identifiers of
// their own.
TEST(WhereRows, SamplesOfOneModelShareNoIdentifier) {
  std::set<std::string> who;
  size_t made = 0;
  for (const char* condition : {"", "age >= 30", "age >= 30 ", "age < 30"})
    for (uint64_t seed = 0; seed < 4; ++seed) {
      SampleOptions o = where(condition);
      o.seed = seed;
      const Table t = sample(model_of_people(), 150, o);
      for (int64_t i = 0; i < t.rows; ++i) who.insert(text(t, "person_id", i)), ++made;
    }
  EXPECT_EQ(who.size(), made);
}

// Values without their own level can be conditions too.
TEST(WhereRows, RareValuesOfACategoryAreKnown) {
  FitOptions o = quick(4);
  o.encoder.max_categories = 10;
  const Model m = fit(two_kinds(), o);
  const Table t = sample(m, 200, where("street in ('Lane 59', 'Lane 57')"));
  EXPECT_EQ(share(t, [&](int64_t i) { return text(t, "street", i) == "Lane 59" || text(t, "street", i) == "Lane 57"; }),
            1.0);
  const Table common = sample(m, 200, where("street = 'Main Road'"));
  EXPECT_EQ(share(common, [&](int64_t i) { return text(common, "street", i) == "Main Road"; }), 1.0);
}

TEST(WhereRows, BatchesListEachValueOnce) {
  FitOptions o = quick(2);
  o.encoder.max_categories = 10;
  const Model m = fit(two_kinds(), o);
  Team team(2);
  const Monitor monitor;
  const auto stream = m.sample(0, 2500, where("level > 10"), team, monitor);
  Table batch;
  while (stream->next(batch))
    for (const Column& c : batch.columns)
      EXPECT_EQ(std::set<std::string>(c.values.begin(), c.values.end()).size(), c.values.size()) << c.name;
}

TEST(WhereRows, ReportsCountsAndTheRareTerm) {
  // A quotient of a number with itself is 1, which no range tells.
  const Model m = fit(two_kinds(), quick(2));
  const Thrown t = thrown([&] { sample(m, 50, where("kind = 'common' and (level - 9) / (level - 9) > 2", 20)); });
  EXPECT_EQ(t.code, ErrorCode::condition);
  EXPECT_TRUE(t.says("0 of 50 rows were found")) << t.message;
  EXPECT_TRUE(t.says("in 20 candidates")) << t.message;
  EXPECT_TRUE(t.says("The rare term is \"(level - 9) / (level - 9) > 2\": 0 of 1000 candidates satisfied it"))
      << t.message;
  EXPECT_TRUE(t.says("`max_tries`")) << t.message;
}

// A number of many is met by chance only; as a given cell it is met in every row.
TEST(WhereRows, SuggestsGivenCellsForARareNumber) {
  const auto message = [](const std::string& condition) {
    return thrown([&] { sample(model_of_people(), 3, where(condition, 4)); }).message;
  };
  EXPECT_TRUE(message("income = 38123").find("as `given` instead") != std::string::npos) << message("income = 38123");
  const std::string range = message("income between 38123 and 38124");
  EXPECT_TRUE(range.find("rare term") != std::string::npos && range.find("`given`") == std::string::npos) << range;
}

TEST(WhereRows, CountsTheRareTermOverAllCandidates) {
  const Model m = fit(two_kinds(), quick(2));
  const Thrown t = thrown([&] { sample(m, 200, where("kind in ('common') and (level - 9) / (level - 9) < -5", 4)); });
  EXPECT_TRUE(t.says("\"(level - 9) / (level - 9) < -5\": 0 of 800 candidates")) << t.message;
}

TEST(WhereRows, MaxTriesBoundsTheSearch) {
  const Model m = fit(two_kinds(), quick(2));
  for (const int tries : {1, 2, 7}) {
    const Thrown t = thrown([&] { sample(m, 100, where("(level - 9) / (level - 9) > 2", tries)); });
    EXPECT_EQ(t.code, ErrorCode::condition);
    EXPECT_TRUE(t.says("of " + std::to_string(100 * tries) + " candidates")) << t.message;
  }
  SampleReport report;
  sample(m, 500, where("level >= 5", 1000), {}, &report);
  EXPECT_LE(report.candidates, 500 * 1000);
  EXPECT_GE(report.candidates, 500);
}

TEST(WhereRows, NamesTheNearestColumnOrValue) {
  const Model& m = model_of_people();
  struct Mistake {
    const char* where;
    ErrorCode code;
    const char* says;
  };
  for (const Mistake& k :
       {Mistake{"citty = 'Weston'", ErrorCode::condition, "\"city\""},
        Mistake{"city = 'Westn'", ErrorCode::condition, "\"Weston\""},
        Mistake{"city = 'Westn'", ErrorCode::condition, "8 values"},
        Mistake{"person_id = 'P-1'", ErrorCode::condition, "identifier"},
        Mistake{"age = 1.5", ErrorCode::condition, "whole numbers"},
        Mistake{"age between 5 and 4", ErrorCode::condition, "age"}, Mistake{"age >", ErrorCode::usage, "^"},
        Mistake{"gender = 'male' xor age > 3", ErrorCode::usage, "\"or\""}}) {
    const Thrown t = thrown([&] { sample(m, 1, where(k.where)); });
    EXPECT_EQ(t.code, k.code) << k.where;
    EXPECT_TRUE(t.says(k.says)) << t.message;
  }
}

}  // namespace
}  // namespace tessera::whole
