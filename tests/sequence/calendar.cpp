// The calendar of an index: its hours, weekdays and months, the one that is expected, the nearest with some of them.
#include <nlohmann/json.hpp>
#include <numeric>

#include "sequence/sequences.h"
#include "support/thrown.h"
#include "tables/formats/calendar.h"

namespace tessera {
namespace {
using namespace steps;

constexpr double kHour = 3600, kDay = 24 * kHour;
constexpr double kMonday = 19723;  // 2024-01-01

Column index_of(ColumnType type, std::vector<double> x) { return numbers("t", type, std::move(x)); }

IndexCalendar calendar_of(const Column& index, int64_t least = 1, std::vector<int32_t> holders = {}) {
  const std::vector<double> values(index.numbers.begin(), index.numbers.end());
  const bool keyed = !holders.empty();
  for (size_t i = 0; i < values.size() && !keyed; ++i) holders.push_back(static_cast<int32_t>(i));
  return {index, {}, values, holders, keyed, least};
}

std::vector<int> levels(const IndexCalendar& c, double x) {
  std::vector<int8_t> out(static_cast<size_t>(c.cycles()));
  c.levels(x, out.data());
  return {out.begin(), out.end()};
}

std::vector<double> every(double unit, int n, double first) {
  std::vector<double> out;
  for (int i = 0; i < n; ++i) out.push_back(first + unit * i);
  return out;
}

TEST(IndexCalendar, KnowsHourWeekdayAndMonth) {
  const IndexCalendar c = calendar_of(index_of(ColumnType::datetime, every(kHour, 24 * 60, kMonday * kDay)));
  EXPECT_EQ(levels(c, kMonday * kDay), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(levels(c, (kMonday + 38) * kDay + 13.5 * kHour), (std::vector<int>{13, 3, 1})) << "2024-02-08 13:30";
  EXPECT_EQ(levels(c, kMonday * kDay - 1), (std::vector<int>{23, 6, 1})) << "rows are in January and February alone";
  const IndexCalendar days = calendar_of(index_of(ColumnType::date, every(1, 60, kMonday)));
  EXPECT_EQ(levels(days, kMonday + 38), (std::vector<int>{3, 1}));
  const IndexCalendar read = IndexCalendar::from_json(c.to_json());
  EXPECT_EQ(read.to_json(), c.to_json());
  EXPECT_EQ(levels(read, kMonday * kDay - 1), levels(c, kMonday * kDay - 1));
}

TEST(IndexCalendar, HasWhatVariesAlone) {
  EXPECT_FALSE(calendar_of(index_of(ColumnType::integer, every(1, 60, 5))).any());
  EXPECT_EQ(calendar_of(index_of(ColumnType::date, every(7, 30, kMonday))).cycles(), 1) << "Mondays: months alone";
  EXPECT_FALSE(calendar_of(index_of(ColumnType::date, {kMonday, kMonday + 7})).any());
}

TEST(IndexCalendar, ExpectsTheNextPlaceOfAGrid) {
  std::vector<double> days;
  std::vector<int32_t> rows;
  for (int week = 0; week < 12; ++week)
    for (int day = 0; day < 5; ++day)
      rows.push_back(static_cast<int32_t>(days.size())), days.push_back(kMonday + 7 * week + day);
  const Column index = index_of(ColumnType::date, days);
  const IndexGrid grid(index, days, rows, 1);
  const IndexCalendar c(index, grid, days, rows, false, 1);
  EXPECT_EQ(c.expected(kMonday + 3, grid), kMonday + 4);
  EXPECT_EQ(c.expected(kMonday + 4, grid), kMonday + 7) << "after a Friday";
}

TEST(IndexCalendar, IsNoneWhereTheNumberOfTheStepSaysIt) {
  std::vector<double> together, apart;
  std::vector<int32_t> keys;
  for (int32_t k = 0; k < 6; ++k)
    for (int d = 0; d < 9; ++d) together.push_back(kMonday + d), apart.push_back(kMonday + k + d), keys.push_back(k);
  EXPECT_FALSE(calendar_of(index_of(ColumnType::date, together), 5, keys).any());
  EXPECT_TRUE(calendar_of(index_of(ColumnType::date, apart), 5, keys).any());
}

TEST(IndexCalendar, LevelsOfFewKeysAreTakenForTheOneBefore) {
  std::vector<double> days;
  std::vector<int32_t> keys;
  for (int32_t k = 0; k < 6; ++k)
    for (int d = 0; d < 3; ++d) days.push_back(kMonday + 7 * k + d), keys.push_back(k);
  days.push_back(kMonday + 35 + 4), keys.push_back(5);  // the only Friday
  const IndexCalendar c = calendar_of(index_of(ColumnType::date, days), 5, keys);
  ASSERT_EQ(c.cycles(), 1);
  EXPECT_EQ(levels(c, kMonday + 4), levels(c, kMonday + 2));
  EXPECT_EQ(levels(c, kMonday + 1), (std::vector<int>{1}));
  EXPECT_FALSE(calendar_of(index_of(ColumnType::date, days), 7, keys).any()) << "no level of seven keys";
}

TEST(IndexCalendar, ExpectsTheUsualDistanceAlone) {
  std::vector<double> days = every(1, 30, kMonday);
  days.push_back(days.back() + 3);
  EXPECT_EQ(calendar_of(index_of(ColumnType::date, days)).expected(kMonday, {}), kMonday + 1);
  std::vector<double> mixed = every(1, 30, kMonday);
  for (int i = 0; i < 30; ++i) mixed.push_back(mixed.back() + 2);
  EXPECT_EQ(calendar_of(index_of(ColumnType::date, mixed)).expected(kMonday, {}), kMonday);
}

TEST(IndexCalendar, FindsTheNearestIndexWithItsLevels) {
  const IndexCalendar c = calendar_of(index_of(ColumnType::datetime, every(kHour, 24 * 60, kMonday * kDay)));
  const double at = (kMonday + 10) * kDay + 5 * kHour + 60;  // Thursday, January, 05:01
  const std::vector<int32_t> same{5, 3, 0}, saturday{5, 5, 0}, tuesday{4, 1, 0};
  EXPECT_EQ(c.nearest(at, same, 0, 2 * at, {}), at);
  EXPECT_EQ(c.nearest(at, saturday, 0, 2 * at, {}), at + 2 * kDay);
  EXPECT_EQ(c.nearest(at, tuesday, 0, 2 * at, {}), at - 2 * kDay - kHour);
  EXPECT_EQ(c.nearest(at, tuesday, at - kDay, at + kDay, {}), at) << "none in the range";
  const std::vector<double> minutes = every(60, 3000, kMonday * kDay), hours = every(kHour, 240, kMonday * kDay),
                            days = every(kDay, 60, kMonday * kDay + 5 * kHour);
  for (const std::vector<double>& places : {minutes, hours}) {
    std::vector<int32_t> rows(places.size());
    std::iota(rows.begin(), rows.end(), 0);
    const IndexGrid grid(index_of(ColumnType::datetime, places), places, rows, 1);
    ASSERT_TRUE(grid.any());
    const double on = grid.at(grid.place(at));
    EXPECT_EQ(c.nearest(on, same, 0, 2 * at, grid), on);
    EXPECT_EQ(c.nearest(on, saturday, 0, 2 * at, grid), on + 2 * kDay) << "a day has " << places[1] - places[0];
    EXPECT_EQ(c.nearest(on, tuesday, 0, 2 * at, grid), on - 2 * kDay - kHour);
  }
  std::vector<int32_t> rows(days.size());
  std::iota(rows.begin(), rows.end(), 0);
  const IndexGrid daily(index_of(ColumnType::datetime, days), days, rows, 1);
  EXPECT_EQ(c.nearest(days[0], saturday, 0, 2 * at, daily), days[5]) << "places that are further apart than hours";
}

TEST(IndexCalendar, RefusesDamagedOnes) {
  const nlohmann::json good = calendar_of(index_of(ColumnType::date, every(1, 60, kMonday))).to_json();
  const auto refused = [&](const char* at, const nlohmann::json& to) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(at)] = to;
    return thrown([&] { IndexCalendar::from_json(bad); }).code == ErrorCode::format;
  };
  EXPECT_TRUE(refused("/day", 7));
  EXPECT_TRUE(refused("/cycles", nlohmann::json::array()));
  EXPECT_TRUE(refused("/cycles/0/name", "year"));
  EXPECT_TRUE(refused("/cycles/0/levels/3", 7));
  EXPECT_TRUE(refused("/cycles/0/levels", {0, 1}));
}

}  // namespace
}  // namespace tessera
