// Categories that few rows hold are removed before anything is learned.
#include "tables/protection/rare_categories.h"

#include <gtest/gtest.h>

#include <map>

#include "tables/encoding/encoder.h"

namespace tessera {
namespace {

// "v", "vw", "vww", …: no numbers, which would be merged
std::string word(size_t v) { return "v" + std::string(v, 'w'); }

// Text i of a column in counts[i] rows, spread evenly, and missing every tenth row.
Table table_of(const std::vector<int>& counts, ColumnType type = ColumnType::category) {
  Table t;
  Column& c = t.columns.emplace_back();
  c.name = "c", c.type = type, c.reason = "text: line 3 holds \"vw\", after 2 values such as \"v\"";
  for (size_t v = 0; v < counts.size(); ++v) c.values.push_back(word(v));
  std::vector<int> left = counts;
  for (bool more = true; more;) {
    more = false;
    for (size_t v = 0; v < left.size(); ++v)
      if (left[v]-- > 0) c.codes.push_back(static_cast<int32_t>(v)), more = true;
    if (c.codes.size() % 10 == 0) c.codes.push_back(-1);
  }
  t.rows = c.size();
  return t;
}

std::map<std::string, int> counts_of(const Column& c) {
  std::map<std::string, int> out;
  for (const int32_t code : c.codes) ++out[code < 0 ? "" : c.values.at(static_cast<size_t>(code))];
  return out;
}

TEST(RareCategories, EveryValueIsSharedByEnoughRows) {
  for (const int least : {2, 5, 40}) {
    Table t = table_of({100, 60, 39, 5, 4, 4, 1, 1});
    const auto before = counts_of(t.columns[0]);
    Team team(2);
    protect_rare_categories(t, least, 7, team);
    const auto after = counts_of(t.columns[0]);
    for (const auto& [value, rows] : before) {
      const bool kept = value.empty() || rows >= least;
      EXPECT_EQ(after.count(value) != 0, kept) << value << " of " << rows << " rows, least " << least;
      if (kept) { EXPECT_GE(after.at(value), rows); }
    }
    EXPECT_EQ(after.at(""), before.at(""));  // what was missing stays missing
    EXPECT_EQ(t.columns[0].size(), t.rows);
    for (const std::string& v : t.columns[0].values)
      EXPECT_TRUE(after.count(v)) << "a list that names " << v << " tells it";
  }
}

TEST(RareCategories, FrequentValuesStay) {
  Table t = table_of({50, 30, 1, 1});
  const Table before = t;
  Team team(1);
  const auto found = protect_rare_categories(t, 5, 1, team);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].values, 2);
  EXPECT_EQ(found[0].rows, 2);
  for (size_t i = 0; i < before.columns[0].codes.size(); ++i)
    if (before.columns[0].codes[i] < 2) { EXPECT_EQ(t.columns[0].codes[i], before.columns[0].codes[i]); }
}

TEST(RareCategories, DrawsByFrequencyAndByRow) {
  std::vector<int> counts{3000, 1000};
  counts.resize(2002, 1);
  Table a = table_of(counts), b = table_of(counts), c = table_of(counts);
  Team one(1), three(3);
  protect_rare_categories(a, 5, 1, one);
  protect_rare_categories(b, 5, 1, three);
  protect_rare_categories(c, 5, 2, one);
  EXPECT_EQ(a.columns[0].codes, b.columns[0].codes);
  EXPECT_NE(a.columns[0].codes, c.columns[0].codes);
  EXPECT_NEAR(counts_of(a.columns[0]).at("v") - 3000, 1500, 100);  // of 2,000 rows, σ = 19
}

TEST(RareCategories, AColumnOfNamesIsRegenerated) {
  std::vector<int> counts{6};
  counts.resize(40, 1);
  Table t = table_of(counts);
  t.columns[0].arrow = "tdD";  // a regenerated text need not be a day of the calendar
  Team team(1);
  EXPECT_TRUE(protect_rare_categories(t, 5, 1, team).at(0).regenerated);
  EXPECT_EQ(t.columns[0].type, ColumnType::identifier);
  EXPECT_EQ(t.columns[0].arrow, "");
}

// Holder h has adjacent rows; `held` gives for value v the number of holders and the rows of each.
struct Held {
  int holders, rows;
};
Table held_by(const std::vector<Held>& held, std::vector<int32_t>& holder) {
  Table t;
  Column& c = t.columns.emplace_back();
  c.name = "ward", c.type = ColumnType::category;
  for (size_t v = 0; v < held.size(); ++v) c.values.push_back(word(v));
  for (int32_t h = 0; h < 30; ++h)
    for (size_t v = 0; v < held.size(); ++v)
      for (int r = 0; h < held[v].holders && r < held[v].rows; ++r)
        c.codes.push_back(static_cast<int32_t>(v)), holder.push_back(h);
  t.rows = c.size();
  return t;
}

TEST(RareCategories, CountHoldersInsteadOfRows) {
  std::vector<int32_t> holder;
  Table t = held_by({{30, 3}, {20, 2}, {5, 1}, {4, 9}, {1, 40}, {1, 1}}, holder);
  const Table before = t;
  Team team(2);
  const auto found = protect_rare_categories(t, 5, 7, team, holder);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].values, 3);
  EXPECT_EQ(found[0].rows, 4 * 9 + 40 + 1);
  EXPECT_EQ(t.columns[0].values, (std::vector<std::string>{"v", "vw", "vww"}));
  std::map<std::pair<int32_t, int32_t>, int32_t> instead;  // of a holder and a value
  for (size_t i = 0; i < holder.size(); ++i) {
    const int32_t was = before.columns[0].codes[i], now = t.columns[0].codes[i];
    if (was < 3) { EXPECT_EQ(now, was); }
    EXPECT_EQ(instead.try_emplace({holder[i], was}, now).first->second, now) << "row " << i;
  }
}

// Codes of diagnoses: two that many rows have, and one in a row each from 410 to 489, with one far away.
Table codes_of(int far) {
  Table t;
  Column& c = t.columns.emplace_back();
  c.name = "diagnosis", c.type = ColumnType::category, c.values = {"250", "V45"};
  for (int i = 0; i < 60; ++i) c.codes.push_back(i % 2);
  for (int i = 0; i < 80; ++i) {
    c.codes.push_back(static_cast<int32_t>(c.values.size()));
    c.values.push_back(std::to_string(i == 7 ? far : 410 + i));
  }
  t.rows = c.size();
  return t;
}

TEST(RareCategories, MergesNumbersThatEndTexts) {
  Team team(1);
  Table t = codes_of(900);
  const std::vector<RareColumn> found = protect_rare_categories(t, 5, 1, team);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].values, 80);
  EXPECT_FALSE(found[0].regenerated);
  const auto after = counts_of(t.columns[0]);
  EXPECT_EQ(after.at("250"), 30);
  EXPECT_EQ(after.at("V45"), 30);
  int between = 0, others = 0;
  for (const auto& [text, rows] : after)
    if (text != "250" && text != "V45") ++others, between += std::stoi(text) >= 410 && std::stoi(text) <= 600;
  EXPECT_GE(others, 40);       // codes of a neighborhood, not one for all
  EXPECT_EQ(between, others);  // 900 is one row's: only the mean of its group tells
  EXPECT_EQ(after.count("900"), 0u);
}

// All of them share one level, drawn by frequency.
TEST(RareCategories, MergedNumbersAreNoLevelsOfTheirOwn) {
  Team team(1);
  Table t = codes_of(417);
  protect_rare_categories(t, 5, 1, team);
  const Encoder e = Encoder::fit(t, {}, team, Monitor{});
  EXPECT_EQ(e.layout().data_width, 3);
  const std::vector<int32_t> codes(100, 2);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 100; ++i) ids.push_back(i);
  const Table drawn = e.decode(nullptr, codes.data(), ids.data(), 100, 3);
  EXPECT_GE(counts_of(drawn.columns[0]).size(), 30u);
}

TEST(RareCategories, ReasonsQuoteNothing) {
  Table t = table_of({50, 30});
  Team team(1);
  EXPECT_TRUE(protect_rare_categories(t, 5, 1, team).empty());
  EXPECT_EQ(t.columns[0].reason.find("vw"), std::string::npos) << t.columns[0].reason;
}

TEST(RareCategories, OtherTypesAndKeepChangeNothing) {
  Team team(1);
  Table boolean = table_of({50, 1}, ColumnType::boolean), kept = table_of({50, 1});
  const Table boolean_before = boolean, kept_before = kept;
  EXPECT_TRUE(protect_rare_categories(boolean, 5, 1, team).empty());
  EXPECT_TRUE(protect_rare_categories(kept, 1, 1, team).empty());
  EXPECT_EQ(boolean.columns[0].codes, boolean_before.columns[0].codes);
  EXPECT_EQ(kept.columns[0].codes, kept_before.columns[0].codes);
  EXPECT_EQ(kept.columns[0].reason, kept_before.columns[0].reason);
}

}  // namespace
}  // namespace tessera
